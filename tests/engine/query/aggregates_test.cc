// Aggregates agree with reading every document, whatever indexes, attributes and segments there
// are.
#include "engine/query/aggregates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "engine/segment/sealing.h"
#include "payload/json/path.h"
#include "payload/scalar/datetime.h"
#include "payload/scalar/number.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

using payload::CalendarUnit;
using payload::IndexKind;
using payload::Number;

constexpr std::uint64_t kDocumentsSeed = 2601;
const std::vector<std::string> kKeys = {"word", "tags", "year",      "price",   "big",  "when",
                                        "long", "mix",  "parts[].n", "parts.n", "none", "in.x"};

std::vector<payload::FieldIndex> all_indexes() {
  std::vector<payload::FieldIndex> indexes;
  const auto add = [&](const std::string& key, IndexKind kind) {
    indexes.emplace_back();
    indexes.back().key = key;
    indexes.back().kind = kind;
  };
  add("big", IndexKind::kFloat);
  add("in.x", IndexKind::kBool);
  add("long", IndexKind::kKeyword);
  add("mix", IndexKind::kInteger);
  add("parts[].n", IndexKind::kInteger);
  add("price", IndexKind::kFloat);
  add("tags", IndexKind::kKeyword);
  add("when", IndexKind::kDatetime);
  add("word", IndexKind::kText);
  add("year", IndexKind::kInteger);
  return indexes;
}

class RandomDocuments {
 public:
  explicit RandomDocuments(std::uint64_t seed) : random_(seed) {}

  /// Every value occurs in lists, beside other types, and not at all.
  std::string next() {
    members_.clear();
    add("word", 6, [&] { return quoted("w" + number_below(12)); });
    add("tags", 6, [&] { return list(4, [&] { return scalar(); }); });
    add("year", 8, [&] { return std::to_string(1990 + random_() % 40); });
    add("price", 8, [&] { return price(); });
    add("big", 6, [&] { return list(2, [&] { return big(); }); });
    add("when", 6, [&] { return random_() % 4 == 0 ? list(3, [&] { return date(); }) : date(); });
    add("long", 6, [&] { return quoted(std::string(60 + random_() % 8, 'x') + number_below(3)); });
    add("mix", 6,
        [&] { return random_() % 3 == 0 ? list(3, [&] { return scalar(); }) : scalar(); });
    add("parts", 4, [&] {
      return list(3, [&] { return "{\"n\":" + (random_() % 5 == 0 ? scalar() : price()) + "}"; });
    });
    add("in", 4, [&] { return "{\"x\":" + scalar() + "}"; });
    return "{" + members_ + "}";
  }

  std::uint64_t operator()() { return random_(); }

 private:
  template <class Make>
  void add(const std::string& key, std::uint64_t one_in_lacks, const Make& make) {
    if (random_() % one_in_lacks == 0) return;
    if (!members_.empty()) members_ += ',';
    members_ += "\"" + key + "\":" + make();
  }
  template <class Make>
  std::string list(std::uint64_t max, const Make& make) {
    std::string out = "[";
    for (std::uint64_t i = random_() % (max + 1); i > 0; --i) {
      out += make();
      if (i > 1) out += ',';
    }
    return out + "]";
  }
  std::string number_below(std::uint64_t n) { return std::to_string(random_() % n); }
  static std::string quoted(const std::string& text) { return "\"" + text + "\""; }
  /// Nearly all different, with two or no digits behind the point.
  std::string price() {
    std::string text = random_() % 2 == 0 ? "-" : "";
    text += number_below(100000);
    return random_() % 8 == 0 ? text : text + ".25";
  }
  std::string big() {
    if (random_() % 3 == 0) return "1844674407370955" + std::to_string(1000 + random_() % 600);
    if (random_() % 3 == 0) return "1e" + number_below(300);
    return "-922337203685477" + std::to_string(1000 + random_() % 4000);
  }
  std::string date() {
    if (random_() % 12 == 0) return quoted("not a date");
    if (random_() % 12 == 0) return "7";
    const auto two = [&](std::uint64_t n) { return std::to_string(10 + random_() % n); };
    std::string text = "19" + std::to_string(65 + random_() % 10) + "-" + two(3) + "-" + two(18);
    if (random_() % 2 == 0) text += "T" + two(13) + ":" + two(49) + ":" + two(49) + "Z";
    return quoted(text);
  }
  std::string scalar() {
    switch (random_() % 9) {
      case 0:
        return "true";
      case 1:
        return "false";
      case 2:
        return "null";
      case 3:
        return "[3,\"a\"]";
      case 4:
        return "2.5";
      case 5:
        return "{\"a\":1}";
      case 6:
        return "3.0";
      case 7:
        return number_below(5);
      default:
        return quoted(std::string(1, static_cast<char>('a' + random_() % 4)));
    }
  }

