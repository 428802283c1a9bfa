#include "index/sparse/searcher.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "base/prefetch.h"
#include "index/cost.h"
#include "index/parallel.h"
#include "index/sparse/lists/scan.h"

namespace quiver::index::sparse {
namespace {

const char* name_of(Codec codec) {
  switch (codec) {
    case Codec::kU8:
      return "u8";
    case Codec::kF16:
      return "f16";
    case Codec::kF32:
      return "f32";
    case Codec::kGaps:
      return "gaps";
  }
  return "unknown";
}

/// Query weights by term number, as `Records::score` reads them. Each thread has one table per
/// number; tables are zero between uses.
class WeightTable {
 public:
  WeightTable(std::span<const QueryTerm> terms, std::uint32_t n_terms, std::size_t number = 0)
      : terms_(terms), table_(table(number)) {
    if (table_.size() < std::size_t{n_terms} + 1) table_.resize(std::size_t{n_terms} + 1);
    for (const auto& term : terms_) table_[term.term] = term.weight;
  }
  ~WeightTable() {
    for (const auto& term : terms_) table_[term.term] = 0;
  }
  WeightTable(const WeightTable&) = delete;
  WeightTable& operator=(const WeightTable&) = delete;
  [[nodiscard]] const float* data() const { return table_.data(); }

 private:
  static std::vector<float>& table(std::size_t number) {
    thread_local std::array<std::vector<float>, kQueriesAtOnce> instances;
    return instances[number];
  }

  std::span<const QueryTerm> terms_;
  std::vector<float>& table_;
};

/// Rows that a device names for an exact search.
std::size_t n_of_exact(std::size_t k) { return 4 * k + 256; }

/// Rows scored exactly for `k` hits: spares cover the error of codes, half a step.
std::size_t n_exact_of(std::size_t k) { return k + k / 5 + 1; }

}  // namespace

/// One prepared search. `context` and `work` are shared by a batch.
struct SparseSearcher::Request {
  const PreparedQuery& query;
  SparseSearchOptions params;
  const RowFilter& filter;
  const SearchContext& context;
  TopK& out;
  WorkCounters& work;
  std::vector<QueryTerm> terms;
  std::size_t n_allowed = 0;
  Way way = Way::kNone;
};

/// What is read of the lists. Truncated: what adds most to sums, for the candidates with the best
/// ones. Exact: everything, for upper bounds of scores.
struct SparseSearcher::Scan {
  ScanPlan plan;
  bool is_exact = true;
  std::size_t n_candidates = 0;  ///< truncated only
};

SparseSearcher::Request SparseSearcher::prepare(const PreparedQuery& query,
                                                const SparseSearchOptions& options,
                                                const RowFilter& filter,
                                                const SearchContext& context, TopK& out,
                                                WorkCounters& work) const {
  const SparseQuery sparse = query.sparse();
  const SparseView vector{{sparse.indices, sparse.n}, {sparse.values, sparse.n}};
  Request request{query,
                  options,
                  filter,
                  context,
                  out,
                  work,
                  parts_.terms.terms_of(vector),
                  filter.n_allowed()};
  request.way = way_of(request);
  return request;
}

/// Estimated times of the ways, ns.
struct SparseSearcher::Costs {
  double rows = 0, lists = 0, truncated = 0, blocks = 0;
};

SparseSearcher::Costs SparseSearcher::costs_of(const Request& request) const {
  std::uint64_t n_postings = 0;
  for (const auto& term : request.terms) n_postings += parts_.lists.totals_of(term.term)[0];
  const double n_runs = static_cast<double>(request.terms.size()) * parts_.lists.n_ranges();
  const double share = share_of(request);
  Costs costs;
  costs.rows = cost::kSparseRowNs * static_cast<double>(request.n_allowed);
  costs.lists = cost::kPostingNs * static_cast<double>(n_postings) + cost::kRunNs * n_runs;
  costs.truncated = costs.lists * std::min(1.0, request.params.postings * share);
  costs.blocks = cost::kBlockSearchNs * share;
  return costs;
}

SparseSearcher::Way SparseSearcher::way_of(const Request& request) const {
  if (request.out.k() == 0 || request.terms.empty() || request.n_allowed == 0) return Way::kNone;
  const Costs costs = costs_of(request);
  const bool exact = request.context.prefer == Prefer::kExact ||
                     request.params.method == Method::kExact ||
                     column_.n_rows < request.params.exact_below;
  if (request.terms.size() > ScanPlan::kMaxTerms) return Way::kRows;
  if (!exact && prefers_blocks(request, costs)) return Way::kBlocks;
  if (costs.rows < costs.lists) return Way::kRows;
  return exact ? Way::kLists : Way::kTruncated;
}

Result<> SparseSearcher::search_on_cpu(const Request& request) const {
  switch (request.way) {
    case Way::kNone:
      return {};
    case Way::kRows:
      return flat_.search(request.query, {}, request.filter, request.context, request.out,
                          request.work);
    case Way::kLists:
    case Way::kTruncated:
      return search_lists(request, scan_of(request, request.way));
    case Way::kBlocks:
      break;
  }
  return search_blocks(std::span(&request, 1));
}

Result<> SparseSearcher::search(const PreparedQuery& query, const AnyParams& params,
                                const RowFilter& filter, const SearchContext& context, TopK& out,
                                WorkCounters& work) const {
  QV_TRY(const SparseSearchOptions* options, params.as<SparseSearchOptions>());
  const Request request = prepare(query, *options, filter, context, out, work);
  note(request);
  return asks_device(request) ? search_on_device(std::span(&request, 1)) : search_on_cpu(request);
}

Result<> SparseSearcher::search_batch(std::span<const PreparedQuery* const> queries,
                                      const AnyParams& params, const RowFilter& filter,
                                      const SearchContext& context, std::span<TopK* const> results,
                                      WorkCounters& work) const {
  std::vector<FilteredQuery> filtered;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    filtered.push_back({queries[i], &filter, results[i]});
  }
  return search_filtered(filtered, params, context, work);
}

