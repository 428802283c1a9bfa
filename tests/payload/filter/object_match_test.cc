// Nested filters whose conditions must meet in one object: attributes against documents.
#include "payload/filter/object_match.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "payload/attribute/attribute_file.h"
#include "tests/payload/attribute/attribute_support.h"
#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

constexpr std::uint64_t kNestedSeed = 20261128;

/// Documents with arrays of objects under `r`, and under `s` of these, and filters on them. Values
/// and conditions are those of `RandomPayload`.
class NestedPayload {
 public:
  explicit NestedPayload(std::uint64_t seed) : payload_(seed) {}

  Value document() {
    Object out;
    if (chance(0.1)) out.push_back({"r", object(1)});  // no array
    if (chance(0.9)) out.push_back({"r", array(chance(0.02) ? 70 : 5, 1)});
    if (out.size() == 2) out.erase(out.begin());
    if (chance(0.3)) out.push_back({"o", Value(Object{{"r", array(3, 0)}})});
    return Value(std::move(out));
  }

  Filter filter() {
    Filter out;
    out.must.emplace_back(nested());
    if (chance(0.1)) out.must_not.emplace_back(nested());
    return out;
  }

  [[nodiscard]] bool chance(double p) { return payload_.chance(p); }

 private:
  /// A value that `RandomPayload` puts below a key; missing if it puts none there.
  std::optional<Value> value() {
    const Value document = payload_.document();
    const Value* found = document.find("a");
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  Value object(int depth) {
    Object out;
    for (const char* key : {"a", "b"}) {
      if (auto some = value()) out.push_back({key, *std::move(some)});
    }
    if (chance(0.4)) {
      Object inner;
      if (auto some = value()) inner.push_back({"c", *std::move(some)});
      out.push_back({"o", Value(std::move(inner))});
    }
    if (depth > 0 && chance(0.4)) out.push_back({"s", array(3, depth - 1)});
    if (chance(0.1)) out.clear();
    return Value(std::move(out));
  }

  Value array(int most, int depth) {
    Array out;
    for (int i = payload_.below(most + 1); i > 0; --i) {
      if (chance(0.85)) {
        out.push_back(object(depth));
      } else if (chance(0.3)) {
        out.emplace_back(Array{object(0)});
      } else {
        out.push_back(value().value_or(Value()));
      }
    }
    return Value(std::move(out));
  }

  Condition condition(int depth) {
    if (depth > 0 && chance(0.15)) return std::make_shared<const Filter>(inner(depth - 1));
    if (chance(0.02)) return HasId{{PointId::number(3)}};
    if (chance(0.03)) return Nested{"s", std::make_shared<const Filter>(inner(0))};
    constexpr std::array kKeys{"a", "a", "b", "b", "o.c", "missing", "s[].a"};
    const auto key = static_cast<std::size_t>(payload_.below(chance(0.95) ? 6 : 7));
    return FieldCondition{kKeys.at(key), payload_.condition()};
  }

  std::vector<Condition> conditions(int depth, double p) {
    std::vector<Condition> out;
    while (chance(p)) out.push_back(condition(depth));
    return out;
  }

  Filter inner(int depth) {
    Filter out;
    out.must = conditions(depth, 0.5);
    out.should = conditions(depth, 0.3);
    out.must_not = conditions(depth, 0.4);
    if (chance(0.2)) {
      out.min_should =
          MinShould{conditions(depth, 0.7), static_cast<std::uint64_t>(payload_.below(4))};
    }
    return out;
  }

  Nested nested() {
    constexpr std::array kArrays{"r", "r[]", "r[].s", "o.r", "r[0].s", "missing"};
    const auto array = static_cast<std::size_t>(payload_.below(chance(0.6) ? 2 : 6));
    return {kArrays.at(array), std::make_shared<const Filter>(inner(2))};
  }

  RandomPayload payload_;
};

TEST(ObjectMatch, RandomNestedFiltersMatchAsOnDocuments) {
  SCOPED_TRACE("seed " + std::to_string(kNestedSeed));
  NestedPayload payload(kNestedSeed);
  std::mt19937_64 random(kNestedSeed);
  const int n_rounds = std::getenv("QUIVER_LONG_TESTS") != nullptr ? 1500 : 40;
  std::size_t n_read = 0;
  std::size_t n_asked = 0;
  for (int round = 0; round < n_rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<Value> documents;
    const std::size_t n = 1 + random() % 300;
    for (std::size_t i = 0; i < n; ++i) documents.push_back(payload.document());
    const auto set = attributes_of(documents, round % 4 == 0 ? 2000 : kPlenty);
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("filter " + std::to_string(i));
      n_read += expect_equal(documents, set, payload.filter(), random_rows(n, random));
      n_asked += n;
    }
  }
  EXPECT_LT(n_read, n_asked / 4) << "most rows need no document";
}

Filter nested(std::string key, Filter inner) {
  Filter filter;
  filter.must.emplace_back(Nested{std::move(key), std::make_shared<const Filter>(inner)});
  return filter;
}

FieldCondition equals(std::string key, std::int64_t value) {
  return {std::move(key), MatchValue{value}};
}

