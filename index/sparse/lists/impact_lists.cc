#include "index/sparse/lists/impact_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "index/parallel.h"
#include "index/sparse/lists/range_builder.h"
#include "index/sparse/rows/sections.h"

namespace quiver::index::sparse {
namespace {

constexpr std::uint32_t n_ranges_of(std::uint32_t n_rows) {
  return n_rows / kRangeRows + (n_rows % kRangeRows != 0 ? 1 : 0);
}

constexpr std::uint32_t rows_in_range(std::uint32_t n_rows, std::uint32_t range) {
  return std::min(kRangeRows, n_rows - range * kRangeRows);
}

struct ListFacts {
  std::uint32_t n_rows = 0;
  std::uint32_t n_terms = 0;
  std::uint32_t n_ranges = 0;
  std::uint32_t reserved = 0;
  LevelTable levels;
};
static_assert(sizeof(ListFacts) == 16 + 2 * kLevels * sizeof(float));

constexpr std::array<std::uint16_t, kLevels> kEmptyRun{};

/// Collects the runs of ranges in order, after one empty run.
class RunGatherer {
 public:
  RunGatherer(std::uint32_t n_terms, std::uint32_t n_ranges)
      : n_ranges_(n_ranges),
        totals_(std::size_t{n_terms} * kLevels),
        places_(std::size_t{n_terms} * n_ranges) {}

  void add(const RangeRuns& range) {
    for (std::size_t term = 0; term < range.places.size(); ++term) {
      const std::uint32_t place = range.places[term];
      if (place == RangeRuns::kNone) continue;
      places_[term * n_ranges_ + n_added_] = n_units_ + place;
      const std::uint16_t* n_from = range.runs.data() + place * kLevels;
      for (std::size_t l = 0; l < kLevels; ++l) totals_[term * kLevels + l] += n_from[l];
    }
    n_units_ += static_cast<std::uint32_t>(range.runs.size() / kLevels);
    ++n_added_;
  }

  [[nodiscard]] std::vector<std::uint32_t>& totals() { return totals_; }
  [[nodiscard]] std::vector<std::uint32_t>& places() { return places_; }

