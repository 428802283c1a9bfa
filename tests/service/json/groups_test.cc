// Searches for groups, facets and distance matrices: how they are read and written.
#include <gtest/gtest.h>

#include <string>

#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

Decoded<engine::GroupsQuery> groups(std::string body) { return decode_query_groups(body); }

TEST(DecodeGroups, Defaults) {
  const auto read = groups(R"({"group_by":"a.b[]"})");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->group_by, "a.b[]");
  EXPECT_EQ(read->group_size, 3U);
  EXPECT_EQ(read->query.limit, 10U);
  EXPECT_FALSE(read->with_lookup);
  EXPECT_TRUE(std::holds_alternative<engine::NoQuery>(read->query.kind));
}

TEST(DecodeGroups, Everything) {
  const auto read = groups(R"({"query":[1,2],"using":"v","group_by":"a","group_size":5,"limit":7,
      "prefetch":[{"query":3}],"with_payload":true,"with_vector":["v"],"score_threshold":0.5,
      "with_lookup":{"collection":"docs","with_payload":["title"],"with_vectors":true}})");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->group_size, 5U);
  EXPECT_EQ(read->query.limit, 7U);
  EXPECT_EQ(read->query.using_field, "v");
  EXPECT_EQ(read->query.prefetch.size(), 1U);
  EXPECT_EQ(read->with_lookup->collection, "docs");
  EXPECT_TRUE(read->with_lookup->with_vector.all);
}

TEST(DecodeGroups, LookupsByNameShowThePayload) {
  const auto read = groups(R"({"group_by":"a","with_lookup":"docs"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->with_lookup->collection, "docs");
  EXPECT_TRUE(read->with_lookup->with_vector.none());
}

TEST(DecodeGroups, RefusesWhatIsWrong) {
  for (const auto& [body, status, text] :
       {std::tuple("[]", 400, "expected an object"), std::tuple("{}", 400, "group_by"),
        std::tuple(R"({"group_by":"a b"})", 400, "a b"),
        std::tuple(R"({"group_by":7})", 400, "group_by"),
        std::tuple(R"({"group_by":"a","group_size":0})", 422, "group_size: value 0 invalid"),
        std::tuple(R"({"group_by":"a","limit":0})", 422, "limit: value 0 invalid"),
        std::tuple(R"({"group_by":"a","with_lookup":{}})", 400, "collection"),
        std::tuple(R"({"group_by":"a","prefetch":{"query":1}})", 400, "A query is needed")}) {
    const auto read = groups(body);
    ASSERT_FALSE(read) << body;
    EXPECT_EQ(read.error().status, status) << body;
    EXPECT_NE(read.error().text.find(text), std::string::npos) << read.error().text;
  }
}

TEST(DecodeGroups, OlderFormHasNoDefaults) {
  std::string body = R"({"vector":[1],"group_by":"a","group_size":2,"limit":4})";
  const auto read = decode_search_groups(body);
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->query.limit, 4U);
  for (std::string bad : {R"({"vector":[1],"group_by":"a","limit":4})",
                          R"({"vector":[1],"group_by":"a","group_size":2})",
                          R"({"group_by":"a","group_size":2,"limit":4})"}) {
    EXPECT_EQ(decode_search_groups(bad).error().status, 400) << bad;
  }
}

TEST(EncodeGroups, WritesEachKindOfValue) {
  std::string text;
  Writer out(text);
  out.begin_array();
  for (const engine::GroupId& id :
       {engine::GroupId("a\"b"), engine::GroupId(UINT64_MAX), engine::GroupId(std::int64_t{-3})}) {
    write_group(out, {id, {}, {}});
  }
  out.end_array();
  EXPECT_EQ(text, R"([{"id":"a\"b","hits":[]},{"id":18446744073709551615,"hits":[]},)"
                  R"({"id":-3,"hits":[]}])");
}

TEST(EncodeFacets, WritesEachKindOfValue) {
  std::string text;
  Writer out(text);
  const std::vector<engine::FacetHit> hits = {
      {std::string("x"), 3}, {std::int64_t{-1}, 2}, {true, 1}};
  write_facet_hits(out, hits);
  EXPECT_EQ(text, R"({"hits":[{"value":"x","count":3},{"value":-1,"count":2},)"
                  R"({"value":true,"count":1}]})");
}

TEST(EncodeMatrix, IsWrittenAsPairsOrAsOffsets) {
  const engine::DistanceMatrix matrix = {{PointId::number(4), PointId::number(6)},
                                         {{{1, 0.5F}}, {{0, 0.5F}}}};
  std::string pairs;
  Writer first(pairs);
  write_matrix_pairs(first, matrix);
  EXPECT_EQ(pairs, R"({"pairs":[{"a":4,"b":6,"score":0.5},{"a":6,"b":4,"score":0.5}]})");
  std::string offsets;
  Writer second(offsets);
  write_matrix_offsets(second, matrix);
  EXPECT_EQ(offsets, R"({"offsets_row":[0,1],"offsets_col":[1,0],"scores":[0.5,0.5],"ids":[4,6]})");
}

}  // namespace
}  // namespace quiver::service::json
