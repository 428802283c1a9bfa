// Estimates of coded rows against the definition in double precision, and what scans keep of them.
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

}  // namespace
}  // namespace quiver::index::dense
