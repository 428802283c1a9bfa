#include "index/sparse/lists/scan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "base/prefetch.h"
#include "base/views.h"
#include "kernels/kernels.h"

namespace quiver::index::sparse {
namespace {

constexpr double kLargestSum = 65535;
constexpr std::size_t kRowsPerWord = 64;
/// Of 16 bits.
constexpr std::size_t kRowNumbers = 65'536;

/// Memory of one thread's scans, reused.
struct SumScratch {
  /// Those from kRangeRows on take what rows of a damaged file add, and are never read.
  alignas(64) std::array<std::uint16_t, kRowNumbers> sums;
  std::array<std::uint16_t, kRangeRows> positions;
};

SumScratch& scratch() {
  thread_local const auto instance = std::make_unique<SumScratch>();
  return *instance;
}

/// Levels are short, so a branch for their last rows would be mispredicted half of the time.
/// Instead three more rows are always read (`ImpactRun`); rows beyond the level get 0 added.
void add_rows(std::uint16_t* sums, const std::uint16_t* rows, std::size_t n, std::uint16_t add) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    sums[rows[i]] = static_cast<std::uint16_t>(sums[rows[i]] + add);
    sums[rows[i + 1]] = static_cast<std::uint16_t>(sums[rows[i + 1]] + add);
    sums[rows[i + 2]] = static_cast<std::uint16_t>(sums[rows[i + 2]] + add);
    sums[rows[i + 3]] = static_cast<std::uint16_t>(sums[rows[i + 3]] + add);
  }
  const std::size_t left = n - i;
  for (std::size_t j = 0; j < ImpactRun::kReadBehind; ++j) {
    const std::uint16_t row = rows[i + j] % kRangeRows;
    const auto mask = static_cast<std::uint16_t>(-static_cast<int>(j < left));
    sums[row] = static_cast<std::uint16_t>(sums[row] + (add & mask));
  }
}

/// Prefetches the rows of a run, some at a time.
template <Nearness nearness>
class Fetching {
 public:
  Fetching(const ImpactRun& run, std::size_t n) : next_(run.rows()), end_(run.rows() + n) {}
  /// Prefetches about `n` more rows.
  void fetch(std::size_t n) {
    const auto n_left = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, end_ - next_));
    for (const auto* until = next_ + std::min(n, n_left); next_ < until; next_ += kRowsPerLine) {
      prefetch_line<nearness>(next_);
    }
  }
  void fetch_rest() { fetch(std::numeric_limits<std::size_t>::max()); }

 private:
  static constexpr std::ptrdiff_t kRowsPerLine = 32;
  const std::uint16_t* next_;
  const std::uint16_t* end_;
};

/// Prefetch of the next run.
using Ahead = Fetching<Nearness::kL2>;

/// Returns the postings read.
std::size_t add_run(std::uint16_t* sums, const CheckedRun& run, const ScanPlan::Term& term,
                    Ahead ahead) {
  const std::uint16_t* rows = run.rows;
  std::size_t first = 0;
  for (std::size_t l = kLevels; l-- > term.first_level;) {
    const std::size_t end = std::max<std::size_t>(first, run.n_from[l]);
    ahead.fetch(end - first);
    add_rows(sums, rows + first, end - first, term.adds[l]);
    first = end;
  }
  ahead.fetch_rest();
  return first;
}

