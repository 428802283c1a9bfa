#include "index/sparse/lists/range_builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/views.h"

namespace quiver::index::sparse {
namespace {

constexpr std::size_t kBins = 4096;
constexpr std::size_t kSampledEntries = 1 << 20;
constexpr int kLloydRounds = 40;

float share_of(float value, float max) { return max > 0 ? std::abs(value) / max : 0.0F; }

using Histogram = std::array<double, kBins>;

Histogram histogram_of(const SparseColumn& column, std::uint32_t first, std::uint32_t n,
                       const TermMap& terms, const std::vector<float>& maxima) {
  Histogram bins{};
  const std::size_t begin = column.offsets[first];
  const std::size_t end = column.offsets[first + n];
  const std::size_t step = std::max<std::size_t>(1, length_between(begin, end) / kSampledEntries);
  for (std::size_t i = begin; i < end; i += step) {
    const float value = column.values[i];
    const float share =
        share_of(value, maxima[terms.at(TermMap::key_of(column.indices[i], value))]);
    bins[std::min(kBins - 1, static_cast<std::size_t>(share * kBins))] += 1;
  }
  return bins;
}

double middle_of(std::size_t bin) { return (static_cast<double>(bin) + 0.5) / kBins; }

/// One Lloyd round: moves each mean to the centroid of the bins nearest to it. Means without bins
/// stay.
void improve(const Histogram& bins, std::array<double, kLevels>& means) {
  std::array<double, kLevels> weight{}, sum{};
  std::size_t level = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double at = middle_of(bin);
    while (level + 1 < kLevels && at > (means[level] + means[level + 1]) / 2) ++level;
    weight[level] += bins[bin];
    sum[level] += bins[bin] * at;
  }
  for (std::size_t l = 0; l < kLevels; ++l) {
    if (weight[l] > 0) means[l] = sum[l] / weight[l];
  }
}

}  // namespace

std::vector<float> largest_values(const SparseColumn& column, std::uint32_t first, std::uint32_t n,
                                  const TermMap& terms) {
  std::vector<float> maxima(terms.size());
  for (std::size_t i = column.offsets[first]; i < column.offsets[first + n]; ++i) {
    const float value = column.values[i];
    float& max = maxima[terms.at(TermMap::key_of(column.indices[i], value))];
    max = std::max(max, std::abs(value));
  }
  return maxima;
}

LevelTable fit_levels(const SparseColumn& column, std::uint32_t first, std::uint32_t n,
                      const TermMap& terms, const std::vector<float>& maxima) {
  const Histogram bins = histogram_of(column, first, n, terms, maxima);
  std::array<double, kLevels> means{};
  for (std::size_t l = 0; l < kLevels; ++l) {
    means[l] = (static_cast<double>(l) + 0.5) / static_cast<double>(kLevels);
  }
  for (int round = 0; round < kLloydRounds; ++round) improve(bins, means);
  LevelTable levels;
  for (std::size_t l = 0; l < kLevels; ++l) {
    levels.mean[l] = static_cast<float>(means[l]);
    levels.upper[l] = l + 1 < kLevels ? static_cast<float>((means[l] + means[l + 1]) / 2) : 1.0F;
  }
  return levels;
}

/// Term and level of each entry, in order, as term * kLevels + (kLevels - 1 - level): the order of
/// runs and of postings within them.
std::vector<std::uint64_t> RangeBuilder::slots_of(std::uint32_t first, std::uint32_t n) const {
  std::vector<std::uint64_t> slots;
  slots.reserve(length_between(column_.offsets[first], column_.offsets[first + n]));
  for (std::size_t i = column_.offsets[first]; i < column_.offsets[first + n]; ++i) {
    const float value = column_.values[i];
    const std::uint32_t term = terms_.at(TermMap::key_of(column_.indices[i], value));
    const std::size_t level = levels_.level_of(share_of(value, maxima_[term]));
    slots.push_back(std::uint64_t{term} * kLevels + (kLevels - 1 - level));
  }
  return slots;
}

RangeRuns RangeBuilder::build(std::uint32_t first, std::uint32_t n) const {
  const auto slots = slots_of(first, n);
  std::vector<std::uint32_t> next(std::size_t{terms_.size()} * kLevels);  // sizes, later positions
  for (const std::uint64_t slot : slots) ++next[slot];
  RangeRuns range;
  range.places.assign(terms_.size(), RangeRuns::kNone);
  std::size_t position = 0;
  for (std::size_t term = 0; term < terms_.size(); ++term) {
    std::uint32_t* sizes = next.data() + term * kLevels;
    const auto n_rows = std::accumulate(sizes, sizes + kLevels, std::size_t{0});
    if (n_rows == 0) continue;
    range.places[term] = static_cast<std::uint32_t>(position / kLevels);
    range.runs.resize(position + kLevels + (n_rows + kLevels - 1) / kLevels * kLevels);
    std::uint16_t* n_from = range.runs.data() + position;
    std::size_t n_so_far = 0;
    for (std::size_t i = 0; i < kLevels; ++i) {
      const std::size_t size = sizes[i];
      sizes[i] = static_cast<std::uint32_t>(position + kLevels + n_so_far);
      n_so_far += size;
      n_from[kLevels - 1 - i] = static_cast<std::uint16_t>(n_so_far);
    }
    position = range.runs.size();
  }
  std::size_t entry = 0;
  for (std::uint32_t row = 0; row < n; ++row) {
    const std::size_t n_entries =
        length_between(column_.offsets[first + row], column_.offsets[first + row + 1]);
    // Fewer slots than entries: the rows' file was damaged meanwhile.
    for (std::size_t i = 0; i < n_entries && entry < slots.size(); ++i) {
      range.runs[next[slots[entry++]]++] = static_cast<std::uint16_t>(row);
    }
  }
  return range;
}

}  // namespace quiver::index::sparse
