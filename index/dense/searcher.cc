#include "index/dense/searcher.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "index/cost.h"
#include "index/dense/graph/walk.h"
#include "index/stored_rows.h"

namespace quiver::index::dense {
namespace {

/// True if the user says how to search: the trial's effort then does not apply.
bool is_steered(const DenseSearchParams& params) {
  return params.nprobe != 0 || params.gap != 0 || params.rerank != 0 || params.ef != 0;
}

/// `params` with `effort` multiplied by the trial's factor.
DenseSearchParams as_tried(DenseSearchParams params, const TrialFacts& trial) {
  if (trial.effort == 1 || is_steered(params)) return params;
  const double effort = params.effort == 0 ? cost::kUsualEffort : params.effort;
  params.effort = static_cast<std::uint32_t>(std::min(cost::kMaxEffort, effort * trial.effort));
  return params;
}

/// True if the user says how lists are scanned.
bool asks_for_lists(const DenseSearchParams& params) {
  return params.nprobe != 0 || params.gap != 0 || params.stop != 0 || params.rerank != 0;
}

void note(const Ways& ways, const SearchContext& context) {
  if (context.ways == nullptr) return;
  for (const WayCost& cost : ways.all()) {
    context.ways->push_back({name_of(cost.way), cost::us_of(cost.bytes), false});
  }
}

void note_taken(Way way, const SearchContext& context) {
  if (context.ways == nullptr) return;
  for (WayReport& report : *context.ways) report.is_taken |= report.way == name_of(way);
}

/// How far walks go.
struct WalkPlan {
  double n_usual = 0;  ///< visits of a usual query
  double n_most = 0;   ///< visits of a hard one
  Reach::Shares reach;
};

WalkPlan plan_of_walk(const OpenFiles& files, const DenseSearchParams& params, std::size_t k,
                      double selectivity) {
  const auto wanted = static_cast<double>(k);
  const double usual_reach = cost::kWalkReach * std::pow(wanted / 10, cost::kReachExponentOfK);
  double effort = (params.effort == 0 ? 1 : params.effort / cost::kUsualEffort);
  effort *= params.oversampling;
  if (files.lists.transform().reduction()) effort *= cost::kEffortOfReduced;
  if (params.reach != 0) effort = std::pow(params.reach / usual_reach, 2);
  const double by_effort = (cost::kWalkLength + cost::kWalkLengthPerHit * wanted) * effort;
  const bool ends_by_number =
      !files.graph->has_distances() || (params.ef != 0 && params.reach == 0);
  WalkPlan plan;
  plan.n_usual = std::max(params.ef != 0 ? params.ef : by_effort, wanted) / selectivity;
  const bool has_room = !ends_by_number && params.ef == 0;
  plan.n_most = has_room ? cost::kWalkRoom * plan.n_usual : plan.n_usual;
  const double reach =
      ends_by_number ? std::numeric_limits<double>::infinity() : usual_reach * std::sqrt(effort);
  const double expanded = cost::kExpandedReach * std::pow(wanted / 10, cost::kExpansionExponentOfK);
  plan.reach = {static_cast<float>(reach), static_cast<float>(reach * std::min(1.0, expanded))};
  return plan;
}

/// The rows found, if estimates tell the best and no row is missing; else nullopt.
std::optional<std::span<const std::uint32_t>> enough(const ListCandidates& found,
                                                     const CandidateRequest& request) {
  const std::size_t n = found.rows.size();
  const bool is_all = n >= request.n_allowed;
  if (!found.is_conclusive || (n < request.k && !is_all)) return std::nullopt;
  return found.rows;
}

}  // namespace

struct DenseSearcher::Call {
  DenseSearchParams params;  ///< with the trial's effort
  const RowFilter& filter;
  std::size_t n_allowed = 0;
  const SearchContext& context;
  WorkCounters& work;
};

struct DenseSearcher::Asked {
  const Call& call;
  const PreparedQuery& query;
  TopK& out;
};

Result<> DenseSearcher::search(const PreparedQuery& query, const AnyParams& params,
                               const RowFilter& filter, const SearchContext& context, TopK& out,
                               WorkCounters& work) const {
  const std::size_t n_allowed = filter.n_rows() == 0 ? 0 : filter.n_allowed();
  if (out.k() == 0 || n_allowed == 0) return {};
  QV_TRY(const DenseSearchParams* asked, params.as<DenseSearchParams>());
  if (context.prefer == Prefer::kExact || is_hopeless(*asked)) {
    return flat_.search(query, {}, filter, context, out, work);
  }
  const Call call{as_tried(*asked, files_.trial), filter, n_allowed, context, work};
  return search_alone(call, query, out);
}

Result<> DenseSearcher::search_batch(std::span<const PreparedQuery* const> queries,
                                     const AnyParams& params, const RowFilter& filter,
                                     const SearchContext& context, std::span<TopK* const> results,
                                     WorkCounters& work) const {
  const std::size_t n_allowed = filter.n_rows() == 0 ? 0 : filter.n_allowed();
  if (n_allowed == 0) return {};
  QV_TRY(const DenseSearchParams* asked, params.as<DenseSearchParams>());
  if (context.prefer == Prefer::kExact || is_hopeless(*asked)) {
    return flat_.search_batch(queries, {}, filter, context, results, work);
  }
  const Call call{as_tried(*asked, files_.trial), filter, n_allowed, context, work};
  std::vector<Asked> asked_of_call;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (results[i]->k() != 0) asked_of_call.push_back({call, *queries[i], *results[i]});
  }
  if (scans_as_all(call)) return search_together(asked_of_call);
  for (const Asked& one : asked_of_call) QV_TRY(search_alone(call, one.query, one.out));
  return {};
}

