// Scores of encoders, and exact ones to compare with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "encoders/encoder.h"
#include "tests/encoders/support.h"

namespace quiver::testing {

using encoders::Encoder;

inline std::vector<float> unit_rows(std::size_t n, std::uint32_t dim, std::mt19937& random) {
  std::vector<float> rows;
  for (std::size_t i = 0; i < n; ++i) {
    auto row = normal_vector(dim, random);
    const double length = norm(row);
    for (float value : row) rows.push_back(static_cast<float>(value / length));
  }
  return rows;
}

inline std::vector<std::byte> encode_all(const Encoder& encoder, const std::vector<float>& rows) {
  const std::size_t n = rows.size() / encoder.dim();
  const std::size_t n_blocks = (n + encoder.block_rows() - 1) / encoder.block_rows();
  std::vector<std::byte> blocks(n_blocks * encoder.block_bytes(), std::byte{0xff});
  for (std::size_t b = 0; b < n_blocks; ++b) {
    const std::size_t first = b * encoder.block_rows();
    encoder.encode(rows.data() + first * encoder.dim(), std::min(encoder.block_rows(), n - first),
                   blocks.data() + b * encoder.block_bytes());
  }
  return blocks;
}

/// Blocks on cache lines.
class AlignedBlocks {
 public:
  explicit AlignedBlocks(const std::vector<std::byte>& bytes) : lines_(bytes.size() / 64 + 1) {
    std::copy(bytes.begin(), bytes.end(), lines_.front().bytes);
  }
  const std::byte* data() const { return lines_.front().bytes; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

inline std::vector<float> scores_of(const Encoder& encoder, const std::vector<float>& rows,
                                    const float* query) {
  const std::vector<std::byte> bytes = encode_all(encoder, rows);
  const AlignedBlocks blocks(bytes);
  const std::size_t n_blocks = bytes.size() / encoder.block_bytes();
  std::vector<float> scores(n_blocks * encoder.block_rows());
  encoder.scorer(query)->score(blocks.data(), n_blocks, scores.data());
  for (float score : scores) EXPECT_TRUE(std::isfinite(score));
  scores.resize(rows.size() / encoder.dim());
  return scores;
}

inline double exact(Similarity similarity, const float* a, const float* b, std::uint32_t dim) {
  double sum = 0;
  for (std::uint32_t d = 0; d < dim; ++d) {
    const double difference = double{a[d]} - b[d];
    sum += similarity == Similarity::kDot ? double{a[d]} * b[d] : -difference * difference;
  }
  return sum;
}

/// Root mean square of the errors of scores of all pairs of `queries` and `rows`.
inline double mean_error(const Encoder& encoder, const std::vector<float>& rows,
                         const std::vector<float>& queries) {
  const std::uint32_t dim = encoder.dim();
  const std::size_t n_queries = queries.size() / dim;
  double squares = 0;
  for (std::size_t q = 0; q < n_queries; ++q) {
    const float* query = queries.data() + q * dim;
    const auto scores = scores_of(encoder, rows, query);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double error =
          scores[i] - exact(encoder.similarity(), query, rows.data() + i * dim, dim);
      squares += error * error / static_cast<double>(n_queries * scores.size());
    }
  }
  return std::sqrt(squares);
}

}  // namespace quiver::testing
