// Scan of lists: by blocks of 16 rows, or where a filter leaves few of them, row by row by their
// sign codes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/prefetch.h"
#include "index/dense/lists/search/candidate_search_impl.h"

namespace quiver::index::dense {
namespace {

constexpr double kRowsPerBlock = CodeBlocks::kRows;
/// The numbers of a block's rows.
constexpr double kNumberBytes = CodeBlocks::kRows * sizeof(std::uint32_t);

}  // namespace

Result<> CandidateSearch::scan_lists(const Search& search, std::span<const Probe> probes,
                                     CodeScan& scan) const {
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (i % kListsPerPoll == 0) QV_TRY(search.request.cancel.check());
    const std::byte* next = nullptr;
    if (i + 1 < probes.size()) {
      next = lists_.blocks(probes[i + 1].list).first;
      if (!search.request.filter.allows_all()) prefetch_rows(probes[i + 1].list);
    }
    scan_list(search, probes[i], next, scan);
  }
  return {};
}

void CandidateSearch::prefetch_rows(std::uint32_t list) const {
  const std::size_t n_bytes = lists_.blocks(list).n * CodeBlocks::kRows * sizeof(std::uint32_t);
  prefetch_bytes(lists_.rows().data() + lists_.first_position(list), n_bytes);
}

void CandidateSearch::scan_list(const Search& search, const Probe& probe, const std::byte* next,
                                CodeScan& scan) const {
  CodeBlocks blocks = lists_.blocks(probe.list);
  blocks.next = next;
  const std::uint32_t first = lists_.first_position(probe.list);
  const RowFilter& filter = search.request.filter;
  const auto& tables = search.query.tables;
  auto& work = search.request.work;
  if (filter.allows_all()) {
    scan.scan(tables, blocks, probe.base, nullptr, first);
    return count(blocks, blocks.n, work);
  }
  if (search.selectivity > cost::kTestFoundRowsAbove) {
    scan.scan_and_drop(tables, blocks, probe.base, filter, lists_.rows(), first);
    return count(blocks, blocks.n, work);
  }
  auto& allowed = search.scratch.allowed;
  allowed.resize(blocks.n);
  const auto rows = lists_.rows().subspan(first, blocks.n * CodeBlocks::kRows);
  kernels().codes.allowed(rows.data(), blocks.n, filter.words(), allowed.data());
  const MaskCounts counts = scan.count_masks(allowed);
  if (prefers_signs(blocks, counts)) {
    scan_signs(search, first, scan);
    return count(blocks, 0, work);
  }
  scan.scan(tables, blocks, probe.base, allowed.data(), first);
  count(blocks, counts.n_blocks, work);
}

/// Time to score a row by its sign code, in bytes of codes.
double CandidateSearch::sign_row_bytes() const {
  const auto n_bytes = static_cast<double>(signs_->n_bytes());
  const double far = std::max(0.0, 1 - cost::kCachedSignBytes / std::max(1.0, n_bytes));
  const double seek = cost::kSignSeekBytes * (1 - far) + cost::kSignFarSeekBytes * far;
  return seek + static_cast<double>(signs_->row_bytes());
}

/// Time for a list of which a random filter allows a share, as a share of the time for all of it.
double CandidateSearch::share_read(double selectivity) const {
  if (selectivity > cost::kTestFoundRowsAbove) return 1;
  const auto block_bytes = static_cast<double>(lists_.blocks(0).block_bytes());
  const double of_blocks = 1 - std::pow(1 - selectivity, kRowsPerBlock);
  const double of_signs = signs_ ? selectivity * kRowsPerBlock * sign_row_bytes() / block_bytes : 1;
  return std::min(of_blocks, of_signs) + kNumberBytes / block_bytes;
}

/// True if the sign codes of the allowed rows take less time than the blocks that they are in.
bool CandidateSearch::prefers_signs(const CodeBlocks& blocks, MaskCounts counts) const {
  if (!signs_) return false;
  const auto block_bytes = static_cast<double>(counts.n_blocks * blocks.block_bytes());
  return static_cast<double>(counts.n_rows) * sign_row_bytes() < block_bytes;
}

void CandidateSearch::prepare_signs(const Search& search) const {
  auto& query = search.scratch.sign_query;
  signs_->prepare(search.query.values, query);
  query.deviation = std::hypot(query.deviation, usual_loss(search.query));
  search.scratch.has_sign_query = true;
}

/// Offers the rows that `scratch.allowed` allows in the list at position `first`.
void CandidateSearch::scan_signs(const Search& search, std::uint32_t first, CodeScan& scan) const {
  auto& scratch = search.scratch;
  if (!scratch.has_sign_query) prepare_signs(search);
  const auto all = lists_.rows();
  auto& rows = scratch.list_rows;
  rows.clear();
  scratch.places.clear();
  for (std::size_t block = 0; block < scratch.allowed.size(); ++block) {
    for (unsigned rest = scratch.allowed[block]; rest != 0; rest &= rest - 1) {
      const auto place = static_cast<std::uint32_t>(first + block * CodeBlocks::kRows) +
                         static_cast<std::uint32_t>(std::countr_zero(rest));
      // The last row of a list fills its last block.
      if (!rows.empty() && rows.back() == all[place]) continue;
      signs_->prefetch(all[place]);
      rows.push_back(all[place]);
      scratch.places.push_back(place);
    }
  }
  scratch.estimates.resize(rows.size());
  signs_->score(scratch.sign_query, rows, scratch.estimates.data());
  scan.offer(scratch.places, scratch.estimates);
  search.request.work.n_codes_scored += rows.size();
  search.request.work.n_bytes += rows.size() * signs_->row_bytes();
}

}  // namespace quiver::index::dense
