// Queries by examples, in both spellings.
#include <gtest/gtest.h>

#include <string>

#include "service/json/decode/decode.h"

namespace quiver::service::json {
namespace {

using engine::Context;
using engine::Discover;
using engine::Recommend;
using engine::RecommendStrategy;

Decoded<engine::Query> query_of(const std::string& kind) {
  std::string body = R"({"query":)" + kind + "}";
  return decode_query(body);
}
template <class T>
std::string text_of(const Decoded<T>& decoded) {
  return decoded ? "none" : std::to_string(decoded.error().status) + " " + decoded.error().text;
}
PointId id_of(const engine::QueryVector& vector) { return std::get<PointId>(vector); }

TEST(DecodeExamples, Recommend) {
  const auto query =
      query_of(R"({"recommend":{"positive":[1,[0.5],"5c56c793-69f3-4fbf-87e6-c4bf54c28c26"],
      "negative":[{"indices":[3],"values":[2]},[[1,2],[3,4]]],"strategy":"sum_scores"}})");
  ASSERT_TRUE(query) << query.error().text;
  const auto& recommend = std::get<Recommend>(query->kind);
  EXPECT_EQ(recommend.strategy, RecommendStrategy::kSumScores);
  ASSERT_EQ(recommend.positive.size(), 3U);
  EXPECT_EQ(id_of(recommend.positive[0]), PointId::number(1));
  EXPECT_EQ(id_of(recommend.positive[2]).kind(), PointId::Kind::kUuid);
  ASSERT_EQ(recommend.negative.size(), 2U);
  const auto only = query_of(R"({"recommend":{"positive":[1],"negative":null}})");
  EXPECT_EQ(std::get<Recommend>(only->kind).strategy, RecommendStrategy::kAverageVector);
  EXPECT_EQ(
      text_of(query_of(R"({"recommend":{"positive":[]}})")),
      "422 Validation error in JSON body: [internal.query.recommend: At least one positive or "
      "negative vector/id must be provided]");
  EXPECT_EQ(text_of(query_of(R"({"recommend":{"positive":[1],"strategy":"best"}})")),
            "400 Format error in JSON body: internal.query.recommend.strategy: unknown variant "
            "`best`, expected one of `average_vector`, `best_score`, `sum_scores`");
  EXPECT_TRUE(text_of(query_of(R"({"recommend":{"positive":1}})")).starts_with("400 "));
}

TEST(DecodeExamples, DiscoverAndContext) {
  const auto query =
      query_of(R"({"discover":{"target":[1],"context":{"positive":2,"negative":[3]}}})");
  ASSERT_TRUE(query) << query.error().text;
  EXPECT_EQ(id_of(std::get<Discover>(query->kind).pairs.at(0).positive), PointId::number(2));
  const auto alone = query_of(R"({"discover":{"target":7,"context":null}})");
  EXPECT_TRUE(std::get<Discover>(alone->kind).pairs.empty());
  const auto context = query_of(R"({"context":[{"positive":1,"negative":2},
                                              {"positive":3,"negative":4}]})");
  ASSERT_TRUE(context) << context.error().text;
  EXPECT_EQ(std::get<Context>(context->kind).pairs.size(), 2U);
  EXPECT_EQ(text_of(query_of(R"({"discover":{"context":[]}})")),
            "400 Format error in JSON body: internal.query.discover: missing field `target`");
  EXPECT_EQ(text_of(query_of(R"({"context":[{"positive":1}]})")),
            "400 Format error in JSON body: internal.query.context[0]: missing field `negative`");
}

std::string feedback_with(const std::string& feedback, const std::string& b) {
  return R"({"relevance_feedback":{"target":[1],"feedback":)" + feedback +
         R"(,"strategy":{"naive":{"a":0.5,"b":)" + b + R"(,"c":2}}}})";
}

