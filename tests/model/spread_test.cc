// A collection in parts beside one collection with the same shards: the same requests give the same
// answers, bit by bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/database.h"
#include "engine/spread/spread_collection.h"
#include "tests/model/random_input.h"
#include "tests/model/runner.h"
#include "tests/soak.h"

namespace quiver::model {
namespace {

using engine::Query;
using engine::Record;
using ::testing::HasSubstr;

constexpr std::uint32_t kParts = 3;

bool one_of(std::uint64_t n, Random& random) { return random() % n == 0; }

std::string text_of(const Record& record) {
  std::string text = record.id.to_string() + " version " +
                     std::to_string(to_number(record.version)) + " score " +
                     std::to_string(std::bit_cast<std::uint32_t>(record.score));
  if (record.payload) text += " " + *record.payload;
  if (record.order_value) {
    std::visit([&](auto value) { text += " by " + std::to_string(value); }, *record.order_value);
  }
  for (const auto& named : record.vectors.value_or(std::vector<engine::NamedVector>())) {
    text += " " + named.name + ":";
    if (const auto* dense = std::get_if<engine::DenseVector>(&named.value)) {
      for (const float value : *dense) text += std::to_string(std::bit_cast<std::uint32_t>(value));
    }
  }
  return text;
}

std::vector<std::string> texts_of(const std::vector<Record>& records) {
  std::vector<std::string> texts;
  for (const auto& record : records) texts.push_back(text_of(record));
  return texts;
}

template <class T>
bool failed_alike(const Result<T>& whole, const Result<T>& parts) {
  EXPECT_EQ(whole.has_value(), parts.has_value())
      << (whole ? parts.error().message() : whole.error().message());
  // Of a request that is wrong twice, parts first find that a point is missing.
  if (!whole && !parts && parts.error().code() != Code::kNotFound) {
    EXPECT_EQ(whole.error().code(), parts.error().code())
        << whole.error().message() << " | " << parts.error().message();
  }
  return !whole || !parts;
}

class SpreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    auto opened = engine::Database::open(small_options(folder_.string()));
    ASSERT_TRUE(opened) << opened.error().message();
    database_ = *std::move(opened);
  }
  void TearDown() override {
    whole_.reset();
    spread_.reset();
    parts_.clear();
    database_.reset();
    std::filesystem::remove_all(folder_);
  }

  /// Anew.
  void make(engine::CollectionConfig config) {
    for (const auto& name : database_->collection_names()) {
      whole_.reset();
      spread_.reset();
      parts_.clear();
      ASSERT_TRUE(database_->drop_collection(name));
    }
    config.shard_number = kParts;
    config_ = config;
    whole_ = create("whole", config);
    config.shard_number = 1;
    for (std::uint32_t i = 0; i < kParts; ++i) {
      parts_.push_back(create("part" + std::to_string(i), config));
    }
    spread_ = std::make_shared<engine::SpreadCollection>(parts_, executor_);
  }
  std::shared_ptr<engine::Collection> create(const std::string& name,
                                             const engine::CollectionConfig& config) {
    EXPECT_TRUE(database_->create_collection(name, config));
    auto collection = database_->collection(name);
    EXPECT_TRUE(collection);
    return *collection;
  }

  void change(const Request& request) {
    const auto of_whole = update(*whole_, request, engine::Ack::kVisible);
    const auto of_parts = update(*spread_, request, engine::Ack::kVisible);
    if (failed_alike(of_whole, of_parts)) return;
    ASSERT_EQ(of_whole->size(), of_parts->size());
    for (std::size_t i = 0; i < of_whole->size(); ++i) {
      EXPECT_EQ((*of_whole)[i].operation_id, (*of_parts)[i].operation_id);
      EXPECT_EQ((*of_whole)[i].completed, (*of_parts)[i].completed);
    }
  }

