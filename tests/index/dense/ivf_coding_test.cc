// Estimates of coded rows against the definition in double precision, and what scans keep of them.
#include "index/dense/lists/code_writers.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/io/section_file.h"
#include "encoders/codes/rabitq.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/search/code_scan.h"
#include "tests/index/dense/ivf_support.h"

namespace quiver::index::dense {
namespace {

using namespace quiver::index::testing;

struct alignas(64) Line {
  std::byte bytes[64];
};

/// A query as scans want it.
struct Tables {
  explicit Tables(std::span<const float> query) : lines(query.size() / 16) {
    std::vector<Line> copy(query.size() / 16);
    std::memcpy(copy.data(), query.data(), query.size_bytes());
    tables = kernels().codes.prepare(reinterpret_cast<const float*>(copy.data()),
                                     static_cast<std::uint32_t>(query.size() / 32),
                                     reinterpret_cast<std::uint8_t*>(lines.data()));
  }
  std::vector<Line> lines;
  CodeTables tables;
};

std::vector<float> normal_vector(std::uint32_t dim, float scale, Random& random) {
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> vector(dim);
  for (float& value : vector) value = normal(random);
  return vector;
}

double score_of(Similarity similarity, std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const double difference = double{a[d]} - b[d];
    sum += similarity == Similarity::kDot ? double{a[d]} * b[d] : -difference * difference;
  }
  return sum;
}

double length_between(std::span<const float> a, std::span<const float> b) {
  return std::sqrt(-score_of(Similarity::kNegL2Squared, a, b));
}

/// Rows around a centre, their codes, and their estimates.
struct CodedRows {
  CodedRows(Similarity s, std::uint32_t d, std::uint32_t bits, std::size_t n, Random& random)
      : similarity(s),
        dim(d),
        n_bits(bits),
        centre(normal_vector(d, 1, random)),
        writer(s, d, bits, n) {
    for (std::size_t i = 0; i < n; ++i) {
      rows.push_back(normal_vector(d, 0.5F, random));
      for (std::uint32_t j = 0; j < d; ++j) rows.back()[j] += centre[j];
      writer.write(i, rows.back(), centre);
    }
  }
  [[nodiscard]] CodeBlocks blocks() const {
    return {writer.bytes().data(), dim / 32, n_bits,
            (rows.size() + CodeBlocks::kRows - 1) / CodeBlocks::kRows};
  }
  [[nodiscard]] float base(std::span<const float> query) const {
    return static_cast<float>(score_of(similarity, query, centre));
  }
  /// Of each row.
  [[nodiscard]] std::vector<float> estimates(std::span<const float> query) const {
    const Tables tables(query);
    ScanScratch scratch;
    CodeScan scan(rows.size(), scratch);
    scan.scan(tables.tables, blocks(), base(query), nullptr, 0);
    const CodeHits& hits = scan.best();
    EXPECT_EQ(hits.n, rows.size());
    std::vector<float> estimates(rows.size(), 0);
    for (std::size_t i = 0; i < hits.n; ++i) estimates[hits.positions[i]] = hits.scores[i];
    return estimates;
  }
  /// One standard deviation of the estimate of row `i`: that of the code, and that of the table's
  /// 8 bits for each four dimensions.
  [[nodiscard]] double deviation(std::size_t i, std::span<const float> query, float step) const {
    std::vector<float> residual(dim);
    std::vector<std::uint8_t> codes(dim);
    for (std::uint32_t d = 0; d < dim; ++d) residual[d] = rows[i][d] - centre[d];
    const auto factors = encoders::rabitq_encode(residual, n_bits, codes.data());
    const double of_code = factors.deviation(dim) * length_between(query, centre);
    const double n_sums = dim / 4 * (std::pow(4.0, n_bits) - 1) / 3;
    const double of_table = factors.scale() * step * std::sqrt(n_sums / 12);
    const double factor = similarity == Similarity::kDot ? 1 : 2;
    return factor * std::sqrt(of_code * of_code + of_table * of_table);
  }

