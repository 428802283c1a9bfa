#include "engine/query/joins/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "encoders/transforms/principal_plane.h"
#include "engine/model/row.h"
#include "engine/query/joins/join_rows.h"
#include "engine/query/joins/knn_graph.h"
#include "engine/query/joins/map_layout.h"
#include "engine/query/joins/node_vectors.h"

namespace quiver::engine {
namespace {

/// Rows that a plane is fitted to: more of them hardly turn it. Their values are bounded, too,
/// because the fit copies them (64 MB).
constexpr std::size_t kMaxFittedRows = 4000;
constexpr std::size_t kMaxFittedValues = std::size_t{1} << 24;
constexpr std::size_t kRowsBetweenChecks = 64;

std::uint64_t seeded_hash(const PointId& id, std::uint64_t seed) {
  const std::uint64_t numbers[] = {id.hash()};
  return hash_bytes(std::as_bytes(std::span(numbers)), seed);
}

/// The `n` ids with the smallest hashes.
std::vector<PointId> chosen_ids(std::span<const PointId> ids, std::size_t n, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, PointId>> hashed;
  hashed.reserve(ids.size());
  for (const PointId& id : ids) hashed.emplace_back(seeded_hash(id, seed), id);
  std::ranges::nth_element(hashed, hashed.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<PointId> chosen;
  for (std::size_t i = 0; i < n; ++i) chosen.push_back(hashed[i].second);
  return chosen;
}

DenseVector vector_of(const JoinRows& rows, std::size_t position) {
  const auto [part, row] = rows.place(static_cast<std::uint32_t>(position));
  const auto stored = rows.parts()[part].segment->vector(rows.field(), row);
  return std::get<DenseVector>(to_value(rows.schema(), stored));
}

Result<encoders::PrincipalPlane> fitted_plane(const JoinRows& rows, const Cancel& cancel) {
  const std::size_t dim = rows.schema().dim;
  const std::size_t n_most = std::max<std::size_t>(1, kMaxFittedValues / dim);
  const std::size_t n = std::min({rows.size(), kMaxFittedRows, n_most});
  std::vector<float> values;
  values.reserve(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kRowsBetweenChecks == 0) QV_TRY(cancel.check());
    const auto vector = vector_of(rows, i * rows.size() / n);
    values.insert(values.end(), vector.begin(), vector.end());
  }
  return encoders::PrincipalPlane::fit(values, static_cast<std::uint32_t>(dim));
}

Result<JoinRows> gather_sample(const SearchEnvironment& environment,
                               const ProjectionRequest& request) {
  QV_TRY(auto rows, JoinRows::gather(environment, request.using_field, request.filter));
  if (rows.size() <= request.sample) return rows;
  payload::Filter only;
  only.must = {payload::HasId{chosen_ids(rows.ids(), request.sample, request.seed)}};
  return JoinRows::gather(environment, request.using_field, only);
}

/// Fills places and shares.
Result<> project_rows(const JoinRows& rows, const Cancel& cancel, Projection& projection) {
  if (rows.schema().kind != FieldKind::kDense) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} is not dense: it has no principal directions", quoted_name(rows.schema())));
  }
  if (rows.size() == 0) return {};
  QV_TRY(const auto plane, fitted_plane(rows, cancel));
  projection.shares = plane.shares();
  projection.places.reserve(2 * rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % kRowsBetweenChecks == 0) QV_TRY(cancel.check());
    const auto place = plane.project(vector_of(rows, i));
    projection.places.insert(projection.places.end(), place.begin(), place.end());
  }
  return {};
}

/// Where the rows are before the layout.
Result<std::vector<float>> first_places(const JoinRows& rows, const KnnGraph& graph,
                                        const ProjectionRequest& request, const Cancel& cancel) {
  if (rows.schema().kind == FieldKind::kDense) {
    Projection plane;
    QV_TRY(project_rows(rows, cancel, plane));
    return std::move(plane.places);
  }
  const NodeVectorsJoin projection = {request.k, 2, {0, 0, 1, 1}, request.seed};
  JoinProgress untold;
  return node_vectors(links_of(graph), rows.ids(), projection, cancel, untold);
}

Result<std::vector<float>> places_by_neighbours(const SearchEnvironment& environment,
                                                const JoinRows& rows,
                                                const ProjectionRequest& request) {
  QV_TRY(const auto search, NeighbourSearch::make(environment, rows, {}));
  JoinProgress untold;
  QV_TRY(const auto graph, knn_graph(search, request.k, untold));
  QV_TRY(auto places, first_places(rows, graph, request, environment.cancel));
  return lay_out(graph, std::move(places), request.seed, environment.cancel);
}

}  // namespace

Result<Projection> project_sample(const SearchEnvironment& environment,
                                  const ProjectionRequest& request) {
  QV_TRY(const auto rows, gather_sample(environment, request));
  Projection projection;
  projection.ids.assign(rows.ids().begin(), rows.ids().end());
  if (request.layout == ProjectionLayout::kPlane) {
    QV_TRY(project_rows(rows, environment.cancel, projection));
    return projection;
  }
  QV_TRY(projection.places, places_by_neighbours(environment, rows, request));
  return projection;
}

}  // namespace quiver::engine