  void compare(const Query& query) {
    const Cancel cancel;
    const auto of_whole = whole_->query(query, cancel);
    const auto of_parts = spread_->plan(query)->run(cancel);
    if (failed_alike(of_whole, of_parts)) return;
    EXPECT_EQ(texts_of(*of_whole), texts_of(*of_parts));
    n_hits_ += of_whole->size();
  }

  Query random_leaf(Random& random) {
    Query query = random_query(config_, random);
    query.params.exact = true;
    if (one_of(6, random)) query.kind = engine::NoQuery{};
    if (one_of(6, random)) query.kind = engine::OrderBy{"n", one_of(2, random), {}};
    const auto* nearest = std::get_if<engine::Nearest>(&query.kind);
    if (nearest != nullptr && one_of(4, random)) {
      engine::Recommend like;
      like.positive = {nearest->vector, random_id(random)};
      if (one_of(2, random)) like.negative = {random_id(random)};
      like.strategy = engine::RecommendStrategy{static_cast<std::uint8_t>(random() % 3)};
      query.kind = like;
    }
    if (one_of(5, random)) query.score_threshold = static_cast<float>(random() % 3);
    return query;
  }

  Query random_tree(Random& random, int depth) {
    Query query = random_leaf(random);
    if (depth == 0 || one_of(3, random)) return query;
    const std::uint64_t n = 1 + random() % 3;
    for (std::uint64_t i = 0; i < n; ++i) query.prefetch.push_back(random_tree(random, depth - 1));
    const std::uint64_t kind = random() % 6;
    if (kind < 3) query.using_field.clear();
    if (kind == 0) query.kind = engine::Rrf{2 + random() % 60, {}, {}};
    if (kind == 1) query.kind = engine::Dbsf{};
    if (kind == 2) query.kind = engine::Linear{};
    if (kind == 3) query.kind = random_formula(random);
    if (kind < 3) query.score_threshold.reset();
    // Else its own kind scores what the prefetches find, and there must be one.
    if (std::holds_alternative<engine::NoQuery>(query.kind)) {
      query.kind = engine::Dbsf{};
      query.using_field.clear();
    }
    return query;
  }

  static engine::Formula random_formula(Random& random) {
    namespace formula = engine::formula;
    engine::Formula made;
    made.variables = {{*payload::JsonPath::parse("n"), formula::ValueType::kNumber,
                       payload::Value(std::int64_t{3})}};
    payload::FieldCondition condition{"b", payload::MatchValue{payload::MatchScalar{true}}};
    made.conditions = {condition};
    made.root = {formula::Sum{},
                 {{formula::Score{random() % 2}}, {formula::Number{0}}, {formula::Holds{0}}}};
    return made;
  }

  void with_mmr(Query& query, Random& random) {
    const auto field = config_.fields[random() % config_.fields.size()].name;
    engine::Mmr mmr{static_cast<float>(random() % 11) / 10, 1 + random() % 40, field};
    std::visit(
        [&](auto& kind) {
          if constexpr (requires { kind.mmr; }) kind.mmr = mmr;
        },
        query.kind);
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("quiver_spread_" + std::to_string(getpid()));
  Executor executor_{2, "parts"};
  std::unique_ptr<engine::Database> database_;
  engine::CollectionConfig config_;
  std::shared_ptr<engine::Collection> whole_;
  std::vector<std::shared_ptr<engine::Collection>> parts_;
  std::shared_ptr<engine::SpreadCollection> spread_;
  std::size_t n_hits_ = 0;
};

void index_payload(engine::Collection& collection) {
  for (const auto& [key, kind] :
       {std::pair("n", payload::IndexKind::kInteger), std::pair("s", payload::IndexKind::kKeyword),
        std::pair("tags", payload::IndexKind::kKeyword)}) {
    payload::FieldIndex index;
    index.key = key;
    index.kind = kind;
    ASSERT_TRUE(collection.create_index(index, engine::Ack::kVisible));
  }
}

TEST_F(SpreadTest, QueriesOfEveryKindAnswerAsOneCollection) {
  run_trials({.n_least = 3}, [&](std::uint64_t seed) {
    Random random(seed);
    make(random_config(random));
    index_payload(*whole_);
    index_payload(*spread_);
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      change(random_request(config_, random));
      for (int i = 0; i < 4 && !HasFailure(); ++i) {
        Query query = random_tree(random, 2);
        if (one_of(4, random)) with_mmr(query, random);
        query.offset = one_of(3, random) ? random() % 5 : 0;
        query.limit = 1 + random() % 20;
        query.with_vector.all = one_of(2, random);
        if (one_of(3, random)) query.with_payload = payload::Selector::none();
        compare(query);
      }
    }
    EXPECT_GT(n_hits_, 50U);
    note_soak("queries", 240);
  });
}

