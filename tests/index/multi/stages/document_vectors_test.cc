#include "index/multi/stages/document_vectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/executor.h"
#include "index/multi/tokens/token_source.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

/// A document's sum of tokens, of any length.
class SumEncoder final : public encoders::SetEncoder {
 public:
  explicit SumEncoder(std::uint32_t dim) : SetEncoder(dim, dim) {}
  void encode_documents(std::span<const encoders::TokenSet> documents, float* out) const override {
    for (const auto& document : documents) {
      encode_query(document, out);
      out += dim();
    }
  }
  void encode_query(const encoders::TokenSet& query, float* out) const override {
    for (std::uint32_t d = 0; d < dim(); ++d) {
      out[d] = 0;
      for (std::size_t t = 0; t < query.n; ++t) out[d] += query.values[t * dim() + d];
    }
  }
};

struct EncodedDocuments {
  explicit EncodedDocuments(const FieldColumn& documents, Executor* executor = nullptr) {
    const Cancel cancel;
    auto encoded = multi::encode_documents(
        documents, SumEncoder(documents.schema.dim),
        {executor, cancel, 0, [this](std::uint64_t n) { told = n; }}, *directory, "vectors");
    EXPECT_TRUE(encoded) << encoded.error().to_string();
    if (encoded) column = *std::move(encoded);
  }
  std::unique_ptr<Directory> directory = make_memory_directory();
  FieldColumn column;
  std::uint64_t told = 0;
};

/// Vectors are those of the encoder times one power of two, rounded to halves.
void expect_scaled_sums(const FieldColumn& documents, const FieldColumn& vectors) {
  const std::uint32_t dim = documents.schema.dim;
  double scale = 0;
  for (std::uint32_t row = 0; row < documents.n_rows; ++row) {
    const MatrixView tokens = documents.multi().row(row);
    for (std::uint32_t d = 0; d < dim; ++d) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t t = 0; t < tokens.n_rows; ++t) {
        sum += stored_value(tokens, t, d);
        magnitude += std::abs(stored_value(tokens, t, d));
      }
      const double got = stored_value(vectors.dense().rows(), row, d);
      if (scale == 0 && std::abs(sum) > magnitude / 4 && got != 0) {
        scale = std::exp2(std::round(std::log2(got / sum)));
      }
      EXPECT_NEAR(got, sum * scale, (magnitude * scale + 1e-4) / 1024) << "row " << row;
    }
  }
  EXPECT_GT(scale, 0);
}

TEST(DocumentVectors, AreThoseOfTheEncoderOnOneScale) {
  SCOPED_TRACE("seed " + std::to_string(kMultiSeed));
  Random random(kMultiSeed);
  for (const float length : {1.0F, 1e-20F, 1e20F}) {
    for (const std::uint32_t dim : {1U, 20U, 33U}) {
      const FieldSchema field = multi_schema(dim, Metric::kDot);
      std::vector<std::optional<PlainVector>> rows;
      for (std::size_t row = 0; row < 150; ++row) {
        if (row % 7 == 3) {
          rows.emplace_back();
          continue;
        }
        rows.emplace_back(random_vector(field, {.max_tokens = 6}, random));
        for (float& value : rows.back()->values) value = (std::abs(value) + 0.1F) * length;
      }
      const auto documents = make_column(field, rows);
      const EncodedDocuments encoded(documents);
      EXPECT_EQ(encoded.column.n_rows, 150U);
      EXPECT_EQ(encoded.column.n_present, documents.n_present);
      EXPECT_EQ(encoded.column.schema.dim, dim);
      EXPECT_EQ(encoded.column.dense().dtype, DType::kF16);
      EXPECT_EQ(encoded.column.dense().rows().n_rows, 150U);
      EXPECT_EQ(encoded.told, 150U);
      expect_scaled_sums(documents, encoded.column);
    }
  }
}

TEST(DocumentVectors, SameBytesForAnyNumberOfThreads) {
  Random random(kMultiSeed);
  const auto documents = Words(24, random).column(multi_schema(24), some_sizes(300, 9, random));
  Executor executor(3, "test");
  const EncodedDocuments alone(documents);
  const EncodedDocuments together(documents, &executor);
  EXPECT_TRUE(*alone.directory->read_file("vectors") == *together.directory->read_file("vectors"));
}

TEST(DocumentVectors, NoRowsAndCancelledBuilds) {
  Random random(kMultiSeed);
  const EncodedDocuments none(make_column(multi_schema(8), {}));
  EXPECT_EQ(none.column.n_rows, 0U);
  const auto documents = Words(8, random).column(multi_schema(8), {3, 2});
  const Cancel cancel;
  cancel.cancel();
  const auto directory = make_memory_directory();
  const auto encoded = multi::encode_documents(
      documents, SumEncoder(8), {nullptr, cancel, 0, nullptr}, *directory, "vectors");
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::testing