/// The rows with the best sums so far; ties go to the first. Rows arrive in ascending order.
class BestSums {
 public:
  explicit BestSums(std::size_t n) : n_(n) {}
  [[nodiscard]] bool is_full() const { return rows_.size() >= n_; }
  /// Sums below this cannot be among the best.
  [[nodiscard]] std::uint32_t bar() const { return bar_; }
  void raise_bar(std::uint32_t bar) { bar_ = std::max(bar_, bar); }
  void add(std::uint32_t row, std::uint16_t sum) {
    rows_.push_back(row);
    sums_.push_back(sum);
  }
  /// Drops all but the best, if there are many.
  void tidy() {
    if (rows_.size() >= 2 * n_) keep_best();
  }
  void take(std::vector<ScoredRow>& out) {
    keep_best();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      out.push_back({static_cast<float>(sums_[i]), rows_[i]});
    }
  }

 private:
  void keep_best() {
    if (rows_.size() <= n_) return;
    const std::uint32_t least = nth_sum();
    std::size_t n_equal = n_ - count_at_least(least + 1);
    std::size_t n_kept = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::uint16_t sum = sums_[i];
      const bool is_kept = sum > least || (sum == least && n_equal > 0);
      n_equal -= is_kept && sum == least ? 1 : 0;
      rows_[n_kept] = rows_[i];
      sums_[n_kept] = sum;
      n_kept += is_kept ? 1 : 0;
    }
    rows_.resize(n_kept);
    sums_.resize(n_kept);
    raise_bar(least + 1);  // later rows lose ties
  }
  /// The largest number that at least `n_` sums reach.
  [[nodiscard]] std::uint32_t nth_sum() const {
    std::uint32_t low = 0;
    for (std::uint32_t bit = 0x8000; bit != 0; bit /= 2) {
      if (count_at_least(low + bit) >= n_) low += bit;
    }
    return low;
  }
  [[nodiscard]] std::size_t count_at_least(std::uint32_t bar) const {
    std::uint32_t n = 0;
    for (const std::uint16_t sum : sums_) n += sum >= bar ? 1 : 0;
    return n;
  }

  std::size_t n_;
  std::uint32_t bar_ = 1;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint16_t> sums_;
};

/// The sums of one range.
class RangeSums {
 public:
  RangeSums(const ImpactLists& lists, const ScanPlan& plan, const RowFilter& filter,
            std::uint32_t first_row)
      : lists_(lists), plan_(plan), filter_(filter), first_row_(first_row) {}

  /// Returns the postings read.
  std::size_t compute(std::uint32_t range) {
    range_ = range;
    n_ = lists_.rows_in(range);
    n_padded_ = (n_ + kRowsPerWord - 1) / kRowsPerWord * kRowsPerWord;
    std::memset(scratch_.sums.data(), 0, n_padded_ * sizeof(std::uint16_t));
    std::size_t n_postings = 0;
    if (range == 0) prefetch_start();
    prefetch_heads(range + 2);
    for (const auto& term : plan_.terms()) {
      n_postings +=
          add_run(scratch_.sums.data(), lists_.checked_run(term.term, range), term, ahead(term));
    }
    return n_postings;
  }

  [[nodiscard]] std::size_t count_at_least(std::uint32_t bar) const {
    if (bar > 0xFFFF) return 0;
    return kernels().sums.count_at_least(scratch_.sums.data(), n_padded_,
                                         static_cast<std::uint16_t>(bar), allowed());
  }
  /// The highest sum that `n` rows reach, within 1/1024; `least` if fewer reach that.
  [[nodiscard]] std::uint32_t reached_by(std::size_t n, std::uint32_t least) const {
    std::uint32_t low = least;
    std::uint32_t high = 0x10000;
    while (high - low > 64) {
      const std::uint32_t middle = (low + high) / 2;
      (count_at_least(middle) >= n ? low : high) = middle;
    }
    return low;
  }
  /// `visit(row, sum)` for allowed rows with sums in `[from, below)`.
  template <class Visit>
  void for_each_in(std::uint32_t from, std::uint32_t below, Visit visit) const {
    if (from > 0xFFFF) return;
    const std::size_t n =
        kernels().sums.at_least(scratch_.sums.data(), n_padded_, static_cast<std::uint16_t>(from),
                                allowed(), scratch_.positions.data());
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint16_t position = scratch_.positions[i];
      const std::uint16_t sum = scratch_.sums[position];
      if (sum < below && position < n_) {
        visit(first_row_ + range_ * kRangeRows + position, sum);
      }
    }
  }

 private:
  /// Prefetches the lengths of a range's runs.
  void prefetch_heads(std::uint32_t range) const {
    if (range >= lists_.n_ranges()) return;
    for (const auto& term : plan_.terms()) prefetch_line(lists_.run(term.term, range).n_from);
  }
  /// Prefetches all of the first range: no earlier range did.
  void prefetch_start() const {
    prefetch_heads(0);
    prefetch_heads(1);
    for (const auto& term : plan_.terms()) {
      const ImpactRun run = lists_.run(term.term, 0);
      Fetching<Nearness::kL1>(run, run.n_from[term.first_level]).fetch_rest();
    }
  }
  [[nodiscard]] Ahead ahead(const ScanPlan::Term& term) const {
    if (range_ + 1 == lists_.n_ranges()) return {lists_.run(term.term, range_), 0};
    const ImpactRun run = lists_.run(term.term, range_ + 1);
    return {run, run.n_from[term.first_level]};
  }
  [[nodiscard]] const std::uint64_t* allowed() const {
    const std::uint32_t first = first_row_ + range_ * kRangeRows;
    const auto* words = filter_.words();
    return words == nullptr ? nullptr : words + first / kRowsPerWord;
  }

  const ImpactLists& lists_;
  const ScanPlan& plan_;
  const RowFilter& filter_;
  std::uint32_t first_row_;
  std::uint32_t range_ = 0;
  std::size_t n_ = 0;
  std::size_t n_padded_ = 0;
  SumScratch& scratch_ = scratch();
};

