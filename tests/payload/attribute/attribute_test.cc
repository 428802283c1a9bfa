// Attributes against the documents they were made from: what they say of a row is true, and what
// they cannot say they leave to the document.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "payload/attribute/attribute_file.h"
#include "payload/attribute/builder.h"
#include "payload/attribute/growing.h"
#include "payload/filter/attribute_match.h"
#include "payload/filter/predicate.h"
#include "tests/payload/attribute/attribute_support.h"
#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

constexpr std::uint64_t kSeed = 20261125;

Value parse(std::string_view text) { return *parse_json(text); }

Filter must(std::string key, ValueCondition condition) {
  Filter filter;
  filter.must.push_back(FieldCondition{std::move(key), std::move(condition)});
  return filter;
}

TEST(Attributes, RandomFiltersMatchAsOnDocuments) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  RandomPayload payload(kSeed);
  std::mt19937_64 random(kSeed);
  // The long form tries 102,000 filters.
  const int n_rounds = std::getenv("QUIVER_LONG_TESTS") != nullptr ? 1700 : 40;
  for (int round = 0; round < n_rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<Value> documents;
    const std::size_t n = 1 + random() % 300;
    for (std::size_t i = 0; i < n; ++i) documents.push_back(payload.document());
    const auto set = attributes_of(documents, round % 4 == 0 ? 3000 : kPlenty);
    for (int i = 0; i < 60; ++i) {
      expect_equal(documents, set, payload.filter(), random_rows(n, random));
    }
  }
}

std::string moment(std::uint64_t second) {
  const std::string number = std::to_string(second % 3600 / 60 + 100).substr(1);
  return "2024-0" + std::to_string(1 + second / 3600 % 9) + "-10T10:" + number + ":" +
         std::to_string(second % 60 + 100).substr(1) + "Z";
}