TEST(DecodeExamples, RelevanceFeedback) {
  const auto query = query_of(feedback_with(R"([{"example":3,"score":0.75}])", "1.5"));
  ASSERT_TRUE(query) << query.error().text;
  const auto& feedback = std::get<engine::RelevanceFeedback>(query->kind);
  EXPECT_EQ(feedback.a, 0.5F);
  EXPECT_EQ(feedback.b, 1.5F);
  EXPECT_EQ(feedback.c, 2);
  EXPECT_EQ(id_of(feedback.feedback.at(0).example), PointId::number(3));
  EXPECT_EQ(feedback.feedback[0].score, 0.75F);
  EXPECT_EQ(text_of(query_of(feedback_with("[]", "1"))),
            "422 Validation error in JSON body: [internal.query.relevance_feedback: feedback "
            "elements must be non-empty]");
  EXPECT_EQ(
      text_of(query_of(feedback_with(R"([{"example":3,"score":1}])", "-1.0"))),
      "422 Validation error in JSON body: [internal.query.relevance_feedback.strategy.naive.b: "
      "value -1.0 invalid, must be 0.0 or larger]");
}

TEST(DecodeExamples, OlderRecommendations) {
  std::string body = R"({"positive":[1],"negative":[[2]],"using":"image","top":3,"offset":1,
      "lookup_from":{"collection":"other","vector":"v"},"with_payload":true})";
  const auto query = decode_recommend(body);
  ASSERT_TRUE(query) << query.error().text;
  EXPECT_EQ(std::get<Recommend>(query->kind).negative.size(), 1U);
  EXPECT_EQ(query->using_field, "image");
  EXPECT_EQ(query->limit, 3U);
  EXPECT_EQ(query->offset, 1U);
  EXPECT_EQ(query->lookup_from->vector, "v");
  EXPECT_FALSE(query->with_payload.is_none());
  body = R"({"negative":[1],"limit":3})";
  EXPECT_EQ(text_of(decode_recommend(body)),
            "400 Bad request: At least one positive vector ID required with this strategy");
  body = R"({"strategy":"best_score","limit":3})";
  EXPECT_EQ(text_of(decode_recommend(body)),
            "400 Bad request: At least one positive or negative vector ID required with this "
            "strategy");
  body = R"({"positive":[1]})";
  EXPECT_EQ(text_of(decode_recommend(body)),
            "400 Format error in JSON body: missing field `limit`");
  body = R"({"searches":[{"positive":[1],"limit":1},{"positive":[],"limit":1}]})";
  EXPECT_EQ(text_of(decode_recommend_batch(body)),
            "400 Bad request: At least one positive vector ID required with this strategy (in "
            "searches[1])");
}

TEST(DecodeExamples, OlderDiscoveries) {
  std::string body = R"({"target":1,"context":[{"positive":2,"negative":3}],"limit":3})";
  EXPECT_EQ(std::get<Discover>(decode_discover(body)->kind).pairs.size(), 1U);
  body = R"({"target":null,"context":[{"positive":2,"negative":3}],"limit":3})";
  EXPECT_EQ(std::get<Context>(decode_discover(body)->kind).pairs.size(), 1U);
  body = R"({"context":[],"limit":3})";
  EXPECT_EQ(text_of(decode_discover(body)),
            "400 Bad request: target and/or context_pairs must be specified");
  body = R"({"searches":[{"target":1,"limit":1}]})";
  EXPECT_EQ(decode_discover_batch(body)->size(), 1U);
}

TEST(DecodeFilter, Slices) {
  const auto decode = [](const std::string& slice) {
    std::string body = R"({"filter":{"must":{"slice":)" + slice + "}}}";
    return decode_count(body);
  };
  const auto filter = decode(R"({"total":4,"index":3})");
  ASSERT_TRUE(filter) << filter.error().text;
  EXPECT_EQ(std::get<payload::Slice>(filter->filter->must.at(0)).index, 3U);
  EXPECT_TRUE(text_of(decode(R"({"total":4,"index":4})")).starts_with("422 Validation error"));
  EXPECT_TRUE(text_of(decode(R"({"total":0,"index":0})")).starts_with("400 Format error"));
  EXPECT_TRUE(text_of(decode(R"({"total":4})")).starts_with("400 Format error"));
  EXPECT_TRUE(text_of(decode(R"({"total":4,"index":-1})")).starts_with("400 Format error"));
  EXPECT_TRUE(text_of(decode(R"({"total":4294967296,"index":1})")).starts_with("400 Format error"));
}

}  // namespace
}  // namespace quiver::service::json
