// What tests of multi-vector indexes share: clumps of tokens, and the codes of a column.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/io/section_file.h"
#include "index/multi/tokens/token_codes.h"
#include "tests/index/support.h"

namespace quiver::index::testing {

inline constexpr std::uint64_t kMultiSeed = 20260713;
inline constexpr SectionFormat kTestFormat{"test file", "QVTEST01", "QVTESTND"};

[[nodiscard]] inline FieldSchema multi_schema(std::uint32_t dim, Metric metric = Metric::kCosine,
                                              DType dtype = DType::kF32) {
  return {"", FieldKind::kMulti, dim, dtype, metric, SparseModifier::kNone};
}

/// Tokens near one of some words, which share a direction, as those of language models do.
class Words {
 public:
  Words(std::uint32_t dim, Random& random, std::size_t n_words = 200)
      : dim_(dim), random_(random), words_(n_words * dim) {
    std::vector<float> common(dim);
    for (float& value : common) value = normal_(random_);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] = normal_(random_) + 0.5F * common[i % dim];
    }
  }

  [[nodiscard]] PlainVector tokens(std::size_t n) {
    PlainVector all;
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t word = random_() % (words_.size() / dim_);
      for (std::size_t d = 0; d < dim_; ++d) {
        all.values.push_back(words_[word * dim_ + d] + 0.5F * normal_(random_));
      }
      scale_to_unit(all.values.data() + t * dim_, dim_);
    }
    return all;
  }
  /// Documents of the given numbers of tokens; 0 is an absent one.
  [[nodiscard]] FieldColumn column(const FieldSchema& schema,
                                   const std::vector<std::size_t>& sizes) {
    std::vector<std::optional<PlainVector>> vectors;
    for (const std::size_t n : sizes) {
      if (n == 0) {
        vectors.emplace_back();
        continue;
      }
      PlainVector vector = tokens(n);
      if (schema.dtype == DType::kU8) {
        for (float& value : vector.values) value = std::round(128 + 100 * value);
      }
      vectors.emplace_back(std::move(vector));
    }
    return make_column(schema, vectors);
  }

 private:
  std::uint32_t dim_;
  Random& random_;
  std::normal_distribution<float> normal_;
  std::vector<float> words_;
};

[[nodiscard]] inline std::vector<std::size_t> some_sizes(std::size_t n, std::size_t most,
                                                         Random& random) {
  std::vector<std::size_t> sizes(n);
  for (std::size_t& size : sizes) size = 1 + random() % most;
  return sizes;
}

[[nodiscard]] inline std::vector<std::uint32_t> all_rows(std::uint32_t n) {
  std::vector<std::uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

/// Codes in a file in memory.
struct CodesFile {
  explicit CodesFile(const FieldColumn& rows, std::uint32_t bits, Executor* executor = nullptr,
                     std::uint64_t seed = kMultiSeed)
      : column(rows) {
    const Cancel cancel;
    SectionWriter writer(kTestFormat, *directory->create_file("tokens"));
    const auto written =
        multi::TokenCodes::write(column, bits, {executor, cancel, seed, nullptr}, writer);
    EXPECT_TRUE(written) << written.error().to_string();
    EXPECT_TRUE(writer.finish(column.n_rows));
  }
  [[nodiscard]] Result<SectionReader> read() const {
    return SectionReader::open(kTestFormat, *directory, "tokens");
  }
  [[nodiscard]] multi::TokenCodes open() const {
    auto reader = read();
    EXPECT_TRUE(reader) << reader.error().to_string();
    auto codes = multi::TokenCodes::open(*reader, column);
    EXPECT_TRUE(codes) << codes.error().to_string();
    return *std::move(codes);
  }
  [[nodiscard]] std::vector<std::byte> bytes() const { return *directory->read_file("tokens"); }

  FieldColumn column;
  std::unique_ptr<Directory> directory = make_memory_directory();
};

/// NaN for rows without a vector.
[[nodiscard]] inline std::vector<float> exact_scores(const FieldColumn& column,
                                                     const PlainVector& tokens) {
  const PreparedQuery query = make_query(column.schema, tokens);
  std::vector<float> scores;
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    scores.push_back(score_row(query, column, row).value_or(std::nanf("")));
  }
  return scores;
}

[[nodiscard]] inline std::vector<float> scores_of(const multi::TokenCodes& codes,
                                                  const PlainVector& tokens, float carving = 1) {
  multi::TokenQuery query;
  query.set(codes.codec(), tokens.values, carving);
  const auto rows = all_rows(static_cast<std::uint32_t>(codes.n_rows()));
  std::vector<float> scores(rows.size());
  const Cancel cancel;
  EXPECT_TRUE(codes.score(query, rows, cancel, scores.data()));
  return scores;
}

}  // namespace quiver::index::testing
