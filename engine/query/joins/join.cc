#include "engine/query/joins/join.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/indexing/index_params.h"
#include "engine/query/joins/clusters.h"
#include "engine/query/joins/duplicates.h"
#include "engine/query/joins/join_rows.h"
#include "engine/query/joins/knn_graph.h"
#include "engine/query/joins/node_links.h"
#include "engine/query/joins/node_vectors.h"
#include "engine/query/joins/scores.h"
#include "engine/query/joins/target.h"
#include "engine/query/joins/translate.h"
#include "payload/json/path.h"

namespace quiver::engine {
namespace {

/// Fills a table from lists of neighbours.
class NeighbourLists {
 public:
  explicit NeighbourLists(Metric metric) : metric_(metric) {}

  void add(std::uint32_t position, float score) {
    neighbours_.push_back(position);
    scores_.push_back(shown_score(metric_, score));
  }
  void end_row() { offsets_.push_back(neighbours_.size()); }
  void move_to(JoinTable& table) {
    table.offsets = SharedSpan<std::uint64_t>::of(std::move(offsets_));
    table.neighbours = SharedSpan<std::uint32_t>::of(std::move(neighbours_));
    table.scores = SharedSpan<float>::of(std::move(scores_));
  }

 private:
  Metric metric_;
  std::vector<std::uint64_t> offsets_ = {0};
  std::vector<std::uint32_t> neighbours_;
  std::vector<float> scores_;
};

SharedSpan<PointId> all_ids(const JoinRows& rows) {
  return SharedSpan<PointId>::of({rows.ids().begin(), rows.ids().end()});
}

/// Joins that search for neighbours.
class Join {
 public:
  Join(const NeighbourSearch& search, JoinProgress& progress)
      : search_(search), rows_(search.rows()), progress_(progress) {}

  Result<JoinTable> operator()(const KnnJoin& kind) const {
    QV_TRY(const auto graph, knn_graph(search_, kind.k, progress_));
    JoinTable table;
    table.ids = all_ids(rows_);
    const Metric metric = rows_.schema().metric;
    NeighbourLists lists(metric);
    for (std::uint32_t row = 0; row < graph.n_rows(); ++row) {
      for (const Neighbour& to : graph.of(row)) {
        if (kind.min_score && !is_at_least(metric, to.score, *kind.min_score)) break;
        lists.add(to.position, to.score);
      }
      lists.end_row();
    }
    lists.move_to(table);
    return table;
  }

  Result<JoinTable> operator()(const DuplicatesJoin& kind) const {
    QV_TRY(const auto found, find_duplicates(search_, kind, progress_));
    std::vector<std::uint32_t> place(rows_.size());  // in the table
    std::vector<PointId> ids;
    for (const std::uint32_t row : found.rows) {
      place[row] = static_cast<std::uint32_t>(ids.size());
      ids.push_back(rows_.ids()[row]);
    }
    NeighbourLists lists(rows_.schema().metric);
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < found.rows.size(); ++i) {
      for (const Neighbour& to : found.pairs[i]) lists.add(place[to.position], to.score);
      lists.end_row();
      kept.push_back(place[found.kept[i]]);
    }
    JoinTable table;
    table.ids = SharedSpan<PointId>::of(std::move(ids));
    table.groups = SharedSpan<std::uint32_t>::of(std::move(kept));
    lists.move_to(table);
    return table;
  }

  Result<JoinTable> operator()(const ClustersJoin& kind) const {
    QV_TRY(const auto graph, knn_graph(search_, kind.k, progress_));
    QV_TRY(auto clusters,
           find_clusters(graph, rows_.schema().metric, kind, search_.environment().cancel));
    JoinTable table;
    table.ids = all_ids(rows_);
    table.groups = SharedSpan<std::uint32_t>::of(std::move(clusters.numbers));
    table.strengths = SharedSpan<float>::of(std::move(clusters.strengths));
    return table;
  }

