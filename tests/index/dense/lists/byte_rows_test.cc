#include <gtest/gtest.h>

#include "base/io/section_file.h"
#include "encoders/codes/rabitq.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/search/code_scan.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/lists/coding_support.h"

namespace quiver::index::dense {
namespace {

using namespace quiver::index::testing;

/// Second codes of a column, by way of a file.
struct SecondCodes {
  explicit SecondCodes(const FieldColumn& column, std::uint32_t n_bits = 8)
      : rotation(column.dense().dim, 3), source(column, rotation) {
    constexpr SectionFormat kFormat{"second codes", "QVTEST01", "QVTESTND"};
    const auto directory = make_memory_directory();
    SectionWriter writer(kFormat, *directory->create_file("rows"));
    const Cancel cancel;
    EXPECT_TRUE(
        ByteRows::write(source, column.n_rows, n_bits, {nullptr, cancel, 0, nullptr}, writer));
    EXPECT_TRUE(writer.finish(column.n_rows));
    const auto reader = SectionReader::open(kFormat, *directory, "rows");
    EXPECT_TRUE(reader);
    auto opened = ByteRows::open(*reader, similarity_of(column.schema.metric),
                                 rotation.padded_dim(), n_bits, column.n_rows);
    EXPECT_TRUE(opened);
    rows = *std::move(opened);
  }
  RowTransform rotation;
  RowSource source;
  ByteRows rows;
};

/// `largest` and `typical`: errors that are allowed, in products of lengths.
void expect_small_errors(std::uint32_t n_bits, double largest, double typical) {
  Random random(kIvfSeed);
  for (const Metric metric : {Metric::kDot, Metric::kEuclid, Metric::kCosine}) {
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      const FieldSchema schema = dense_schema(384, metric, dtype);
      SCOPED_TRACE(describe(schema));
      Clumps clumps(schema, 20, random);
      const FieldColumn column = clumps.column(400, 0.9);
      const SecondCodes codes(column, n_bits);
      std::vector<std::uint32_t> rows;
      for (std::uint32_t row = 0; row < column.n_rows; ++row) {
        if (column.present[row] != 0) rows.push_back(row);
      }
      double squares = 0;
      double n = 0;
      for (int q = 0; q < 20; ++q) {
        const PreparedQuery query = clumps.query();
        std::vector<float> rotated(codes.rotation.padded_dim());
        codes.rotation.apply_to_row(query.values().data(), rotated.data());
        ByteQuery bytes;
        bytes.set(rotated);
        std::vector<float> scores(rows.size());
        codes.rows.score(bytes, rows, scores.data());
        const double query_length = kernels().convert.norm(rotated.data(), rotated.size());
        for (std::size_t i = 0; i < rows.size(); ++i, ++n) {
          std::vector<float> row(column.schema.dim);
          for (std::uint32_t d = 0; d < column.schema.dim; ++d) {
            row[d] = static_cast<float>(stored_value(column.dense().rows(), rows[i], d));
          }
          const double exact = score_of(similarity_of(metric), query.values(), row);
          const double factor = metric == Metric::kEuclid ? 2 : 1;
          const double unit =
              factor * query_length * kernels().convert.norm(row.data(), row.size());
          const double error = (scores[i] - exact) / unit;
          EXPECT_LT(std::abs(error), largest) << "row " << rows[i];
          squares += error * error;
        }
      }
      EXPECT_LT(std::sqrt(squares / n), typical);
    }
  }
}

TEST(IvfCoding, SecondCodesErrByAThousandthOfTheLengths) { expect_small_errors(8, 0.005, 0.001); }

TEST(IvfCoding, SecondCodesOfHalfBytesErrByAHundredth) { expect_small_errors(4, 0.06, 0.012); }

/// Against values that are read one by one, in integers: every bit of the query's product.
TEST(IvfCoding, HalfBytesAreReadAsTheyWereWritten) {
  Random random(kIvfSeed);
  for (const std::uint32_t dim : {32U, 64U, 96U, 416U, 1056U}) {
    ByteWriter writer(dim, ByteWriter::kHalfByteBits, 3);
    const auto row = normal_vector(dim, 1, random);
    writer.write(1, row);
    const std::size_t stride = ByteWriter::stride(dim, ByteWriter::kHalfByteBits);
    ASSERT_EQ(writer.codes().size(), 3 * stride);
    float largest = 0;
    for (const float value : row) largest = std::max(largest, std::abs(value));
    for (std::uint32_t d = 0; d < dim; ++d) {
      const std::uint8_t byte = writer.codes()[stride + d / 32 * 16 + d % 16];
      const int code = d % 32 < 16 ? byte & 15 : byte >> 4;
      EXPECT_NEAR(static_cast<float>(code) - 7.5F, row[d] * 7.5F / largest, 0.501F) << d;
    }
    for (std::size_t i = 0; i < stride; ++i) EXPECT_EQ(writer.codes()[i], 0);
  }
}

TEST(IvfCoding, SecondCodesOfZeroAndHugeRowsAreNumbers) {
  for (const Metric metric : {Metric::kDot, Metric::kEuclid}) {
    std::vector<std::optional<PlainVector>> vectors;
    for (const float value : {0.0F, 1.0F, 3e18F, 3e37F, -3e37F, 1e-38F}) {
      vectors.push_back(PlainVector{std::vector<float>(70, value), {}});
    }
    const SecondCodes codes(make_column(dense_schema(70, metric), vectors));
    const std::vector<std::uint32_t> rows = {0, 1, 2, 3, 4, 5};
    for (const float value : {0.0F, 1.0F, 1e19F}) {
      const std::vector<float> query(70, value);
      std::vector<float> rotated(codes.rotation.padded_dim());
      codes.rotation.apply_to_row(query.data(), rotated.data());
      ByteQuery bytes;
      bytes.set(rotated);
      std::vector<float> scores(rows.size());
      codes.rows.score(bytes, rows, scores.data());
      for (const float score : scores) EXPECT_FALSE(std::isnan(score)) << "query " << value;
    }
  }
}

}  // namespace
}  // namespace quiver::index::dense