Result<> DenseSearcher::search_filtered(std::span<const FilteredQuery> queries,
                                        const AnyParams& params, const SearchContext& context,
                                        WorkCounters& work) const {
  QV_TRY(const DenseSearchParams* asked, params.as<DenseSearchParams>());
  if (context.prefer == Prefer::kExact || is_hopeless(*asked)) {
    return flat_.search_filtered(queries, {}, context, work);
  }
  std::map<const RowFilter*, Call> calls;
  std::vector<Asked> together;
  std::vector<FilteredQuery> apart;
  for (const FilteredQuery& query : queries) {
    if (query.out->k() == 0 || query.filter->n_rows() == 0) continue;
    auto found = calls.find(query.filter);
    if (found == calls.end()) {
      const Call call{as_tried(*asked, files_.trial), *query.filter, query.filter->n_allowed(),
                      context, work};
      found = calls.emplace(query.filter, call).first;
    }
    const Call& call = found->second;
    if (call.n_allowed == 0) continue;
    if (scans_as_all(call)) {
      together.push_back({call, *query.query, *query.out});
    } else {
      apart.push_back(query);
    }
  }
  QV_TRY(search_together(together));
  return Searcher::search_filtered(apart, params, context, work);
}

/// Devices that may scan the lists, if that is how the searches of the call are answered.
std::optional<DeviceHelp> DenseSearcher::help_of(const Call& call) const {
  gpu::Devices* const devices = call.context.devices;
  if (devices == nullptr || !devices->is_useful()) return std::nullopt;
  if (!scans_as_all(call)) return std::nullopt;
  on_device_.want(*devices);
  if (!on_device_.are_there()) return std::nullopt;
  return DeviceHelp{on_device_, *devices, call.context.executor};
}

CandidateRequest DenseSearcher::request_of(const Call& call, const PreparedQuery& query,
                                           std::size_t k) const {
  return {.vector = query.values(),
          .k = k,
          .params = files_.lists.settled(call.params, k),
          .filter = call.filter,
          .n_allowed = call.n_allowed,
          .cancel = call.context.cancel,
          .work = call.work};
}

bool DenseSearcher::is_hopeless(const DenseSearchParams& asked) const {
  return files_.trial.effort == 0 && !is_steered(asked);
}

/// True if the graph takes the place of the lists.
bool DenseSearcher::walks(const Call& call) const {
  return files_.graph && !asks_for_lists(call.params) &&
         files_.lists.selectivity(call.n_allowed) > cost::kTestFoundRowsAbove;
}

/// True if the lists are scanned as if all rows were allowed.
bool DenseSearcher::scans_as_all(const Call& call) const {
  return files_.lists.scans_as_all(files_.lists.selectivity(call.n_allowed)) && !walks(call);
}