  Similarity similarity;
  std::uint32_t dim;
  std::uint32_t n_bits;
  std::vector<float> centre;
  BlockWriter writer;
  std::vector<std::vector<float>> rows;
};

/// Errors of estimates: their mean and root mean square in deviations, and the share beyond three.
struct Errors {
  double mean = 0;
  double rms = 0;
  double beyond = 0;
  double absolute_rms = 0;
};

Errors errors_of(Similarity similarity, std::uint32_t dim, std::uint32_t bits) {
  constexpr std::size_t kRows = 200;
  constexpr int kQueries = 10;
  Random random(kIvfSeed + bits);
  Errors errors;
  double n = 0;
  for (int q = 0; q < kQueries; ++q) {  // a new centre each, as errors of one have one sign
    const CodedRows coded(similarity, dim, bits, kRows, random);
    const auto query = normal_vector(dim, 1.2F, random);
    const float step = Tables(query).tables.step;
    const auto estimates = coded.estimates(query);
    for (std::size_t i = 0; i < kRows; ++i, ++n) {
      const double error = estimates[i] - score_of(similarity, query, coded.rows[i]);
      const double scaled = error / coded.deviation(i, query, step);
      errors.mean += scaled;
      errors.rms += scaled * scaled;
      errors.absolute_rms += error * error;
      errors.beyond += std::abs(scaled) > 3 ? 1 : 0;
    }
  }
  return {errors.mean / n, std::sqrt(errors.rms / n), errors.beyond / n,
          std::sqrt(errors.absolute_rms / n)};
}

TEST(IvfCoding, EstimatesErrAsTheirCodesMust) {
  for (const auto similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
    for (const std::uint32_t dim : {64U, 384U}) {
      double before = 1e30;
      for (const std::uint32_t bits : {1U, 2U, 3U, 4U, 6U, 8U}) {
        SCOPED_TRACE(std::to_string(bits) + " bits, dim " + std::to_string(dim) + ", seed " +
                     std::to_string(kIvfSeed + bits));
        const Errors errors = errors_of(similarity, dim, bits);
        EXPECT_LT(std::abs(errors.mean), 0.15) << "biased";
        EXPECT_LT(errors.rms, 1.15);
        EXPECT_GT(errors.rms, 0.5) << "the bound says nothing";
        EXPECT_LE(errors.beyond, 0.01);
        EXPECT_LT(errors.absolute_rms, before) << "more bits must err less";
        before = errors.absolute_rms;
      }
    }
  }
}

TEST(IvfCoding, ARowAtTheCentreIsEstimatedExactly) {
  Random random(kIvfSeed);
  for (const auto similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
    CodedRows coded(similarity, 64, 1, 20, random);
    coded.writer.write(7, coded.centre, coded.centre);
    const auto query = normal_vector(64, 1, random);
    EXPECT_EQ(coded.estimates(query)[7], coded.base(query));
  }
}

TEST(IvfCoding, RowsThatWereNotWrittenAreNotFound) {
  Random random(kIvfSeed);
  for (const std::uint32_t bits : {1U, 4U}) {
    constexpr std::size_t kRows = 37;  // and eleven that fill up the last block
    BlockWriter writer(Similarity::kDot, 64, bits, kRows);
    const auto centre = normal_vector(64, 1, random);
    std::vector<std::uint32_t> written;
    for (std::uint32_t i = 0; i < kRows; i += 1 + i % 3) {
      writer.write(i, normal_vector(64, 1, random), centre);
      written.push_back(i);
    }
    const Tables tables(normal_vector(64, 1, random));
    ScanScratch scratch;
    CodeScan scan(100, scratch);
    scan.scan(tables.tables, {writer.bytes().data(), 2, bits, 3}, 5, nullptr, 0);
    const CodeHits& hits = scan.best();
    EXPECT_EQ(std::vector<std::uint32_t>(hits.positions, hits.positions + hits.n), written);
  }
}

TEST(IvfCoding, RowsThatFloatsCannotEstimateAreAlwaysFound) {
  Random random(kIvfSeed);
  for (const auto similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
    CodedRows coded(similarity, 64, 1, 200, random);
    coded.writer.write(123, std::vector<float>(64, 3e37F), coded.centre);
    const auto query = normal_vector(64, 1, random);
    const Tables tables(query);
    ScanScratch scratch;
    CodeScan scan(5, scratch);
    scan.scan(tables.tables, coded.blocks(), coded.base(query), nullptr, 0);
    const CodeHits& hits = scan.best();
    EXPECT_EQ(std::count(hits.positions, hits.positions + hits.n, 123U), 1);
  }
}

TEST(IvfCoding, AScanKeepsTheBest) {
  Random random(kIvfSeed);
  const CodedRows coded(Similarity::kDot, 64, 1, 3000, random);
  for (int q = 0; q < 5; ++q) {
    const auto query = normal_vector(64, 1, random);
    const Tables tables(query);
    auto sorted = coded.estimates(query);
    const auto estimates = sorted;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const std::size_t want : {1U, 10U, 100U, 1000U}) {
      ScanScratch scratch;
      CodeScan scan(want, scratch);
      CodeBlocks first = coded.blocks();  // in two calls, as two lists are
      first.n = 100;
      CodeBlocks rest = coded.blocks();
      rest.first += first.n * first.block_bytes();
      rest.n -= first.n;
      scan.scan(tables.tables, first, coded.base(query), nullptr, 0);
      scan.scan(tables.tables, rest, coded.base(query), nullptr, 100 * CodeBlocks::kRows);
      EXPECT_EQ(scan.kth(1), sorted[0]);
      EXPECT_EQ(scan.kth(want), sorted[want - 1]);
      const CodeHits& hits = scan.best();
      EXPECT_EQ(hits.n, want);
      std::vector<float> found(hits.scores, hits.scores + hits.n);
      for (std::size_t i = 0; i < hits.n; ++i) {
        EXPECT_EQ(estimates[hits.positions[i]], hits.scores[i]);
      }
      std::sort(found.begin(), found.end(), std::greater<>());
      for (std::size_t i = 0; i < want; ++i) EXPECT_EQ(found[i], sorted[i]);
    }
  }
}

