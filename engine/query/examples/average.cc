#include "engine/query/examples/average.h"

#include <map>
#include <variant>

namespace quiver::engine {
namespace {

using Values = std::span<const VectorValue>;

DenseVector dense_mean(Values vectors) {
  DenseVector mean(std::get<DenseVector>(vectors[0]).size(), 0.0F);
  for (const auto& vector : vectors) {
    const auto& values = std::get<DenseVector>(vector);
    for (std::size_t d = 0; d < mean.size(); ++d) mean[d] += values[d];
  }
  for (float& value : mean) value /= static_cast<float>(vectors.size());
  return mean;
}

using Components = std::map<std::uint32_t, float>;

Components sparse_mean(Values vectors) {
  Components mean;
  for (const auto& vector : vectors) {
    const auto& sparse = std::get<SparseVector>(vector);
    for (std::size_t i = 0; i < sparse.indices.size(); ++i) {
      mean[sparse.indices[i]] += sparse.values[i];
    }
  }
  for (auto& [index, value] : mean) value /= static_cast<float>(vectors.size());
  return mean;
}

VectorValue dense_average(Values positive, Values negative) {
  DenseVector average = dense_mean(positive);
  if (negative.empty()) return average;
  const DenseVector away = dense_mean(negative);
  for (std::size_t d = 0; d < average.size(); ++d) average[d] += average[d] - away[d];
  return average;
}

VectorValue sparse_average(Values positive, Values negative) {
  Components average = sparse_mean(positive);
  if (!negative.empty()) {
    for (auto& [index, value] : average) value += value;
    for (const auto& [index, value] : sparse_mean(negative)) average[index] -= value;
  }
  SparseVector vector;
  for (const auto& [index, value] : average) {
    vector.indices.push_back(index);
    vector.values.push_back(value);
  }
  return vector;
}

VectorValue joined_tokens(Values positive, Values negative) {
  MultiVector joined{0, std::get<MultiVector>(positive[0]).dim, {}};
  for (const auto& vector : positive) {
    const auto& tokens = std::get<MultiVector>(vector);
    joined.n_tokens += tokens.n_tokens;
    joined.values.insert(joined.values.end(), tokens.values.begin(), tokens.values.end());
  }
  for (const auto& vector : negative) {
    const auto& tokens = std::get<MultiVector>(vector);
    joined.n_tokens += tokens.n_tokens;
    for (const float value : tokens.values) joined.values.push_back(0.0F - value);
  }
  return joined;
}

}  // namespace

VectorValue average_of(std::span<const VectorValue> vectors, std::size_t n_positive) {
  const auto positive = vectors.first(n_positive);
  const auto negative = vectors.subspan(n_positive);
  if (std::holds_alternative<DenseVector>(vectors[0])) return dense_average(positive, negative);
  if (std::holds_alternative<SparseVector>(vectors[0])) return sparse_average(positive, negative);
  return joined_tokens(positive, negative);
}

}  // namespace quiver::engine