/// Nearly every row has values of its own, so that entries are ranges.
Value spread_document(std::mt19937_64& random) {
  Object object;
  const auto add = [&](const char* key, Value value) {
    if (random() % 10 != 0) object.push_back({key, std::move(value)});
  };
  add("integer", Value(static_cast<std::int64_t>(random() % 100'000) - 50'000));
  add("double", Value(static_cast<double>(random() % 1'000'000) / 1000 - 500));
  add("mixed", random() % 2 == 0 ? Value(static_cast<std::int64_t>(random() % 9000))
                                 : Value(std::to_string(random() % 9000)));
  add("text", Value("text " + std::to_string(random() % 100'000)));
  add("long", Value(std::string(70, 'x') + std::to_string(random() % 50)));
  add("moment", Value(moment(random())));
  add("nearly",
      random() % 500 == 0 ? Value(std::string("2024-01-10 or so")) : Value(moment(random())));
  Array tags;
  for (std::size_t i = random() % 4; i > 0; --i) {
    tags.emplace_back("tag " + std::to_string(random() % 5000));
  }
  add("tags", Value(std::move(tags)));
  return Value(std::move(object));
}

ValueCondition spread_condition(std::mt19937_64& random) {
  const auto integer = [&] { return static_cast<std::int64_t>(random() % 100'000) - 50'000; };
  switch (random() % 9) {
    case 0:
      return Range{std::nullopt, Number(integer()), Number(integer()), std::nullopt};
    case 1:
      return Range{Number(static_cast<double>(integer()) / 100), {}, {}, {}};
    case 2:
      return MatchAny{{integer(), integer(), std::int64_t{17}}};
    case 3:
      return MatchExcept{{"text " + std::to_string(random() % 100'000), std::string("tag 7")}};
    case 4:
      return MatchPrefix{(random() % 2 == 0 ? "text " : std::string(69, 'x')) +
                         std::to_string(random() % 50)};
    case 5:
      return DatetimeRange{
          {},
          1704880000'000000 + static_cast<std::int64_t>(random() % 20'000'000) * 1'000'000,
          {},
          {}};
    case 6:
      return MatchText{std::to_string(random() % 500)};
    case 7:
      return MatchAny{{"tag " + std::to_string(random() % 5000), std::string(70, 'x') + "3",
                       std::to_string(random() % 9000)}};
    default:
      return ValuesCount{{}, random() % 4, {}, {}};
  }
}

TEST(Attributes, RangesOfValuesMatchAsDocuments) {
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  std::vector<Value> documents;
  for (int i = 0; i < 3000; ++i) documents.push_back(spread_document(random));
  const std::vector<std::string> keys = {"integer", "double", "mixed",  "text",
                                         "long",    "moment", "nearly", "tags"};
  for (const std::uint64_t max_bytes : {kPlenty, std::uint64_t{200'000}}) {
    const auto set = attributes_of(documents, max_bytes);
    for (int i = 0; i < 400 && !::testing::Test::HasFailure(); ++i) {
      const auto& key = keys[random() % keys.size()];
      const auto condition = spread_condition(random);
      SCOPED_TRACE("filter " + std::to_string(i) + " on " + key + ", condition " +
                   std::to_string(condition.index()));
      expect_equal(documents, set, must(key, condition), random_rows(documents.size(), random));
    }
  }
}

TEST(Attributes, FewDocumentsDecideARangeOverManyValues) {
  std::mt19937_64 random(kSeed);
  std::vector<Value> documents;
  for (int i = 0; i < 4000; ++i) {
    documents.push_back(parse("{\"n\":" + std::to_string(random() % 1'000'000'000) + "}"));
  }
  const auto set = attributes_of(documents, kPlenty);
  const Filter filter = must(
      "n", Range{{}, Number(std::int64_t{100'000'000}), {}, Number(std::int64_t{700'000'000})});
  EXPECT_LE(expect_equal(documents, set, filter, Bitset(documents.size(), true)), 20U);
}

TEST(Attributes, MoreValuesThanCodesAreJoined) {
  AttributeBuilder builder(limits_of(kPlenty));
  constexpr std::int64_t kRows = 150'000;
  for (std::int64_t i = 0; i < kRows; ++i) builder.add(Value(Object{{"n", Value(i * 3)}}));
  const auto set = builder.finish();
  const AttributeView* view = set.find("n");
  ASSERT_NE(view, nullptr);
  EXPECT_LE(view->n_entries(), kMaxEntries);
  EXPECT_GE(view->n_entries(), 20'000U);
  std::uint32_t most = 0;
  for (const std::uint32_t count : view->counts) most = std::max(most, count);
  EXPECT_LE(most, 16U);  // no range is much larger than others, though values came in order
  const auto condition =
      *prepare(Range{{}, Number(std::int64_t{30'000}), Number(std::int64_t{60'000}), {}}, nullptr);
  const auto verdict = match_attribute(*view, condition, RowSet(Bitset(kRows, true)));
  ASSERT_TRUE(verdict);
  EXPECT_GE(verdict->yes.count(), 9'960U);
  EXPECT_LE(verdict->maybe.count(), 32U);
  verdict->yes.for_each([&](std::size_t row) {
    EXPECT_GE(row * 3, 30'000U);
    EXPECT_LT(row * 3, 60'000U);
  });
}

TEST(Attributes, ADeclaredIndexThatChangesTheMeaningIsNotReplaced) {
  const auto set = attributes_of({parse(R"({"t":"Two Words"})")}, kPlenty);
  FieldIndex index;
  index.key = "t";
  index.kind = IndexKind::kText;
  EXPECT_FALSE(match_attribute(*set.find("t"), *prepare(MatchText{"words"}, &index),
                               RowSet(Bitset(1, true))));
  index.kind = IndexKind::kUuid;
  EXPECT_FALSE(match_attribute(*set.find("t"), *prepare(MatchValue{std::string("a")}, &index),
                               RowSet(Bitset(1, true))));
}

TEST(Attributes, PathsBeyondTheLimitsAreLeftOutAndNamed) {
  AttributeLimits limits = limits_of(kPlenty);
  limits.max_paths = 2;
  AttributeBuilder builder(limits);
  builder.add(parse(R"({"a":1,"b":{"c":2},"d":3})"));
  const auto set = builder.finish();
  EXPECT_NE(set.find("a"), nullptr);
  EXPECT_NE(set.find("b"), nullptr);
  EXPECT_EQ(set.find("b.c"), nullptr);
  ASSERT_EQ(set.left_out.size(), 2U);
  EXPECT_EQ(set.left_out[0].path, "b.c");
  EXPECT_EQ(set.left_out[0].reason, "there are too many paths");
  EXPECT_FALSE(set.leads_nowhere("b.c"));
  EXPECT_FALSE(set.leads_nowhere("d"));
  EXPECT_TRUE(set.leads_nowhere("e"));
  EXPECT_EQ(attributes_of({parse(R"({"a":1})")}, 0).left_out.at(0).reason,
            "its values take too many bytes");
}

TEST(Attributes, KeysThatLieTooDeepAreNotTakenForMissing) {
  AttributeLimits limits = limits_of(kPlenty);
  limits.max_depth = 2;
  AttributeBuilder builder(limits);
  builder.add(parse(R"({"a":{"b":{"c":1}},"d":2})"));
  const auto set = builder.finish();
  EXPECT_NE(set.find("a.b"), nullptr);
  EXPECT_FALSE(set.leads_nowhere("a.b.c"));
  EXPECT_TRUE(set.leads_nowhere("d.e"));
}

TEST(Attributes, FilesHoldWhatWasMade) {
  RandomPayload payload(kSeed);
  std::vector<Value> documents;
  for (int i = 0; i < 200; ++i) documents.push_back(payload.document());
  const auto made = attributes_of(documents, 20'000);
  const auto directory = make_memory_directory();
  ASSERT_TRUE(write_attributes(made, 200, *directory, "a"));
  const auto opened = open_attributes(*directory, "a", 200);
  ASSERT_TRUE(opened) << opened.error().message();
  ASSERT_EQ(opened->set.attributes.size(), made.attributes.size());
  ASSERT_EQ(opened->set.left_out.size(), made.left_out.size());
  for (int i = 0; i < 200; ++i) {
    expect_equal(documents, opened->set, payload.filter(), Bitset(200, true));
  }
  EXPECT_EQ(open_attributes(*directory, "a", 199).error().code(), Code::kDataLoss);
  EXPECT_EQ(open_attributes(*directory, "b", 200).error().code(), Code::kNotFound);
}

TEST(Attributes, MoreEntriesThanCodesCanNameAreRefused) {
  AttributeSet set =
      attributes_of({*parse_json(R"({"a":1})"), *parse_json(R"({"a":null})")}, kPlenty);
  ASSERT_FALSE(set.attributes.empty());
  const auto directory = make_memory_directory();
  ASSERT_TRUE(write_attributes(set, 2, *directory, "whole"));
  EXPECT_TRUE(open_attributes(*directory, "whole", 2));
  set.attributes[0].shift = 6;
  ASSERT_TRUE(write_attributes(set, 2, *directory, "narrow"));
  const auto refused = open_attributes(*directory, "narrow", 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kDataLoss);
}

TEST(Attributes, GrowingSegmentsAreDescribedByParts) {
  std::mt19937_64 random(kSeed);
  std::vector<Value> documents;
  std::vector<std::string> texts;
  for (int i = 0; i < 11'000; ++i) {
    documents.push_back(spread_document(random));
    texts.push_back(to_json(documents.back()));
  }
  GrowingAttributes growing;
  std::size_t n_parsed = 0;
  const auto document_of_row = [&](std::uint32_t row) {
    ++n_parsed;
    return std::string_view(texts[row]);
  };
  for (const std::uint32_t n : {500U, 1500U, 3000U, 1200U, 11'000U}) {
    const auto parts = growing.of_rows(n, document_of_row);
    std::uint32_t end = 0;
    for (const auto& part : parts) {
      EXPECT_EQ(part->first_row, end);
      end += part->n_rows;
    }
    EXPECT_LE(end, n);
    EXPECT_LT(n - end, 1024U) << n << " rows";
  }
  EXPECT_LE(n_parsed, 2 * documents.size());
  const auto parts = growing.of_rows(11'000, document_of_row);
  const GrowingDocumentRows rows(documents, parts);
  for (int i = 0; i < 60; ++i) {
    const Filter filter = must(i % 3 == 0   ? "none"
                               : i % 3 == 1 ? "text"
                                            : "integer",
                               spread_condition(random));
    const auto predicate = *compile(filter, {});
    const auto found = *predicate->evaluate(rows, Bitset(11'000, true), Cancel());
    EXPECT_EQ(found == matching_documents(*predicate, documents, Bitset(11'000, true)), true)
        << "filter " << i;
  }
}

TEST(Attributes, APathThatNoRowHasNeedsNoDocument) {
  const std::vector<Value> documents(50, parse(R"({"a":1})"));
  const auto set = attributes_of(documents, kPlenty);
  for (const ValueCondition& condition :
       std::vector<ValueCondition>{MatchValue{std::string("x")}, IsEmpty{true}, IsNull{false},
                                   ValuesCount{{}, {}, 1, {}}}) {
    EXPECT_EQ(expect_equal(documents, set, must("b.c", condition), Bitset(50, true)), 0U);
  }
  EXPECT_EQ(expect_equal(documents, set, must("a[]", IsEmpty{true}), Bitset(50, true)), 50U);
}

TEST(Attributes, ASegmentWithoutPayloadsHasNone) {
  const auto directory = make_memory_directory();
  ASSERT_TRUE(write_attributes(attributes_of({parse("{}")}, kPlenty), 1, *directory, "a"));
  const auto opened = open_attributes(*directory, "a", 1);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->set.attributes.empty());
}

}  // namespace
}  // namespace quiver::payload
