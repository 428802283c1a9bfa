#include "engine/query/examples/weighted_query.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <variant>

namespace quiver::engine {
namespace {

/// A sum that is shorter than this share of its parts is mostly rounding.
constexpr double kLeastShare = 1e-2;

using Examples = std::span<const index::PreparedQuery* const>;
using ExampleWeights = std::span<const double>;

double sum_of_magnitudes(ExampleWeights weights) {
  double sum = 0;
  for (const double weight : weights) sum += std::abs(weight);
  return sum;
}

double length_of(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

/// Sum of `weights[e]` * vector of example e, as prepared: under Cosine of unit length.
std::vector<double> sum_of(Examples examples, ExampleWeights weights, double& length_of_parts) {
  std::vector<double> sum(examples[0]->values().size(), 0.0);
  length_of_parts = 0;
  for (std::size_t e = 0; e < examples.size(); ++e) {
    const auto values = examples[e]->values();
    double squares = 0;
    for (std::size_t d = 0; d < sum.size(); ++d) {
      sum[d] += weights[e] * values[d];
      squares += static_cast<double>(values[d]) * values[d];
    }
    length_of_parts += std::abs(weights[e]) * std::sqrt(squares);
  }
  return sum;
}

std::optional<index::PreparedQuery> dense_query(const FieldSchema& schema, Examples examples,
                                                ExampleWeights weights) {
  if (schema.metric == Metric::kManhattan) return std::nullopt;
  double length_of_parts = 0;
  std::vector<double> sum = sum_of(examples, weights, length_of_parts);
  double scale = 1;
  if (schema.metric == Metric::kEuclid) {
    // The sum of -w |x - r|^2 has its maximum at the weighted mean of x, if the weights' sum is
    // positive.
    double total = 0;
    for (const double weight : weights) total += weight;
    if (total < kLeastShare * sum_of_magnitudes(weights) || total <= 0) return std::nullopt;
    scale = 1 / total;
  } else if (!(length_of(sum) > kLeastShare * length_of_parts)) {
    return std::nullopt;
  }
  DenseVector query(sum.size());
  for (std::size_t d = 0; d < query.size(); ++d) query[d] = static_cast<float>(sum[d] * scale);
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!std::all_of(query.begin(), query.end(), is_finite)) return std::nullopt;
  return index::PreparedQuery::dense(schema, query);
}

std::optional<index::PreparedQuery> sparse_query_of(const FieldSchema& schema,
                                                    std::span<const VectorValue> values,
                                                    ExampleWeights weights) {
  std::map<std::uint32_t, double> sum;
  for (std::size_t e = 0; e < values.size(); ++e) {
    const auto& sparse = std::get<SparseVector>(values[e]);
    for (std::size_t i = 0; i < sparse.indices.size(); ++i) {
      sum[sparse.indices[i]] += weights[e] * sparse.values[i];
    }
  }
  SparseVector query;
  for (const auto& [index, value] : sum) {
    const auto rounded = static_cast<float>(value);
    if (!std::isfinite(rounded)) return std::nullopt;
    if (rounded == 0) continue;
    query.indices.push_back(index);
    query.values.push_back(rounded);
  }
  if (query.indices.empty()) return std::nullopt;
  return index::PreparedQuery::sparse(schema, {query.indices, query.values});
}

/// Tokens of all examples, each with its example's weight: none may be negative.
std::optional<index::PreparedQuery> multi_query_of(const FieldSchema& schema, Examples examples,
                                                   ExampleWeights weights) {
  if (is_distance(schema.metric)) return std::nullopt;
  std::vector<float> tokens;
  std::vector<float> token_weights;
  for (std::size_t e = 0; e < examples.size(); ++e) {
    if (weights[e] < 0) return std::nullopt;
    const auto values = examples[e]->values();
    tokens.insert(tokens.end(), values.begin(), values.end());
    token_weights.insert(token_weights.end(), examples[e]->n_tokens(),
                         static_cast<float>(weights[e]));
  }
  return index::PreparedQuery::multi(schema, tokens, token_weights);
}

}  // namespace

std::optional<index::PreparedQuery> weighted_query(const FieldSchema& schema,
                                                   std::span<const VectorValue> values,
                                                   Examples examples, ExampleWeights weights) {
  if (weights.empty()) return std::nullopt;
  switch (schema.kind) {
    case FieldKind::kSparse:
      return sparse_query_of(schema, values, weights);
    case FieldKind::kMulti:
      return multi_query_of(schema, examples, weights);
    case FieldKind::kDense:
      break;
  }
  return dense_query(schema, examples, weights);
}

}  // namespace quiver::engine
