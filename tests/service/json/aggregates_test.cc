// Counts, statistics and histograms: how they are read and written.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

Decoded<engine::AggregateRequest> aggregations(std::string body) { return decode_aggregate(body); }

TEST(DecodeAggregates, Everything) {
  const auto read = aggregations(R"({"filter":{"must":[{"key":"a","match":{"value":1}}]},
      "shard_key":"cats","aggregations":{"n":{"count":{}},"t":{"terms":{"key":"a.b[]"}},
      "u":{"terms":{"key":"a","limit":10000}},"c":{"cardinality":{"key":"a"}},
      "s":{"stats":{"key":"a"}},"h":{"histogram":{"key":"a","interval":0.5,"offset":-1}},
      "d":{"date_histogram":{"key":"a","calendar":"month"}}}})");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_TRUE(read->filter.has_value());
  std::string names;
  for (const auto& [name, aggregation] : read->aggregations) names += name;
  EXPECT_EQ(names, "ntucshd") << "in the order of the request";
  const auto at = [&](std::size_t i) { return read->aggregations[i].second; };
  EXPECT_EQ(std::get<engine::TermsAggregation>(at(1)).limit, 10U);
  EXPECT_EQ(std::get<engine::TermsAggregation>(at(1)).key, "a.b[]");
  EXPECT_EQ(std::get<engine::TermsAggregation>(at(2)).limit, 10000U);
  const auto histogram = std::get<engine::HistogramAggregation>(at(5)).buckets;
  EXPECT_EQ(std::get<payload::NumberBuckets>(histogram).interval, 0.5);
  EXPECT_EQ(std::get<payload::NumberBuckets>(histogram).offset, -1);
  const auto dates = std::get<engine::HistogramAggregation>(at(6)).buckets;
  EXPECT_EQ(std::get<payload::CalendarBuckets>(dates).unit, payload::CalendarUnit::kMonth);
}

TEST(DecodeAggregates, RefusesWhatIsWrong) {
  const auto one = [](const std::string& aggregation) {
    return R"({"aggregations":{"x":)" + aggregation + "}}";
  };
  std::string many = R"({"aggregations":{)";
  for (int i = 0; i < 101; ++i) {
    many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"count":{}})";
  }
  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {"[]", 400, "expected an object"},
      {"{}", 400, "missing field `aggregations`"},
      {R"({"aggregations":{}})", 422, "number of aggregations 0 invalid, must be from 1 to 100"},
      {many + "}}", 422, "number of aggregations 101 invalid"},
      {R"({"aggregations":{"x":{"count":{}}},"filters":{}})", 400, "filters"},
      {R"({"aggregations":{"x":{"count":{}},"x":{"count":{}}}})", 400, "duplicate name `x`"},
      {one("7"), 400, "aggregations.x: invalid type: integer `7`"},
      {one("{}"), 400, "found 0 members"},
      {one(R"({"count":{},"stats":{"key":"a"}})"), 400, "found 2 members"},
      {one(R"({"sum":{"key":"a"}})"), 400, "unknown aggregation `sum`, expected `count`"},
      {one(R"({"count":{"key":"a"}})"), 400, "key"},
      {one(R"({"stats":{}})"), 400, "aggregations.x.stats: missing field `key`"},
      {one(R"({"stats":{"key":7}})"), 400, "aggregations.x.stats.key: invalid type"},
      {one(R"({"stats":{"key":"a b"}})"), 400, "a b"},
      {one(R"({"terms":{"key":"a","limit":0}})"), 422, "limit: value 0 invalid"},
      {one(R"({"terms":{"key":"a","limit":10001}})"), 422, "from 1 to 10000"},
      {one(R"({"histogram":{"key":"a"}})"), 400, "missing field `interval`"},
      {one(R"({"histogram":{"key":"a","interval":0}})"), 422, "interval: value 0 invalid"},
      {one(R"({"histogram":{"key":"a","interval":-2}})"), 422, "must be above 0"},
      {one(R"({"histogram":{"key":"a","interval":"5"}})"), 400, "interval: invalid type"},
      {one(R"({"date_histogram":{"key":"a"}})"), 400, "missing field `calendar`"},
      {one(R"({"date_histogram":{"key":"a","calendar":"week"}})"), 400, "unknown unit `week`"},
      {one(R"({"date_histogram":{"key":"a","calendar":"day","interval":1}})"), 400, "interval"},
  };
  for (const auto& [body, status, text] : cases) {
    const auto read = aggregations(body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().status, status) << body << read.error().text;
    EXPECT_NE(read.error().text.find(text), std::string::npos) << read.error().text;
  }
}

std::string written(const engine::Aggregate& aggregate) {
  std::string text;
  Writer out(text);
  write_aggregate(out, aggregate);
  return text;
}

TEST(EncodeAggregates, WritesEachKind) {
  EXPECT_EQ(written(engine::CountAggregate{7}), R"({"count":7})");
  EXPECT_EQ(written(engine::CardinalityAggregate{7}), R"({"distinct":7})");
  EXPECT_EQ(written(engine::TermsAggregate{
                {{std::string("a\"b"), 3}, {std::int64_t{-1}, 2}, {false, 1}}, 9, 4}),
            R"({"buckets":[{"value":"a\"b","count":3},{"value":-1,"count":2},)"
            R"({"value":false,"count":1}],"distinct":9,"missing":4})");
  payload::NumberStats stats;
  EXPECT_EQ(written(stats), R"({"count":0,"missing":0,"min":null,"max":null,"sum":0,"avg":null})");
  stats = {2, 1, payload::Number(std::int64_t{-3}), payload::Number(2.5), -0.5, -0.25};
  EXPECT_EQ(written(stats), R"({"count":2,"missing":1,"min":-3,"max":2.5,"sum":-0.5,"avg":-0.25})");
  EXPECT_EQ(written(engine::NumberHistogram{{{-5, 1}, {0.5, 2}, {1e300, 3}}, 4}),
            R"({"buckets":[{"from":-5,"count":1},{"from":0.5,"count":2},)"
            R"({"from":1e+300,"count":3}],"missing":4})");
  EXPECT_EQ(written(engine::CalendarHistogram{{{-86'400'000'000, 1}, {0, 2}}, 0}),
            R"({"buckets":[{"from":"1969-12-31T00:00:00Z","count":1},)"
            R"({"from":"1970-01-01T00:00:00Z","count":2}],"missing":0})");
}

}  // namespace
}  // namespace quiver::service::json