TEST_F(SpreadTest, OtherReadsAnswerAsOneCollection) {
  run_trials({.n_least = 3}, [&](std::uint64_t seed) {
    Random random(seed);
    const Cancel cancel;
    make(random_config(random));
    index_payload(*whole_);
    index_payload(*spread_);
    for (int step = 0; step < 40 && !HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      change(random_request(config_, random));
      std::optional<payload::Filter> filter;
      if (one_of(2, random)) filter = random_filter(random);

      engine::ScrollRequest scroll;
      scroll.filter = filter;
      scroll.limit = one_of(4, random) ? 0 : 1 + random() % 30;
      if (one_of(2, random)) scroll.offset = random_id(random);
      if (one_of(3, random)) scroll.order_by = engine::OrderBy{"n", one_of(2, random), {}};
      const auto page = whole_->scroll(scroll, cancel), pages = spread_->scroll(scroll, cancel);
      if (!failed_alike(page, pages)) {
        EXPECT_EQ(texts_of(page->points), texts_of(pages->points));
        EXPECT_EQ(page->next, pages->next);
      }
      EXPECT_EQ(*whole_->count({filter, {}}, cancel), *spread_->count({filter, {}}, cancel));
      engine::RetrieveRequest retrieve;
      for (int i = 0; i < 20; ++i) retrieve.ids.push_back(random_id(random));
      retrieve.with_vector.all = true;
      EXPECT_EQ(texts_of(*whole_->retrieve(retrieve)), texts_of(*spread_->retrieve(retrieve)));

      const engine::FacetRequest facet{one_of(2, random) ? "tags" : "n", filter, 1 + random() % 4};
      const auto hits = whole_->facet(facet, cancel), all_hits = spread_->facet(facet, cancel);
      if (!failed_alike(hits, all_hits)) {
        EXPECT_EQ(*hits, *all_hits);
      }
      engine::AggregateRequest aggregate;
      aggregate.filter = filter;
      aggregate.aggregations = {
          {"all", engine::CountAggregation{}},
          {"tags", engine::TermsAggregation{"tags", 3}},
          {"kinds", engine::CardinalityAggregation{"mixed"}},
          {"n", engine::StatsAggregation{"n"}},
          {"of f", engine::HistogramAggregation{"f", payload::NumberBuckets{2, 0.5}}}};
      const auto one = whole_->aggregate(aggregate, cancel);
      const auto summed = spread_->aggregate(aggregate, cancel);
      if (failed_alike(one, summed)) continue;
      EXPECT_EQ(std::get<engine::CountAggregate>((*one)[0]).count,
                std::get<engine::CountAggregate>((*summed)[0]).count);
      const auto terms = [](const auto& from) { return std::get<engine::TermsAggregate>(from[1]); };
      EXPECT_EQ(terms(*one).hits, terms(*summed).hits);
      EXPECT_EQ(terms(*one).n_distinct, terms(*summed).n_distinct);
      EXPECT_EQ(terms(*one).n_missing, terms(*summed).n_missing);
      EXPECT_EQ(std::get<engine::CardinalityAggregate>((*one)[2]).n_distinct,
                std::get<engine::CardinalityAggregate>((*summed)[2]).n_distinct);
      const auto stats = [](const auto& from) { return std::get<payload::NumberStats>(from[3]); };
      EXPECT_EQ(stats(*one).count, stats(*summed).count);
      EXPECT_EQ(stats(*one).n_missing, stats(*summed).n_missing);
      EXPECT_EQ(stats(*one).min, stats(*summed).min);
      EXPECT_EQ(stats(*one).max, stats(*summed).max);
      EXPECT_EQ(stats(*one).sum, stats(*summed).sum);
      EXPECT_EQ(stats(*one).average, stats(*summed).average);
      EXPECT_EQ(std::get<engine::NumberHistogram>((*one)[4]).buckets,
                std::get<engine::NumberHistogram>((*summed)[4]).buckets);
    }
    const auto info = whole_->info(), sum = spread_->info();
    EXPECT_EQ(info.n_points, sum.n_points);
    EXPECT_EQ(sum.config.shard_number, kParts);
    EXPECT_EQ(spread_->shards().size(), kParts);
    std::set<std::uint32_t> shards;
    for (const auto& segment : spread_->segment_indexes()) shards.insert(segment.shard);
    EXPECT_EQ(shards.size(), kParts);
    const auto report = spread_->optimizations();
    for (const auto& state : report.completed) EXPECT_LT(state.shard, kParts);
  });
}

