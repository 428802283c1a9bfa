// When a collection's segments get their indexes, and what holds while they have none. Random
// histories are in tests/model, damage and failing disks in tests/fault.
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/patience.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kIdlePoints = 1500;  // enough to be sealed for being idle

/// A collection `points` of dense vectors under an index that is a copy.
class IndexJobs : public ::testing::Test {
 protected:
  void SetUp() override {
    copied_control.n_builds = copied_control.n_carried = 0;
    copied_control.fail = copied_control.hold = false;
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_index_jobs_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
  }
  void TearDown() override {
    copied_control.hold = copied_control.fail = false;
    close();
    std::filesystem::remove_all(root_);
  }

  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    options.choose_index = copied_index;
    database_ = Database::open(options).value();
    if (database_->collection_names().empty()) {
      CollectionConfig config;
      config.fields = {
          {"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
      config.optimizer.idle_seal_s = 0.01;
      config.optimizer.index_min_bytes = 0;
      config.optimizer.idle_segments = 100;  // merges are asked for by `max_segments`
      change_(config);
      ASSERT_TRUE(database_->create_collection("points", config));
    }
    collection_ = database_->collection("points").value();
  }
  void close() {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }
  /// A database of another configuration.
  void start_again(std::function<void(CollectionConfig&)> change) {
    close();
    std::filesystem::remove_all(root_);
    change_ = std::move(change);
    open();
  }
  void insert(std::uint64_t first, std::uint64_t n = kIdlePoints,
              const std::string& payload = "{}") {
    Upsert upsert;
    for (std::uint64_t i = first; i < first + n; ++i) {
      const auto x = static_cast<float>(i);
      upsert.points.push_back({PointId::number(i), {{"", DenseVector{x, 1}}}, payload});
    }
    std::promise<Result<std::vector<UpdateResult>>> done;
    auto answer = done.get_future();
    ASSERT_TRUE(collection_->update({std::move(upsert)}, Ack::kVisible,
                                    [&](auto result) { done.set_value(std::move(result)); }));
    ASSERT_TRUE(answer.get());
  }

  template <class Condition>
  static void wait_until(Condition condition) {
    const auto limit = patience_end(std::chrono::seconds(30));
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  void wait_for_rest() {
    wait_until([&] { return collection_->info().health == Health::kGreen; });
  }
  void wait_for_build() {
    wait_until([&] { return copied_control.n_builds > 0 && !running(JobKind::kIndex).empty(); });
  }
  [[nodiscard]] std::vector<OptimizationState> running(JobKind kind) const {
    auto states = collection_->optimizations().running;
    std::erase_if(states, [&](const auto& state) { return state.kind != kind; });
    return states;
  }
  [[nodiscard]] int n_completed(JobKind kind) const {
    const auto states = collection_->optimizations().completed;
    return static_cast<int>(std::count_if(states.begin(), states.end(), [&](const auto& state) {
      return state.kind == kind && !state.error;
    }));
  }

  [[nodiscard]] static Query nearest(const std::function<void(SearchParams&)>& change = nullptr) {
    Query query;
    query.kind = Nearest{VectorValue(DenseVector{1, 0})};
    query.limit = 3;
    if (change) change(query.params);
    return query;
  }
  [[nodiscard]] std::vector<PointId> ids(const Query& query) const {
    const Cancel cancel;
    const auto records = collection_->query(query, cancel);
    EXPECT_TRUE(records) << records.error().to_string();
    std::vector<PointId> ids;
    for (std::size_t i = 0; records && i < records->size(); ++i) ids.push_back((*records)[i].id);
    return ids;
  }
  /// The ids of the `n` last points, largest first.
  [[nodiscard]] static std::vector<PointId> last(std::uint64_t n_points) {
    return {PointId::number(n_points - 1), PointId::number(n_points - 2),
            PointId::number(n_points - 3)};
  }
  /// Indexes that a query asks.
  [[nodiscard]] std::uint64_t n_asked(const Query& query) const {
    const auto before = collection_->info().search_work.n_lists;
    (void)ids(query);
    return collection_->info().search_work.n_lists - before;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
  std::function<void(CollectionConfig&)> change_ = [](CollectionConfig&) {};
};

TEST_F(IndexJobs, ASealedSegmentIsIndexedAndTheIndexIsOpenedAgain) {
  insert(0);
  wait_for_rest();
  EXPECT_EQ(collection_->info().n_indexed_vectors, kIdlePoints);
  EXPECT_EQ(n_completed(JobKind::kIndex), 1);
  EXPECT_EQ(n_asked(nearest()), 1U);
  EXPECT_EQ(ids(nearest()), last(kIdlePoints));
  EXPECT_EQ(ids(nearest([](auto& params) { params.indexed_only = true; })), last(kIdlePoints));
  close();
  open();
  wait_for_rest();
  EXPECT_EQ(n_asked(nearest()), 1U);
  EXPECT_EQ(copied_control.n_builds, 1) << "it was there";
}

TEST_F(IndexJobs, WhileItIsBuiltTheSegmentIsSearchedExactly) {
  copied_control.hold = true;
  insert(0);
  wait_for_build();
  wait_until(
      [&] { return running(JobKind::kIndex).at(0).done != 0; });  // it tells of half, and holds
  const auto info = collection_->info();
  EXPECT_EQ(info.health, Health::kYellow);
  EXPECT_EQ(info.n_indexed_vectors, 0U);
  const auto job = running(JobKind::kIndex).at(0);
  EXPECT_EQ(job.done, kIdlePoints / 2);
  EXPECT_EQ(job.total, kIdlePoints);
  EXPECT_TRUE(job.eta_s.has_value());
  EXPECT_EQ(n_asked(nearest()), 0U);
  EXPECT_EQ(ids(nearest()), last(kIdlePoints));
  EXPECT_TRUE(ids(nearest([](auto& params) { params.indexed_only = true; })).empty());

  insert(kIdlePoints - 1, 2);  // meanwhile one changes and one is new
  copied_control.hold = false;
  wait_for_rest();
  EXPECT_EQ(n_asked(nearest()), 1U);
  EXPECT_EQ(ids(nearest()), last(kIdlePoints + 1));
}

TEST_F(IndexJobs, ClosingStopsABuildAndTheNextOpeningBeginsAgain) {
  copied_control.hold = true;
  insert(0);
  wait_for_build();
  close();
  copied_control.hold = false;
  open();
  EXPECT_EQ(ids(nearest()), last(kIdlePoints));
  wait_for_rest();
  EXPECT_EQ(n_asked(nearest()), 1U);
  EXPECT_EQ(copied_control.n_builds, 2);
}

TEST_F(IndexJobs, AFailedBuildIsSaidAndCostsNoAnswer) {
  copied_control.fail = true;
  insert(0);
  wait_until([&] { return collection_->info().health == Health::kRed; });
  EXPECT_EQ(collection_->info().optimizer_error, "index: the build was told to fail");
  EXPECT_EQ(ids(nearest()), last(kIdlePoints));
  copied_control.fail = false;
  close();
  open();
  wait_for_rest();
  EXPECT_EQ(n_asked(nearest()), 1U);
}

TEST_F(IndexJobs, AMergedSegmentComesWithItsIndex) {
  start_again([](CollectionConfig& config) { config.optimizer.max_segments = 2; });
  for (std::uint64_t i = 0; i < 3; ++i) {
    insert(i * kIdlePoints);
    wait_for_rest();
  }
  EXPECT_EQ(n_completed(JobKind::kMerge), 1);
  EXPECT_EQ(n_completed(JobKind::kIndex), 3) << "of what was sealed";
  EXPECT_EQ(copied_control.n_builds, 4);
  EXPECT_EQ(copied_control.n_carried, 1) << "the merge knew the index of an input";
  EXPECT_EQ(collection_->info().n_indexed_vectors, 3 * kIdlePoints);
  EXPECT_EQ(n_asked(nearest()), collection_->info().n_segments);
  EXPECT_EQ(ids(nearest()), last(3 * kIdlePoints));
}

/// A payload index that is created while a merge runs answers for the merged segment too.
TEST_F(IndexJobs, AMergedSegmentComesWithPayloadIndexesThatAreNewerThanTheMerge) {
  start_again([](CollectionConfig& config) { config.optimizer.max_segments = 2; });
  for (std::uint64_t i = 0; i < 2; ++i) {
    insert(i * kIdlePoints);
    wait_for_rest();
  }
  copied_control.hold = true;
  insert(2 * kIdlePoints);
  wait_until([&] { return copied_control.n_builds == 3 && !running(JobKind::kMerge).empty(); });
  payload::FieldIndex index;
  index.key = "n";
  index.kind = payload::IndexKind::kInteger;
  ASSERT_TRUE(collection_->create_index(index, Ack::kVisible));
  ScrollRequest by_value;
  by_value.order_by = OrderBy{"n", false, {}};
  const Cancel cancel;
  EXPECT_TRUE(collection_->scroll(by_value, cancel));
  copied_control.hold = false;
  while (collection_->info().health != Health::kGreen) {
    const auto page = collection_->scroll(by_value, cancel);
    ASSERT_TRUE(page) << page.error().to_string();
  }
  EXPECT_EQ(n_completed(JobKind::kMerge), 1);
  EXPECT_TRUE(collection_->scroll(by_value, cancel));
}

TEST_F(IndexJobs, ABulkLoadDoesNotWaitForItsIndex) {
  copied_control.hold = true;
  std::vector<PointId> point_ids;
  std::vector<float> vectors;
  for (std::uint64_t i = 0; i < kIdlePoints; ++i) {
    point_ids.push_back(PointId::number(i));
    vectors.insert(vectors.end(), {static_cast<float>(i), 1});
  }
  BulkChunk chunk;
  chunk.ids = point_ids;
  chunk.fields = {{"", DenseRows{vectors}, {}}};
  ASSERT_TRUE(collection_->bulk_load(chunk));
  wait_for_build();
  EXPECT_EQ(n_asked(nearest()), 0U);
  EXPECT_EQ(ids(nearest()), last(kIdlePoints));
  copied_control.hold = false;
  wait_for_rest();
  EXPECT_EQ(n_asked(nearest()), 1U);
  EXPECT_EQ(ids(nearest()), last(kIdlePoints));
}

TEST_F(IndexJobs, FewLargeRowsAreSealedForBeingIdle) {
  insert(0, 10);
  wait_for_rest();
  EXPECT_EQ(n_completed(JobKind::kSeal), 0) << "few and small";
  insert(10, 10, R"({"text":")" + std::string(1 << 20, 'a') + "\"}");
  wait_until([&] { return n_completed(JobKind::kSeal) == 1; });
  wait_until([&] { return collection_->info().n_indexed_vectors == 20; });
}

TEST_F(IndexJobs, NothingIsBuiltUntilThreadsAreAllowed) {
  start_again([](CollectionConfig& config) { config.optimizer.max_threads = 0; });
  insert(0);
  wait_until([&] { return n_completed(JobKind::kSeal) == 1; });
  wait_for_rest();
  EXPECT_EQ(copied_control.n_builds, 0);
  EXPECT_EQ(n_asked(nearest()), 0U);
  const auto queued = collection_->optimizations().queued;
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_EQ(queued[0].segment.n_points, kIdlePoints);
  ASSERT_TRUE(database_->update_config("points", [](CollectionConfig& config) -> Result<> {
    config.optimizer.max_threads.reset();
    return {};
  }));
  wait_until([&] { return copied_control.n_builds == 1; });
  wait_for_rest();
  EXPECT_EQ(n_asked(nearest()), 1U);
}

TEST_F(IndexJobs, SearchParametersReachTheIndex) {
  insert(0);
  wait_for_rest();
  const auto effort_of = [&](const std::function<void(SearchParams&)>& change) {
    const auto before = collection_->info().search_work.n_blocks;
    (void)ids(nearest(change));
    return collection_->info().search_work.n_blocks - before;
  };
  EXPECT_EQ(effort_of([](auto&) {}), 1U);
  EXPECT_EQ(effort_of([](auto& params) { params.hnsw_ef = 70; }), 70U);
  EXPECT_EQ(effort_of([](auto& params) { params.index["dense"]["effort"] = std::int64_t{8}; }), 8U);
  const Cancel cancel;
  const auto wrong = nearest([](auto& params) { params.index["copied"]["cut"] = 0.5; });
  const auto refused = collection_->query(wrong, cancel);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("effort"), std::string::npos);
}

}  // namespace
}  // namespace quiver::engine::testing
