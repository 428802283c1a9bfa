// Searches of a batch with the help of devices: these scan the lists and multiply with second
// codes, for all searches at once. The CPU does the rest, search by search on all its threads, and
// what devices leave to it.
#include <algorithm>

#include "index/dense/lists/search/candidate_search_impl.h"
#include "index/parallel.h"

namespace quiver::index::dense {
namespace {

/// The same request for another thread, which has no device.
CandidateRequest with_counters(const CandidateRequest& asked, WorkCounters& work) {
  return {.vector = asked.vector,
          .k = asked.k,
          .params = asked.params,
          .filter = asked.filter,
          .n_allowed = asked.n_allowed,
          .most_bytes = asked.most_bytes,
          .cancel = asked.cancel,
          .work = work};
}

}  // namespace

/// A search and what is known of it between two stages.
struct CandidateSearch::AssistedSearch {
  AssistedSearch(const CandidateRequest& own, const CandidateRequest& of_all_rows)
      : asked(own), wider(of_all_rows), scan(wider.params.rerank, scan_memory) {}
  AssistedSearch(const AssistedSearch&) = delete;
  AssistedSearch& operator=(const AssistedSearch&) = delete;

  const CandidateRequest asked;
  const CandidateRequest wider;  ///< of all rows; what is scanned
  QueryLines lines;
  ScanScratch scan_memory;
  RotatedQuery query;
  CodeScan scan;
  std::vector<Probe> probes;        ///< lists within the gap, nearest first
  std::span<const Probe> next;      ///< those that the next stage scans
  std::vector<std::uint32_t> rows;  ///< candidates
  std::vector<float> scores;        ///< their estimates
  bool are_enough = false;          ///< `drop_denied` says so
  ByteQuery byte_query;

  /// With the memory of the calling thread.
  [[nodiscard]] Search on_this_thread() const { return {wider, query, 1, own_scratch()}; }
};

CandidateSearch::Scratch& CandidateSearch::own_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

Result<> CandidateSearch::find_each_assisted(std::span<const CandidateRequest> requests,
                                             const DeviceHelp& help,
                                             const TakeCandidates& take) const {
  const auto ranks_many = [this](const CandidateRequest& request) {
    return of_all_rows(request).params.rerank > gpu::kMaxHits;
  };
  const bool is_little = requests.size() * bytes_per_search() < help.devices.min_bytes();
  if (is_little || std::ranges::any_of(requests, ranks_many)) {
    return find_each_alone(requests, help.executor, take);
  }
  for (std::size_t first = 0; first < requests.size(); first += gpu::kMaxQueries) {
    const auto some = requests.subspan(first, std::min(gpu::kMaxQueries, requests.size() - first));
    std::vector<WorkCounters> work(some.size());
    std::vector<std::unique_ptr<AssistedSearch>> searches;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const CandidateRequest own = with_counters(some[i], work[i]);
      searches.push_back(std::make_unique<AssistedSearch>(own, of_all_rows(own)));
    }
    const auto take_one = [&](std::size_t i, const ListCandidates& found, WorkCounters& counters) {
      return take(first + i, found, counters);
    };
    auto done = find_together(searches, help, take_one);
    for (std::size_t i = 0; i < some.size(); ++i) some[i].work += work[i];
    QV_TRY(std::move(done));
  }
  return {};
}

/// Few searches: on all threads, or one after another with lists in common.
Result<> CandidateSearch::find_each_alone(std::span<const CandidateRequest> requests,
                                          Executor* executor, const TakeCandidates& take) const {
  if (executor == nullptr) return find_each(requests, take);
  std::vector<WorkCounters> work(requests.size());
  auto done = try_each(executor, requests.size(), [&](std::size_t i) -> Result<> {
    const CandidateRequest own = with_counters(requests[i], work[i]);
    QV_TRY(const ListCandidates found, find(own));
    return take(i, found, work[i]);
  });
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].work += work[i];
  return done;
}

Result<> CandidateSearch::find_together(std::span<const std::unique_ptr<AssistedSearch>> searches,
                                        const DeviceHelp& help, const TakeCandidates& take) const {
  const std::size_t n = searches.size();
  QV_TRY(try_each(help.executor, n, [&](std::size_t i) { return begin(*searches[i]); }));
  QV_TRY(scan_next(searches, help));
  QV_TRY(try_each(help.executor, n, [&](std::size_t i) -> Result<> {
    choose_later(*searches[i]);
    return {};
  }));
  QV_TRY(scan_next(searches, help));
  QV_TRY(try_each(help.executor, n, [&](std::size_t i) { return collect(*searches[i]); }));
  QV_TRY(const auto products, multiply_each(searches, help));
  return try_each(help.executor, n, [&](std::size_t i) -> Result<> {
    AssistedSearch& assisted = *searches[i];
    const auto& asked = assisted.asked;
    auto& scratch = own_scratch();
    if (!assisted.are_enough) {
      QV_TRY(const auto found, find_filtered(asked, assisted.query, scratch));
      return take(i, found, asked.work);
    }
    scratch.rows = assisted.rows;
    scratch.scores = assisted.scores;
    std::swap(scratch.byte_query, assisted.byte_query);
    if (second_) {
      refine({asked, assisted.query, 1, scratch}, products[i] ? products[i]->data() : nullptr);
    }
    const auto scores = std::span(scratch.scores).first(scratch.rows.size());
    return take(i, {scratch.rows, scores, true}, asked.work);
  });
}

