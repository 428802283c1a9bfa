// What a collection remembers of its queries: evenly drawn, bounded, there after a restart, gone
// when it is not to be.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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
#include "tests/patience.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kReservoirSeed = 7;

/// A query of one token that says which it is.
void offer_numbers(QueryReservoir& reservoir, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) {
    const auto value = static_cast<float>(i);
    reservoir.offer({&value, 1});
  }
}

std::vector<float> numbers_in(const index::QuerySample& sample) {
  std::vector<float> numbers;
  for (const auto& query : sample.queries) numbers.push_back(query.at(0));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST(QueryReservoir, KeepsAllWhileThereIsRoom) {
  QueryReservoir reservoir(1, kReservoirSeed);
  EXPECT_TRUE(reservoir.sample().queries.empty());
  offer_numbers(reservoir, 0, QueryReservoir::kMaxQueries);
  const auto numbers = numbers_in(reservoir.sample());
  ASSERT_EQ(numbers.size(), QueryReservoir::kMaxQueries);
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<float>(i));
  EXPECT_EQ(reservoir.n_changes(), QueryReservoir::kMaxQueries);
}

/// Over many seeds each tenth of the queries is as frequent in the sample as any other: 3,072 of
/// them are expected in each, with a standard deviation of about 53.
TEST(QueryReservoir, DrawsEvenly) {
  constexpr std::uint64_t kOffered = 5000;
  constexpr std::uint64_t kSeeds = 60;
  std::vector<double> tenths(10);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    QueryReservoir reservoir(1, seed);
    offer_numbers(reservoir, 0, kOffered);
    const auto numbers = numbers_in(reservoir.sample());
    ASSERT_EQ(numbers.size(), QueryReservoir::kMaxQueries);
    EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
    for (const float number : numbers) ++tenths[static_cast<std::size_t>(number) * 10 / kOffered];
  }
  const double expected = kSeeds * QueryReservoir::kMaxQueries / 10.0;
  for (const double n : tenths) EXPECT_NEAR(n, expected, 5 * std::sqrt(expected));
}

TEST(QueryReservoir, BoundsWhatItKeeps) {
  const auto kept = [](std::uint32_t dim, std::size_t n_tokens) {
    QueryReservoir reservoir(dim, kReservoirSeed);
    const std::vector<float> tokens(n_tokens * dim, 1.0F);
    reservoir.offer(tokens);
    return reservoir.sample().queries.at(0).size() / dim;
  };
  EXPECT_EQ(kept(2, 3), 3U);
  EXPECT_EQ(kept(2, 1000), QueryReservoir::kMaxTokens);
  EXPECT_EQ(kept(128, 1000), 256U);
  EXPECT_EQ(kept(1024, 1000), 32U);
  EXPECT_EQ(kept(65'536, 3), 1U);
}

TEST(QueryReservoir, IsAFunctionOfTheOrderAlone) {
  QueryReservoir one(1, kReservoirSeed);
  QueryReservoir other(1, kReservoirSeed);
  offer_numbers(one, 0, 3000);
  offer_numbers(other, 0, 3000);
  EXPECT_EQ(one.sample().queries, other.sample().queries);
}

TEST(QueryReservoir, TakesQueriesFromManyThreads) {
  constexpr std::uint64_t kEach = 20'000;
  QueryReservoir reservoir(1, kReservoirSeed);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&reservoir, t] {
      offer_numbers(reservoir, t * kEach, (t + 1) * kEach);
      EXPECT_FALSE(reservoir.sample().queries.empty());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(reservoir.n_seen(), 4 * kEach);
  const auto numbers = numbers_in(reservoir.sample());
  ASSERT_EQ(numbers.size(), QueryReservoir::kMaxQueries);
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TEST(QueryReservoir, GoesOnWhereItWasSaved) {
  const auto directory = make_memory_directory();
  QueryReservoir whole(1, kReservoirSeed);
  offer_numbers(whole, 0, 4000);
  QueryReservoir before(1, kReservoirSeed);
  offer_numbers(before, 0, 1500);
  ASSERT_TRUE(before.save(*directory, "queries"));
  QueryReservoir after(1, kReservoirSeed);
  ASSERT_TRUE(after.load(*directory, "queries"));
  EXPECT_EQ(after.n_seen(), 1500U);
  EXPECT_EQ(after.sample().queries, before.sample().queries);
  offer_numbers(after, 1500, 4000);
  EXPECT_EQ(after.sample().queries, whole.sample().queries);
}

/// Every byte of a file counts, and none of it can do harm.
TEST(QueryReservoir, RefusesDamagedFiles) {
  const auto directory = make_memory_directory();
  QueryReservoir reservoir(2, kReservoirSeed);
  const std::vector<float> tokens = {1, 2, 3, 4};
  for (int i = 0; i < 3; ++i) reservoir.offer(tokens);
  ASSERT_TRUE(reservoir.save(*directory, "queries"));
  const auto bytes = directory->read_file("queries").value();
  const auto refused = [&](std::vector<std::byte> damaged) {
    EXPECT_TRUE(directory->replace_file("queries", damaged));
    QueryReservoir loaded(2, kReservoirSeed);
    const auto result = loaded.load(*directory, "queries");
    EXPECT_TRUE(loaded.sample().queries.empty());
    return !result && result.error().code() == Code::kDataLoss;
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto flipped = bytes;
    flipped[i] ^= std::byte{0x10};
    EXPECT_TRUE(refused(flipped)) << "byte " << i;
    EXPECT_TRUE(refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(i)}));
  }
  ASSERT_TRUE(directory->replace_file("queries", bytes));
  QueryReservoir other_dim(4, kReservoirSeed);
  EXPECT_EQ(other_dim.load(*directory, "queries").error().code(), Code::kDataLoss);
}

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

TEST(FieldFits, BuildsAnewWhatFindsTooLittle) {
  FieldFits fits;
  EXPECT_FALSE(fits.note_measured(1, 0.97));
  EXPECT_FALSE(fits.next_drifted());
  EXPECT_TRUE(fits.note_measured(1, 0.9));
  EXPECT_FALSE(fits.note_measured(1, 0.8)) << "it is to be built already";
  EXPECT_TRUE(fits.note_measured(0, 0.5));
  EXPECT_EQ(fits.next_drifted(), 0U);
  fits.note_rebuilt(0);
  EXPECT_EQ(fits.next_drifted(), 1U);
}

TEST(FieldFits, LeavesWhatFindsNoMoreWhenNew) {
  FieldFits fits;
  EXPECT_TRUE(fits.note_measured(0, 0.7));
  fits.note_rebuilt(0);
  EXPECT_FALSE(fits.note_measured(0, 0.8));
  EXPECT_FALSE(fits.note_measured(0, 0.76));
  EXPECT_TRUE(fits.note_measured(0, 0.74)) << "less than .8 by more than .05";
  fits.note_rebuilt(0);
  EXPECT_FALSE(fits.note_measured(0, 0.96));
  EXPECT_TRUE(fits.note_measured(0, 0.9));
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
