// Vector fields added to a collection in use, and taken from it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "tests/patience.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kPoints = 60;

FieldSchema dense(const std::string& name, std::uint32_t dim) {
  return {name, FieldKind::kDense, dim, DType::kF32, Metric::kDot, SparseModifier::kNone};
}

class FieldsOnline : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_fields_online_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
    CollectionConfig config;
    config.fields = {dense("a", 2)};
    config.shard_number = 2;
    config.optimizer.seal_rows = 20;
    config.optimizer.idle_seal_s = 0.05;
    ASSERT_TRUE(database_->create_collection("points", config));
    collection_ = database_->collection("points").value();
    put("a", 1, kPoints, 2);
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }
  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    if (auto found = database_->collection("points")) collection_ = *found;
  }
  void close() {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }
  void reopen() {
    close();
    open();
  }

  Result<> add(const FieldSchema& field) {
    return database_->update_config(
        "points", [&](CollectionConfig& config) { return add_field(config, field); });
  }
  Result<> drop(const std::string& name) {
    return database_->update_config("points", [&](CollectionConfig& config) -> Result<> {
      drop_field(config, name);
      return {};
    });
  }
  Result<std::vector<UpdateResult>> update(Operation operation) {
    std::promise<Result<std::vector<UpdateResult>>> done;
    QV_TRY(collection_->update({std::move(operation)}, Ack::kVisible,
                               [&](auto result) { done.set_value(std::move(result)); }));
    return done.get_future().get();
  }
  static DenseVector value_of(std::uint64_t id, std::uint32_t dim) {
    return DenseVector(dim, static_cast<float>(id));
  }
  /// Points `first` to `last` get a vector of their number, and no other.
  void put(const std::string& field, std::uint64_t first, std::uint64_t last, std::uint32_t dim) {
    Upsert upsert;
    for (std::uint64_t i = first; i <= last; ++i) {
      upsert.points.push_back({PointId::number(i), {{field, value_of(i, dim)}}, "{}"});
    }
    ASSERT_TRUE(update(std::move(upsert)));
  }
  void set_vectors(const std::string& field, std::uint64_t first, std::uint64_t last,
                   std::uint32_t dim) {
    UpdateVectors vectors;
    for (std::uint64_t i = first; i <= last; ++i) {
      vectors.points.push_back({PointId::number(i), {{field, value_of(i, dim)}}, ""});
    }
    const auto done = update(std::move(vectors));
    ASSERT_TRUE(done) << done.error().to_string();
  }
  Result<std::vector<Record>> search(const std::string& field, std::uint32_t dim) const {
    Query query;
    query.kind = Nearest{DenseVector(dim, 1.0F)};
    query.using_field = field;
    query.limit = 1000;
    return collection_->query(query, Cancel());
  }
  /// The points with a vector, from the largest score on; checks the vectors that come along.
  std::vector<std::uint64_t> found(const std::string& field, std::uint32_t dim) const {
    std::vector<std::uint64_t> ids;
    const auto records = search(field, dim);
    EXPECT_TRUE(records) << records.error().to_string();
    if (!records) return ids;
    for (const Record& record : *records) ids.push_back(record.id.low());
    ScrollRequest all;
    all.limit = 1000;
    all.with_vector = {true, {}};
    const auto of_all = collection_->scroll(all, Cancel());
    EXPECT_TRUE(of_all) << of_all.error().to_string();
    std::size_t n_present = 0;
    for (const Record& record : of_all->points) {
      for (const auto& vector : *record.vectors) {
        if (vector.name != field) continue;
        ++n_present;
        EXPECT_EQ(vector.value, VectorValue(value_of(record.id.low(), dim)));
      }
    }
    EXPECT_EQ(n_present, ids.size());
    EXPECT_EQ(with_vector(field), ids.size());
    return ids;
  }
  std::uint64_t with_vector(const std::string& field) const {
    payload::Filter filter;
    filter.must.emplace_back(payload::HasVector{field});
    return collection_->count({filter}, Cancel()).value();
  }
  void wait_until_sealed() const {
    const auto limit = patience_end(std::chrono::seconds(20));
    while (collection_->info().health != Health::kGreen &&
           std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(collection_->info().health, Health::kGreen) << collection_->info().optimizer_error;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

std::vector<std::uint64_t> from_to(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = from; i >= to; --i) ids.push_back(i);
  return ids;
}

TEST_F(FieldsOnline, ANewFieldIsEmptyAndTakesVectors) {
  ASSERT_TRUE(add(dense("b", 3)));
  EXPECT_EQ(found("b", 3), std::vector<std::uint64_t>{});
  EXPECT_EQ(found("a", 2), from_to(kPoints, 1));
  set_vectors("b", 10, 30, 3);
  put("b", 70, 75, 3);
  auto wanted = from_to(75, 70);
  for (const auto id : from_to(30, 10)) wanted.push_back(id);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(found("b", 3), wanted);
    EXPECT_EQ(found("a", 2), from_to(kPoints, 1));
    if (i == 0) wait_until_sealed();
    if (i == 1) reopen();
  }
}

