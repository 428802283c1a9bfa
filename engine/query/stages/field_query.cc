#include "engine/query/stages/field_query.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/query_vectors.h"
#include "engine/model/row.h"
#include "engine/segment/segment_filter.h"
#include "index/index.h"

namespace quiver::engine {
namespace {

/// Reads the vector of a point.
Result<VectorValue> stored_value(const SearchEnvironment& environment, const PointId& id,
                                 std::size_t field) {
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

/// Adds to `counts[i]` the number of live points of the corpus with index `terms[i]`. Returns how
/// many of the corpus have a vector.
Result<std::uint64_t> count_terms(const Segment& segment, std::size_t field,
                                  const payload::Predicate* corpus,
                                  std::span<const std::uint32_t> terms,
                                  std::span<std::uint64_t> counts, const Cancel& cancel) {
  QV_TRY(const auto live, SegmentFilter::make(segment, field, corpus, cancel));
  const auto rows = live.view();
  QV_TRY(segment.data->searchers[field]->count_terms(terms, rows, counts, cancel));
  return rows.n_allowed();
}

/// Multiplies each value by its IDF, ln((N - n + 0.5) / (n + 0.5) + 1), as in BM25: N points of the
/// corpus have a vector, n of them hold the index.
void weigh_by_idf(std::uint64_t n_points, std::span<const std::uint64_t> counts,
                  SparseVector& query) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto n = static_cast<double>(counts[i]);
    const double idf = std::log((static_cast<double>(n_points) - n + 0.5) / (n + 0.5) + 1);
    query.values[i] = static_cast<float>(query.values[i] * idf);
  }
}

/// How many points of the corpus hold each of `indices`; returns how many have a vector.
Result<std::uint64_t> count_in_snapshot(const SearchEnvironment& environment, std::size_t field,
                                        const payload::Filter* corpus,
                                        std::span<const std::uint32_t> indices,
                                        std::span<std::uint64_t> counts) {
  std::shared_ptr<const payload::Predicate> predicate;
  if (corpus != nullptr) {
    QV_TRY(predicate, payload::compile(*corpus, environment.config.indexes));
  }
  std::uint64_t n_points = 0;
  for (const Segment* segment : environment.snapshot.segments()) {
    QV_TRY(const std::uint64_t n,
           count_terms(*segment, field, predicate.get(), indices, counts, environment.cancel));
    n_points += n;
  }
  return n_points;
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

Result<index::PreparedQuery> multi_query(const FieldSchema& schema, std::span<const float> tokens,
                                         const std::vector<float>& token_weights) {
  QV_TRY(check_weights(schema, tokens.size() / schema.dim, token_weights));
  return index::PreparedQuery::multi(schema, tokens, token_weights);
}

}  // namespace

Result<VectorValue> query_value(const SearchEnvironment& environment, std::size_t field,
                                const QueryVector& vector) {
  if (const auto* id = std::get_if<PointId>(&vector)) return stored_value(environment, *id, field);
  const auto& schema = environment.config.fields[field];
  auto value = std::get<VectorValue>(vector);
  if (auto* dense = std::get_if<DenseVector>(&value);
      dense != nullptr && schema.kind == FieldKind::kMulti) {  // one token
    const auto dim = static_cast<std::uint32_t>(dense->size());
    value = MultiVector{1, dim, std::move(*dense)};
  }
  QV_TRY(check_vector(schema, value));
  if (schema.kind != FieldKind::kSparse) return value;
  QV_TRY(const auto sorted, to_stored(schema, value));
  return std::get<SparseVector>(sorted);
}

Result<> weigh_value(const SearchEnvironment& environment, std::size_t field,
                     const SearchParams& params, VectorValue& value) {
  const auto& schema = environment.config.fields[field];
  if (schema.modifier != SparseModifier::kIdf) {
    if (params.idf_corpus == nullptr) return {};
    return fail(Code::kInvalidArgument,
                fmt::format("`idf` is for sparse vectors with the `idf` modifier, {} has none",
                            quoted_name(schema)));
  }
  auto& query = std::get<SparseVector>(value);
  std::vector<std::uint64_t> counts(query.indices.size(), 0);
  if (params.counts != nullptr) {
    const auto& known = params.counts->of_index;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto found = known.find(query.indices[i]);
      if (found != known.end()) counts[i] = found->second;
    }
    weigh_by_idf(params.counts->n_vectors, counts, query);
    return {};
  }
  QV_TRY(const std::uint64_t n_points,
         count_in_snapshot(environment, field, params.idf_corpus.get(), query.indices, counts));
  weigh_by_idf(n_points, counts, query);
  return {};
}

Result<CorpusCounts> count_indices(const SearchEnvironment& environment, const Query& query) {
  CorpusCounts counted;
  const auto* schema = environment.config.find_field(query.using_field);
  if (schema == nullptr || schema->modifier != SparseModifier::kIdf) return counted;
  QV_TRY(const std::size_t field, environment.config.field(query.using_field));
  std::set<std::uint32_t> distinct;
  for (const auto* vector : vectors_of(query.kind)) {
    QV_TRY(const auto value, query_value(environment, field, *vector));
    const auto& sparse = std::get<SparseVector>(value);
    distinct.insert(sparse.indices.begin(), sparse.indices.end());
  }
  const std::vector<std::uint32_t> indices(distinct.begin(), distinct.end());
  std::vector<std::uint64_t> counts(indices.size(), 0);
  QV_TRY(counted.n_vectors,
         count_in_snapshot(environment, field, query.params.idf_corpus.get(), indices, counts));
  for (std::size_t i = 0; i < indices.size(); ++i) counted.of_index[indices[i]] = counts[i];
  return counted;
}

Result<index::PreparedQuery> prepare_value(const FieldSchema& schema, const VectorValue& value,
                                           const std::vector<float>& token_weights) {
  if (const auto* dense = std::get_if<DenseVector>(&value)) {
    return index::PreparedQuery::dense(schema, *dense);
  }
  if (const auto* multi = std::get_if<MultiVector>(&value)) {
    return multi_query(schema, multi->values, token_weights);
  }
  const auto& sparse = std::get<SparseVector>(value);
  return index::PreparedQuery::sparse(schema, {sparse.indices, sparse.values});
}

Result<FieldQuery> field_query(const SearchEnvironment& environment, const std::string& using_field,
                               const Nearest& nearest, const SearchParams& params) {
  QV_TRY(const std::size_t field, environment.config.field(using_field));
  QV_TRY(auto value, query_value(environment, field, nearest.vector));
  // A point's own vector is a document: samples are of queries only.
  const bool is_given = std::holds_alternative<VectorValue>(nearest.vector) && !nearest.own;
  QuerySamples* samples = is_given ? environment.queries : nullptr;
  const auto* sparse = std::get_if<SparseVector>(&value);
  if (samples != nullptr && sparse != nullptr) {
    samples->offer(field, SparseView{sparse->indices, sparse->values});
  }
  QV_TRY(weigh_value(environment, field, params, value));
  QV_TRY(auto query, prepare_value(environment.config.fields[field], value, params.token_weights));
  if (samples != nullptr && sparse == nullptr) samples->offer(field, query.values());
  return FieldQuery{field, std::move(query)};
}

}  // namespace quiver::engine
