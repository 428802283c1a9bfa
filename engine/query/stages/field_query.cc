#include "engine/query/stages/field_query.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/row.h"
#include "engine/segment/segment_filter.h"
#include "index/index.h"

namespace quiver::engine {
namespace {

/// The vector itself, read from the snapshot if the query names a point.
Result<VectorValue> value_of(const SearchEnvironment& environment, const Nearest& nearest,
                             std::size_t field) {
  if (const auto* value = std::get_if<VectorValue>(&nearest.vector)) return *value;
  const auto& id = std::get<PointId>(nearest.vector);
  const auto place = environment.snapshot.find(id);
  if (!place) {
    return fail(Code::kNotFound, fmt::format("No point with id {} found", id.to_string()));
  }
  const auto& schema = environment.config.fields[field];
  const auto stored = place->segment->vector(field, place->row);
  if (!is_present(stored)) {
    return fail(Code::kNotFound,
                fmt::format("Point with id {} has no vector `{}`", id.to_string(), schema.name));
  }
  return to_value(schema, stored);
}

/// Adds to `counts[i]` the number of live points with index `terms[i]`. Returns how many live
/// points have a vector.
Result<std::uint64_t> count_terms(const Segment& segment, std::size_t field,
                                  std::span<const std::uint32_t> terms,
                                  std::span<std::uint64_t> counts, const Cancel& cancel) {
  QV_TRY(const auto live, SegmentFilter::make(segment, field, nullptr, cancel));
  const auto rows = live.view();
  QV_TRY(segment.data->searchers[field]->count_terms(terms, rows, counts, cancel));
  return rows.n_allowed();
}

/// Multiplies each value by its IDF, ln((N - n + 0.5) / (n + 0.5) + 1), as in BM25: N points have a
/// vector, n of them hold the index.
Result<> weigh_by_idf(const SearchEnvironment& environment, std::size_t field,
                      SparseVector& query) {
  std::vector<std::uint64_t> counts(query.indices.size(), 0);
  std::uint64_t n_points = 0;
  for (const Segment* segment : environment.snapshot.segments()) {
    QV_TRY(const std::uint64_t n,
           count_terms(*segment, field, query.indices, counts, environment.cancel));
    n_points += n;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto n = static_cast<double>(counts[i]);
    const double idf = std::log((static_cast<double>(n_points) - n + 0.5) / (n + 0.5) + 1);
    query.values[i] = static_cast<float>(query.values[i] * idf);
  }
  return {};
}

Result<> check_weights(const FieldSchema& schema, std::size_t n_tokens,
                       const std::vector<float>& weights) {
  if (weights.empty()) return {};
  if (is_distance(schema.metric)) {
    return fail(Code::kInvalidArgument,
                fmt::format("token_weights are for Dot and Cosine, `{}` is of another metric",
                            schema.name));
  }
  if (weights.size() != n_tokens) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} token_weights for {} query tokens, must be one for each",
                            weights.size(), n_tokens));
  }
  for (const float weight : weights) {
    if (std::isfinite(weight) && weight >= 0) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("a token weight is {}, must be 0 or larger", weight));
  }
  return {};
}

/// `value` as the index takes it. A dense vector for a multi-vector field is one token.
Result<index::PreparedQuery> prepared_query(const SearchEnvironment& environment, std::size_t field,
                                            VectorValue value,
                                            const std::vector<float>& token_weights) {
  const auto& schema = environment.config.fields[field];
  if (schema.kind == FieldKind::kMulti && std::holds_alternative<DenseVector>(value)) {
    auto& token = std::get<DenseVector>(value);
    const auto dim = static_cast<std::uint32_t>(token.size());
    value = MultiVector{1, dim, std::move(token)};
  }
  QV_TRY(check_vector(schema, value));
  if (const auto* multi = std::get_if<MultiVector>(&value)) {
    QV_TRY(check_weights(schema, multi->values.size() / schema.dim, token_weights));
    return index::PreparedQuery::multi(schema, multi->values, token_weights);
  }
  if (const auto* dense = std::get_if<DenseVector>(&value)) {
    return index::PreparedQuery::dense(schema, *dense);
  }
  QV_TRY(const auto stored, to_stored(schema, value));
  auto sparse = std::get<SparseVector>(stored);
  if (schema.modifier == SparseModifier::kIdf) QV_TRY(weigh_by_idf(environment, field, sparse));
  return index::PreparedQuery::sparse(schema, {sparse.indices, sparse.values});
}

}  // namespace

Result<FieldQuery> field_query(const SearchEnvironment& environment, const std::string& using_field,
                               const Nearest& nearest, const std::vector<float>& token_weights) {
  QV_TRY(const std::size_t field, environment.config.field(using_field));
  QV_TRY(auto value, value_of(environment, nearest, field));
  QV_TRY(auto query, prepared_query(environment, field, std::move(value), token_weights));
  // A point's own vector is a document: samples are of queries only.
  const bool is_given = std::holds_alternative<VectorValue>(nearest.vector) && !nearest.own;
  if (environment.queries != nullptr && is_given) {
    environment.queries->offer(field, query.values());
  }
  return FieldQuery{field, std::move(query)};
}

}  // namespace quiver::engine