  Result<JoinTable> operator()(const NodeVectorsJoin& kind) const {
    QV_TRY(check_node_vectors(rows_.size(), kind));
    progress_.n_total += rows_.size() * kind.weights.size();
    QV_TRY(const NodeLinks links, links_for(kind));
    QV_TRY(auto vectors,
           node_vectors(links, rows_.ids(), kind, search_.environment().cancel, progress_));
    JoinTable table;
    table.dim = kind.dim;
    if (kind.links.empty()) {
      table.ids = all_ids(rows_);
    } else {
      table.ids = SharedSpan<PointId>::of(keep_linked(links, vectors));
    }
    table.vectors = SharedSpan<float>::of(std::move(vectors));
    return table;
  }

 private:
  [[nodiscard]] Result<NodeLinks> links_for(const NodeVectorsJoin& kind) const {
    if (!kind.links.empty()) {
      progress_.n_total += rows_.size();
      return links_in_payloads(search_.environment(), rows_, kind.links, progress_);
    }
    QV_TRY(const auto graph, knn_graph(search_, kind.k, progress_));
    return links_of(graph);
  }

  /// Leaves the vectors of nodes with links, and returns their ids.
  [[nodiscard]] std::vector<PointId> keep_linked(const NodeLinks& links,
                                                 std::vector<float>& vectors) const {
    std::vector<PointId> ids;
    const std::size_t dim = links.n_nodes() == 0 ? 0 : vectors.size() / links.n_nodes();
    for (std::uint32_t node = 0; node < links.n_nodes(); ++node) {
      if (links.of(node).empty()) continue;
      std::copy_n(vectors.data() + node * dim, dim, vectors.data() + ids.size() * dim);
      ids.push_back(rows_.ids()[node]);
    }
    vectors.resize(ids.size() * dim);
    return ids;
  }

  const NeighbourSearch& search_;
  const JoinRows& rows_;
  JoinProgress& progress_;
};

/// Runs a join of any kind.
struct AnyJoin {
  Result<JoinTable> operator()(const TranslateJoin& kind) const {
    return translate(environment, request, kind, progress);
  }
  template <class Kind>
  Result<JoinTable> operator()(const Kind& kind) const {
    QV_TRY(const auto rows, JoinRows::gather(environment, request.using_field, request.filter));
    QV_TRY(const auto search, NeighbourSearch::make(environment, rows, request.params));
    return Join(search, progress)(kind);
  }

  const SearchEnvironment& environment;
  const JoinRequest& request;
  JoinProgress& progress;
};

Result<> check_target(const CollectionConfig& config, const JoinRequest& request) {
  const auto* kind = std::get_if<NodeVectorsJoin>(&request.kind);
  if (kind != nullptr && !kind->links.empty()) QV_TRY(payload::JsonPath::parse(kind->links));
  if (kind == nullptr || request.into.empty()) return {};
  QV_TRY(const std::size_t number, config.field(request.into));
  return check_takes_vectors(config.fields[number], kind->dim);
}

}  // namespace

Result<JoinTable> run_join(const SearchEnvironment& environment, const JoinRequest& request,
                           JoinProgress& progress) {
  return std::visit(AnyJoin{environment, request, progress}, request.kind);
}

Result<> check_join(const SearchEnvironment& environment, const JoinRequest& request) {
  QV_TRY(const std::size_t field, environment.config.field(request.using_field));
  const FieldSchema& schema = environment.config.fields[field];
  if (environment.config.sharding == ShardingMethod::kCustom) {
    return fail(Code::kUnimplemented,
                "a collection with shard keys is not joined: an id may be there twice");
  }
  QV_TRY(JoinRows::check(schema));
  QV_TRY(index_params(*wanted_type(schema, environment.indexes), schema, request.params));
  if (request.filter) QV_TRY(payload::compile(*request.filter, environment.config.indexes));
  if (const auto* kind = std::get_if<TranslateJoin>(&request.kind)) {
    return check_translate(environment, request, *kind);
  }
  return check_target(environment.config, request);
}

}  // namespace quiver::engine