  Random random_;
  std::string members_;
};

/// What documents alone say. One for each key.
struct Reference {
  std::map<FacetValue, std::uint64_t> terms;
  std::uint64_t n_without_terms = 0, n_without_numbers = 0, n_without_moments = 0;
  std::vector<Number> numbers;
  std::map<double, std::uint64_t> buckets;
  std::map<std::string, std::uint64_t> years, months, days, hours;  ///< by the begin of the text
};

void add_document(const payload::Value& document, const std::string& key,
                  const payload::NumberBuckets& bounds, Reference& out) {
  std::set<FacetValue> terms;
  std::set<double> buckets;
  std::set<std::string> moments;
  std::size_t n_numbers = 0;
  const auto path = payload::JsonPath::parse(key).value();
  payload::for_each_element(document, path, [&](const payload::Value& value) {
    if (value.as_string() != nullptr) terms.emplace(*value.as_string());
    if (value.as_i64() != nullptr) terms.emplace(*value.as_i64());
    if (value.as_bool() != nullptr) terms.emplace(*value.as_bool());
    if (const auto number = payload::as_number(value)) {
      ++n_numbers;
      out.numbers.push_back(*number);
      const double x = std::visit([](auto v) { return static_cast<double>(v); }, *number);
      buckets.insert(bounds.offset +
                     std::floor((x - bounds.offset) / bounds.interval) * bounds.interval);
    }
    if (value.as_string() == nullptr) return;
    if (const auto micros = payload::parse_datetime(*value.as_string())) {
      moments.insert(payload::format_datetime(*micros).substr(0, 13));
    }
  });
  for (const auto& term : terms) ++out.terms[term];
  for (const double bucket : buckets) ++out.buckets[bucket];
  const auto count = [&](std::size_t n, std::map<std::string, std::uint64_t>& counts) {
    std::set<std::string> begins;
    for (const auto& moment : moments) begins.insert(moment.substr(0, n));
    for (const auto& begin : begins) ++counts[begin];
  };
  count(4, out.years), count(7, out.months), count(10, out.days), count(13, out.hours);
  out.n_without_terms += terms.empty() ? 1 : 0;
  out.n_without_numbers += n_numbers == 0 ? 1 : 0;
  out.n_without_moments += moments.empty() ? 1 : 0;
}

payload::Filter must(const std::string& key, payload::ValueCondition condition) {
  payload::Filter filter;
  filter.must = {payload::FieldCondition{key, std::move(condition)}};
  return filter;
}

/// A growing segment whose last rows have no attributes, one of few rows, and two sealed ones; all
/// but one have deleted rows.
class World {
 public:
  explicit World(std::vector<payload::FieldIndex> indexes) {
    config.indexes = std::move(indexes);
    RandomDocuments random(kDocumentsSeed);
    segments.push_back(random_segment(0, 1500, random));
    segments.push_back(random_segment(1, 30, random));
    segments.push_back(sealed(random_segment(2, 1200, random)));
    segments.push_back(sealed(random_segment(3, 700, random)));
    snapshot.emplace(snapshot_of(segments));
  }

  Segment random_segment(std::uint64_t number, std::uint64_t n_rows, RandomDocuments& random) {
    std::vector<Row> rows;
    std::vector<std::uint32_t> deleted;
    for (std::uint64_t i = 0; i < n_rows; ++i) {
      if (random() % 5 == 0) deleted.push_back(static_cast<std::uint32_t>(i));
      rows.push_back({PointId::number(number * 10000 + i), Seq{i + 1}, random.next(), {}});
    }
    const Segment segment = segment_of_rows(rows, config, number + 1);
    return number == 3 ? segment : with_deleted(segment, deleted);
  }

  Segment sealed(Segment segment) {
    std::vector<RowRef> rows;
    for (std::uint32_t row = 0; row < segment.n_rows(); ++row) rows.push_back({0, row});
    directories_.push_back(make_memory_directory());
    const std::vector<Segment> inputs = {segment};
    auto data = write_segment({9, inputs, rows, config.indexes}, *directories_.back(),
                              config.fields, cancel, [](double) {});
    segment.data = std::make_shared<const SegmentData>(std::move(data).value());
    return segment;
  }

  template <class Visit>
  void for_each_document(const std::optional<payload::Filter>& filter, const Visit& visit) const {
    const auto predicate =
        payload::compile(filter.value_or(payload::Filter{}), config.indexes).value();
    for (const auto& segment : segments) {
      segment.live().for_each([&](std::size_t i) {
        const auto row = static_cast<std::uint32_t>(i);
        const auto document = payload::parse_json(segment.data->documents[row]).value();
        if (predicate->matches(document, segment.data->ids[row], [](auto) { return false; })) {
          visit(document);
        }
      });
    }
  }

