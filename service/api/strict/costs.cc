#include "service/api/strict/costs.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
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

/// Vectors that a query compares points with, and those of them that are stored points.
struct Examples {
  std::vector<std::uint64_t> costs;
  std::uint64_t n_points = 0;
};

class ExampleReader {
 public:
  ExampleReader(const std::string& field, const CountVectors& n_vectors)
      : field_(field), n_vectors_(n_vectors) {}

  Examples operator()(const engine::Nearest& query) { return add(query.vector); }
  Examples operator()(const engine::Recommend& query) {
    for (const auto* vectors : {&query.positive, &query.negative}) {
      for (const auto& vector : *vectors) add(vector);
    }
    const bool is_one_search = query.strategy == engine::RecommendStrategy::kAverageVector;
    if (is_one_search && !examples_.costs.empty()) {
      examples_.costs = {*std::max_element(examples_.costs.begin(), examples_.costs.end())};
    }
    return examples_;
  }
  Examples operator()(const engine::Discover& query) {
    add(query.target);
    return add(query.pairs);
  }
  Examples operator()(const engine::Context& query) { return add(query.pairs); }
  Examples operator()(const engine::RelevanceFeedback& query) {
    add(query.target);
    for (const auto& feedback : query.feedback) add(feedback.example);
    return examples_;
  }
  /// Queries that compare no vectors.
  template <class Other>
  Examples operator()(const Other&) {
    return examples_;
  }

 private:
  Examples add(const engine::QueryVector& vector) {
    if (const auto* value = std::get_if<engine::VectorValue>(&vector)) {
      examples_.costs.push_back(vector_cost(*value));
    } else {
      examples_.costs.push_back(n_vectors_(std::get<PointId>(vector), field_));
      ++examples_.n_points;
    }
    return examples_;
  }
  Examples add(const std::vector<engine::ContextPair>& pairs) {
    for (const auto& pair : pairs) {
      add(pair.positive);
      add(pair.negative);
    }
    return examples_;
  }

  const std::string& field_;
  const CountVectors& n_vectors_;
  Examples examples_;
};

/// Stored points are looked up, each for one, and left out of the hits, all for one.
std::uint64_t examples_cost(const Examples& examples) {
  const std::uint64_t cost =
      std::accumulate(examples.costs.begin(), examples.costs.end(), std::uint64_t{0});
  return examples.n_points == 0 ? cost : cost + examples.n_points + 1;
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
  const auto examples = std::visit(ExampleReader(query.using_field, n_vectors), query.kind);
  const bool only_rescores = !query.prefetch.empty() && examples.n_points == 0;
  if (!examples.costs.empty() && !only_rescores) return cost + examples_cost(examples);
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