void count_postings(std::size_t n, WorkCounters& work) {
  ++work.n_blocks;
  work.n_codes_scored += n;
  work.n_bytes += n * sizeof(std::uint16_t);
}

}  // namespace

void keep_best(std::vector<ScoredRow>& candidates, std::size_t n) {
  if (candidates.size() <= n) return;
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(n),
                   candidates.end());
  candidates.resize(n);
}

ScanPlan::ScanPlan(const ImpactLists& lists, std::span<const QueryTerm> terms, Value value)
    : lists_(lists) {
  double largest = 0;
  for (const auto& term : terms) {
    if (!(term.weight > 0)) continue;
    terms_.push_back({term.term, 0, {}});
    largest += static_cast<double>(term.weight) * lists.max_of(term.term);
  }
  has_other_terms_ = terms_.size() != terms.size();
  // Rounding up adds less than 1 per term.
  const double room = kLargestSum - static_cast<double>(terms_.size()) - 1;
  units_ = largest > 0 ? room / largest : 0;
  const auto& shares = value == Value::kMean ? lists.levels().mean : lists.levels().upper;
  std::size_t i = 0;
  for (const auto& term : terms) {
    if (!(term.weight > 0)) continue;
    const double top = static_cast<double>(term.weight) * lists.max_of(term.term) * units_;
    for (std::size_t l = 0; l < kLevels; ++l) {
      const double add = std::max(1.0, std::min(kLargestSum, std::ceil(top * shares[l])));
      terms_[i].adds[l] = static_cast<std::uint16_t>(add);
    }
    n_all_ += lists.totals_of(term.term)[0];
    ++i;
  }
}

std::uint64_t ScanPlan::n_postings_above(std::uint32_t least_add) const {
  std::uint64_t n = 0;
  for (const auto& term : terms_) {
    std::size_t first = 0;
    for (std::size_t l = 0; l < kLevels; ++l) first += term.adds[l] < least_add ? 1 : 0;
    if (first < kLevels) n += lists_.totals_of(term.term)[first];
  }
  return n;
}

void ScanPlan::truncate(std::uint64_t n_postings) {
  if (n_postings >= n_all_) return;
  std::uint32_t low = 0;
  std::uint32_t high = 0x10000;
  while (high - low > 16) {
    const std::uint32_t middle = (low + high) / 2;
    (n_postings_above(middle) > n_postings ? low : high) = middle;
  }
  const std::uint32_t least_add = n_postings_above(high) > 0 ? high : low;
  for (auto& term : terms_) {
    const auto first = std::count_if(term.adds.begin(), term.adds.end(),
                                     [&](std::uint16_t add) { return add < least_add; });
    term.first_level = static_cast<std::uint32_t>(first);
  }
  std::erase_if(terms_, [](const Term& term) { return term.first_level == kLevels; });
}