  [[nodiscard]] Result<std::vector<Aggregate>> run(
      std::vector<Aggregation> aggregations, std::optional<payload::Filter> filter = {}) const {
    AggregateRequest request;
    for (auto& aggregation : aggregations) request.aggregations.emplace_back("", aggregation);
    request.filter = std::move(filter);
    return aggregate(*snapshot, config, request, cancel);
  }

  CollectionConfig config;
  Cancel cancel;
  std::vector<Segment> segments;
  std::optional<Snapshot> snapshot;

 private:
  std::vector<std::unique_ptr<Directory>> directories_;
};

std::vector<FacetHit> most_frequent(const Reference& reference, std::size_t limit) {
  std::vector<FacetHit> hits;
  for (const auto& [value, count] : reference.terms) hits.push_back({value, count});
  std::stable_sort(hits.begin(), hits.end(),
                   [](const FacetHit& a, const FacetHit& b) { return a.count > b.count; });
  if (hits.size() > limit) hits.resize(limit);
  return hits;
}

void expect_same(const payload::NumberStats& stats, const Reference& reference) {
  EXPECT_EQ(stats.count, reference.numbers.size());
  EXPECT_EQ(stats.n_missing, reference.n_without_numbers);
  EXPECT_EQ(stats.min.has_value(), !reference.numbers.empty());
  if (reference.numbers.empty()) return;
  payload::ExactSum sum;
  for (const Number& number : reference.numbers) {
    sum.add(number);
    EXPECT_TRUE(payload::compare(*stats.min, number) <= 0);
    EXPECT_TRUE(payload::compare(*stats.max, number) >= 0);
  }
  const auto has = [&](const Number& wanted) {
    return std::any_of(reference.numbers.begin(), reference.numbers.end(),
                       [&](const Number& other) { return payload::compare(wanted, other) == 0; });
  };
  EXPECT_TRUE(has(*stats.min) && has(*stats.max));
  EXPECT_EQ(stats.sum, sum.sum());
  EXPECT_EQ(*stats.average, payload::nearest_double(stats.sum).value /
                                static_cast<double>(reference.numbers.size()));
}

void expect_same(const CalendarHistogram& histogram,
                 const std::map<std::string, std::uint64_t>& counts, std::uint64_t n_missing) {
  EXPECT_EQ(histogram.n_missing, n_missing);
  std::map<std::string, std::uint64_t> found;
  for (const auto& [from, count] : histogram.buckets) {
    const std::string text = payload::format_datetime(from);
    const std::size_t n = counts.empty() ? 0 : counts.begin()->first.size();
    EXPECT_EQ(text, text.substr(0, n) + std::string("0000-01-01T00:00:00Z").substr(n));
    found[text.substr(0, n)] = count;
  }
  EXPECT_EQ(found, counts);
}

void expect_agreement(const World& world, const std::string& key,
                      const std::optional<payload::Filter>& filter) {
  const payload::NumberBuckets bounds{key == "big" ? 1e17 : 250, 7};
  Reference reference;
  std::uint64_t n_points = 0;
  world.for_each_document(filter, [&](const payload::Value& document) {
    ++n_points;
    add_document(document, key, bounds, reference);
  });
  const auto calendar = [&](CalendarUnit unit) {
    return HistogramAggregation{key, payload::CalendarBuckets{unit}};
  };
  const auto answers = world.run(
      {CountAggregation{}, TermsAggregation{key, 7}, TermsAggregation{key, 9999},
       CardinalityAggregation{key}, StatsAggregation{key}, HistogramAggregation{key, bounds},
       calendar(CalendarUnit::kYear), calendar(CalendarUnit::kMonth), calendar(CalendarUnit::kDay),
       calendar(CalendarUnit::kHour)},
      filter);
  ASSERT_TRUE(answers) << answers.error().to_string();
  EXPECT_EQ(std::get<CountAggregate>((*answers)[0]).count, n_points);
  EXPECT_EQ(std::get<TermsAggregate>((*answers)[1]).hits, most_frequent(reference, 7));
  const auto& terms = std::get<TermsAggregate>((*answers)[2]);
  EXPECT_EQ(terms.hits, most_frequent(reference, 9999));
  EXPECT_EQ(terms.n_distinct, reference.terms.size());
  EXPECT_EQ(terms.n_missing, reference.n_without_terms);
  EXPECT_EQ(std::get<CardinalityAggregate>((*answers)[3]).n_distinct, reference.terms.size());
  expect_same(std::get<payload::NumberStats>((*answers)[4]), reference);
  const auto& histogram = std::get<NumberHistogram>((*answers)[5]);
  EXPECT_EQ((std::map<double, std::uint64_t>(histogram.buckets.begin(), histogram.buckets.end())),
            reference.buckets);
  EXPECT_EQ(histogram.n_missing, reference.n_without_numbers);
  const std::map<std::string, std::uint64_t>* units[] = {&reference.years, &reference.months,
                                                         &reference.days, &reference.hours};
  for (std::size_t i = 0; i < 4; ++i) {
    expect_same(std::get<CalendarHistogram>((*answers)[6 + i]), *units[i],
                reference.n_without_moments);
  }
}