TEST_F(SpreadTest, GroupsAreThoseOfOneCollection) {
  run_trials({.n_least = 3}, [&](std::uint64_t seed) {
    Random random(seed);
    const Cancel cancel;
    make(random_config(random));
    for (int step = 0; step < 40 && !HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      change(random_request(config_, random));
      engine::GroupsQuery groups;
      groups.query = random_tree(random, one_of(3, random) ? 1 : 0);
      if (std::holds_alternative<engine::OrderBy>(groups.query.kind)) continue;  // needs an index
      groups.query.limit = 1 + random() % 4;
      groups.group_by = one_of(2, random) ? "tags" : "n";
      groups.group_size = 1 + random() % 4;
      const auto one = whole_->groups(groups, cancel), all = spread_->groups(groups, cancel);
      if (failed_alike(one, all)) continue;
      ASSERT_EQ(one->size(), all->size());
      for (std::size_t i = 0; i < one->size(); ++i) {
        EXPECT_TRUE((*one)[i].id == (*all)[i].id);
        EXPECT_EQ(texts_of((*one)[i].hits), texts_of((*all)[i].hits));
      }
    }
  });
}

TEST_F(SpreadTest, ASampleHasPointsOfAllPartsInProportion) {
  Random random(1);
  make(random_config(random));
  change({engine::Upsert{random_points(config_, 300, random), {}, {}}});
  const Cancel cancel;
  Query sample;
  sample.kind = engine::Sample{};
  sample.limit = 20;
  std::vector<std::uint64_t> n_drawn(kParts), n_there(kParts);
  for (int i = 0; i < 300; ++i) {
    const auto drawn = spread_->query(sample, cancel);
    ASSERT_TRUE(drawn);
    for (const auto& record : *drawn) ++n_drawn[record.id.hash() % kParts];
  }
  std::uint64_t n = 0, of_all = 0;
  for (std::uint32_t i = 0; i < kParts; ++i) {
    n_there[i] = *parts_[i]->count({}, cancel);
    n += n_there[i];
    of_all += n_drawn[i];
  }
  EXPECT_EQ(of_all, 300U * std::min<std::uint64_t>(20, n));
  for (std::uint32_t i = 0; i < kParts; ++i) {
    const auto expected = static_cast<double>(of_all * n_there[i]) / static_cast<double>(n);
    EXPECT_NEAR(static_cast<double>(n_drawn[i]), expected, 0.15 * expected);
  }
  for (const char* field : {"", "idf"}) {
    engine::MatrixRequest request{300, 3, {}, field};
    const auto one = whole_->distance_matrix(request, cancel);
    const auto all = spread_->distance_matrix(request, cancel);
    ASSERT_TRUE(one && all);
    EXPECT_GT(one->ids.size(), 20U);
    EXPECT_EQ(one->ids, all->ids);
    for (std::size_t i = 0; i < one->rows.size(); ++i) {
      ASSERT_EQ(one->rows[i].size(), all->rows[i].size());
      for (std::size_t k = 0; k < one->rows[i].size(); ++k) {
        EXPECT_EQ(one->rows[i][k].column, all->rows[i][k].column);
        EXPECT_EQ(one->rows[i][k].score, all->rows[i][k].score);
      }
    }
  }
}

