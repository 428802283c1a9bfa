#include "index/dense/osq/scaled_query.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace quiver::index::dense::osq {
namespace {

/// Length to which longer queries are cut under Euclid. Rows are at most 1 long, so f32 still tells
/// them apart, and the order of rows hardly changes beyond.
constexpr double kMaxLength = 64;

/// Lengths of queries and rows between which squares neither vanish in f32 nor overflow. Beyond,
/// rows of different costs may have equal scores.
constexpr double kMinExactLength = 1e-15;
constexpr double kMaxExactLength = 1e18;

double length_of(std::span<const float> vector) {
  return kernels().convert.norm(vector.data(), vector.size());
}

double product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

}  // namespace

ScaledQuery::ScaledQuery(const PreparedQuery& query, const OsqFacts& facts)
    : similarity_(similarity_of(query.schema().metric)), vector_(query.values().size()) {
  const double length = length_of(query.values());
  double scale = facts.scale;
  if (similarity_ == Similarity::kDot) {
    scale = length == 0 ? 1 : facts.length / length;
    cost_of_score_ = scale * facts.scale;
  } else {
    cost_of_score_ = scale * scale;
    if (length * scale > kMaxLength) {
      scale = kMaxLength / length;
      cost_of_score_ = 0;
    }
  }
  kernels().convert.scale(query.values().data(), vector_.size(), scale, vector_.data());
  const double longest = length + 1 / facts.scale;
  is_extreme_ = longest < kMinExactLength || longest > kMaxExactLength;
  const double both = length * scale + 1;
  rounding_ = std::ldexp(both * both * static_cast<double>(vector_.size() + 8), -22);
}

double ScaledQuery::distance(const Partition& partition) const {
  double sum = double{partition.facts.complement} * partition.facts.complement;
  for (std::size_t d = 0; d < vector_.size(); ++d) {
    const double difference = double{vector_[d]} - partition.mean[d];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

float ScaledQuery::cost_limit(float score) const {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  if (cost_of_score_ == 0 || !std::isfinite(score)) return kNone;
  return static_cast<float>(-double{score} * cost_of_score_ + rounding_);
}

void PartitionQuery::set(const ScaledQuery& query, const Partition& partition) {
  const auto klt = partition.klt();
  const std::span<const float> vector = query.vector();
  const double residual = partition.facts.residual;
  const auto left_out = [&](std::span<const float> whole) {
    return std::sqrt(std::max(0.0, product(whole, whole) - product(coordinates, coordinates)));
  };
  coordinates.resize(klt.n_out);
  centred.resize(klt.dim);
  for (std::uint32_t d = 0; d < klt.dim; ++d) centred[d] = vector[d] - klt.mean[d];
  if (query.similarity() == Similarity::kDot) {
    turn(klt, vector.data(), coordinates.data());
    const double of_mean = -product(vector, partition.mean.span());
    const double most = left_out(vector) * residual;
    lower = static_cast<float>(of_mean - most);
    upper = static_cast<float>(of_mean + most);
    return;
  }
  turn(klt, centred.data(), coordinates.data());
  const double outside = left_out(centred);
  lower = static_cast<float>(std::pow(std::max(0.0, outside - residual), 2));
  upper = static_cast<float>(std::pow(outside + residual, 2));
}

}  // namespace quiver::index::dense::osq
