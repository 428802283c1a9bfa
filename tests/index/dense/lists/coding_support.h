// What tests of byte_rows, code_scan, code_writers share.
#pragma once

#include <gtest/gtest.h>

#include "base/io/section_file.h"
#include "encoders/codes/rabitq.h"
#include "encoders/transforms/rotation.h"
#include "index/dense/lists/byte_rows.h"
#include "index/dense/lists/code_writers.h"
#include "index/dense/lists/search/code_scan.h"
#include "tests/index/dense/dense_support.h"

namespace quiver::index::dense {

using testing::Random;

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

inline std::vector<float> normal_vector(std::uint32_t dim, float scale, Random& random) {
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> vector(dim);
  for (float& value : vector) value = normal(random);
  return vector;
}

inline double score_of(Similarity similarity, std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const double difference = double{a[d]} - b[d];
    sum += similarity == Similarity::kDot ? double{a[d]} * b[d] : -difference * difference;
  }
  return sum;
}

inline double length_between(std::span<const float> a, std::span<const float> b) {
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

}  // namespace quiver::index::dense
