#include "index/dense/searcher.h"

#include <algorithm>
#include <any>

#include "index/graph/walk.h"

namespace quiver::index::dense {
namespace {

/// A filter that allows less is for lists: few of the rows that a walk visits would be hits.
constexpr double kMost = 0.5;

/// Who says how lists or graph are to be searched gets that.
bool is_steered(const SearchParams& params) {
  return params.nprobe != 0 || params.gap != 0 || params.rerank != 0 || params.ef != 0;
}

/// As much more effort as the trial took.
SearchParams as_tried(SearchParams params, const TrialFacts& trial) {
  constexpr double kUsualEffort = 128;
  constexpr double kMostEffort = 1e6;
  if (trial.effort == 1 || is_steered(params)) return params;
  const double effort = params.effort == 0 ? kUsualEffort : params.effort;
  params.effort = static_cast<std::uint32_t>(std::min(kMostEffort, effort * trial.effort));
  return params;
}

double length_of_walk(const SearchParams& params, std::size_t k, double selectivity) {
  constexpr double kUsualEffort = 128;
  constexpr double kLeast = 96;
  constexpr double kPerHit = 1.5;
  const double effort = params.effort == 0 ? 1 : params.effort / kUsualEffort;
  const auto wanted = static_cast<double>(k);
  const double usual = (kLeast + kPerHit * wanted) * effort * params.oversampling;
  const double length = params.ef != 0 ? params.ef : usual;
  return std::max(length, wanted) / selectivity;
}

}  // namespace

Result<> DenseSearcher::search(const Query& query, const AnyParams& any, const FilterView& filter,
                               const SearchContext& context, TopK& out, WorkCounters& work) const {
  const std::size_t n_allowed = filter.n_rows() == 0 ? 0 : filter.n_allowed();
  if (out.k() == 0 || n_allowed == 0) return {};
  const auto* given = std::any_cast<SearchParams>(&any);
  const SearchParams asked = given == nullptr ? SearchParams{} : *given;
  const SearchParams params = as_tried(asked, files_.trial);
  const ivf::CandidateRequest request{.vector = query.values(),
                                      .k = out.k(),
                                      .params = files_.lists.settled(params, out.k()),
                                      .filter = filter,
                                      .n_allowed = n_allowed,
                                      .exact_bytes = exact_bytes(n_allowed),
                                      .cancel = context.cancel,
                                      .work = work};
  Found found;
  const bool is_hopeless = files_.trial.effort == 0 && !is_steered(asked);
  if (context.prefer != Prefer::kExact && !is_hopeless) {
    QV_TRY(found, walks(params, request) ? by_graph(params, request) : by_lists(request));
  }
  if (!found) return flat_.search(query, {}, filter, context, out, work);
  QV_TRY(offer_exactly(query, column_, *found, context.cancel, out));
  work.n_rows_scored += found->size();
  work.n_bytes += found->size() * column_.dense().stride();
  return {};
}

Result<> DenseSearcher::search_batch(std::span<const Query* const> queries, const AnyParams& params,
                                     const FilterView& filter, const SearchContext& context,
                                     std::span<TopK* const> outs, WorkCounters& work) const {
  if (context.prefer == Prefer::kExact) {
    return flat_.search_batch(queries, {}, filter, context, outs, work);
  }
  return Searcher::search_batch(queries, params, filter, context, outs, work);
}

bool DenseSearcher::walks(const SearchParams& params, const ivf::CandidateRequest& request) const {
  const bool asks_for_lists = params.nprobe != 0 || params.gap != 0 || params.rerank != 0;
  return files_.graph && !asks_for_lists && files_.lists.selectivity(request.n_allowed) > kMost;
}

/// Walks that are longer and longer, until comparing all rows would take less.
Result<DenseSearcher::Found> DenseSearcher::by_graph(const SearchParams& params,
                                                     const ivf::CandidateRequest& request) const {
  constexpr double kLonger = 4;
  const double selectivity = files_.lists.selectivity(request.n_allowed);
  const double n = files_.graph->facts().n;
  const graph::Walk walk(*files_.graph, files_.lists);
  double ef = std::min(length_of_walk(params, request.k, selectivity), n);
  for (; request.exact_bytes >= walk.find_bytes(ef); ef = std::min(ef * kLonger, n)) {
    QV_TRY(const auto hits, walk.find({request.vector, request.k, static_cast<std::size_t>(ef),
                                       selectivity < 1 ? request.filter.bits() : nullptr,
                                       request.cancel, request.work}));
    if (hits.end == graph::WalkEnd::kThere) return Found(hits.rows);
    if (hits.end == graph::WalkEnd::kStuck || ef >= n) break;
  }
  return Found();
}

Result<DenseSearcher::Found> DenseSearcher::by_lists(const ivf::CandidateRequest& request) const {
  const double selectivity = files_.lists.selectivity(request.n_allowed);
  if (request.exact_bytes < files_.lists.find_bytes(selectivity, request.params)) return Found();
  QV_TRY(const ivf::Candidates found, files_.lists.find(request));
  const bool are_enough = found.rows.size() >= std::min(request.k, request.n_allowed);
  return found.is_telling && are_enough ? Found(found.rows) : Found();
}

/// As many bytes of codes as are scanned in the time that the allowed rows take out of memory: 70
/// to 90 ns a row of 768 bytes on Zen 4 if not all are, 40 otherwise, at 35 GB/s of codes.
double DenseSearcher::exact_bytes(std::size_t n_allowed) const {
  constexpr double kSlower = 2.5;
  constexpr double kSeekBytes = 1000;
  const double seek = files_.lists.selectivity(n_allowed) < 1 ? kSeekBytes : 0;
  const double row_bytes = seek + kSlower * static_cast<double>(column_.dense().stride());
  return static_cast<double>(n_allowed) * row_bytes;
}

std::uint64_t DenseSearcher::bytes_per_search() const {
  if (files_.trial.effort == 0) return flat_.bytes_per_search();
  if (!files_.graph) return files_.lists.bytes_per_search();
  const graph::Walk walk(*files_.graph, files_.lists);
  return static_cast<std::uint64_t>(walk.find_bytes(graph::kUsualVisits));
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
