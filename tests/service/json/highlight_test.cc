// Highlights: how they are asked for and written.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

Decoded<engine::Query> with_highlight(const std::string& highlight) {
  std::string body = R"({"highlight":)" + highlight + "}";
  return decode_query(body);
}

TEST(DecodeHighlight, Defaults) {
  const auto query = with_highlight(R"({"fields":["title"]})");
  ASSERT_TRUE(query) << query.error().text;
  const auto& highlight = query->highlight.value();
  EXPECT_EQ(highlight.fields, std::vector<std::string>{"title"});
  EXPECT_FALSE(highlight.query);
  EXPECT_EQ(highlight.options.pre, "<b>");
  EXPECT_EQ(highlight.options.post, "</b>");
  EXPECT_EQ(highlight.options.n_fragments, 2U);
  EXPECT_EQ(highlight.options.fragment_length, 160U);
  EXPECT_EQ(highlight.options.escape, payload::HighlightEscape::kNone);
  EXPECT_FALSE(with_highlight("null")->highlight);
}

TEST(DecodeHighlight, Everything) {
  const auto query = with_highlight(
      R"({"fields":["a.b[]","c"],"query":"x y","pre":"","post":"]","fragments":0,
          "fragment_length":10000,"escape":"html"})");
  ASSERT_TRUE(query) << query.error().text;
  const auto& highlight = query->highlight.value();
  EXPECT_EQ(highlight.fields.size(), 2U);
  EXPECT_EQ(highlight.query, "x y");
  EXPECT_EQ(highlight.options.pre, "");
  EXPECT_EQ(highlight.options.post, "]");
  EXPECT_EQ(highlight.options.n_fragments, 0U);
  EXPECT_EQ(highlight.options.fragment_length, 10'000U);
  EXPECT_EQ(highlight.options.escape, payload::HighlightEscape::kHtml);
}

TEST(DecodeHighlight, OfEveryRequestThatHasIt) {
  std::string batch = R"({"searches":[{"highlight":{"fields":["a"]}},{}]})";
  const auto queries = decode_query_batch(batch);
  ASSERT_TRUE(queries);
  EXPECT_TRUE(queries->at(0).highlight && !queries->at(1).highlight);
  std::string groups = R"({"group_by":"g","highlight":{"fields":["a"]}})";
  EXPECT_TRUE(decode_query_groups(groups)->query.highlight);
  std::string scroll = R"({"highlight":{"fields":["a"]}})";
  EXPECT_TRUE(decode_scroll(scroll)->highlight);
}

TEST(DecodeHighlight, RefusesWhatIsWrong) {
  const std::string long_mark(101, 'x');
  for (const auto& [highlight, status, text] :
       {std::tuple(std::string("[]"), 400, "internal.highlight: invalid type"),
        std::tuple(std::string("{}"), 400, "internal.highlight: missing field `fields`"),
        std::tuple(std::string(R"({"fields":["a"],"Pre":""})"), 400, "unknown field `Pre`"),
        std::tuple(std::string(R"({"fields":"a"})"), 400, "internal.highlight.fields"),
        std::tuple(std::string(R"({"fields":[]})"), 422, "number of fields 0 invalid"),
        std::tuple(std::string(R"({"fields":["a","b","a"]})"), 422,
                   "fields[2]: `a` is there twice"),
        std::tuple(std::string(R"({"fields":["a b"]})"), 400, "internal.highlight.fields[0]"),
        std::tuple(R"({"fields":["a"],"post":")" + long_mark + "\"}", 422, "at most 100"),
        std::tuple(std::string(R"({"fields":["a"],"fragments":-1})"), 400, "fragments"),
        std::tuple(std::string(R"({"fields":["a"],"fragments":101})"), 422, "from 0 to 100"),
        std::tuple(std::string(R"({"fields":["a"],"fragment_length":15})"), 422,
                   "from 16 to 10000"),
        std::tuple(std::string(R"({"fields":["a"],"escape":"HTML"})"), 400, "`HTML`")}) {
    const auto query = with_highlight(highlight);
    ASSERT_FALSE(query) << highlight;
    EXPECT_EQ(query.error().status, status) << highlight;
    EXPECT_NE(query.error().text.find(text), std::string::npos) << query.error().text;
  }
}

TEST(EncodeHighlights, FieldsAndFragments) {
  engine::Record record;
  record.id = PointId::number(1);
  record.highlights = {{{"a\"b", false, {{0, 5, "<b>x</b>", {{5, 6}}}}},
                        {"tags[]", true, {{2, 0, "y", {{0, 1}, {3, 4}}}}}}};
  std::string text;
  Writer out(text);
  write_record(out, record);
  EXPECT_EQ(text,
            R"({"id":1,"highlights":{"a\"b":[{"text":"<b>x</b>","offset":5,"matches":[[5,6]]}],)"
            R"("tags[]":[{"text":"y","element":2,"offset":0,"matches":[[0,1],[3,4]]}]}})");
}

}  // namespace
}  // namespace quiver::service::json