std::vector<std::optional<payload::Filter>> some_filters() {
  payload::Range range;
  range.gte = std::int64_t{2000};
  range.lt = std::int64_t{2010};
  payload::Range dear;
  dear.gt = 1000.5;
  payload::Filter not_first;
  not_first.must_not = {payload::FieldCondition{"word", payload::MatchValue{std::string("w1")}}};
  return {std::nullopt,        payload::Filter{},
          must("year", range), must("price", dear),
          not_first,           must("word", payload::MatchValue{std::string("unknown")})};
}

TEST(Aggregates, AgreeWithReadingEveryDocument) {
  for (const bool is_indexed : {false, true}) {
    const World world(is_indexed ? all_indexes() : std::vector<payload::FieldIndex>());
    const auto filters = some_filters();
    for (const auto& key : kKeys) {
      for (std::size_t f = 0; f < filters.size(); ++f) {
        SCOPED_TRACE("seed " + std::to_string(kDocumentsSeed) + " key " + key + " filter " +
                     std::to_string(f) + (is_indexed ? " indexed" : ""));
        expect_agreement(world, key, filters[f]);
      }
    }
  }
}

TEST(Aggregates, TakeElementsOfArraysWithAndWithoutBrackets) {
  const World world({});
  const auto answers = world.run({TermsAggregation{"tags", 99}, TermsAggregation{"tags[]", 99}});
  ASSERT_TRUE(answers);
  EXPECT_EQ(std::get<TermsAggregate>((*answers)[0]).hits,
            std::get<TermsAggregate>((*answers)[1]).hits);
}

TEST(Aggregates, RefuseTooManyBuckets) {
  CollectionConfig config;
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i <= payload::kMaxBuckets; ++i) {
    rows.push_back({PointId::number(i), Seq{i + 1}, "{\"n\":" + std::to_string(i) + "}", {}});
  }
  AggregateRequest request;
  request.aggregations = {{"h", HistogramAggregation{"n", payload::NumberBuckets{1, 0}}}};
  const auto run = [&] {
    return aggregate(snapshot_of({segment_of_rows(rows, config, 1)}), config, request, Cancel());
  };
  const auto refused = run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("`n`"), std::string::npos);
  EXPECT_NE(refused.error().message().find("10000"), std::string::npos);
  rows.pop_back();
  EXPECT_EQ(std::get<NumberHistogram>(run().value().front()).buckets.size(), payload::kMaxBuckets);
}

TEST(Aggregates, KeepFarNumbersInTheOutermostBuckets) {
  CollectionConfig config;
  const std::vector<Row> rows = {{PointId::number(1), Seq{1}, R"({"n":[1e308,-1e308,0]})", {}}};
  AggregateRequest request;
  request.aggregations = {{"h", HistogramAggregation{"n", payload::NumberBuckets{1e-300, 0}}}};
  const auto answers =
      aggregate(snapshot_of({segment_of_rows(rows, config, 1)}), config, request, Cancel());
  ASSERT_TRUE(answers);
  const auto& buckets = std::get<NumberHistogram>(answers->front()).buckets;
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_TRUE(std::isfinite(buckets.front().first) && std::isfinite(buckets.back().first));
}

TEST(Aggregates, OfNothingAreEmpty) {
  AggregateRequest request;
  request.aggregations = {{"s", StatsAggregation{"a"}}, {"t", TermsAggregation{"a", 10}}};
  const auto answers = aggregate(snapshot_of({}), CollectionConfig(), request, Cancel());
  ASSERT_TRUE(answers);
  const auto& stats = std::get<payload::NumberStats>((*answers)[0]);
  EXPECT_EQ(stats.count, 0U);
  EXPECT_FALSE(stats.min || stats.max || stats.average);
  EXPECT_TRUE(std::get<TermsAggregate>((*answers)[1]).hits.empty());
}

TEST(Aggregates, RefuseKeysThatAreNoPaths) {
  const World world({});
  EXPECT_EQ(world.run({StatsAggregation{"a b"}}).error().code(), Code::kInvalidArgument);
}

TEST(Aggregates, StopWhenNobodyWaits) {
  World world({});
  world.cancel.cancel();
  EXPECT_EQ(world.run({CountAggregation{}}).error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
