// What a collection remembers of its queries: evenly drawn, bounded, there after a restart, gone
// when it is not to be.
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/database.h"
#include "engine/indexing/drift.h"
#include "engine/indexing/query_samples.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/engine/indexing/query_samples_support.h"
#include "tests/patience.h"

namespace quiver::engine::testing {
namespace {

TEST(QuerySamples, SaveIsDueNowAndThen) {
  const std::vector<FieldSchema> fields = {{"t", FieldKind::kMulti, 1, {}, Metric::kDot, {}}};
  QuerySamples samples(make_memory_directory(), fields);
  const auto now = QuerySamples::Clock::now();
  EXPECT_FALSE(samples.is_due(now));
  EXPECT_TRUE(samples.is_due(now + 2 * QuerySamples::kSaveInterval));
  EXPECT_FALSE(samples.is_due(now + 2 * QuerySamples::kSaveInterval));
}

// In a collection.

class RecordedQueries : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_queries_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    copied_control.n_builds = 0;
    copied_control.last_queries = 0;
    copied_control.n_thorough = 0;
    copied_control.misses = copied_control.misses_always = copied_control.fail = false;
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }

  void open(bool record = true) {
    DatabaseOptions options;
    options.data_dir = root_.string();
    options.record_queries = record;
    options.choose_index = copied_index;
    database_ = Database::open(options).value();
    if (database_->collection_names().empty()) {
      CollectionConfig config;
      config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}},
                       {"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kCosine, {}}};
      config.optimizer.idle_seal_s = 0.01;
      config.optimizer.index_min_bytes = 0;
      ASSERT_TRUE(database_->create_collection("points", config));
    }
    collection_ = database_->collection("points").value();
  }
  void close() {
    collection_.reset();
    if (database_ != nullptr) {
      EXPECT_TRUE(database_->close());
    }
    database_.reset();
  }
  void ask(VectorValue vector, const std::string& field) const {
    Query query;
    query.kind = Nearest{std::move(vector)};
    query.using_field = field;
    const Cancel cancel;
    ASSERT_TRUE(collection_->query(query, cancel));
  }
  /// Points that are soon sealed, and waits until they are indexed.
  void insert() {
    Upsert upsert;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const auto x = static_cast<float>(i);
      upsert.points.push_back({PointId::number(i), {{"tokens", MultiVector{1, 2, {x, 1}}}}, "{}"});
    }
    std::promise<Result<std::vector<UpdateResult>>> done;
    ASSERT_TRUE(collection_->update({std::move(upsert)}, Ack::kVisible,
                                    [&](auto result) { done.set_value(std::move(result)); }));
    ASSERT_TRUE(done.get_future().get());
    wait_for_builds(1);
  }
  void wait_for_builds(int n) const {
    wait_until([&] {
      return copied_control.n_builds >= n && collection_->info().health == Health::kGreen;
    });
  }
  template <class Condition>
  static void wait_until(Condition condition) {
    const auto limit = patience_end(std::chrono::seconds(30));
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  /// As often as it takes for indexes to be compared with what was asked.
  void ask_often() const {
    for (std::size_t i = 0; i < kDriftQueries; ++i) ask(MultiVector{1, 2, {0, 1}}, "tokens");
  }
  /// Asks until indexes were compared so often with what was asked.
  void ask_until_compared(int times) const {
    wait_until([&] {
      ask(MultiVector{1, 2, {0, 1}}, "tokens");
      return copied_control.n_thorough >= times * static_cast<int>(kDriftQueries);
    });
  }
  /// What was saved of field 1, which is read as a restart does.
  [[nodiscard]] std::vector<std::vector<float>> saved() const {
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "collections")) {
      const auto directory = open_real_directory(entry.path().string()).value();
      EXPECT_FALSE(directory->exists("queries-0"));
      if (!directory->exists("queries-1")) continue;
      QueryReservoir reservoir(2, kReservoirSeed);
      EXPECT_TRUE(reservoir.load(*directory, "queries-1"));
      return reservoir.sample().queries;
    }
    return {};
  }
  void damage() const {
    for (const auto& entry : std::filesystem::directory_iterator(root_ / "collections")) {
      const auto directory = open_real_directory(entry.path().string()).value();
      ASSERT_TRUE(directory->replace_file("queries-1", as_byte_span("not a sample")));
    }
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

using Tokens = std::vector<std::vector<float>>;

TEST_F(RecordedQueries, AreThereAfterARestart) {
  open();
  ask(DenseVector{1, 2}, "");
  ask(MultiVector{2, 2, {3, 4, 0, 2}}, "tokens");
  close();
  const Tokens first = {{0.6F, 0.8F, 0, 1}};
  EXPECT_EQ(saved(), first) << "at unit length, as they are searched";
  open();
  ask(MultiVector{1, 2, {0, 1}}, "tokens");
  close();
  EXPECT_EQ(saved(), (Tokens{first[0], {0, 1}}));
}

TEST_F(RecordedQueries, BeginAnewWhenTheFileIsDamaged) {
  open();
  ask(MultiVector{1, 2, {0, 1}}, "tokens");
  close();
  damage();
  open();
  ask(MultiVector{1, 2, {1, 0}}, "tokens");
  close();
  EXPECT_EQ(saved(), (Tokens{{1, 0}}));
}

TEST_F(RecordedQueries, AreForgottenWhenTurnedOff) {
  open();
  ask(MultiVector{1, 2, {0, 1}}, "tokens");
  close();
  ASSERT_EQ(saved().size(), 1U);
  open(false);
  EXPECT_TRUE(saved().empty());
  ask(MultiVector{1, 2, {0, 1}}, "tokens");
  close();
  EXPECT_TRUE(saved().empty());
}

TEST_F(RecordedQueries, ReachTheBuildsOfIndexes) {
  open();
  for (int i = 0; i < 3; ++i) ask(MultiVector{1, 2, {0, 1}}, "tokens");
  insert();
  EXPECT_EQ(copied_control.last_queries, 3U);
}

TEST_F(RecordedQueries, IndexesThatMissWhatIsAskedAreBuiltAnew) {
  open();
  insert();
  ASSERT_EQ(copied_control.last_queries, 0U);
  copied_control.misses = true;
  ask_often();
  wait_for_builds(2);
  EXPECT_EQ(copied_control.last_queries, kDriftQueries);
  EXPECT_EQ(copied_control.n_builds, 2);
}

TEST_F(RecordedQueries, ABuildThatFailsIsTriedAgain) {
  open();
  insert();
  copied_control.misses = true;
  copied_control.fail = true;
  ask_often();
  wait_until([&] {
    const auto jobs = collection_->optimizations().completed;
    return std::any_of(jobs.begin(), jobs.end(),
                       [](const auto& job) { return job.error.has_value(); });
  });
  copied_control.fail = false;
  wait_for_builds(3);
  EXPECT_EQ(copied_control.n_builds, 3);
}

TEST_F(RecordedQueries, AnIndexThatFindsNoMoreWhenNewIsLeftAsItIs) {
  open();
  insert();
  copied_control.misses = copied_control.misses_always = true;
  ask_often();
  wait_for_builds(2);
  ask_until_compared(3);
  close();
  EXPECT_EQ(copied_control.n_builds, 2);
}

TEST_F(RecordedQueries, IndexesThatFindItStay) {
  open();
  insert();
  ask_until_compared(2);
  close();  // what a comparison found is begun before
  EXPECT_EQ(copied_control.n_builds, 1);
}

TEST_F(RecordedQueries, AreThoseGivenByValue) {
  open();
  insert();
  Query query;
  query.kind = Nearest{PointId::number(1)};
  query.using_field = "tokens";
  const Cancel cancel;
  ASSERT_TRUE(collection_->query(query, cancel));
  close();
  EXPECT_TRUE(saved().empty());
}

TEST_F(RecordedQueries, GoWithTheCollection) {
  open();
  ask(MultiVector{1, 2, {0, 1}}, "tokens");
  collection_.reset();
  ASSERT_TRUE(database_->drop_collection("points").value());
  EXPECT_TRUE(std::filesystem::is_empty(root_ / "collections"));
  close();
}

}  // namespace
}  // namespace quiver::engine::testing