Ways DenseSearcher::ways_of(const Call& call, const CandidateRequest& request) const {
  const double selectivity = files_.lists.selectivity(call.n_allowed);
  Ways ways;
  ways.add(Way::kExact, exact_bytes(call.n_allowed));
  if (!walks(call)) {
    ways.add(Way::kLists, files_.lists.find_bytes(selectivity, request.params));
  }
  if (asks_for_lists(call.params)) return ways;
  if (files_.lists.has_signs() && selectivity < 1) {
    ways.add(Way::kSigns, files_.lists.signs_bytes(call.n_allowed, request.params));
  }
  if (files_.graph) {
    const double n = files_.graph->facts().n;
    const WalkPlan plan = plan_of_walk(files_, call.params, request.k, selectivity);
    const Walk walk(*files_.graph, files_.lists);
    ways.add(Way::kGraph, walk.find_bytes(std::min(plan.n_usual, n), plan.reach));
  }
  return ways;
}

/// Takes the ways, cheapest first, until one finds the best rows.
Result<> DenseSearcher::search_alone(const Call& call, const PreparedQuery& query,
                                     TopK& out) const {
  auto request = request_of(call, query, out.k());
  const auto help = help_of(call);
  if (help) request.device = &*help;
  const Ways ways = ways_of(call, request);
  note(ways, call.context);
  return search_by(ways, call, query, request, out);
}

Result<> DenseSearcher::search_by(const Ways& ways, const Call& call, const PreparedQuery& query,
                                  CandidateRequest& request, TopK& out) const {
  request.most_bytes = ways.sure_bytes();
  for (const WayCost& cost : ways.all()) {
    if (cost.way == Way::kExact) break;
    note_taken(cost.way, call.context);
    QV_TRY(const Found found, find(cost.way, call, request));
    if (found) return offer(call, query, *found, out);
  }
  note_taken(Way::kExact, call.context);
  return search_exactly(call, query, out);
}

Result<DenseSearcher::Found> DenseSearcher::find(Way way, const Call& call,
                                                 const CandidateRequest& request) const {
  switch (way) {
    case Way::kSigns:
      return by_signs(request);
    case Way::kLists:
      return by_lists(request);
    case Way::kGraph:
      return by_graph(call.params, request);
    case Way::kExact:
      break;
  }
  return Found();
}

/// Searches of the lists for all rows, or most. The calls have one context.
Result<> DenseSearcher::search_together(std::span<const Asked> asked) const {
  if (asked.empty()) return {};
  const SearchContext& context = asked.front().call.context;
  std::vector<CandidateRequest> requests;
  std::vector<const Asked*> asked_of;
  for (const Asked& one : asked) {
    auto request = request_of(one.call, one.query, one.out.k());
    const Ways ways = ways_of(one.call, request);
    if (ways.all().front().way != Way::kLists) {
      QV_TRY(search_by(ways, one.call, one.query, request, one.out));
      continue;
    }
    request.most_bytes = ways.sure_bytes();
    requests.push_back(request);
    asked_of.push_back(&one);
  }
  const auto take = [&](std::size_t i, const ListCandidates& found, WorkCounters& work) {
    const auto& [call, query, out] = *asked_of[i];
    // Several threads may be here: none reports its way.
    const SearchContext silent{context.cancel, context.executor, context.prefer, context.devices};
    const Call own{call.params, call.filter, call.n_allowed, silent, work};
    if (const auto rows = enough(found, requests[i])) return offer(own, query, *rows, out);
    auto request = request_of(own, query, out.k());
    return search_by(ways_of(own, request).without(Way::kLists), own, query, request, out);
  };
  const auto help = help_of(asked.front().call);
  if (help) return files_.lists.find_each_assisted(requests, *help, take);
  // Where groups are made for a device, some are left to the CPU.
  const bool has_devices = context.devices != nullptr && context.devices->is_useful();
  return has_devices ? files_.lists.find_each_alone(requests, context.executor, take)
                     : files_.lists.find_each(requests, take);
}

Result<> DenseSearcher::search_exactly(const Call& call, const PreparedQuery& query,
                                       TopK& out) const {
  return flat_.search(query, {}, call.filter, call.context, out, call.work);
}

/// Offers the exact scores of `rows`.
Result<> DenseSearcher::offer(const Call& call, const PreparedQuery& query,
                              std::span<const std::uint32_t> rows, TopK& out) const {
  QV_TRY(offer_exactly(query, column_, rows, call.context.cancel, out));
  call.work.n_rows_scored += rows.size();
  call.work.n_bytes += rows.size() * column_.dense().stride();
  return {};
}