/// Rows of few different estimates, in blocks of several lists: those whose places come first, in
/// whatever order lists are scanned.
TEST(IvfCoding, WhatIsKeptDoesNotDependOnTheOrderOfLists) {
  Random random(kIvfSeed);
  constexpr std::size_t kLists = 30;
  constexpr std::size_t kBlocks = 12;
  const auto centre = normal_vector(64, 1, random);
  std::vector<std::vector<float>> kinds;
  for (int i = 0; i < 40; ++i) kinds.push_back(normal_vector(64, 1, random));
  BlockWriter writer(Similarity::kDot, 64, 1, kLists * kBlocks * CodeBlocks::kRows);
  for (std::size_t i = 0; i < kLists * kBlocks * CodeBlocks::kRows; ++i) {
    writer.write(i, kinds[random() % kinds.size()], centre);
  }
  const Tables tables(normal_vector(64, 1, random));
  const CodeBlocks all{writer.bytes().data(), 2, 1, kLists * kBlocks};
  std::vector<std::size_t> order(kLists);
  std::iota(order.begin(), order.end(), 0U);
  for (const std::size_t want : {1U, 9U, 200U, 1000U}) {
    std::vector<std::uint32_t> first;
    for (int round = 0; round < 5; ++round) {
      ScanScratch scratch;
      CodeScan scan(want, scratch);
      for (const std::size_t list : order) {
        CodeBlocks blocks = all;
        blocks.first += list * kBlocks * all.block_bytes();
        blocks.n = kBlocks;
        const std::size_t place = list * kBlocks * CodeBlocks::kRows;
        scan.scan(tables.tables, blocks, 0, nullptr, static_cast<std::uint32_t>(place));
      }
      const CodeHits& hits = scan.best();
      std::vector<std::uint32_t> found(hits.positions, hits.positions + hits.n);
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found.size(), want);
      if (round == 0) first = found;
      EXPECT_EQ(found, first);
      std::shuffle(order.begin(), order.end(), random);
    }
  }
}

