// Counts of values agree with reading every document.
#include "engine/query/facets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/observe/memory_budget.h"
#include "engine/segment/sealing.h"
#include "payload/json/path.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

constexpr const char* kUuid = "a64a8051-3ee7-4881-8bc6-691d25c70d54";

payload::FieldIndex facet_index(const std::string& key, payload::IndexKind kind) {
  payload::FieldIndex index;
  index.key = key;
  index.kind = kind;
  return index;
}

/// Three segments in memory and a sealed one, with deleted rows.
class Facets : public ::testing::Test {
 protected:
  Facets() {
    using payload::IndexKind;
    config_.indexes = {
        facet_index("bool", IndexKind::kBool), facet_index("int", IndexKind::kInteger),
        facet_index("text", IndexKind::kText), facet_index("word", IndexKind::kKeyword)};
    Random random(31);
    std::vector<Segment> segments;
    for (std::uint64_t i = 0; i < 4; ++i) segments.push_back(random_segment(i, random));
    const auto sealed = sealed_like(segments.back());
    segments.back().data = sealed;
    segments_ = segments;
    snapshot_.emplace(snapshot_of(std::move(segments)));
  }

  static std::string random_word(Random& random) { return "w" + std::to_string(random() % 12); }

  static std::string random_document(Random& random) {
    std::string json = "{";
    const auto add = [&](const std::string& member) {
      if (json.size() > 1) json += ',';
      json += member;
    };
    if (random() % 8 != 0) add("\"bool\":" + std::string(random() % 3 == 0 ? "true" : "false"));
    if (random() % 8 != 0) {
      const auto number = static_cast<std::int64_t>(random() % 9) - 4;
      add("\"int\":[" + std::to_string(number) + "," + std::to_string(number / 2) + ",\"no\"]");
    }
    if (random() % 8 != 0) add("\"word\":\"" + random_word(random) + "\"");
    if (random() % 16 == 0) {
      return R"({"word":["w1",")" + random_word(random) + R"(","w1",7]})";
    }
    return json + "}";
  }

  Segment random_segment(std::uint64_t number, Random& random) const {
    std::vector<Row> rows;
    std::vector<std::uint32_t> deleted;
    for (std::uint64_t i = 0; i < 200; ++i) {
      if (random() % 5 == 0) deleted.push_back(static_cast<std::uint32_t>(i));
      rows.push_back({PointId::number(number * 1000 + i), Seq{i + 1}, random_document(random), {}});
    }
    const Segment segment = segment_of_rows(rows, config_, number + 1);
    return number == 1 ? segment : with_deleted(segment, deleted);
  }

  std::shared_ptr<const SegmentData> sealed_like(const Segment& growing) {
    std::vector<RowRef> rows;
    for (std::uint32_t row = 0; row < growing.n_rows(); ++row) rows.push_back({0, row});
    const std::vector<Segment> inputs = {growing};
    auto data = write_segment({9, inputs, rows, config_.indexes}, *directory_, config_.fields,
                              cancel_, [](double) {});
    return std::make_shared<const SegmentData>(std::move(data).value());
  }

  /// By documents alone.
  [[nodiscard]] std::vector<FacetHit> counted_slowly(const FacetRequest& request) const {
    const auto path = payload::JsonPath::parse(request.key).value();
    const auto predicate =
        payload::compile(request.filter.value_or(payload::Filter{}), config_.indexes).value();
    std::map<FacetValue, std::uint64_t> counts;
    for (const auto& segment : segments_) {
      segment.live().for_each([&](std::size_t i) {
        const auto row = static_cast<std::uint32_t>(i);
        const auto document = payload::parse_json(segment.data->documents[row]).value();
        if (!predicate->matches(document, segment.data->ids[row], [](auto) { return false; })) {
          return;
        }
        std::map<FacetValue, bool> own;
        payload::for_each_element(document, path, [&](const payload::Value& value) {
          if (request.key == "word" && value.as_string() != nullptr) own[*value.as_string()];
          if (request.key == "int" && value.as_i64() != nullptr) own[*value.as_i64()];
          if (request.key == "bool" && value.as_bool() != nullptr) own[*value.as_bool()];
        });
        for (const auto& [value, unused] : own) ++counts[value];
      });
    }
    std::vector<FacetHit> hits;
    for (const auto& [value, count] : counts) hits.push_back({value, count});
    std::stable_sort(hits.begin(), hits.end(),
                     [](const FacetHit& a, const FacetHit& b) { return a.count > b.count; });
    if (hits.size() > request.limit) hits.resize(request.limit);
    return hits;
  }

