// Dense fields under the index that they get by default: what is found, and what a change of the
// configuration does. When indexes are built is in tests/engine/shard/index_work_test.cc.
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "tests/patience.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kPoints = 3000;
constexpr std::uint32_t kDim = 24;
constexpr std::size_t kQueries = 40;
constexpr std::uint64_t kSeed = 5;
/// Of recall. These vectors are few and noisy; that of real ones is in tests/e2e.
constexpr double kFloor = 0.9;

/// Vectors around some centres, as those of texts are.
std::vector<DenseVector> clustered_vectors(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(kSeed);
  std::normal_distribution<float> normal;
  std::vector<DenseVector> centres(40, DenseVector(kDim));
  for (auto& centre : centres) {
    for (float& value : centre) value = normal(random);
  }
  random.seed(seed);
  std::vector<DenseVector> vectors;
  for (std::size_t i = 0; i < n; ++i) {
    vectors.push_back(centres[random() % centres.size()]);
    for (float& value : vectors.back()) value += 0.6F * normal(random);
  }
  return vectors;
}

class DenseIndex : public ::testing::TestWithParam<Metric> {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_dense_index_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }

  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    if (database_->collection_names().empty()) {
      CollectionConfig config;
      config.fields = {{"", FieldKind::kDense, kDim, DType::kF32, GetParam(), {}}};
      config.optimizer.idle_seal_s = 0.01;
      config.optimizer.index_min_bytes = 0;
      config.optimizer.idle_segments = 100;
      ASSERT_TRUE(database_->create_collection("points", config));
    }
    collection_ = database_->collection("points").value();
  }
  void close() {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }

  void update(Operation operation) {
    std::promise<Result<std::vector<UpdateResult>>> done;
    auto answer = done.get_future();
    ASSERT_TRUE(collection_->update({std::move(operation)}, Ack::kVisible,
                                    [&](auto result) { done.set_value(std::move(result)); }));
    ASSERT_TRUE(answer.get());
  }
  /// Points `first` and on, and waits until they are indexed.
  void insert(std::uint64_t first, std::uint64_t seed) {
    Upsert upsert;
    const auto vectors = clustered_vectors(kPoints, seed);
    for (std::uint64_t i = 0; i < kPoints; ++i) {
      upsert.points.push_back({PointId::number(first + i), {{"", vectors[i]}}, "{}"});
    }
    update(std::move(upsert));
    wait_for_rest();
  }
  void wait_for_rest() {
    const auto limit = patience_end(std::chrono::seconds(60));
    while (collection_->info().health != Health::kGreen) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  void change(const std::function<void(CollectionConfig&)>& change) {
    ASSERT_TRUE(database_->update_config("points", [&](CollectionConfig& config) -> Result<> {
      change(config);
      return {};
    }));
  }

  using Change = std::function<void(SearchParams&)>;
  [[nodiscard]] Result<std::vector<Record>> ask(DenseVector vector,
                                                const Change& change = nullptr) const {
    Query query;
    query.kind = Nearest{VectorValue(std::move(vector))};
    if (change) change(query.params);
    const Cancel cancel;
    return collection_->query(query, cancel);
  }
  static void exactly(SearchParams& params) { params.exact = true; }

  /// Of what an exact search finds, the share that is found; scores must be the same bits.
  [[nodiscard]] double recall(const Change& change = nullptr) const {
    std::size_t n_found = 0;
    std::size_t n_wanted = 0;
    for (const auto& query : clustered_vectors(kQueries, kSeed + 1000)) {
      const auto wanted = ask(query, exactly).value();
      const auto got = ask(query, change).value();
      EXPECT_EQ(got.size(), wanted.size());
      for (const auto& record : got) {
        const auto same = [&](const Record& other) { return other.id == record.id; };
        const auto found = std::find_if(wanted.begin(), wanted.end(), same);
        if (found == wanted.end()) continue;
        EXPECT_EQ(found->score, record.score);
        ++n_found;
      }
      n_wanted += wanted.size();
    }
    return static_cast<double>(n_found) / static_cast<double>(n_wanted);
  }
  /// Lists that searches scanned: none if they were exact.
  [[nodiscard]] std::uint64_t n_lists(const Change& change = nullptr) const {
    const auto before = collection_->info().search_work.n_lists;
    for (const auto& query : clustered_vectors(kQueries, kSeed + 2000)) {
      EXPECT_TRUE(ask(query, change));
    }
    return collection_->info().search_work.n_lists - before;
  }
  [[nodiscard]] std::size_t n_built() const {
    const auto states = collection_->optimizations().completed;
    return static_cast<std::size_t>(std::count_if(states.begin(), states.end(), [](const auto& s) {
      return s.kind == JobKind::kIndex && !s.error;
    }));
  }
  /// Of the indexes on disk, without the number of the field.
  [[nodiscard]] std::set<std::string> index_names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && name.starts_with("index-0-")) names.insert(name.substr(8));
    }
    return names;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