/// Scans share nothing: each query reads its own lists. Searches of blocks with one filter take
/// turns, and those for a device go there together.
Result<> SparseSearcher::search_filtered(std::span<const FilteredQuery> queries,
                                         const AnyParams& params, const SearchContext& context,
                                         WorkCounters& work) const {
  QV_TRY(const SparseSearchOptions* options, params.as<SparseSearchOptions>());
  std::vector<Request> waiting;
  std::vector<Request> for_device;
  std::vector<Request> alone;
  for (const auto& [query, filter, out] : queries) {
    Request request = prepare(*query, *options, *filter, context, *out, work);
    if (request.way == Way::kBlocks) {
      if (!waiting.empty() && &waiting.front().filter != filter) {
        QV_TRY(search_blocks(waiting));
        waiting.clear();
      }
      waiting.push_back(std::move(request));
    } else if (asks_device(request)) {
      for_device.push_back(std::move(request));
    } else {
      alone.push_back(std::move(request));
    }
    if (waiting.size() == kQueriesAtOnce) {
      QV_TRY(search_blocks(waiting));
      waiting.clear();
    }
  }
  QV_TRY(search_on_device(for_device));
  QV_TRY(search_each(
      alone, [this](std::size_t, const Request& request) { return search_on_cpu(request); }));
  return search_blocks(waiting);
}

/// Calls `fn(i, request)` for each: on all threads where groups are made for a device, of which
/// some searches are left to the CPU.
template <class F>
Result<> SparseSearcher::search_each(std::span<const Request> requests, F&& fn) const {
  if (requests.empty()) return {};
  const SearchContext& context = requests.front().context;
  if (context.executor == nullptr || context.devices == nullptr || requests.size() == 1) {
    for (std::size_t i = 0; i < requests.size(); ++i) QV_TRY(fn(i, requests[i]));
    return {};
  }
  std::vector<WorkCounters> work(requests.size());
  auto done = try_each(context.executor, requests.size(), [&](std::size_t i) {
    const Request& request = requests[i];
    const Request own{request.query,   request.params,    request.filter,
                      request.context, request.out,       work[i],
                      request.terms,   request.n_allowed, request.way};
    return fn(i, own);
  });
  for (const WorkCounters& counters : work) requests.front().work += counters;
  return done;
}