TEST(IvfCoding, FewerThanWantedAreAllFound) {
  Random random(kIvfSeed);
  const CodedRows coded(Similarity::kDot, 64, 1, 10, random);
  const auto query = normal_vector(64, 1, random);
  const Tables tables(query);
  ScanScratch scratch;
  CodeScan scan(100, scratch);
  EXPECT_EQ(scan.kth(1), -std::numeric_limits<float>::infinity());
  scan.scan(tables.tables, coded.blocks(), coded.base(query), nullptr, 0);
  EXPECT_EQ(scan.kth(11), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(scan.best().n, 10U);
}

TEST(IvfCoding, ManyRowsOfOneEstimateDoNotFillTheRoomForGood) {
  Random random(kIvfSeed);
  const auto centre = normal_vector(64, 1, random);
  const auto row = normal_vector(64, 1, random);
  constexpr std::size_t kRows = 20'000;
  BlockWriter writer(Similarity::kDot, 64, 1, kRows);
  for (std::size_t i = 0; i < kRows; ++i) writer.write(i, row, centre);
  const Tables tables(normal_vector(64, 1, random));
  ScanScratch scratch;
  CodeScan scan(10, scratch);
  scan.scan(tables.tables, {writer.bytes().data(), 2, 1, kRows / 16}, 0, nullptr, 0);
  const CodeHits& hits = scan.best();
  ASSERT_EQ(hits.n, 10U);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(hits.positions[i], i);
}

/// Both ways of a filter: rows that are not allowed are not scored, or dropped afterwards.
TEST(IvfCoding, OnlyAllowedRowsAreFound) {
  Random random(kIvfSeed);
  const CodedRows coded(Similarity::kDot, 64, 1, 1600, random);
  std::vector<std::uint32_t> row_of(1600);  // positions and rows differ
  for (std::uint32_t i = 0; i < 1600; ++i) row_of[i] = (i * 7 + 3) % 1600;
  for (const double share : {0.0, 0.01, 0.5, 0.95, 1.0}) {
    const Bitset allowed = random_rows(1600, share, random);
    const auto query = normal_vector(64, 1, random);
    const Tables tables(query);
    const auto estimates = coded.estimates(query);
    std::vector<float> wanted;
    for (std::uint32_t i = 0; i < 1600; ++i) {
      if (allowed.test(row_of[i])) wanted.push_back(estimates[i]);
    }
    std::sort(wanted.begin(), wanted.end(), std::greater<>());
    wanted.resize(std::min<std::size_t>(wanted.size(), 40));
    std::vector<std::uint16_t> masks(100);
    kernels().codes.allowed(row_of.data(), 100, allowed.words().data(), masks.data());
    for (const bool drops : {false, true}) {
      ScanScratch scratch;
      CodeScan scan(40, scratch);
      if (drops) {
        scan.scan_and_drop(tables.tables, coded.blocks(), coded.base(query), allowed, row_of, 0);
      } else {
        scan.scan(tables.tables, coded.blocks(), coded.base(query), masks.data(), 0);
      }
      const CodeHits& hits = scan.best();
      for (std::size_t i = 0; i < hits.n; ++i) EXPECT_TRUE(allowed.test(row_of[hits.positions[i]]));
      std::vector<float> found(hits.scores, hits.scores + hits.n);
      std::sort(found.begin(), found.end(), std::greater<>());
      ASSERT_GE(found.size(), wanted.size());
      found.resize(wanted.size());
      EXPECT_EQ(found, wanted) << share << (drops ? " dropped" : " not scored");
    }
  }
}

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
  encoders::Rotation rotation;
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
        codes.rotation.apply(query.values().data(), rotated.data());
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
      codes.rotation.apply(query.data(), rotated.data());
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