/// Routes the search; its first lists are next.
Result<> CandidateSearch::begin(AssistedSearch& assisted) const {
  QV_TRY(assisted.asked.cancel.check());
  assisted.query = rotate(assisted.asked.vector, assisted.lines);
  const auto probes = route(assisted.on_this_thread(), assisted.wider.params);
  assisted.probes.assign(probes.begin(), probes.end());
  assisted.next = std::span(assisted.probes).first(std::min(probes.size(), kListsBeforeStop));
  return {};
}

/// The lists worth scanning after the first ones are next.
void CandidateSearch::choose_later(AssistedSearch& assisted) const {
  const std::span<const Probe> later = std::span(assisted.probes).subspan(assisted.next.size());
  assisted.next = later.empty() ? later
                                : near(assisted.on_this_thread(), assisted.probes.front(), later,
                                       assisted.scan);
}

/// Scans the next lists of each search: on a device, or on all threads.
Result<> CandidateSearch::scan_next(std::span<const std::unique_ptr<AssistedSearch>> searches,
                                    const DeviceHelp& help) const {
  std::vector<DeviceScan> scans;
  for (const auto& assisted : searches) {
    scans.push_back({&assisted->query, assisted->next, assisted->wider.params.rerank});
  }
  QV_TRY(const auto found, help.lists.scan(help.devices, scans, searches.front()->asked.cancel));
  return try_each(help.executor, searches.size(), [&](std::size_t i) -> Result<> {
    AssistedSearch& assisted = *searches[i];
    if (!found[i]) return scan_lists(assisted.on_this_thread(), assisted.next, assisted.scan);
    offer_found(*found[i], assisted.next, assisted.scan, assisted.asked.work);
    return {};
  });
}

/// Offers what a device found in the lists of `probes`.
void CandidateSearch::offer_found(const gpu::ScoredCodes& found, std::span<const Probe> probes,
                                  CodeScan& scan, WorkCounters& work) const {
  scan.offer(found.scores, found.positions);
  for (const Probe& probe : probes) count_again(lists_.blocks(probe.list), work);
}

/// Leaves the candidates of the search with it.
Result<> CandidateSearch::collect(AssistedSearch& assisted) const {
  const Search search = assisted.on_this_thread();
  const auto& probes = assisted.probes;
  if (!probes.empty()) {
    QV_TRY(scan_farther(search, probes.front(), probes.size(), probes.back().key, assisted.scan));
  }
  const CodeHits& best = assisted.scan.best();
  collect_rows(best, search.scratch);
  assisted.are_enough = drop_denied(assisted.asked, best, search.scratch);
  if (!assisted.are_enough) return {};
  assisted.rows = search.scratch.rows;
  assisted.scores = search.scratch.scores;
  if (second_) assisted.byte_query.set(assisted.query.values, assisted.query.lost);
  return {};
}

/// Products of each search's candidates, where a device has them.
Result<gpu::Products> CandidateSearch::multiply_each(
    std::span<const std::unique_ptr<AssistedSearch>> searches, const DeviceHelp& help) const {
  if (!second_) return gpu::Products(searches.size());
  std::vector<gpu::ProductQuery> queries;
  for (const auto& assisted : searches) {
    const bool is_refined = assisted->rows.size() > n_rescored(assisted->asked);
    queries.push_back(
        {assisted->byte_query.values, is_refined ? std::span<const std::uint32_t>(assisted->rows)
                                                 : std::span<const std::uint32_t>()});
  }
  return help.lists.multiply(help.devices, queries, searches.front()->asked.cancel);
}

/// Scans on a device what is worth it; false if the CPU is to scan.
Result<bool> CandidateSearch::scan_on_device(const Search& search, std::span<const Probe> probes,
                                             CodeScan& scan) const {
  const DeviceHelp* help = search.request.device;
  if (help == nullptr || probes.empty()) return false;
  if (!help->lists.is_worth(help->devices, probes)) return false;
  const DeviceScan asked = {&search.query, probes, search.request.params.rerank};
  QV_TRY(const auto found,
         help->lists.scan(help->devices, std::span(&asked, 1), search.request.cancel));
  if (!found[0]) return false;
  offer_found(*found[0], probes, scan, search.request.work);
  return true;
}

}  // namespace quiver::index::dense