  [[nodiscard]] Result<std::vector<FacetHit>> counted(const FacetRequest& request) const {
    return count_facets(*snapshot_, config_, request, cancel_);
  }

  CollectionConfig config_;
  Cancel cancel_;
  std::unique_ptr<Directory> directory_ = make_memory_directory();
  std::vector<Segment> segments_;
  std::optional<Snapshot> snapshot_;
};

payload::Filter int_is(std::vector<payload::MatchScalar> values) {
  payload::Filter filter;
  filter.must = {payload::FieldCondition{"int", payload::MatchAny{std::move(values)}}};
  return filter;
}

TEST_F(Facets, AsksForTheMemoryOfItsCounts) {
  process_memory().set_limit(1);
  FacetRequest request;
  request.key = "word";
  const auto refused = count_facets(*snapshot_, config_, request, Cancel());
  process_memory().set_limit(0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("a facet"), std::string::npos);
  EXPECT_TRUE(count_facets(*snapshot_, config_, request, Cancel()));
}

TEST_F(Facets, AgreeWithReadingEveryDocument) {
  using Scalars = std::vector<payload::MatchScalar>;
  const std::vector<std::optional<payload::Filter>> filters = {
      std::nullopt, payload::Filter{}, int_is(Scalars{std::int64_t{4}}),
      int_is(Scalars{std::int64_t{-4}, std::int64_t{0}, std::int64_t{1}}),
      int_is(Scalars{std::int64_t{77}})};
  for (const char* key : {"word", "int", "bool"}) {
    for (std::size_t f = 0; f < filters.size(); ++f) {
      for (const std::uint64_t limit : {1, 3, 100}) {
        const FacetRequest request{key, filters[f], limit};
        const auto hits = counted(request);
        ASSERT_TRUE(hits) << hits.error().to_string();
        EXPECT_EQ(*hits, counted_slowly(request)) << key << " filter " << f << " limit " << limit;
      }
    }
  }
}

TEST_F(Facets, NeedAnIndexWhoseValuesCanBeCounted) {
  for (const char* key : {"text", "other"}) {
    const auto refused = counted({key, {}, 10});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
    EXPECT_NE(refused.error().message().find(std::string("`") + key + "`"), std::string::npos);
  }
  config_.indexes.push_back(facet_index("new", payload::IndexKind::kKeyword));
  const auto early = counted({"new", {}, 10});
  ASSERT_FALSE(early) << "its columns are not built";
  EXPECT_EQ(early.error().code(), Code::kUnavailable);
}

TEST_F(Facets, StopWhenNobodyWaits) {
  cancel_.cancel();
  EXPECT_EQ(counted({"word", {}, 10}).error().code(), Code::kCancelled);
}

TEST(FacetsOfNothing, AreEmpty) {
  CollectionConfig config;
  config.indexes = {facet_index("a", payload::IndexKind::kUuid)};
  const Snapshot empty = snapshot_of({});
  EXPECT_TRUE(count_facets(empty, config, {"a", {}, 10}, Cancel()).value().empty());
}

TEST(FacetsOfUuids, AreOneForAllSpellings) {
  CollectionConfig config;
  config.indexes = {facet_index("a", payload::IndexKind::kUuid)};
  const std::vector<Row> rows = {
      {PointId::number(1), Seq{1}, R"({"a":"A64A8051-3EE7-4881-8BC6-691D25C70D54"})", {}},
      {PointId::number(2), Seq{2}, std::string(R"({"a":")") + kUuid + "\"}", {}}};
  const Snapshot snapshot = snapshot_of({segment_of_rows(rows, config, 1)});
  const std::vector<FacetHit> expected = {{FacetValue(std::string(kUuid)), 2}};
  EXPECT_EQ(count_facets(snapshot, config, {"a", {}, 10}, Cancel()).value(), expected);
}

}  // namespace
}  // namespace quiver::engine::testing