/// Repeats walks of growing length until one finds the best rows. Gives up when another way takes
/// less time.
Result<DenseSearcher::Found> DenseSearcher::by_graph(const DenseSearchParams& params,
                                                     const CandidateRequest& request) const {
  constexpr double kWalkGrowth = 4;
  const double selectivity = files_.lists.selectivity(request.n_allowed);
  const double n = files_.graph->facts().n;
  const Walk walk(*files_.graph, files_.lists);
  const WalkPlan plan = plan_of_walk(files_, params, request.k, selectivity);
  for (double growth = 1;; growth *= kWalkGrowth) {
    if (request.most_bytes < walk.find_bytes(std::min(growth * plan.n_usual, n), plan.reach)) break;
    // A hard query may not take longer than another way.
    const double n_affordable =
        std::max(growth * plan.n_usual, request.most_bytes / walk.find_bytes(1, plan.reach));
    const double ef = std::min({growth * plan.n_most, n, n_affordable});
    QV_TRY(const auto hits,
           walk.find({request.vector, request.k, static_cast<std::size_t>(ef), plan.reach,
                      selectivity < 1 ? &request.filter : nullptr, request.cancel, request.work}));
    if (hits.end == WalkEnd::kThere) return Found(hits.rows);
    if (hits.end == WalkEnd::kStuck || ef >= n) break;
  }
  return Found();
}

Result<DenseSearcher::Found> DenseSearcher::by_lists(const CandidateRequest& request) const {
  QV_TRY(const ListCandidates found, files_.lists.find(request));
  return enough(found, request);
}

Result<DenseSearcher::Found> DenseSearcher::by_signs(const CandidateRequest& request) const {
  QV_TRY(const ListCandidates found, files_.lists.find_by_signs(request));
  return enough(found, request);
}

/// Time to compare `n_allowed` rows, in bytes of codes (index/cost.h). Rows in sequence need no
/// seek.
double DenseSearcher::exact_bytes(std::size_t n_allowed) const {
  const double seek = files_.lists.selectivity(n_allowed) < 1 ? cost::kRowSeekBytes : 0;
  const double row_bytes =
      seek + cost::kExactByteFactor * static_cast<double>(exact_row_cost(column_.schema));
  return static_cast<double>(n_allowed) * row_bytes;
}

std::vector<std::uint32_t> DenseSearcher::rows_by_nearness() const {
  return lists().rows_by_list(column_.n_rows);
}

bool DenseSearcher::is_index_on_device(std::size_t n_allowed) const {
  if (files_.trial.effort == 0) return flat_.is_on_device(n_allowed);
  return !files_.graph && files_.lists.scans_as_all(files_.lists.selectivity(n_allowed)) &&
         on_device_.do_pay(files_.lists.bytes_per_search());
}

/// Always there: the lists if usual searches scan them, else the rows.
bool DenseSearcher::place(gpu::Devices& devices, gpu::Placing placing) const {
  const auto placing_if = [&](bool are_usual) {
    return are_usual || placing == gpu::Placing::kNever ? placing : gpu::Placing::kAuto;
  };
  const bool are_lists_placed = on_device_.place(devices, placing_if(do_scan_lists()));
  const bool are_rows_placed = flat_.place(devices, placing_if(!do_scan_lists()));
  return are_lists_placed && are_rows_placed;
}

Result<> DenseSearcher::hold(gpu::Devices& devices, const gpu::Held& wanted,
                             const Cancel& cancel) const {
  if (wanted.usual && do_scan_lists()) on_device_.want(devices);
  const bool are_rows_usual = files_.trial.effort == 0;
  QV_TRY(
      flat_.hold(devices, {.rows = wanted.rows, .usual = wanted.usual && are_rows_usual}, cancel));
  return on_device_.wait(devices, cancel);
}

std::uint64_t DenseSearcher::bytes_per_search() const {
  if (files_.trial.effort == 0) return flat_.bytes_per_search();
  if (!files_.graph) return files_.lists.bytes_per_search();
  const Walk walk(*files_.graph, files_.lists);
  return static_cast<std::uint64_t>(walk.find_bytes(cost::kUsualVisits, {}));
}

Description DenseSearcher::describe() const {
  Description description = files_.lists.describe();
  if (files_.trial.n_queries != 0) {
    description.facts.emplace_back("trial_recall", double{files_.trial.recall});
    description.facts.emplace_back("trial_effort", double{files_.trial.effort});
  }
  if (!files_.graph) return description;
  const auto& facts = files_.graph->facts();
  description.facts.emplace_back("links", std::int64_t{facts.degree});
  description.facts.emplace_back("link_bits", std::int64_t{facts.n_bits});
  return description;
}

}  // namespace quiver::index::dense
