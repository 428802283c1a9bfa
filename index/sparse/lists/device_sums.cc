#include "index/sparse/lists/device_sums.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/bitset.h"

namespace quiver::index::sparse {
namespace {

/// A scan that does not need its caller.
struct OwnScan {
  ImpactLists lists;
  ScanPlan plan;
  Bitset allowed;
  std::size_t n_wanted;

  OwnScan(const ImpactLists& all, const DeviceScan& scan)
      : lists(all),
        plan(lists, *scan.plan),
        allowed(scan.filter->n_rows()),
        n_wanted(scan.n_wanted) {
    scan.filter->for_each(0, [&](std::uint32_t row) { allowed.set(row); });
  }
  /// Whether all rows with the largest sums are in `found`, which is sorted by row.
  [[nodiscard]] Result<bool> are_in(const std::vector<gpu::SummedRow>& found,
                                    const Cancel& cancel) const {
    std::vector<ScoredRow> best;
    WorkCounters work;
    QV_TRY(best_sums(lists, plan, RowFilter::of(allowed), 0, n_wanted, cancel, best, work));
    return std::ranges::all_of(best, [&](const ScoredRow& wanted) {
      const auto at = std::ranges::lower_bound(found, wanted.row, {}, &gpu::SummedRow::row);
      return at != found.end() && at->row == wanted.row &&
             static_cast<float>(at->sum) == wanted.score;
    });
  }
};

}  // namespace

Result<gpu::SummedRows> DeviceSums::add(gpu::Devices& devices, std::span<const DeviceScan> scans,
                                        const Cancel& cancel) const {
  std::vector<qv_sum_term> terms;
  std::vector<gpu::SumQuery> queries;
  std::size_t n_terms = 0;
  for (const DeviceScan& scan : scans) n_terms += scan.plan->terms().size();
  terms.reserve(n_terms);  // so that spans of it stay valid
  for (const DeviceScan& scan : scans) {
    const std::size_t first = terms.size();
    for (const ScanPlan::Term& term : scan.plan->terms()) {
      qv_sum_term& written = terms.emplace_back();
      written.term = term.term;
      written.first_level = term.first_level;
      std::ranges::copy(term.adds, written.adds);
    }
    queries.push_back({std::span(terms).subspan(first), scan.plan->n_postings(), scan.n_wanted,
                       scan.filter->words()});
  }
  QV_TRY(auto found, devices.add_impacts(slot_, runs_, queries, cancel));
  const auto i = devices.answer_to_check(found);
  if (i) check(devices, scans[*i], *found[*i]);
  return found;
}

void DeviceSums::check(gpu::Devices& devices, const DeviceScan& scan,
                       const std::vector<gpu::SummedRow>& found) const {
  try {
    const auto own = std::make_shared<const OwnScan>(lists_, scan);
    devices.post_check(slot_,
                       [own, found](const Cancel& cancel) { return own->are_in(found, cancel); });
  } catch (const std::bad_alloc&) {
    // The search has its answer; another job is checked.
  }
}

}  // namespace quiver::index::sparse
