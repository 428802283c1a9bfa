// A shard in a temporary directory, driven by requests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/shard/shard.h"
#include "tests/engine/shard/shard_parts.h"
#include "tests/patience.h"

namespace quiver::engine::testing {

inline ShardRequest put_request(const std::vector<std::uint64_t>& ids) {
  PreparedPoints points;
  for (const std::uint64_t id : ids) points.rows.push_back(dense_row(id, 0));
  ShardRequest request;
  request.operations.emplace_back(std::move(points));
  return request;
}

inline ShardRequest delete_request(std::uint64_t id) {
  PreparedChange change;
  change.points = std::vector{PointId::number(id)};
  ShardRequest request;
  request.operations.emplace_back(std::move(change));
  return request;
}

class ShardRig : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_shard_rig_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    context_.runtime = storage::Runtime::create({}).value();
    context_.lanes = context_.background = &executor_;
    open();
  }
  void TearDown() override {
    shard_.reset();
    std::filesystem::remove_all(root_);
  }

  void open() {
    shard_.reset();
    auto opened = Shard::open(root_.string(), config_, context_);
    ASSERT_TRUE(opened) << opened.error().to_string();
    shard_ = *std::move(opened);
  }
  /// Sends a request and waits for its answer.
  Result<std::vector<Seq>> send(ShardRequest request) {
    std::promise<Result<std::vector<Seq>>> answer;
    request.done = [&](Result<std::vector<Seq>> result) { answer.set_value(std::move(result)); };
    QV_TRY(shard_->submit(std::move(request)));
    return answer.get_future().get();
  }
  void set_config() {
    std::promise<Result<>> done;
    shard_->set_config(config_, [&](Result<> result) { done.set_value(std::move(result)); });
    EXPECT_TRUE(done.get_future().get());
  }
  [[nodiscard]] bool has(std::uint64_t id) const {
    return shard_->snapshot()->find(PointId::number(id)).has_value();
  }
  [[nodiscard]] std::size_t n_sealed() const {
    const auto set = shard_->snapshot();
    return static_cast<std::size_t>(
        std::count_if(set->segments.begin(), set->segments.end(),
                      [](const Segment& segment) { return segment.data->sealed; }));
  }
  /// Jobs of this kind that ended well.
  [[nodiscard]] std::size_t n_done(JobKind kind) const {
    OptimizationReport report;
    shard_->report(0, report);
    return static_cast<std::size_t>(
        std::count_if(report.completed.begin(), report.completed.end(),
                      [&](const auto& state) { return state.kind == kind && !state.error; }));
  }
  [[nodiscard]] std::size_t n_segment_directories() const {
    namespace fs = std::filesystem;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root_ / "segments"), fs::directory_iterator()));
  }

  std::filesystem::path root_;
  Executor executor_{2, "test"};
  ShardContext context_;
  std::shared_ptr<CollectionConfig> config_ = quiet_config();
  std::unique_ptr<Shard> shard_;
};

}  // namespace quiver::engine::testing