TEST_F(SpreadTest, WordsAreAsRareAsInOneCollection) {
  run_trials({.n_least = 3}, [&](std::uint64_t seed) {
    Random random(seed);
    make(random_config(random));
    for (const char* key : {"t", "w"}) {
      payload::FieldIndex index;
      index.key = key;
      index.kind = payload::IndexKind::kText;
      index.scoring = true;
      ASSERT_TRUE(whole_->create_index(index, engine::Ack::kVisible));
      ASSERT_TRUE(spread_->create_index(index, engine::Ack::kVisible));
    }
    for (int step = 0; step < 60 && !HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      change(random_request(config_, random));
      Query words = random_text_query(random);
      words.limit = 1 + random() % 30;
      compare(words);
      Query over = random_text_query(random);
      over.prefetch = {random_leaf(random), words};
      compare(over);
      Query fused;
      fused.prefetch = {random_leaf(random), words};
      fused.kind = engine::Rrf{};
      compare(fused);
    }
    EXPECT_GT(n_hits_, 50U);
    EXPECT_TRUE(*spread_->drop_index("t"));
    EXPECT_FALSE(*spread_->drop_index("t"));
  });
}

TEST_F(SpreadTest, PartsThatKnowMoreFieldsThanTheOthersAreReadAllTheSame) {
  Random random(4);
  make(random_config(random));
  change({engine::Upsert{random_points(config_, 100, random), {}, {}}});
  const FieldSchema more{"more", FieldKind::kDense, 3, DType::kF32, Metric::kDot, {}};
  for (std::uint32_t i = 1; i < kParts; ++i) {  // the first part decides, and is behind
    ASSERT_TRUE(database_->update_config(
        "part" + std::to_string(i), [&](auto& config) { return engine::add_field(config, more); }));
  }
  const Cancel cancel;
  Query fused;
  fused.prefetch = {random_leaf(random), Query()};
  fused.prefetch[0].filter.reset();
  fused.kind = engine::NoQuery{};
  fused.prefetch[0].kind = engine::NoQuery{};
  fused.kind = engine::Rrf{};
  fused.with_vector.all = true;
  const auto found = spread_->query(fused, cancel);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->size(), 10U);
  engine::MatrixRequest sample{20, 3, {}, ""};
  EXPECT_TRUE(spread_->distance_matrix(sample, cancel));
}

TEST_F(SpreadTest, WhatIsWrongIsRefusedAndNothingIsChanged) {
  Random random(2);
  make(random_config(random));
  const Cancel cancel;
  Request wrong = invalid_request(config_, random);
  wrong.insert(wrong.begin(), engine::Upsert{random_points(config_, 20, random), {}, {}});
  EXPECT_FALSE(update(*spread_, wrong, engine::Ack::kVisible));
  EXPECT_EQ(*spread_->count({}, cancel), 0U);
  Query keyed;
  keyed.shards.keys.emplace();
  const auto refused = spread_->query(keyed, cancel);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("has no shard keys"));
  EXPECT_FALSE(spread_->measure_recall({}, cancel));
  const auto nothing = update(*spread_, {}, engine::Ack::kVisible);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->empty());
}

}  // namespace
}  // namespace quiver::model