FieldCondition at_least(std::string key, double least) {
  return {std::move(key), Range{{}, Number(least), {}, {}}};
}

/// The filters of `AttributesDecide…`, on the keys `a` and `b` of objects.
std::vector<Filter> decided_filters() {
  std::vector<Filter> filters(8);
  filters[0].must = {equals("a", 1), at_least("b", 2)};
  filters[1].must = {equals("a", 1)};
  filters[1].must_not = {at_least("b", 1)};
  filters[2].must_not = {equals("a", 1), equals("a", 2)};
  filters[3].min_should = MinShould{{equals("a", 1), equals("b", 2), at_least("b", 3)}, 2};
  filters[4].must = {equals("b", 2)};
  filters[4].should = {equals("a", 0), equals("a", 3)};
  filters[5].must = {equals("a", 1), FieldCondition{"b", IsEmpty{true}}};
  filters[6].must = {equals("a", 1), FieldCondition{"b", ValuesCount{{}, 2, {}, {}}}};
  filters[7].must = {equals("a", 1), FieldCondition{"b", IsNull{true}}};
  return filters;
}

Value small_object(std::mt19937_64& random) {
  const auto integer = [&] { return Value(static_cast<std::int64_t>(random() % 4)); };
  Object object;
  if (random() % 5 != 0) object.push_back({"a", integer()});
  switch (random() % 5) {
    case 0:
      object.push_back({"b", Value()});
      break;
    case 1:
      object.push_back({"b", Value(Array{integer(), integer()})});
      break;
    case 2:
      break;
    default:
      object.push_back({"b", integer()});
  }
  return Value(std::move(object));
}

/// `{"r": [objects], "deep": [{"s": [objects]}, …]}`
std::vector<Value> small_documents(std::size_t n) {
  std::mt19937_64 random(kNestedSeed);
  const auto objects = [&] {
    Array array;
    for (std::size_t i = random() % 4; i > 0; --i) array.push_back(small_object(random));
    return Value(std::move(array));
  };
  std::vector<Value> documents;
  for (std::size_t i = 0; i < n; ++i) {
    const auto outer = [&] { return Value(Object{{"s", objects()}}); };
    documents.emplace_back(Object{{"r", objects()}, {"deep", Value(Array{outer(), outer()})}});
  }
  return documents;
}

TEST(ObjectMatch, AttributesDecideConditionsThatMeetInOneObject) {
  const auto documents = small_documents(500);
  const auto set = attributes_of(documents, kPlenty);
  for (const std::string key : {"r", "deep[].s", "missing"}) {
    for (const Filter& filter : decided_filters()) {
      SCOPED_TRACE(key);
      EXPECT_EQ(expect_equal(documents, set, nested(key, filter), Bitset(500, true)), 0U);
    }
  }
}

TEST(ObjectMatch, PathsThroughAFurtherArrayNeedDocuments) {
  const auto documents = small_documents(200);
  const auto set = attributes_of(documents, kPlenty);
  Filter inner;
  inner.must = {equals("s[].a", 1), equals("s[].b", 2)};
  EXPECT_GT(expect_equal(documents, set, nested("deep", inner), Bitset(200, true)), 0U);
  Filter innermost;
  innermost.must = {equals("a", 1), equals("b", 2)};
  EXPECT_GT(expect_equal(documents, set, nested("deep", nested("s", innermost)), Bitset(200, true)),
            0U);
}

Value row_of(std::size_t n_objects) {
  Array objects;
  for (std::size_t i = 0; i < n_objects; ++i) {
    const bool is_last = i + 1 == n_objects;
    objects.emplace_back(Object{{"a", Value(std::int64_t{is_last})}, {"b", Value(is_last)}});
  }
  return Value(Object{{"r", Value(std::move(objects))}});
}

TEST(ObjectMatch, RowsWithMoreObjectsThanBitsNeedTheirDocument) {
  const std::vector<Value> documents = {row_of(64), row_of(65), row_of(300), row_of(1)};
  const auto set = attributes_of(documents, kPlenty);
  Filter inner;
  inner.must = {equals("a", 1), FieldCondition{"b", MatchValue{true}}};
  EXPECT_EQ(expect_equal(documents, set, nested("r", inner), Bitset(4, true)), 2U);
  const AttributeView* counts = set.find("r[]");
  ASSERT_NE(counts, nullptr);
  EXPECT_EQ(counts->integer_lows[0], 1);
  EXPECT_EQ(counts->integer_lows[2], 65);
}

TEST(ObjectMatch, NumbersOfObjectsTakeNoBytesWhereEachObjectHasOneValue) {
  const std::vector<Value> regular(100, row_of(3));
  EXPECT_TRUE(attributes_of(regular, kPlenty).find("r[].a")->objects.empty());
  auto documents = regular;
  documents.push_back(*parse_json(R"({"r":[{},{"a":1}]})"));
  const auto set = attributes_of(documents, kPlenty);
  EXPECT_EQ(set.find("r[].a")->objects.size(), set.find("r[].a")->cells.size());
  EXPECT_EQ(set.find("r")->objects.size(), 0U);
}

