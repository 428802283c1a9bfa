#include "index/sparse/blocks/pruning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace quiver::index::sparse {
namespace {

bool stronger(const Posting& a, const Posting& b) {
  return a.value != b.value ? a.value > b.value : a.row < b.row;
}

std::uint32_t magnitude_bits(float value) { return std::bit_cast<std::uint32_t>(std::abs(value)); }

/// The bin that holds the `budget`-th largest value; subtracts the values above it from `budget`.
std::uint32_t take_bins(const std::vector<std::uint64_t>& histogram, std::uint64_t& budget) {
  auto bin = static_cast<std::uint32_t>(histogram.size() - 1);
  while (bin > 0 && histogram[bin] <= budget) budget -= histogram[bin--];
  return bin;
}

/// Decides which values of a column are kept, in column order.
class ThresholdWalk {
 public:
  explicit ThresholdWalk(const ValueThreshold& threshold) : threshold_(threshold) {}
  bool keeps(float magnitude) {
    if (magnitude != threshold_.value) return magnitude > threshold_.value;
    // Bresenham's line: n_kept of n_equal steps go up.
    debt_ += threshold_.n_kept;
    if (debt_ < threshold_.n_equal) return false;
    debt_ -= threshold_.n_equal;
    return true;
  }

 private:
  ValueThreshold threshold_;
  std::uint64_t debt_ = 0;
};

/// Terms of the `n` largest values of each row, `[n_rows, n]`; missing ones are the number of
/// terms.
std::vector<std::uint32_t> covering_terms(const SparseColumn& column, const CodedRows& rows,
                                          std::size_t n) {
  std::vector<std::uint32_t> covered(rows.n_rows() * n, rows.n_terms());
  std::vector<Posting> entries;
  for (std::uint32_t row = 0; row < rows.n_rows(); ++row) {
    const auto values = column.row(row).values;
    const auto terms = rows.row(row).terms;
    entries.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      entries.push_back({std::abs(values[i]), terms[i]});
    }
    const std::size_t n_here = std::min(n, entries.size());
    std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(n_here),
                      entries.end(), stronger);
    for (std::size_t i = 0; i < n_here; ++i) covered[row * n + i] = entries[i].row;
  }
  return covered;
}

class Pruner {
 public:
  Pruner(const SparseColumn& column, const CodedRows& rows, const BlockParams& params)
      : column_(column),
        rows_(rows),
        params_(params),
        n_postings_(params.n_postings != 0 ? params.n_postings : default_postings(rows.n_rows())),
        covered_(covering_terms(column, rows, params.n_covered)) {}

  PostingLists run() {
    PostingLists lists = collect();
    cut(lists);
    return lists;
  }

 private:
  [[nodiscard]] bool is_covering(std::uint32_t row, std::uint32_t term) const {
    const std::size_t n = params_.n_covered;
    const auto first = covered_.begin() + static_cast<std::ptrdiff_t>(row * n);
    const auto last = first + static_cast<std::ptrdiff_t>(n);
    return std::find(first, last, term) != last;
  }
  [[nodiscard]] ValueThreshold threshold() const {
    const std::uint64_t budget = std::uint64_t{n_postings_} * rows_.n_terms();
    if (params_.pruning != "global" || budget >= column_.values.size()) return {-1, 0, 0};
    return threshold_for(column_.values.span(), budget);
  }
  template <class Visit>
  void for_each_kept(const ValueThreshold& threshold, Visit&& visit) const {
    ThresholdWalk walk(threshold);
    for (std::uint32_t row = 0; row < rows_.n_rows(); ++row) {
      const auto values = column_.row(row).values;
      const auto terms = rows_.row(row).terms;
      const std::size_t n = std::min(values.size(), terms.size());
      for (std::size_t i = 0; i < n; ++i) {
        const float magnitude = std::abs(values[i]);
        const bool kept = walk.keeps(magnitude);
        if (kept || is_covering(row, terms[i])) visit(terms[i], Posting{magnitude, row});
      }
    }
  }
  PostingLists collect() const {
    const ValueThreshold limit = threshold();
    PostingLists lists;
    lists.offsets.assign(rows_.n_terms() + 1, 0);
    for_each_kept(limit, [&](std::uint32_t term, Posting) { ++lists.offsets[term + 1]; });
    std::partial_sum(lists.offsets.begin(), lists.offsets.end(), lists.offsets.begin());
    lists.postings.resize(lists.offsets.back());
    auto next = lists.offsets;
    for_each_kept(limit, [&](std::uint32_t term, Posting p) { lists.postings[next[term]++] = p; });
    return lists;
  }
  [[nodiscard]] std::size_t limit_of_list(std::size_t n) const {
    if (params_.pruning == "fixed") return n_postings_;
    if (params_.pruning == "coi") {
      const auto share = static_cast<std::size_t>(static_cast<double>(n) * params_.coi_fraction);
      return std::min<std::size_t>(share + 1, n_postings_);
    }
    return static_cast<std::size_t>(double{params_.max_fraction} * n_postings_);
  }
  /// Sorts and cuts the lists, and closes the gaps.
  void cut(PostingLists& lists) const {
    std::uint64_t out = 0;
    for (std::uint32_t term = 0; term < rows_.n_terms(); ++term) {
      const std::uint64_t begin = lists.offsets[term];
      const std::uint64_t end = lists.offsets[term + 1];
      lists.offsets[term] = out;
      const auto first = lists.postings.begin() + static_cast<std::ptrdiff_t>(begin);
      std::sort(first, lists.postings.begin() + static_cast<std::ptrdiff_t>(end), stronger);
      const std::size_t limit = limit_of_list(end - begin);
      for (std::uint64_t i = begin; i < end; ++i) {
        const Posting posting = lists.postings[i];
        if (i - begin < limit || is_covering(posting.row, term)) lists.postings[out++] = posting;
      }
    }
    lists.offsets.back() = out;
    lists.postings.resize(out);
    lists.postings.shrink_to_fit();
  }

  const SparseColumn& column_;
  const CodedRows& rows_;
  const BlockParams& params_;
  std::uint32_t n_postings_;
  std::vector<std::uint32_t> covered_;
};

}  // namespace

ValueThreshold threshold_for(std::span<const float> values, std::uint64_t budget) {
  std::vector<std::uint64_t> upper(1 << 16, 0);
  for (const float value : values) ++upper[magnitude_bits(value) >> 16];
  const std::uint32_t high = take_bins(upper, budget);
  std::vector<std::uint64_t> lower(1 << 16, 0);
  for (const float value : values) {
    const std::uint32_t bits = magnitude_bits(value);
    if (bits >> 16 == high) ++lower[bits & 0xFFFF];
  }
  const std::uint32_t low = take_bins(lower, budget);
  return {std::bit_cast<float>(high << 16 | low), budget, lower[low]};
}

PostingLists prune(const SparseColumn& column, const CodedRows& rows, const BlockParams& params) {
  return Pruner(column, rows, params).run();
}

}  // namespace quiver::index::sparse
