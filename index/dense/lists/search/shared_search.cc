// Searches of a batch: a list that several of them scan is read once.
#include <algorithm>

#include "index/dense/lists/search/candidate_search_impl.h"

namespace quiver::index::dense {
namespace {

/// Memory for queries and hits of searches done together. With 100,000 rows of 384 dimensions and
/// ten hits this allows 550 searches; 256 took 4 % longer, 1,000 as long.
constexpr std::size_t kMaxBytesPerBatch = std::size_t{3} << 20;
/// Memory is kept for the next call unless a search had a larger `rerank`.
constexpr std::uint32_t kMaxRerankOfKeptMemory = 1024;

/// The first of `requests` that are done together.
std::span<const CandidateRequest> first_of(std::span<const CandidateRequest> requests,
                                           std::size_t padded_dim) {
  constexpr std::size_t kBytesPerDim = 8;
  constexpr std::size_t kBytesPerRow = 24;
  std::size_t n_bytes = 0;
  std::size_t n = 0;
  do {
    n_bytes += kBytesPerDim * padded_dim + kBytesPerRow * requests[n].params.rerank;
    ++n;
  } while (n < requests.size() && n_bytes < kMaxBytesPerBatch);
  return requests.first(n);
}

bool is_kept(const CandidateRequest& request) {
  return request.params.rerank <= kMaxRerankOfKeptMemory;
}

}  // namespace

/// Memory of one thread's batches, reused.
struct CandidateSearch::SharedScratch {
  struct Memory {
    QueryLines lines;
    ScanScratch scan;
  };
  std::vector<Memory> memory;  ///< memory of each search
  std::vector<Visit> visits;
  std::vector<Probe> later;  ///< lists after the first ones, scanned unless `stop` skips them
  std::vector<Visit> unsorted;
  std::vector<std::uint32_t> ends;  ///< `[n_lists + 1]`
};

/// One list of one search.
struct CandidateSearch::Visit {
  Probe probe;
  std::uint32_t search = 0;
};

/// A search and its hits so far.
struct CandidateSearch::SharedSearch {
  Search search;
  CodeScan scan;
  Probe first;              ///< nearest list
  std::size_t n_near = 0;   ///< lists within the gap
  float last = 0;           ///< key of the farthest of these
  std::size_t n_later = 0;  ///< number of its lists in `SharedScratch::later`
};

Result<> CandidateSearch::find_each(std::span<const CandidateRequest> requests,
                                    const TakeCandidates& take) const {
  Scratch& scratch = own_scratch();
  thread_local SharedScratch shared;
  std::vector<CandidateRequest> wider;
  for (const CandidateRequest& request : requests) wider.push_back(of_all_rows(request));
  std::size_t n_done = 0;
  while (n_done < requests.size()) {
    const auto some = first_of(std::span(wider).subspan(n_done), lists_.facts().padded_dim);
    QV_TRY(auto searches, route_each(some, scratch, shared));
    QV_TRY(scan_each(searches, shared));
    visit_later(searches, shared);
    QV_TRY(scan_each(searches, shared));
    for (auto& [search, scan, first, n_near, last, n_later] : searches) {
      if (n_near != 0) QV_TRY(scan_farther(search, first, n_near, last, scan));
      const CandidateRequest& asked = requests[n_done];
      QV_TRY(const auto found, settle(asked, search.query, scan.best(), scratch));
      QV_TRY(take(n_done++, found, asked.work));
    }
    if (!std::ranges::all_of(some, is_kept)) shared.memory.clear();
  }
  return {};
}

/// Leaves the first lists of each search in `shared.unsorted`.
Result<std::vector<CandidateSearch::SharedSearch>> CandidateSearch::route_each(
    std::span<const CandidateRequest> requests, Scratch& scratch, SharedScratch& shared) const {
  if (shared.memory.size() < requests.size()) shared.memory.resize(requests.size());
  shared.unsorted.clear();
  shared.later.clear();
  std::vector<SharedSearch> searches;
  searches.reserve(requests.size());
  for (const CandidateRequest& request : requests) {
    QV_TRY(request.cancel.check());
    const auto number = static_cast<std::uint32_t>(searches.size());
    auto& memory = shared.memory[number];
    auto& search = searches.emplace_back(
        SharedSearch{{request, rotate(request.vector, memory.lines), 1, scratch},
                     CodeScan(request.params.rerank, memory.scan),
                     {}});
    const auto probes = route(search.search, request.params);
    const auto first = probes.first(std::min(probes.size(), kListsBeforeStop));
    const auto later = probes.subspan(first.size());
    for (const Probe& probe : first) shared.unsorted.push_back({probe, number});
    shared.later.insert(shared.later.end(), later.begin(), later.end());
    search.n_later = later.size();
    if (!probes.empty()) {
      search.first = probes.front();
      search.n_near = probes.size();
      search.last = probes.back().key;
    }
  }
  return searches;
}

/// Leaves the remaining lists of each search in `shared.unsorted`.
void CandidateSearch::visit_later(std::span<const SharedSearch> searches,
                                  SharedScratch& shared) const {
  shared.unsorted.clear();
  std::span<const Probe> later = shared.later;
  for (std::uint32_t number = 0; number < searches.size(); ++number) {
    const auto& [search, scan, first, n_near, last, n_later] = searches[number];
    if (n_later == 0) continue;
    for (const Probe& probe : near(search, first, later.first(n_later), scan)) {
      shared.unsorted.push_back({probe, number});
    }
    later = later.subspan(n_later);
  }
}

/// Counting sort: a list has some tens of visits.
void CandidateSearch::sort_by_list(SharedScratch& shared) const {
  auto& ends = shared.ends;
  ends.assign(lists_.n_lists() + std::size_t{1}, 0);
  for (const Visit& visit : shared.unsorted) ++ends[visit.probe.list + 1];
  for (std::size_t list = 1; list < ends.size(); ++list) ends[list] += ends[list - 1];
  shared.visits.resize(shared.unsorted.size());
  for (const Visit& visit : shared.unsorted) shared.visits[ends[visit.probe.list]++] = visit;
}

/// Scans the lists in `shared.unsorted`. The order of lists does not change the hits (`CodeScan`).
Result<> CandidateSearch::scan_each(std::span<SharedSearch> searches, SharedScratch& shared) const {
  sort_by_list(shared);
  const std::span<const Visit> visits = shared.visits;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const Probe& probe = visits[i].probe;
    auto& [search, scan, first, n_near, last, n_later] = searches[visits[i].search];
    if (i % kListsPerPoll == 0) QV_TRY(search.request.cancel.check());
    const bool is_new = i == 0 || visits[i - 1].probe.list != probe.list;
    const std::byte* next =
        i + 1 < visits.size() ? lists_.blocks(visits[i + 1].probe.list).first : nullptr;
    const std::size_t n_scanned = scan_list(search, probe, next, scan);
    const CodeBlocks blocks = lists_.blocks(probe.list);
    is_new ? count(blocks, n_scanned, search.request.work)
           : count_again(blocks, search.request.work);
  }
  return {};
}

}  // namespace quiver::index::dense
