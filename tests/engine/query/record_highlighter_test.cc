#include "engine/query/record_highlighter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

/// One point with this payload, and a text index of `title` with stems.
struct OneText {
  explicit OneText(std::string payload) {
    payload::FieldIndex index;
    index.key = "title";
    index.kind = payload::IndexKind::kText;
    index.text.stemmer = payload::StemmerLanguage::kEnglish;
    config.indexes = {index};
    Row row{PointId::number(1), Seq{1}, std::move(payload), {{}, {}, {}, {}}};
    segment = segment_of_rows({row}, config, 1);
  }

  /// "field: text | text" for each field; the error's text if it fails.
  [[nodiscard]] std::vector<std::string> run(const Query& query) const {
    const auto highlighter = RecordHighlighter::of(query, config);
    if (!highlighter) return {highlighter.error().message()};
    std::vector<std::string> out;
    const auto found = (*highlighter)->run(segment, 0).value();
    for (const auto& field : found) {
      auto& line = out.emplace_back(field.field + ":");
      for (const auto& fragment : field.fragments) line += " " + fragment.text;
    }
    return out;
  }

  CollectionConfig config = numbers_config();
  Segment segment;
};

using Lines = std::vector<std::string>;

Query highlighting(std::vector<std::string> fields) {
  Query query;
  query.highlight.emplace();
  query.highlight->fields = std::move(fields);
  return query;
}

payload::Filter with_condition(const std::string& key, payload::ValueCondition condition) {
  payload::Filter filter;
  filter.must = {payload::FieldCondition{key, std::move(condition)}};
  return filter;
}

TEST(RecordHighlighter, IsMadeOnDemand) {
  EXPECT_EQ(RecordHighlighter::of(Query(), numbers_config()).value(), nullptr);
  EXPECT_EQ(RecordHighlighter::of(ScrollRequest(), numbers_config()).value(), nullptr);
}

TEST(RecordHighlighter, WordsOfTheRequestGoFirst) {
  const OneText world(R"({"title":"cats run","text":"cats run dogs"})");
  Query query = highlighting({"title", "text", "missing"});
  query.filter = with_condition("text", payload::MatchTextAny{"run"});
  EXPECT_EQ(world.run(query), Lines{"text: cats <b>run</b> dogs"});
  query.kind = TextMatch{"dogs cat"};
  query.prefetch.resize(1);
  query.prefetch[0].kind = TextMatch{"running"};
  EXPECT_EQ(world.run(query),
            (Lines{"title: <b>cats</b> <b>run</b>", "text: cats run <b>dogs</b>"}))
      << "stems under the index only";
  query.highlight->query = "cats";
  EXPECT_EQ(world.run(query), (Lines{"title: <b>cats</b> run", "text: <b>cats</b> run dogs"}));
  query.highlight->query = "";
  EXPECT_EQ(world.run(query), Lines{});
}

TEST(RecordHighlighter, ConditionsOfTheWholeTree) {
  const OneText world(R"({"title":["a b c d"],"people":[{"bio":"x"},{"bio":"y"}]})");
  Query query = highlighting({"title[]", "people[].bio"});
  query.filter = with_condition("title", payload::MatchPhrase{"a"});
  query.filter->should = {
      std::make_shared<const payload::Filter>(with_condition("title", payload::MatchText{"b"}))};
  query.filter->must_not = with_condition("title", payload::MatchText{"c"}).must;
  payload::Nested nested{"people", std::make_shared<const payload::Filter>(
                                       with_condition("bio", payload::MatchText{"y"}))};
  query.prefetch.resize(1);
  query.prefetch[0].filter.emplace().min_should = payload::MinShould{{nested}, 1};
  EXPECT_EQ(world.run(query), (Lines{"title[]: <b>a</b> <b>b</b> c d", "people[].bio: <b>y</b>"}));
}

TEST(RecordHighlighter, NeedsWords) {
  const OneText world("{}");
  const Lines refused = {
      "highlight: no words to mark. Wanted `query`, a text query, or a text condition on one of "
      "the `fields`"};
  EXPECT_EQ(world.run(highlighting({"title"})), refused);
  Query query = highlighting({"title"});
  query.filter = with_condition("other", payload::MatchText{"a"});
  EXPECT_EQ(world.run(query), refused);
  ScrollRequest request;
  request.highlight = query.highlight;
  request.filter = query.filter;
  EXPECT_FALSE(RecordHighlighter::of(request, world.config));
  request.highlight->fields = {"other"};
  EXPECT_TRUE(RecordHighlighter::of(request, world.config));
}

TEST(RecordHighlighter, ValuesThatAreNoTextAreCounted) {
  const OneText world(R"({"tags":[1,"a",null,["a"],"a"]})");
  Query query = highlighting({"tags"});
  query.highlight->query = "a";
  const auto found = RecordHighlighter::of(query, world.config).value()->run(world.segment, 0);
  const auto& field = found->at(0);
  EXPECT_TRUE(field.has_several_texts);
  ASSERT_EQ(field.fragments.size(), 2U);
  EXPECT_EQ(field.fragments[0].text_number, 1U);
  EXPECT_EQ(field.fragments[1].text_number, 4U);
}

TEST(RecordHighlighter, AnEmptyPayload) {
  Query query = highlighting({"title"});
  query.highlight->query = "a";
  EXPECT_EQ(OneText("{}").run(query), Lines{});
}

TEST(RecordsOf, HaveHighlightsOnDemand) {
  const NumbersWorld world;
  Query query = nearest_number("dot", 1, 2);
  EXPECT_FALSE(Plan(query).run(world.environment()).value().at(0).highlights);
  query.highlight = highlighting({"n"}).highlight;
  EXPECT_FALSE(Plan(query).run(world.environment())) << "no words";
  query.highlight->query = "8";
  const auto records = Plan(query).run(world.environment()).value();
  EXPECT_TRUE(records.at(0).highlights->empty()) << "a number is no text";
}

}  // namespace
}  // namespace quiver::engine::testing
