// Scan of lists, by blocks of 16 rows.
#include "base/prefetch.h"
#include "index/dense/lists/search/candidate_search_impl.h"

namespace quiver::index::dense {

/// On a device if that is worth it.
Result<> CandidateSearch::scan_near_lists(const Search& search, std::span<const Probe> probes,
                                          CodeScan& scan) const {
  QV_TRY(const bool is_done, scan_on_device(search, probes, scan));
  return is_done ? Result<>() : scan_lists(search, probes, scan);
}

Result<> CandidateSearch::scan_lists(const Search& search, std::span<const Probe> probes,
                                     CodeScan& scan) const {
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (i % kListsPerPoll == 0) QV_TRY(search.request.cancel.check());
    const std::byte* next = nullptr;
    if (i + 1 < probes.size()) {
      next = lists_.blocks(probes[i + 1].list).first;
      if (!search.request.filter.allows_all()) prefetch_rows(probes[i + 1].list);
    }
    const std::size_t n_scanned = scan_list(search, probes[i], next, scan);
    count(lists_.blocks(probes[i].list), n_scanned, search.request.work);
  }
  return {};
}

void CandidateSearch::prefetch_rows(std::uint32_t list) const {
  const std::size_t n_bytes = lists_.blocks(list).n * CodeBlocks::kRows * sizeof(std::uint32_t);
  prefetch_bytes(lists_.rows().data() + lists_.first_position(list), n_bytes);
}

/// Returns the number of blocks that were read.
std::size_t CandidateSearch::scan_list(const Search& search, const Probe& probe,
                                       const std::byte* next, CodeScan& scan) const {
  CodeBlocks blocks = lists_.blocks(probe.list);
  blocks.next = next;
  const std::uint32_t first = lists_.first_position(probe.list);
  const RowFilter& filter = search.request.filter;
  const auto& tables = search.query.tables;
  if (filter.allows_all()) {
    scan.scan(tables, blocks, probe.base, nullptr, first);
    return blocks.n;
  }
  if (search.selectivity > cost::kTestFoundRowsAbove) {
    scan.scan_and_drop(tables, blocks, probe.base, filter, lists_.rows(), first);
    return blocks.n;
  }
  auto& allowed = search.scratch.allowed;
  allowed.resize(blocks.n);
  const auto rows = lists_.rows().subspan(first, blocks.n * CodeBlocks::kRows);
  // Rows of a file that is damaged while it is in use may be any number.
  kernels().codes.allowed(rows.data(), blocks.n, filter.words(), filter.n_rows() - 1,
                          allowed.data());
  const std::size_t n_scanned = scan.count_masks(allowed);
  scan.scan(tables, blocks, probe.base, allowed.data(), first);
  return n_scanned;
}

}  // namespace quiver::index::dense
