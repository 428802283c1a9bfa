#include "index/sparse/blocks/block_scores.h"

#include <algorithm>
#include <cmath>

#include "base/prefetch.h"
#include "index/sparse/rows/coded_rows.h"

namespace quiver::index::sparse {
namespace {

/// Largest sum before weights are rounded up; sums fit in 32 bits.
constexpr double kLargestBlockSum = 2'000'000'000;
/// Ranks looked up at once (256 KiB): all lists of nearly every query.
constexpr std::size_t kMaxRanksPerWave = 1 << 16;
/// Of 16 bits. What a damaged file adds to blocks that a list does not have is never read.
constexpr std::size_t kBlockNumbers = 65'536;

}  // namespace

Result<> BlockScorer::score(const Blocks& blocks, std::span<const QueryTerm> terms,
                            const BlockSearchParams& params, const Cancel& cancel,
                            WorkCounters& work) {
  scored_.clear();
  choose_terms(terms);
  if (chosen_.empty()) return {};
  set_weights(blocks.scale(), params.estimate_mass);
  const auto n_lists = std::min<std::size_t>(params.query_cut, chosen_.size());
  return score_lists(blocks, n_lists, cancel, work);
}

void BlockScorer::choose_terms(std::span<const QueryTerm> terms) {
  chosen_.clear();
  for (const QueryTerm& term : terms) {
    if (term.weight > 0) chosen_.push_back(term);
  }
  std::sort(chosen_.begin(), chosen_.end(), [](const QueryTerm& a, const QueryTerm& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.term < b.term;
  });
}

void BlockScorer::set_weights(float scale, float mass) {
  double total = 0;
  for (const QueryTerm& term : chosen_) total += term.weight;
  const double factor = kLargestBlockSum / kLargestCode / total;
  weights_.clear();
  double sum = 0;
  for (const QueryTerm& term : chosen_) {
    if (sum >= total * mass && !weights_.empty()) break;
    sum += term.weight;
    weights_.push_back(static_cast<std::uint32_t>(std::ceil(term.weight * factor)));
  }
  unit_ = static_cast<float>(scale / factor);
}

Result<> BlockScorer::score_lists(const Blocks& blocks, std::size_t n_lists, const Cancel& cancel,
                                  WorkCounters& work) {
  const std::size_t n_at_once = std::max<std::size_t>(1, kMaxRanksPerWave / weights_.size());
  for (std::size_t first = 0; first < n_lists; first += n_at_once) {
    QV_TRY(cancel.check());
    const auto some = std::span(chosen_).subspan(first, std::min(n_at_once, n_lists - first));
    find_runs(blocks, some);
    for (std::size_t l = 0; l < some.size(); ++l) score_list(blocks, some[l].term, l, work);
  }
  return {};
}

void BlockScorer::score_list(const Blocks& blocks, std::uint32_t term, std::size_t place,
                             WorkCounters& work) {
  const ListHeader header = blocks.list(term);
  if (header.n_blocks == 0) return;
  sums_.resize(kBlockNumbers);
  std::fill_n(sums_.begin(), header.n_blocks, 0);
  const std::size_t n_entries = add_runs(blocks.summaries(header), place);
  collect(header);
  ++work.n_lists;
  work.n_bytes += n_entries * SummaryView::kEntryBytes;
}

/// Three passes over all terms of some lists, so that memory accesses overlap: directories, ranks
/// and places of runs, runs.
void BlockScorer::find_runs(const Blocks& blocks, std::span<const QueryTerm> lists) {
  const std::size_t n_terms = weights_.size();
  const std::size_t n_lists = lists.size();
  ranks_.resize(n_lists * n_terms);
  for (std::size_t l = 0; l < n_lists; ++l) blocks.prefetch_list(lists[l].term);
  for (std::size_t l = 0; l < n_lists; ++l) {
    const SummaryView list = blocks.summaries(blocks.list(lists[l].term));
    for (std::size_t t = 0; t < n_terms; ++t) list.prefetch_rank(chosen_[t].term);
  }
  for (std::size_t l = 0; l < n_lists; ++l) {
    const ListHeader header = blocks.list(lists[l].term);
    const SummaryView list = blocks.summaries(header);
    const bool empty = header.n_blocks == 0;
    for (std::size_t t = 0; t < n_terms; ++t) {
      const std::uint32_t rank = empty ? SummaryView::kNone : list.rank(chosen_[t].term);
      ranks_[l * n_terms + t] = rank;
      if (rank != SummaryView::kNone) list.prefetch_run_place(rank);
    }
  }
  for (std::size_t l = 0; l < n_lists; ++l) {
    const SummaryView list = blocks.summaries(blocks.list(lists[l].term));
    for (std::size_t t = 0; t < n_terms; ++t) {
      const std::uint32_t rank = ranks_[l * n_terms + t];
      if (rank != SummaryView::kNone) list.run(rank).prefetch();
    }
  }
}

std::size_t BlockScorer::add_runs(const SummaryView& summaries, std::size_t place) {
  const std::size_t n_terms = weights_.size();
  std::size_t n_entries = 0;
  for (std::size_t t = 0; t < n_terms; ++t) {
    const std::uint32_t rank = ranks_[place * n_terms + t];
    if (rank == SummaryView::kNone) continue;
    const SummaryView::Run run = summaries.run(rank);
    const std::uint32_t weight = weights_[t];
    for (std::uint32_t i = 0; i < run.n; ++i) sums_[run.block(i)] += weight * run.code(i);
    n_entries += run.n;
  }
  return n_entries;
}

void BlockScorer::collect(const ListHeader& header) {
  for (std::uint32_t b = 0; b < header.n_blocks; ++b) {
    scored_.emplace_back(sums_[b], header.first_block + b);
  }
}

}  // namespace quiver::index::sparse
