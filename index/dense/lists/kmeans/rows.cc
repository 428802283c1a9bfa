#include "index/dense/lists/kmeans/rows.h"

#include <algorithm>
#include <random>

#include "kernels/kernels.h"

namespace quiver::index::dense {
namespace {

constexpr float kMiddle = 127.5f;
constexpr float kHalf = 128.0f;

/// Writes `in - middle`, clipped to [-limit, limit].
void centre(const float* in, const std::vector<float>& middle, float limit, float* out) {
  for (std::size_t d = 0; d < middle.size(); ++d) {
    const float difference = in[d] - middle[d];
    const float above = difference > -limit ? difference : -limit;
    out[d] = above < limit ? above : limit;
  }
}

/// Median of the means of nine parts of the sample, per dimension: a mean that a few outliers do
/// not move.
std::vector<float> middle_of(const RowReader& rows, std::span<const std::uint32_t> sample,
                             std::uint32_t dim) {
  const std::size_t n_parts = std::min<std::size_t>(9, sample.size());
  std::vector<double> sums(n_parts * dim);
  std::vector<double> counts(n_parts);
  std::vector<float> row(dim);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::size_t part = i % n_parts;
    rows(sample[i], row.data());
    for (std::size_t d = 0; d < dim; ++d) sums[part * dim + d] += row[d];
    ++counts[part];
  }
  std::vector<double> means(n_parts);
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t part = 0; part < n_parts; ++part) {
      means[part] = sums[part * dim + d] / counts[part];
    }
    const auto median = means.begin() + static_cast<std::ptrdiff_t>(n_parts / 2);
    std::nth_element(means.begin(), median, means.end());
    row[d] = static_cast<float>(*median);
  }
  return row;
}

/// Largest distance from the middle, in any dimension, of 99 % of the rows.
float spread_of(const RowReader& rows, std::span<const std::uint32_t> sample,
                const std::vector<float>& middle) {
  constexpr float kFar = 1e37f;
  std::vector<float> row(middle.size());
  std::vector<float> largest;
  for (const std::uint32_t i : sample) {
    rows(i, row.data());
    centre(row.data(), middle, kFar, row.data());
    largest.push_back(kernels().grid.largest(row.data(), row.size()));
  }
  const auto most = largest.begin() + static_cast<std::ptrdiff_t>(largest.size() * 99 / 100);
  std::nth_element(largest.begin(), most, largest.end());
  return *most;
}

}  // namespace

std::vector<std::uint32_t> spread(std::uint32_t n, std::uint32_t n_of, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> chosen(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t first = i * n_of / n;
    chosen[i] = static_cast<std::uint32_t>(first + random() % ((i + 1) * n_of / n - first));
  }
  return chosen;
}

ByteGrid::ByteGrid(const RowReader& rows, std::span<const std::uint32_t> sample, std::uint32_t dim)
    : middle_(middle_of(rows, sample, dim)) {
  constexpr float kMinSpread = 1e-30f;
  limit_ = spread_of(rows, sample, middle_);
  if (limit_ < kMinSpread) limit_ = 0;
  step_ = limit_ / kMiddle;
  scale_ = limit_ > 0 ? kMiddle / limit_ : 0;
}

void ByteGrid::encode(const RowReader& rows, std::uint32_t row, float* buffer,
                      std::uint8_t* codes) const {
  rows(row, buffer);
  centre(buffer, middle_, limit_, buffer);
  kernels().grid.encode(buffer, middle_.size(), scale_, kHalf, codes);
}

void ByteGrid::to_codes(const float* values, float* out) const {
  for (std::size_t d = 0; d < middle_.size(); ++d) out[d] = (values[d] - middle_[d]) * scale_;
}

void ByteGrid::from_codes(const float* codes, float* out) const {
  for (std::size_t d = 0; d < middle_.size(); ++d) out[d] = middle_[d] + step_ * codes[d];
}

Members::Members(std::span<const std::uint32_t> list_of, std::size_t n_lists)
    : offsets(n_lists + 1), rows(list_of.size()) {
  for (const std::uint32_t list : list_of) ++offsets[list + 1];
  for (std::size_t list = 0; list < n_lists; ++list) offsets[list + 1] += offsets[list];
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (std::uint32_t row = 0; row < list_of.size(); ++row) rows[next[list_of[row]]++] = row;
}

void mean_of(const ByteView& rows, std::span<const std::uint32_t> members, float* mean) {
  constexpr std::size_t kBlock = 257;  // 257 * 255 is the most that 16 bits hold
  std::vector<std::uint64_t> sums(rows.dim);
  std::vector<std::uint16_t> block_sums(rows.dim);
  for (std::size_t first = 0; first < members.size(); first += kBlock) {
    std::fill(block_sums.begin(), block_sums.end(), 0);
    for (const std::uint32_t row :
         members.subspan(first, std::min(kBlock, members.size() - first))) {
      const std::uint8_t* codes = rows.at(row);
      std::uint16_t* out = block_sums.data();
      for (std::size_t d = 0; d < rows.dim; ++d) {
        out[d] = static_cast<std::uint16_t>(out[d] + codes[d]);
      }
    }
    for (std::size_t d = 0; d < rows.dim; ++d) sums[d] += block_sums[d];
  }
  for (std::size_t d = 0; d < rows.dim; ++d) {
    mean[d] =
        static_cast<float>(static_cast<double>(sums[d]) / static_cast<double>(members.size())) -
        kMiddle;
  }
}

}  // namespace quiver::index::dense