 private:
  std::uint32_t n_ranges_;
  std::uint32_t n_added_ = 0;
  std::uint32_t n_units_ = 1;
  std::vector<std::uint32_t> totals_;
  std::vector<std::uint32_t> places_;
};

}  // namespace

std::size_t LevelTable::level_of(float share) const {
  std::size_t level = 0;
  for (std::size_t l = 0; l + 1 < kLevels; ++l) level += share > upper[l] ? 1 : 0;
  return level;
}

std::uint32_t ImpactLists::rows_in(std::uint32_t range) const {
  return rows_in_range(n_rows_, range);
}

ImpactLists ImpactLists::of_rows(const SparseColumn& column, std::uint32_t first, std::uint32_t n,
                                 const TermMap& terms) {
  ImpactLists lists;
  lists.n_rows_ = n;
  lists.n_ranges_ = 1;
  auto maxima = largest_values(column, first, n, terms);
  lists.levels_ = fit_levels(column, first, n, terms, maxima);
  const auto range = RangeBuilder(column, terms, maxima, lists.levels_).build(first, n);
  RunGatherer gatherer(terms.size(), 1);
  gatherer.add(range);
  std::vector<std::uint16_t> runs(kEmptyRun.begin(), kEmptyRun.end());
  runs.insert(runs.end(), range.runs.begin(), range.runs.end());
  runs.insert(runs.end(), ImpactRun::kReadBehind, 0);
  lists.maxima_ = SharedSpan<float>::of(std::move(maxima));
  lists.totals_ = SharedSpan<std::uint32_t>::of(std::move(gatherer.totals()));
  lists.places_ = SharedSpan<std::uint32_t>::of(std::move(gatherer.places()));
  lists.runs_ = SharedSpan<std::uint16_t>::of(std::move(runs));
  return lists;
}

Result<> ImpactLists::write(const SparseColumn& column, std::uint32_t n_rows, const TermMap& terms,
                            const BuildContext& context, SectionWriter& out) {
  const std::uint32_t n_ranges = n_ranges_of(n_rows);
  const auto maxima = largest_values(column, 0, n_rows, terms);
  const LevelTable levels = fit_levels(column, 0, n_rows, terms, maxima);
  const RangeBuilder builder(column, terms, maxima, levels);
  RunGatherer gatherer(terms.size(), n_ranges);
  const auto at_once = static_cast<std::uint32_t>(
      context.executor == nullptr ? 1 : context.executor->n_threads() + 1);
  out.begin(kListRuns);
  out.add(std::as_bytes(std::span(kEmptyRun)));
  for (std::uint32_t first = 0; first < n_ranges; first += at_once) {
    QV_TRY(context.cancel.check());
    std::vector<RangeRuns> ranges(std::min(at_once, n_ranges - first));
    for_each(context, ranges.size(), [&](std::size_t i) {
      const std::uint32_t range = first + static_cast<std::uint32_t>(i);
      ranges[i] = builder.build(range * kRangeRows, rows_in_range(n_rows, range));
    });
    for (const auto& range : ranges) {
      gatherer.add(range);
      out.add(std::as_bytes(std::span(range.runs)));
    }
    if (context.progress) {
      context.progress(std::min(n_rows, (first + at_once) * kRangeRows));
    }
  }
  out.end();
  const ListFacts facts{n_rows, terms.size(), n_ranges, 0, levels};
  out.section(kListFacts, std::span(&facts, 1));
  out.section(kListMaxima, std::span<const float>(maxima));
  out.section(kListTotals, std::span<const std::uint32_t>(gatherer.totals()));
  out.section(kListPlaces, std::span<const std::uint32_t>(gatherer.places()));
  return {};
}

Result<ImpactLists> ImpactLists::open(const SectionReader& in, std::uint32_t n_rows,
                                      std::uint32_t n_terms) {
  QV_TRY(const auto facts, in.get<ListFacts>(kListFacts, 0, 1));
  if (facts[0].n_rows != n_rows || facts[0].n_terms != n_terms ||
      facts[0].n_ranges != n_ranges_of(n_rows)) {
    return in.damaged(fmt::format("lists of {} rows and {} terms, expected {} and {}",
                                  facts[0].n_rows, facts[0].n_terms, n_rows, n_terms));
  }
  ImpactLists lists;
  lists.n_rows_ = n_rows;
  lists.n_ranges_ = facts[0].n_ranges;
  lists.levels_ = facts[0].levels;
  QV_TRY(lists.maxima_, in.get<float>(kListMaxima, 0, n_terms));
  QV_TRY(lists.totals_, in.get<std::uint32_t>(kListTotals, 0, std::uint64_t{n_terms} * kLevels));
  QV_TRY(lists.places_,
         in.get<std::uint32_t>(kListPlaces, 0, std::uint64_t{n_terms} * lists.n_ranges_));
  // More sections follow the last run, so reading behind it is safe (`Run::kReadBehind`).
  QV_TRY(lists.runs_, in.get<std::uint16_t>(kListRuns));
  for (std::size_t i = 0; i < lists.places_.size(); ++i) {
    const std::size_t first = std::size_t{lists.places_[i]} * kUnit;
    if (first + kUnit > lists.runs_.size()) return in.damaged("a run is out of place");
    const std::uint16_t* n_from = lists.runs_.data() + first;
    if (first + kUnit + n_from[0] > lists.runs_.size() || n_from[0] > kRangeRows ||
        !std::is_sorted(n_from, n_from + kLevels, std::greater<>())) {
      return in.damaged("a run is longer than its list");
    }
    const std::uint16_t* rows = n_from + kLevels;
    const std::uint32_t n_in_range = lists.rows_in(static_cast<std::uint32_t>(i % lists.n_ranges_));
    const std::uint16_t largest =
        std::accumulate(rows, rows + n_from[0], std::uint16_t{0},
                        [](std::uint16_t a, std::uint16_t b) { return std::max(a, b); });
    if (n_from[0] > 0 && largest >= n_in_range) return in.damaged("a run has an unknown row");
  }
  return lists;
}

std::uint64_t ImpactLists::bytes() const {
  return maxima_.size() * 4 + totals_.size() * 4 + places_.size() * 4 + runs_.size() * 2;
}

gpu::ImpactRuns ImpactLists::device_form() const { return {runs_, places_, n_rows_}; }

std::uint64_t n_rows_with(std::uint32_t component, const TermMap& terms, const ImpactLists& lists) {
  std::uint64_t n = 0;
  for (const TermMap::Key sign : {0, 1}) {
    const auto term = terms.find(TermMap::key_of(component, 0) + sign);
    if (term) n += lists.totals_of(*term)[0];
  }
  return n;
}

}  // namespace quiver::index::sparse