TEST(ObjectMatch, GrowingSegmentsAreDecidedByParts) {
  const auto documents = small_documents(9500);
  std::vector<std::string> texts;
  for (const Value& document : documents) texts.push_back(to_json(document));
  GrowingAttributes growing;
  const auto parts =
      growing.of_rows(9500, [&](std::uint32_t row) { return std::string_view(texts[row]); });
  ASSERT_EQ(parts.size(), 2U);
  const GrowingDocumentRows rows(documents, parts);
  for (const Filter& filter : decided_filters()) {
    const auto predicate = *compile(nested("r", filter), {});
    rows.n_read = 0;
    const auto found = *predicate->evaluate(rows, Bitset(9500, true), Cancel());
    EXPECT_LE(rows.n_read, 9500U - 9216U);
    EXPECT_EQ(found == matching_documents(*predicate, documents, Bitset(9500, true)), true);
  }
}

class ObjectMatchFiles : public ::testing::Test {
 protected:
  /// Writes the set to the file `a`.
  void write(const AttributeSet& set) {
    ASSERT_TRUE(write_attributes(set, kRows, *directory_, "a"));
  }
  [[nodiscard]] Result<OpenedAttributes> open() const {
    return open_attributes(*directory_, "a", kRows);
  }
  /// Documents read by all filters on the file `a`, whose answers must be right.
  [[nodiscard]] std::size_t n_read() const {
    const auto opened = open();
    EXPECT_TRUE(opened) << opened.error().to_string();
    std::size_t n = 0;
    for (const Filter& filter : decided_filters()) {
      n += expect_equal(documents_, opened->set, nested("r", filter), Bitset(kRows, true));
    }
    return n;
  }

  static constexpr std::uint32_t kRows = 40;
  const std::vector<Value> documents_ = small_documents(kRows);
  const AttributeSet set_ = attributes_of(documents_, kPlenty);
  std::unique_ptr<Directory> directory_ = make_memory_directory();
};

/// What a file of revision 1 has.
AttributeSet without_objects(AttributeSet set) {
  set.has_objects = false;
  std::erase_if(set.attributes,
                [](const AttributeView& attribute) { return attribute.path.ends_with("[]"); });
  for (AttributeView& attribute : set.attributes) attribute.objects = {};
  return set;
}

TEST_F(ObjectMatchFiles, FilesKeepTheObjects) {
  write(set_);
  EXPECT_EQ(n_read(), 0U);
}

TEST_F(ObjectMatchFiles, FilesOfRevisionOneLeaveObjectsToDocuments) {
  write(without_objects(set_));
  EXPECT_FALSE(open()->set.has_objects);
  EXPECT_GT(n_read(), 0U);
}

/// Files of released revisions must be read and written with the same bytes for ever:
/// docs/formats/attributes.md.
TEST_F(ObjectMatchFiles, GoldenFiles) {
  const auto real = *open_real_directory("tests/payload/golden");
  for (const int revision : {1, 2}) {
    SCOPED_TRACE(revision);
    directory_ = make_memory_directory();
    write(revision == 1 ? without_objects(set_) : set_);
    const auto written = *directory_->read_file("a");
    const std::string golden = "attributes-r" + std::to_string(revision) + ".qva";
    if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
      ASSERT_TRUE(real->replace_file(golden, written));
    }
    const auto kept = real->read_file(golden);
    ASSERT_TRUE(kept) << kept.error().to_string();
    EXPECT_TRUE(*kept == written) << "the bytes that are written have changed";
    ASSERT_TRUE(directory_->replace_file("a", *kept));
    EXPECT_EQ(n_read() == 0, revision == 2);
  }
}

TEST_F(ObjectMatchFiles, ObjectsThatDoNotFitTheCodesAreDamage) {
  auto damaged = set_;
  for (AttributeView& attribute : damaged.attributes) {
    if (attribute.path != "r[].b") continue;
    ASSERT_FALSE(attribute.objects.empty());
    std::vector<std::uint8_t> fewer(attribute.objects.begin(), attribute.objects.end() - 1);
    attribute.objects = SharedSpan<std::uint8_t>::of(std::move(fewer));
  }
  write(damaged);
  EXPECT_EQ(open().error().code(), Code::kDataLoss);
}

TEST_F(ObjectMatchFiles, NumbersAboveTheObjectsOfARowAreNoObjects) {
  auto damaged = set_;
  for (AttributeView& attribute : damaged.attributes) {
    if (!attribute.path.starts_with("r[].")) continue;
    std::vector<std::uint8_t> wrong(attribute.cells.size(), 255);
    attribute.objects = SharedSpan<std::uint8_t>::of(std::move(wrong));
  }
  EXPECT_GT(
      expect_equal(documents_, damaged, nested("r", decided_filters()[0]), Bitset(kRows, true)),
      0U);
}

TEST_F(ObjectMatchFiles, EveryChangedByteIsFound) {
  write(set_);
  const auto good = *directory_->read_file("a");
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    ASSERT_TRUE(directory_->replace_file("a", bad));
    EXPECT_FALSE(open()) << "byte " << i;
  }
}

}  // namespace
}  // namespace quiver::payload