/// A filter makes good rows rarer, so small impacts matter more. With the square root, recall under
/// random and correlated filters was never below that without a filter.
double SparseSearcher::share_of(const Request& request) const {
  return std::sqrt(static_cast<double>(column_.n_rows) / static_cast<double>(request.n_allowed));
}

/// Rows that a device is asked for. Of arxiv-100k, 2.1 k rows had upper bounds that reach the score
/// of the k-th best.
std::size_t SparseSearcher::n_from_device(std::size_t k, const Scan& scan) {
  return scan.is_exact ? std::min<std::size_t>(gpu::kMaxHits, n_of_exact(k)) : scan.n_candidates;
}

SparseSearcher::Scan SparseSearcher::scan_of(const Request& request, Way way) const {
  const auto exact = [&] {
    return Scan{ScanPlan(parts_.lists, request.terms, ScanPlan::Value::kUpper)};
  };
  if (way == Way::kLists) return exact();
  Scan scan{ScanPlan(parts_.lists, request.terms, ScanPlan::Value::kMean), false};
  const double n_postings =
      std::max(cost::kMinPostings, request.params.postings * share_of(request) *
                                       static_cast<double>(scan.plan.n_postings_untruncated()));
  const std::size_t k = request.out.k();
  scan.n_candidates = std::max<std::size_t>(
      k, request.params.candidates != 0 ? request.params.candidates : 4 * k + 10);
  if (n_postings >=
          cost::kWholeListsFromShare * static_cast<double>(scan.plan.n_postings_untruncated()) ||
      scan.n_candidates > request.n_allowed / 4) {
    return exact();
  }
  scan.plan.truncate(static_cast<std::uint64_t>(n_postings));
  return scan;
}

Result<> SparseSearcher::search_lists(const Request& request, const Scan& scan) const {
  if (scan.is_exact) {
    return scan_exactly(parts_.lists, scan.plan, request.query, column_.sparse(), request.filter, 0,
                        request.context.cancel, request.out, request.work);
  }
  std::vector<ScoredRow> candidates;
  QV_TRY(best_sums(parts_.lists, scan.plan, request.filter, 0, scan.n_candidates,
                   request.context.cancel, candidates, request.work));
  return rescore(request, candidates);
}

/// Of whole lists.
Result<> SparseSearcher::search_exactly(const Request& request) const {
  return search_lists(request, scan_of(request, Way::kLists));
}

/// Offers the best of the rows with the best sums.
Result<> SparseSearcher::rescore(const Request& request, std::vector<ScoredRow>& candidates) const {
  const std::size_t k = request.out.k();
  // Rows that share only unread postings would be missing.
  if (candidates.size() < k) return search_exactly(request);
  const bool has_codes_for_scores = !request.params.rescore;
  if (has_codes_for_scores || candidates.size() > n_exact_of(k)) score_records(request, candidates);
  offer_best(request, candidates);
  return {};
}

/// Whether a device may add up the sums of the request.
bool SparseSearcher::asks_device(const Request& request) const {
  gpu::Devices* const devices = request.context.devices;
  if (devices == nullptr || !devices->is_useful()) return false;
  if (request.way != Way::kLists && request.way != Way::kTruncated) return false;
  // Upper bounds of twice as many rows as are wanted must be among those that a device names.
  if (request.way == Way::kLists && n_of_exact(request.out.k()) > gpu::kMaxHits) return false;
  on_device_.want(*devices);
  return on_device_.are_there();
}

/// Requests of one batch. What the device does not answer, the CPU does, on all its threads.
Result<> SparseSearcher::search_on_device(std::span<const Request> requests) const {
  if (requests.empty()) return {};
  const Request& any = requests.front();
  std::vector<Scan> scans;
  std::vector<DeviceScan> asked;
  scans.reserve(requests.size());
  for (const Request& request : requests) {
    const Scan& scan = scans.emplace_back(scan_of(request, request.way));
    asked.push_back({&scan.plan, &request.filter, n_from_device(request.out.k(), scan)});
  }
  QV_TRY(const auto found, on_device_.add(*any.context.devices, asked, any.context.cancel));
  return search_each(requests, [&](std::size_t i, const Request& request) {
    return found[i] ? finish(request, scans[i], *found[i]) : search_lists(request, scans[i]);
  });
}