TEST_P(DenseIndex, FindsNearlyAllInSeveralSegments) {
  insert(0, 1);
  insert(kPoints, 2);
  EXPECT_GE(collection_->info().n_segments, 2U);
  EXPECT_EQ(collection_->info().n_indexed_vectors, 2 * kPoints);
  EXPECT_GE(recall(), kFloor);
  EXPECT_GE(recall([](auto& params) { params.hnsw_ef = 1000; }), 0.98);
  EXPECT_GT(n_lists(), 0U);
  close();
  open();
  wait_for_rest();
  EXPECT_EQ(n_built(), 0U) << "they were there";
  EXPECT_GE(recall(), kFloor);
  EXPECT_GT(n_lists(), 0U);
}

TEST_P(DenseIndex, WithoutWritesSegmentsAreMerged) {
  insert(0, 1);
  insert(kPoints, 2);
  EXPECT_GE(collection_->info().n_segments, 2U);
  change([](auto& config) { config.optimizer.idle_segments = 1; });
  wait_for_rest();
  EXPECT_EQ(collection_->info().n_segments, 1U);
  EXPECT_EQ(collection_->info().n_indexed_vectors, 2 * kPoints);
  EXPECT_GE(recall(), kFloor);
  EXPECT_GT(n_lists(), 0U);
}

TEST_P(DenseIndex, ExactSearchesAreExact) {
  insert(0, 1);
  EXPECT_EQ(n_lists(exactly), 0U);
  EXPECT_EQ(n_lists([](auto& params) { params.ignore_codes = true; }), 0U);
  EXPECT_EQ(recall([](auto& params) { params.ignore_codes = true; }), 1.0);
}

TEST_P(DenseIndex, WhatIsDeletedOrReplacedIsNotFound) {
  insert(0, 1);
  std::vector<PointId> deleted;
  for (std::uint64_t i = 0; i < kPoints; i += 3) deleted.push_back(PointId::number(i));
  change([](auto& config) { config.optimizer.max_threads = 0; });  // no clean-up yet
  update(DeletePoints{deleted});
  const DenseVector far(kDim, 100.0F);
  update(Upsert{{{PointId::number(1), {{"", far}}, "{}"}}, {}, {}});
  EXPECT_GT(n_lists(), 0U);
  for (int times = 0; times < 2; ++times) {
    SCOPED_TRACE(times == 0 ? "before the clean-up" : "after it");
    EXPECT_GE(recall(), kFloor);
    for (const auto& query : clustered_vectors(kQueries, kSeed + 3000)) {
      const auto got = ask(query).value();
      for (const auto& record : got) {
        EXPECT_FALSE(std::binary_search(deleted.begin(), deleted.end(), record.id));
      }
    }
    const auto nearest = ask(far);
    ASSERT_TRUE(nearest);
    EXPECT_EQ(nearest->at(0).id, PointId::number(1));
    change([](auto& config) { config.optimizer.max_threads.reset(); });
    wait_for_rest();
  }
  EXPECT_EQ(collection_->info().n_points, kPoints - deleted.size());
}

