// A collection as a transport sees it: pages of answers, and what is told of its segments.
#include "engine/collection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/database.h"

namespace quiver::engine {
namespace {

/// Points 1 to 8: the larger the number the larger each score.
class CollectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_collection_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    CollectionConfig config;
    for (const char* name : {"a", "b"}) {
      config.fields.push_back(
          {name, FieldKind::kDense, 1, DType::kF32, Metric::kDot, SparseModifier::kNone});
    }
    config.optimizer.idle_seal_s = 1e9;  // the growing segment stays
    ASSERT_TRUE(database_->create_collection("points", config));
    collection_ = database_->collection("points").value();
    Upsert upsert;
    for (std::uint64_t i = 1; i <= 8; ++i) {
      const auto value = static_cast<float>(i);
      upsert.points.push_back(
          {PointId::number(i), {{"a", DenseVector{value}}, {"b", DenseVector{value}}}, "{}"});
    }
    ASSERT_TRUE(update(std::move(upsert)));
  }
  void TearDown() override {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
    std::filesystem::remove_all(root_);
  }

  Result<std::vector<UpdateResult>> update(Operation operation) {
    std::promise<Result<std::vector<UpdateResult>>> done;
    QV_TRY(collection_->update({std::move(operation)}, Ack::kVisible,
                               [&](auto result) { done.set_value(std::move(result)); }));
    return done.get_future().get();
  }
  [[nodiscard]] std::vector<std::uint64_t> ids(const Query& query) const {
    std::vector<std::uint64_t> ids;
    const auto records = collection_->query(query, Cancel()).value();
    for (const auto& record : records) ids.push_back(record.id.low());
    return ids;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

using Ids = std::vector<std::uint64_t>;

Query nearest(const std::string& field, std::uint64_t limit) {
  Query query;
  query.kind = Nearest{DenseVector{1}};
  query.using_field = field;
  query.limit = limit;
  return query;
}

TEST_F(CollectionTest, TheOffsetCountsInTheOuterListOnly) {
  Query query = nearest("b", 10);
  query.prefetch = {nearest("a", 3)};
  EXPECT_EQ(ids(query), (Ids{8, 7, 6}));
  query.offset = 1;
  EXPECT_EQ(ids(query), (Ids{7, 6}));
  query.offset = 3;
  EXPECT_EQ(ids(query), Ids{});

  query.kind = Rrf{};
  query.using_field = "";
  query.offset = 2;
  EXPECT_EQ(ids(query), Ids{6});
  Query outer = nearest("b", 10);
  outer.prefetch = {query};  // an offset within a prefetch is none
  outer.offset = 1;
  EXPECT_EQ(ids(outer), (Ids{7, 6}));
}

TEST_F(CollectionTest, PagesFollowEachOther) {
  Query query = nearest("a", 3);
  for (const Ids& page : {Ids{8, 7, 6}, Ids{5, 4, 3}, Ids{2, 1}, Ids{}}) {
    EXPECT_EQ(ids(query), page);
    query.offset += 3;
  }
}

TEST_F(CollectionTest, ASampleHasNoOffset) {
  Query query;
  query.kind = Sample{};
  query.limit = 8;
  query.offset = 1'000;
  auto all = ids(query);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  query.limit = 5;
  EXPECT_EQ(ids(query).size(), 5U);

  query.prefetch = {nearest("a", 4)};
  query.offset = 3;
  EXPECT_EQ(ids(query).size(), 1U) << "of the hits of prefetches it is the list that is cut";
}

TEST_F(CollectionTest, APlannedQueryKeepsItsSnapshot) {
  const auto planned = collection_->plan(nearest("a", 3));
  EXPECT_EQ(planned->query().using_field, "a");
  EXPECT_TRUE(planned->cost().is_small());
  ASSERT_TRUE(update(DeletePoints{std::vector{PointId::number(8)}}));
  const auto planned_ids = [&] {
    std::vector<std::uint64_t> ids;
    const auto records = planned->run(Cancel()).value();
    for (const auto& record : records) ids.push_back(record.id.low());
    return ids;
  };
  EXPECT_EQ(planned_ids(), (Ids{8, 7, 6})) << "of the moment of planning";
  EXPECT_EQ(planned_ids(), (Ids{8, 7, 6})) << "as often as it runs";
  EXPECT_EQ(ids(nearest("a", 3)), (Ids{7, 6, 5}));
  EXPECT_FALSE(collection_->plan(nearest("nosuch", 3))->run(Cancel()));
}

TEST_F(CollectionTest, OnlyADeletionMayNameAPointThatIsNotThere) {
  const std::vector<PointId> ids = {PointId::number(1), PointId::number(99)};
  EXPECT_TRUE(update(DeletePoints{ids}));
  const std::vector<PointId> others = {PointId::number(2), PointId::number(99)};
  const std::vector<Operation> changes = {ClearPayload{others}, DeleteVectors{{"a"}, others},
                                          SetPayload{R"({"x":1})", {}, others}};
  for (const auto& change : changes) {
    const auto result = update(change);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::kNotFound);
    EXPECT_EQ(result.error().message(), "No point with id 99 found");
  }
  RetrieveRequest request;
  request.ids = {PointId::number(2)};
  request.with_vector.all = true;
  const auto record = collection_->retrieve(request).value().at(0);
  EXPECT_EQ(record.vectors->size(), 2U) << "all or nothing";
  EXPECT_EQ(record.payload, "{}");
  payload::Filter nobody;
  nobody.must = {payload::HasId{{PointId::number(99)}}};
  EXPECT_TRUE(update(ClearPayload{nobody}));
  EXPECT_TRUE(update(DeleteVectors{{"a"}, nobody}));
}

TEST_F(CollectionTest, TheGrowingSegmentIsIdle) {
  const auto report = collection_->optimizations();
  EXPECT_TRUE(report.queued.empty());
  EXPECT_TRUE(report.running.empty());
  ASSERT_EQ(report.idle.size(), 1U);
  EXPECT_EQ(report.idle[0].n_points, 8U);
}

TEST_F(CollectionTest, ShardsTellWhatIsInThem) {
  payload::FieldIndex index;
  index.key = "n";
  index.kind = payload::IndexKind::kInteger;
  ASSERT_TRUE(collection_->create_index(index, Ack::kVisible));
  ASSERT_TRUE(update(SetPayload{R"({"n":[1,2]})", {}, {std::vector{PointId::number(3)}}}));
  ASSERT_TRUE(update(DeleteVectors{{"b"}, {std::vector{PointId::number(4)}}}));
  ASSERT_TRUE(update(DeletePoints{std::vector{PointId::number(5)}}));
  const auto shards = collection_->shards();
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(to_number(shards[0].last_seq), 8U + 3) << "a change of a point each";
  ASSERT_EQ(shards[0].segments.size(), 1U);
  const auto& segment = shards[0].segments[0];
  EXPECT_FALSE(segment.sealed);
  EXPECT_EQ(segment.n_points, 7U);
  ASSERT_EQ(segment.fields.size(), 2U);
  EXPECT_EQ(segment.fields[0].n_vectors, 7U);
  EXPECT_EQ(segment.fields[0].n_deleted_vectors, 3U) << "of 3 and 4 as they were, and of 5";
  EXPECT_EQ(segment.fields[1].n_vectors, 6U);
  EXPECT_GE(segment.fields[0].n_bytes, 10 * sizeof(float)) << "rows may be padded";
  EXPECT_TRUE(segment.fields[0].is_exact);
  ASSERT_EQ(segment.columns.size(), 1U);
  EXPECT_EQ(segment.columns[0].index.key, "n");
  EXPECT_EQ(segment.columns[0].n_points, 1U);
  EXPECT_EQ(segment.columns[0].n_values, 2U);
  EXPECT_GT(collection_->info().opening_s, 0);
}

TEST_F(CollectionTest, LookupsNameCollectionsThatExist) {
  const auto resolve = [&](Query query) { return database_->resolve_lookups("points", query); };
  Query by_vector = nearest("a", 3);
  by_vector.lookup_from = LookupFrom{"nosuch", {}};
  Query by_id = by_vector;
  by_id.kind = Nearest{PointId::number(1)};
  Query outer;
  outer.kind = Rrf{};
  outer.prefetch = {by_vector};
  for (const auto& query : {by_vector, by_id, outer}) {
    const auto resolved = resolve(query);
    ASSERT_FALSE(resolved);
    EXPECT_EQ(resolved.error().code(), Code::kNotFound);
    EXPECT_EQ(resolved.error().message(), "Collection nosuch not found");
  }
  by_vector.lookup_from->collection = "points";
  EXPECT_TRUE(resolve(by_vector));
  ASSERT_TRUE(database_->update_aliases({CreateAlias{"points", "also"}}));
  by_id.lookup_from->collection = "also";
  EXPECT_TRUE(resolve(by_id));
}

}  // namespace
}  // namespace quiver::engine
