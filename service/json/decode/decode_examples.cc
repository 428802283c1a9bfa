// Queries that compare points with examples.
#include <fmt/format.h>

#include "engine/model/query_vectors.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/request_rules.h"

namespace quiver::service::json {
namespace {

using engine::ContextPair;
using engine::QueryKind;
using engine::QueryVector;

/// Refuses before memory is spent on them; the engine counts all examples of a query.
Decoded<Array> get_examples(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  if (array.size() <= engine::kMaxExamples) return array;
  return wrong_input(fmt::format("{}: {} examples, must be at most {}", path.to_string(),
                                 array.size(), engine::kMaxExamples));
}

Decoded<QueryVector> decode_member_vector(Object object, std::string_view name, const Path& path) {
  QV_TRY(const Element element, require(object, name, path));
  return decode_query_vector(element, path.member(name));
}

Decoded<std::vector<QueryVector>> decode_query_vectors(Object object, std::string_view name,
                                                       const Path& path) {
  std::vector<QueryVector> vectors;
  const auto element = find(object, name);
  if (!element) return vectors;
  const Path here = path.member(name);
  QV_TRY(const Array array, get_examples(*element, here));
  vectors.reserve(array.size());
  for (const Element item : array) {
    QV_TRY(auto vector, decode_query_vector(item, here.item(vectors.size())));
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

Decoded<engine::RecommendStrategy> decode_strategy(Element element, const Path& path) {
  QV_TRY(const auto name, get_string(element, path));
  if (name == "average_vector") return engine::RecommendStrategy::kAverageVector;
  if (name == "best_score") return engine::RecommendStrategy::kBestScore;
  if (name == "sum_scores") return engine::RecommendStrategy::kSumScores;
  return format_error(path, fmt::format("unknown variant `{}`, expected one of `average_vector`, "
                                        "`best_score`, `sum_scores`",
                                        name));
}

Decoded<ContextPair> decode_pair(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  ContextPair pair;
  QV_TRY(pair.positive, decode_member_vector(object, "positive", path));
  QV_TRY(pair.negative, decode_member_vector(object, "negative", path));
  return pair;
}

/// One pair, or a list of them.
Decoded<std::vector<ContextPair>> decode_pairs(Element element, const Path& path) {
  std::vector<ContextPair> pairs;
  if (!element.is_array()) {
    QV_TRY(auto pair, decode_pair(element, path));
    pairs.push_back(std::move(pair));
    return pairs;
  }
  QV_TRY(const Array array, get_examples(element, path));
  for (const Element item : array) {
    QV_TRY(auto pair, decode_pair(item, path.item(pairs.size())));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Decoded<std::vector<engine::Feedback>> decode_feedback_list(Element element, const Path& path) {
  QV_TRY(const Array array, get_examples(element, path));
  std::vector<engine::Feedback> feedback;
  for (const Element item : array) {
    const Path here = path.item(feedback.size());
    QV_TRY(const Object object, get_object(item, here));
    auto& one = feedback.emplace_back();
    QV_TRY(one.example, decode_member_vector(object, "example", here));
    QV_TRY(const Element score, require(object, "score", here));
    QV_TRY(one.score, get_f32(score, here.member("score")));
  }
  return feedback;
}

Decoded<float> decode_coefficient(Object object, std::string_view name, const Path& path) {
  QV_TRY(const Element element, require(object, name, path));
  return get_f32(element, path.member(name));
}

Decoded<> decode_naive(Element element, const Path& path, engine::RelevanceFeedback& query) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(query.a, decode_coefficient(object, "a", path));
  QV_TRY(query.b, decode_coefficient(object, "b", path));
  QV_TRY(query.c, decode_coefficient(object, "c", path));
  if (query.b >= 0) return {};
  QV_TRY(const Element b, require(object, "b", path));
  return out_of_range(path.member("b"), to_json(b), "0.0 or larger");
}

}  // namespace

Decoded<engine::Recommend> decode_recommend(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  engine::Recommend recommend;
  QV_TRY(recommend.positive, decode_query_vectors(object, "positive", path));
  QV_TRY(recommend.negative, decode_query_vectors(object, "negative", path));
  if (const auto strategy = find(object, "strategy")) {
    QV_TRY(recommend.strategy, decode_strategy(*strategy, path.member("strategy")));
  }
  return recommend;
}

Decoded<QueryKind> decode_recommend_query(Element element, const Path& path) {
  QV_TRY(auto recommend, decode_recommend(element, path));
  QV_TRY(check_examples(recommend, path));
  return QueryKind(std::move(recommend));
}

Decoded<QueryKind> decode_discover(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  engine::Discover discover;
  QV_TRY(discover.target, decode_member_vector(object, "target", path));
  if (const auto context = find(object, "context")) {
    QV_TRY(discover.pairs, decode_pairs(*context, path.member("context")));
  }
  return QueryKind(std::move(discover));
}

Decoded<QueryKind> decode_context(Element element, const Path& path) {
  engine::Context context;
  QV_TRY(context.pairs, decode_pairs(element, path));
  return QueryKind(std::move(context));
}

Decoded<QueryKind> decode_relevance_feedback(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  engine::RelevanceFeedback query;
  QV_TRY(query.target, decode_member_vector(object, "target", path));
  QV_TRY(const Element feedback, require(object, "feedback", path));
  QV_TRY(query.feedback, decode_feedback_list(feedback, path.member("feedback")));
  const Path here = path.member("strategy");
  QV_TRY(const Element strategy, require(object, "strategy", path));
  QV_TRY(const Object strategies, get_object(strategy, here));
  QV_TRY(const Element naive, require(strategies, "naive", here));
  QV_TRY(decode_naive(naive, here.member("naive"), query));
  QV_TRY(check_feedback(query, path));
  return QueryKind(std::move(query));
}

}  // namespace quiver::service::json