TEST_P(DenseIndex, SearchParametersAreHonouredAndUnknownOnesNamed) {
  insert(0, 1);
  const auto with = [](const char* group, const char* name, ParamValue value) {
    return [=](SearchParams& params) { params.index[group][name] = value; };
  };
  EXPECT_EQ(n_lists(with("ivf", "nprobe", std::int64_t{3})), 3 * kQueries);
  EXPECT_EQ(n_lists(with("dense", "nprobe", std::int64_t{2})), 2 * kQueries);
  EXPECT_LT(n_lists([](auto& params) { params.hnsw_ef = 8; }), n_lists());
  const auto refused = ask(DenseVector(kDim, 1.0F), with("ivf", "probes", std::int64_t{3}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  for (const char* name : {"probes", "nprobe", "gap", "rerank"}) {
    EXPECT_NE(refused.error().message().find(name), std::string::npos) << name;
  }
}

TEST_P(DenseIndex, OtherBuildParametersLeadToARebuild) {
  insert(0, 1);
  EXPECT_EQ(index_names(), std::set<std::string>{"ivf"});
  change([](auto& config) { config.vector_indexes[""].build["bits"] = std::int64_t{4}; });
  EXPECT_GE(recall(), kFloor) << "with the old one or the new one";
  wait_for_rest();
  EXPECT_EQ(index_names(), std::set<std::string>{"ivf-bits=4"});
  const auto info = collection_->info().vector_indexes;
  ASSERT_EQ(info.size(), 1U);
  EXPECT_EQ(info[0].field, "");
  EXPECT_EQ(info[0].index, "ivf-bits=4");
  EXPECT_EQ(info[0].n_vectors, kPoints);
  EXPECT_GT(info[0].n_bytes, kPoints * kDim / 2);
  EXPECT_EQ(n_built(), 2U);
  EXPECT_GE(recall(), kFloor);
  EXPECT_GT(n_lists(), 0U);
  close();
  open();
  wait_for_rest();
  EXPECT_EQ(n_built(), 0U) << "it was there";
  EXPECT_GT(n_lists(), 0U);
}

TEST_P(DenseIndex, SwitchedOffItIsGoneAndSwitchedOnItIsBuiltAgain) {
  insert(0, 1);
  change([](auto& config) { config.vector_indexes[""].enabled = false; });
  EXPECT_EQ(n_lists(), 0U);
  EXPECT_EQ(recall(), 1.0);
  wait_for_rest();
  EXPECT_TRUE(index_names().empty());
  close();
  open();
  wait_for_rest();
  EXPECT_EQ(n_lists(), 0U);
  change([](auto& config) { config.vector_indexes.clear(); });
  wait_for_rest();
  EXPECT_GT(n_lists(), 0U);
  EXPECT_EQ(index_names(), std::set<std::string>{"ivf"});
}

/// As clients do that want to load first and to index then.
TEST_P(DenseIndex, AThresholdThatIsRaisedForAWhileCostsNoIndex) {
  insert(0, 1);
  change([](auto& config) { config.optimizer.index_min_bytes = UINT64_MAX; });
  EXPECT_GT(n_lists(), 0U);
  close();
  open();
  wait_for_rest();
  EXPECT_GT(n_lists(), 0U);
  change([](auto& config) { config.optimizer.index_min_bytes = 0; });
  wait_for_rest();
  EXPECT_EQ(n_built(), 0U);
  EXPECT_EQ(index_names(), std::set<std::string>{"ivf"});
}

INSTANTIATE_TEST_SUITE_P(Metrics, DenseIndex,
                         ::testing::Values(Metric::kDot, Metric::kCosine, Metric::kEuclid),
                         [](const auto& tested) {
                           return tested.param == Metric::kDot      ? "Dot"
                                  : tested.param == Metric::kCosine ? "Cosine"
                                                                    : "Euclid";
                         });

}  // namespace
}  // namespace quiver::engine::testing
