#include "service/api/strict/costs.h"

#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

namespace quiver::service::api::strict {
namespace {

using payload::Condition;
using payload::Filter;

/// The filter inside a condition; nullptr if it is a plain condition.
const Filter* inner_filter(const Condition& condition) {
  if (const auto* nested = std::get_if<payload::Nested>(&condition)) return nested->filter.get();
  const auto* filter = std::get_if<std::shared_ptr<const Filter>>(&condition);
  return filter == nullptr ? nullptr : filter->get();
}

template <class Visit>
void for_each_condition(const Filter& filter, const Visit& visit) {
  for (const auto* conditions : {&filter.must, &filter.should, &filter.must_not}) {
    std::for_each(conditions->begin(), conditions->end(), visit);
  }
  if (!filter.min_should) return;
  std::for_each(filter.min_should->conditions.begin(), filter.min_should->conditions.end(), visit);
}

std::uint64_t size_of_condition(const Condition& condition) {
  if (const Filter* inner = inner_filter(condition)) return max_condition_size(*inner);
  if (const auto* ids = std::get_if<payload::HasId>(&condition)) return ids->ids.size();
  const auto* field = std::get_if<payload::FieldCondition>(&condition);
  if (field == nullptr) return 0;
  if (const auto* any = std::get_if<payload::MatchAny>(&field->condition)) {
    return any->values.size();
  }
  const auto* except = std::get_if<payload::MatchExcept>(&field->condition);
  return except == nullptr ? 0 : except->values.size();
}

/// A sparse vector costs one for every 64 components that are not zero.
std::uint64_t vector_cost(const engine::VectorValue& vector) {
  constexpr std::uint64_t kNonzerosPerToken = 64;
  if (const auto* multi = std::get_if<engine::MultiVector>(&vector)) return multi->n_tokens;
  const auto* sparse = std::get_if<engine::SparseVector>(&vector);
  if (sparse == nullptr) return 1;
  return (sparse->indices.size() + kNonzerosPerToken - 1) / kNonzerosPerToken;
}

std::uint64_t vector_cost(const engine::QueryVector& vector, const std::string& field,
                          const CountVectors& n_vectors) {
  if (const auto* value = std::get_if<engine::VectorValue>(&vector)) return vector_cost(*value);
  constexpr std::uint64_t kLookedUpAndLeftOut = 2;
  return n_vectors(std::get<PointId>(vector), field) + kLookedUpAndLeftOut;
}

const engine::PointSelector* selector_of(const engine::Operation& operation) {
  return std::visit(
      [](const auto& change) -> const engine::PointSelector* {
        if constexpr (requires { std::get<Filter>(change.points); }) {
          return &change.points;
        } else {
          return nullptr;
        }
      },
      operation);
}

std::uint64_t n_named_points(const engine::Operation& operation) {
  return std::visit(
      [](const auto& change) -> std::uint64_t {
        if constexpr (requires { change.points.size(); }) {
          return change.points.size();
        } else {
          const auto* ids = std::get_if<std::vector<PointId>>(&change.points);
          return ids == nullptr ? 0 : ids->size();
        }
      },
      operation);
}

}  // namespace

std::uint64_t n_conditions(const Filter& filter) {
  std::uint64_t n = 0;
  for_each_condition(filter, [&](const Condition& condition) {
    const Filter* inner = inner_filter(condition);
    n += inner == nullptr ? 1 : n_conditions(*inner);
  });
  return n;
}

std::uint64_t max_condition_size(const Filter& filter) {
  std::uint64_t largest = 0;
  for_each_condition(filter, [&](const Condition& condition) {
    largest = std::max(largest, size_of_condition(condition));
  });
  return largest;
}

std::uint64_t read_cost(const std::optional<Filter>& filter) {
  return 1 + (filter ? n_conditions(*filter) : 0);
}

std::uint64_t query_cost(const engine::Query& query, const CountVectors& n_vectors) {
  std::uint64_t cost = query.filter ? n_conditions(*query.filter) : 0;
  for (const auto& prefetch : query.prefetch) cost += query_cost(prefetch, n_vectors);
  if (const auto* nearest = std::get_if<engine::Nearest>(&query.kind)) {
    return cost + vector_cost(nearest->vector, query.using_field, n_vectors);
  }
  return query.prefetch.empty() ? cost + 1 : cost;
}

std::uint64_t write_cost(const engine::Operation& operation, const CountPoints& n_points) {
  const Filter* filter = filter_of(operation);
  const std::uint64_t n = filter == nullptr ? n_named_points(operation) : n_points(*filter);
  return std::max<std::uint64_t>(n, 1);
}

const Filter* filter_of(const engine::Operation& operation) {
  const auto* selector = selector_of(operation);
  return selector == nullptr ? nullptr : std::get_if<Filter>(selector);
}

}  // namespace quiver::service::api::strict
