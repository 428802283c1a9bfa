#include "engine/model/query_vectors.h"

#include <variant>

namespace quiver::engine {
namespace {

/// Calls `visit` with each vector of a query. `kind` may be const.
template <class Visit>
void for_each_vector(const Nearest& nearest, Visit visit) {
  visit(nearest.vector);
}
template <class Visit>
void for_each_vector(const Recommend& recommend, Visit visit) {
  for (const auto& vector : recommend.positive) visit(vector);
  for (const auto& vector : recommend.negative) visit(vector);
}
template <class Visit>
void for_each_vector(const std::vector<ContextPair>& pairs, Visit visit) {
  for (const auto& pair : pairs) {
    visit(pair.positive);
    visit(pair.negative);
  }
}
template <class Visit>
void for_each_vector(const Discover& discover, Visit visit) {
  visit(discover.target);
  for_each_vector(discover.pairs, visit);
}
template <class Visit>
void for_each_vector(const Context& context, Visit visit) {
  for_each_vector(context.pairs, visit);
}
template <class Visit>
void for_each_vector(const RelevanceFeedback& feedback, Visit visit) {
  visit(feedback.target);
  for (const auto& item : feedback.feedback) visit(item.example);
}
template <class Kind, class Visit>
void for_each_vector(const Kind& /*kind*/, Visit /*visit*/) {}

template <class Kind>
std::vector<const QueryVector*> collect(const Kind& kind) {
  std::vector<const QueryVector*> vectors;
  for_each_vector(kind, [&](const QueryVector& vector) { vectors.push_back(&vector); });
  return vectors;
}

}  // namespace

std::vector<const QueryVector*> vectors_of(const Recommend& recommend) {
  return collect(recommend);
}
std::vector<const QueryVector*> vectors_of(const Discover& discover) { return collect(discover); }
std::vector<const QueryVector*> vectors_of(const Context& context) { return collect(context); }
std::vector<const QueryVector*> vectors_of(const RelevanceFeedback& feedback) {
  return collect(feedback);
}

std::vector<const QueryVector*> vectors_of(const QueryKind& kind) {
  return std::visit([](const auto& one) { return collect(one); }, kind);
}

std::vector<QueryVector*> vectors_of(QueryKind& kind) {
  std::vector<QueryVector*> vectors;
  for (const QueryVector* vector : vectors_of(std::as_const(kind))) {
    vectors.push_back(const_cast<QueryVector*>(vector));  // `kind` is not const
  }
  return vectors;
}

void add_own_point(QueryKind& kind, const PointId& id) {
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.own.push_back(id); }) {
          one.own.push_back(id);
        } else if constexpr (requires { one.own = id; }) {
          one.own = id;
        }
      },
      kind);
}

}  // namespace quiver::engine