/// `found`: the rows with the largest sums.
Result<> SparseSearcher::finish(const Request& request, const Scan& scan,
                                const std::vector<gpu::SummedRow>& found) const {
  request.work.n_lists += scan.plan.terms().size();
  request.work.n_codes_scored += scan.plan.n_postings();
  if (scan.is_exact) {
    return offer_certain(request, scan, found) ? Result<>() : search_lists(request, scan);
  }
  std::vector<ScoredRow> candidates;
  candidates.reserve(found.size());
  for (const auto& [row, sum] : found) candidates.push_back({static_cast<float>(sum), row});
  keep_best(candidates, scan.n_candidates);
  return rescore(request, candidates);
}

/// Offers every hit, as `scan_exactly` does; false, and nothing, if other rows may be among the
/// best.
bool SparseSearcher::offer_certain(const Request& request, const Scan& scan,
                                   std::vector<gpu::SummedRow> found) const {
  const std::size_t k = request.out.k();
  std::ranges::sort(found, std::greater<>(), &gpu::SummedRow::sum);
  const bool are_all = found.size() < n_from_device(k, scan);
  const std::uint32_t least = are_all || found.empty() ? 1 : found.back().sum;
  TopK best = request.out;
  std::vector<std::uint32_t> rows;
  const auto score = [&](std::size_t from, std::size_t end) {
    rows.clear();
    for (std::size_t i = from; i < end; ++i) rows.push_back(found[i].row);
    score_exactly(request.query, column_.sparse(), rows, best, request.work);
  };
  // The largest sums first: their scores say which others matter.
  const std::size_t n_first = std::min(found.size(), 2 * k);
  score(0, n_first);
  const std::uint32_t bound = scan.plan.bound_of(best.threshold());
  const std::uint32_t needed = std::max<std::uint32_t>(scan.plan.has_other_terms() ? 0 : 1, bound);
  if (needed < least) return false;
  const auto end = std::ranges::find_if(found, [&](const auto& row) { return row.sum < needed; });
  const auto n_needed = static_cast<std::size_t>(end - found.begin());
  if (n_needed > n_first) score(n_first, n_needed);
  request.out = std::move(best);
  return true;
}

void SparseSearcher::score_records(const Request& request,
                                   std::vector<ScoredRow>& candidates) const {
  constexpr std::size_t kCandidatesAhead = 32;
  const WeightTable weights(request.terms, parts_.terms.size());
  const Records& records = parts_.records;
  const auto& row_places = column_.sparse().offsets;
  for (const auto& candidate : candidates) {
    records.prefetch_place(candidate.row);
    prefetch_line(row_places.data() +
                  candidate.row);  // for candidates that are scored exactly later
  }
  const std::size_t n = candidates.size();
  for (std::size_t i = 0; i < std::min(kCandidatesAhead, n); ++i)
    records.prefetch(candidates[i].row);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kCandidatesAhead < n) records.prefetch(candidates[i + kCandidatesAhead].row);
    candidates[i].score = records.score(weights.data(), candidates[i].row);
  }
  request.work.n_codes_scored += n;
  request.work.n_bytes += n * (records.bytes() / column_.n_rows);
}

void SparseSearcher::offer_best(const Request& request, std::vector<ScoredRow>& candidates) const {
  if (!request.params.rescore) {
    for (const auto& candidate : candidates) request.out.offer(candidate.score, candidate.row);
    return;
  }
  keep_best(candidates, n_exact_of(request.out.k()));
  std::vector<std::uint32_t> rows;
  rows.reserve(candidates.size());
  for (const auto& candidate : candidates) rows.push_back(candidate.row);
  score_exactly(request.query, column_.sparse(), rows, request.out, request.work);
}