std::uint64_t ScanPlan::n_postings() const {
  std::uint64_t n = 0;
  for (const auto& term : terms_) n += lists_.totals_of(term.term)[term.first_level];
  return n;
}

std::uint16_t ScanPlan::bound_of(float score) const {
  // Scores are sums in f32, whose rounding is far below these units.
  const double slack = 8 + static_cast<double>(terms_.size()) / 4;
  if (!(static_cast<double>(score) * units_ > slack)) return 0;
  const double bound = std::floor(static_cast<double>(score) * units_ - slack);
  return static_cast<std::uint16_t>(std::min(bound, kLargestSum));
}

Result<> best_sums(const ImpactLists& lists, const ScanPlan& plan, const RowFilter& filter,
                   std::uint32_t first_row, std::size_t n_wanted, const Cancel& cancel,
                   std::vector<ScoredRow>& out, WorkCounters& work) {
  RangeSums sums(lists, plan, filter, first_row);
  BestSums best(n_wanted);
  work.n_lists += plan.terms().size();
  for (std::uint32_t range = 0; range < lists.n_ranges(); ++range) {
    if (cancel.poll()) return cancel.check();
    count_postings(sums.compute(range), work);
    if (!best.is_full()) best.raise_bar(sums.reached_by(n_wanted, best.bar()));
    sums.for_each_in(best.bar(), 0x10000,
                     [&](std::uint32_t row, std::uint16_t sum) { best.add(row, sum); });
    best.tidy();
  }
  best.take(out);
  return {};
}

void score_exactly(const PreparedQuery& query, const SparseColumn& column,
                   std::span<const std::uint32_t> rows, TopK& out, WorkCounters& work) {
  constexpr std::size_t kAtOnce = 256;
  const CsrRows all{column.offsets.data(), column.indices.data(), column.values.data()};
  const SparseQuery prepared = query.sparse();
  std::array<float, kAtOnce> scores;
  for (std::size_t first = 0; first < rows.size(); first += kAtOnce) {
    const auto some = rows.subspan(first, std::min(kAtOnce, rows.size() - first));
    kernels().sparse.gather(prepared, all, some.data(), some.size(), scores.data());
    for (std::size_t i = 0; i < some.size(); ++i) {
      out.offer(scores[i], some[i]);
      work.n_bytes += length_between(column.offsets[some[i]], column.offsets[some[i] + 1]) * 8;
    }
  }
  work.n_rows_scored += rows.size();
}

Result<> scan_exactly(const ImpactLists& lists, const ScanPlan& plan, const PreparedQuery& query,
                      const SparseColumn& column, const RowFilter& filter, std::uint32_t first_row,
                      const Cancel& cancel, TopK& out, WorkCounters& work) {
  RangeSums sums(lists, plan, filter, first_row);
  const std::uint32_t least = plan.has_other_terms() ? 0 : 1;
  std::vector<std::uint32_t> rows;
  const auto score_between = [&](std::uint32_t from, std::uint32_t below) {
    rows.clear();
    sums.for_each_in(from, below, [&](std::uint32_t row, std::uint16_t) { rows.push_back(row); });
    score_exactly(query, column, rows, out, work);
  };
  work.n_lists += plan.terms().size();
  for (std::uint32_t range = 0; range < lists.n_ranges(); ++range) {
    if (cancel.poll()) return cancel.check();
    count_postings(sums.compute(range), work);
    // The best sums first: their scores raise the threshold for the others.
    std::uint32_t below = 0x10000;
    if (out.size() < out.k()) {
      below = sums.reached_by(2 * out.k(), least);
      score_between(below, 0x10000);
    }
    const std::uint32_t from = std::max<std::uint32_t>(least, plan.bound_of(out.threshold()));
    if (from < below) score_between(from, below);
  }
  return {};
}

}  // namespace quiver::index::sparse
