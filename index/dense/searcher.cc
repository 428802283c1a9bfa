#include "index/dense/searcher.h"

#include <algorithm>
#include <any>

#include "index/graph/walk.h"

namespace quiver::index::dense {
namespace {

/// A filter that allows less is for lists: few of the rows that a walk visits would be hits.
constexpr double kMost = 0.5;

std::size_t length_of_walk(const SearchParams& params, std::size_t k, double selectivity) {
  constexpr double kUsualEffort = 128;
  constexpr double kLeast = 96;
  constexpr double kPerHit = 1.5;
  const double effort = params.effort == 0 ? 1 : params.effort / kUsualEffort;
  const auto wanted = static_cast<double>(k);
  const double usual = (kLeast + kPerHit * wanted) * effort * params.oversampling;
  const double length = params.ef != 0 ? params.ef : usual;
  return static_cast<std::size_t>(std::max(length, wanted) / selectivity);
}

}  // namespace

Result<> DenseSearcher::search(const Query& query, const AnyParams& any, const FilterView& filter,
                               const SearchContext& context, TopK& out, WorkCounters& work) const {
  const std::size_t n_allowed = filter.n_rows() == 0 ? 0 : filter.n_allowed();
  if (out.k() == 0 || n_allowed == 0) return {};
  const auto* given = std::any_cast<SearchParams>(&any);
  const SearchParams params = given == nullptr ? SearchParams{} : *given;
  const ivf::CandidateRequest request{.vector = query.values(),
                                      .k = out.k(),
                                      .params = files_.lists.settled(params, out.k()),
                                      .filter = filter,
                                      .n_allowed = n_allowed,
                                      .exact_bytes = exact_bytes(n_allowed),
                                      .cancel = context.cancel,
                                      .work = work};
  const double selectivity = files_.lists.selectivity(n_allowed);
  Found found;
  if (context.prefer != Prefer::kExact) {
    if (walks(params, selectivity)) {
      QV_TRY(found, by_graph(query, params, filter, out.k(), context, work));
    } else if (request.exact_bytes >= files_.lists.find_bytes(selectivity, request.params)) {
      QV_TRY(found, by_lists(request));
    }
  }
  if (!found || found->size() < std::min(out.k(), n_allowed)) {
    return flat_.search(query, {}, filter, context, out, work);
  }
  QV_TRY(offer_exactly(query, column_, *found, context.cancel, out));
  work.n_rows_scored += found->size();
  work.n_bytes += found->size() * column_.dense().stride();
  return {};
}

bool DenseSearcher::walks(const SearchParams& params, double selectivity) const {
  const bool asks_for_lists = params.nprobe != 0 || params.gap != 0 || params.rerank != 0;
  return files_.graph && !asks_for_lists && selectivity > kMost;
}

Result<DenseSearcher::Found> DenseSearcher::by_graph(const Query& query, const SearchParams& params,
                                                     const FilterView& filter, std::size_t k,
                                                     const SearchContext& context,
                                                     WorkCounters& work) const {
  const double selectivity = files_.lists.selectivity(filter.n_allowed());
  const graph::Walk walk(*files_.graph, files_.lists);
  const std::size_t ef = length_of_walk(params, k, selectivity);
  QV_TRY(const auto rows, walk.find({query.values(), k, ef, filter.bits(), context.cancel, work}));
  return Found(rows);
}

Result<DenseSearcher::Found> DenseSearcher::by_lists(const ivf::CandidateRequest& request) const {
  QV_TRY(const ivf::Candidates found, files_.lists.find(request));
  return found.is_telling ? Found(found.rows) : std::nullopt;
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
  return files_.graph ? graph::Walk::usual_bytes(*files_.graph) : files_.lists.bytes_per_search();
}

Description DenseSearcher::describe() const {
  Description description = files_.lists.describe();
  if (!files_.graph) return description;
  const auto& facts = files_.graph->facts();
  description.facts.emplace_back("links", std::int64_t{facts.degree});
  description.facts.emplace_back("link_bits", std::int64_t{facts.n_bits});
  return description;
}

}  // namespace quiver::index::dense