/// With a filter, more lists are walked to meet as many allowed rows.
BlockSearchParams SparseSearcher::widened(const Request& request) const {
  BlockSearchParams params = request.params.blocks;
  const double share = share_of(request);
  params.query_cut = static_cast<std::uint32_t>(std::ceil(params.query_cut * share));
  params.heap_factor *= static_cast<float>(std::pow(share, -0.05));
  return params;
}

/// The cost of a truncated scan grows with the rows; that of blocks hardly does.
bool SparseSearcher::prefers_blocks(const Request& request, const Costs& costs) const {
  if (!parts_.blocks || request.params.method == Method::kScan) return false;
  if (request.params.method == Method::kBlocks) return costs.rows >= costs.lists;
  return costs.blocks < std::min(costs.rows, costs.truncated);
}

void SparseSearcher::note(const Request& request) const {
  auto* ways = request.context.ways;
  if (ways == nullptr || request.way == Way::kNone) return;
  const Costs costs = costs_of(request);
  const auto add = [&](std::string_view name, double ns, Way way) {
    ways->push_back({name, ns / 1000, way == request.way});
  };
  add("exact", costs.rows, Way::kRows);
  add("lists", costs.lists, Way::kLists);
  add("truncated lists", costs.truncated, Way::kTruncated);
  if (parts_.blocks) add("blocks", costs.blocks, Way::kBlocks);
}

Result<> SparseSearcher::search_blocks(std::span<const Request> requests) const {
  std::array<std::optional<WeightTable>, kQueriesAtOnce> weights;
  std::array<std::vector<ScoredRow>, kQueriesAtOnce> candidates;
  std::array<BlockQuery, kQueriesAtOnce> queries;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    weights[i].emplace(request.terms, parts_.terms.size(), i);
    queries[i] = {request.terms, weights[i]->data(), widened(request), n_exact_of(request.out.k()),
                  &candidates[i]};
  }
  if (requests.empty()) return {};
  const Request& any = requests.front();
  QV_TRY(parts_.blocks->search(std::span(queries).first(requests.size()), parts_.records,
                               any.filter, any.context.cancel, any.work));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    // Blocks do not hold every posting, so rows may be missing.
    if (candidates[i].size() < requests[i].out.k()) {
      QV_TRY(search_exactly(requests[i]));
    } else {
      offer_best(requests[i], candidates[i]);
    }
  }
  return {};
}

/// See kListBytesPerQueryByte.
std::uint64_t SparseSearcher::bytes_per_search() const {
  return parts_.lists.bytes() / cost::kListBytesPerQueryByte;
}

/// Lists know how many rows hold a term, not which. Rows that are not allowed are counted one by
/// one and subtracted, unless they are the majority.
Result<> SparseSearcher::count_terms(std::span<const std::uint32_t> terms, const RowFilter& filter,
                                     std::span<std::uint64_t> counts, const Cancel& cancel) const {
  const std::size_t n_denied = column_.n_rows - filter.n_allowed();
  std::vector<std::uint64_t> denied(terms.size(), 0);
  if (n_denied * 2 > column_.n_rows) return flat_.count_terms(terms, filter, counts, cancel);
  if (n_denied > 0) {
    Bitset others(column_.n_rows, true);
    const auto words = others.words();
    for (std::uint32_t b = 0; b < filter.n_blocks(); ++b) words[b] &= ~filter.block(b);
    QV_TRY(flat_.count_terms(terms, RowFilter::of(others), denied, cancel));
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    counts[i] += n_rows_with(terms[i], parts_.terms, parts_.lists) - denied[i];
  }
  return {};
}

Description SparseSearcher::describe() const {
  Description description;
  description.facts = {{"terms", static_cast<std::int64_t>(parts_.terms.size())},
                       {"codec", std::string(name_of(parts_.records.codec()))},
                       {"has_blocks", parts_.blocks.has_value()}};
  if (parts_.blocks) {
    const auto n_blocks = static_cast<std::int64_t>(parts_.blocks->n_blocks());
    description.facts.emplace_back("blocks", n_blocks);
  }
  return description;
}

}  // namespace quiver::index::sparse