TEST_F(FieldsOnline, ADroppedFieldIsGoneAtOnceAndStaysGone) {
  ASSERT_TRUE(add(dense("b", 3)));
  set_vectors("b", 1, kPoints, 3);
  ASSERT_TRUE(drop("b"));
  const auto gone = search("b", 3);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(gone.error().subject(), Subject::kVectorField);
  EXPECT_EQ(found("a", 2), from_to(kPoints, 1));
  ASSERT_TRUE(drop("b")) << "dropping it again is no error";
  // Another of its name, of the same or another size, has none of its vectors.
  for (const std::uint32_t dim : {3U, 5U}) {
    ASSERT_TRUE(add(dense("b", dim)));
    EXPECT_EQ(found("b", dim), std::vector<std::uint64_t>{});
    reopen();
    EXPECT_EQ(found("b", dim), std::vector<std::uint64_t>{});
    set_vectors("b", 5, 9, dim);
    wait_until_sealed();
    reopen();
    EXPECT_EQ(found("b", dim), from_to(9, 5));
    EXPECT_EQ(found("a", 2), from_to(kPoints, 1));
    ASSERT_TRUE(drop("b"));
  }
}

TEST_F(FieldsOnline, TheLastFieldMayGo) {
  ASSERT_TRUE(drop("a"));
  EXPECT_EQ(collection_->info().n_points, kPoints);
  ASSERT_TRUE(update(Upsert{{{PointId::number(500), {}, "{}"}}, {}, {}}));
  reopen();
  EXPECT_EQ(collection_->info().n_points, kPoints + 1);
  ASSERT_TRUE(add(dense("a", 2)));
  EXPECT_EQ(found("a", 2), std::vector<std::uint64_t>{});
}

TEST_F(FieldsOnline, BulkLoadsKnowTheFields) {
  ASSERT_TRUE(add(dense("b", 3)));
  ASSERT_TRUE(drop("a"));
  std::vector<PointId> ids;
  std::vector<float> values;
  for (std::uint64_t i = 1; i <= kPoints; ++i) {
    ids.push_back(PointId::number(i));
    values.insert(values.end(), 3, static_cast<float>(i));
  }
  BulkChunk chunk;
  chunk.ids = ids;
  chunk.fields.push_back({"a", DenseRows{values}, {}});
  EXPECT_FALSE(collection_->bulk_load(chunk));
  chunk.fields[0].name = "b";
  ASSERT_TRUE(collection_->bulk_load(chunk));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(found("b", 3), from_to(kPoints, 1));
    reopen();
  }
}

/// Writers, readers and bulk loads go on while a field comes and goes.
TEST_F(FieldsOnline, ChangesMeetWritesAndReads) {
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> n_written = 0;
  auto writer = std::async(std::launch::async, [&] {
    for (std::uint64_t i = 0; !stop; ++i) {
      const std::uint64_t id = 1 + i % kPoints;
      UpdateVectors vectors;
      vectors.points.push_back({PointId::number(id), {{"a", value_of(id, 2)}}, ""});
      EXPECT_TRUE(update(vectors));
      vectors.points[0].vectors = {{"b", value_of(id, 3)}};
      if (update(vectors)) ++n_written;
    }
  });
  auto reader = std::async(std::launch::async, [&] {
    while (!stop) {
      const auto records = search("b", 3);
      if (!records) {
        EXPECT_EQ(records.error().subject(), Subject::kVectorField);
      }
      const auto of_a = search("a", 2);
      EXPECT_TRUE(of_a) << of_a.error().to_string();
      if (of_a) {
        EXPECT_EQ(of_a->size(), kPoints);
      }
      (void)collection_->info();
      (void)collection_->segment_indexes();
    }
  });
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(add(dense("b", 3)));
    const auto before = n_written.load();
    const auto limit = patience_end(std::chrono::seconds(5));
    while (n_written < before + 3 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_GT(n_written, before) << "the field takes no vectors";
    ASSERT_TRUE(drop("b"));
  }
  stop = true;
  writer.get();
  reader.get();
  ASSERT_TRUE(add(dense("b", 3)));
  EXPECT_EQ(found("b", 3), std::vector<std::uint64_t>{});
  EXPECT_EQ(found("a", 2), from_to(kPoints, 1));
  wait_until_sealed();
  reopen();
  EXPECT_EQ(found("b", 3), std::vector<std::uint64_t>{});
  EXPECT_EQ(found("a", 2), from_to(kPoints, 1));
}

TEST_F(FieldsOnline, AnotherFieldOfTheNameIsRefused) {
  const auto refused = add(dense("a", 9));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(found("a", 2), from_to(kPoints, 1));
  ASSERT_TRUE(add(dense("a", 2))) << "the same field is there";
}

}  // namespace
}  // namespace quiver::engine
