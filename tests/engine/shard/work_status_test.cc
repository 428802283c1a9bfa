#include "engine/shard/work_status.h"

#include <gtest/gtest.h>

#include "tests/engine/shard/shard_parts.h"

namespace quiver::engine::testing {
namespace {

class WorkStatusTest : public ShardParts {
 protected:
  void SetUp() override {
    ShardParts::SetUp();
    status_.emplace(*common_, *table_, default_index);
  }
  void close() override {
    status_.reset();
    ShardParts::close();
  }
  [[nodiscard]] std::string error() {
    status_->update();
    return status_->status().error;
  }

  std::optional<WorkStatus> status_;
  const Error failure_{Code::kResourceExhausted, "no space left on device"};
};

TEST_F(WorkStatusTest, AFailureIsToldAndDelaysWork) {
  common_->wants_tick = false;
  EXPECT_TRUE(status_->may_retry());
  status_->note_failure(JobKind::kMerge, failure_);
  EXPECT_EQ(error(), "merge: no space left on device");
  EXPECT_FALSE(status_->may_retry());
  EXPECT_TRUE(common_->wants_tick);
  status_->retry_now();
  EXPECT_TRUE(status_->may_retry());
  status_->note_success(JobKind::kIndex);
  EXPECT_EQ(error(), "");
}

TEST_F(WorkStatusTest, AFailedSealIsForgottenWhenOneSucceeds) {
  status_->note_failure(JobKind::kSeal, failure_);
  status_->note_success(JobKind::kMerge);
  EXPECT_EQ(error(), "seal: no space left on device");
  status_->note_success(JobKind::kSeal);
  EXPECT_EQ(error(), "");
}

TEST_F(WorkStatusTest, ARecoveryConcernsItsOwnKind) {
  status_->note_failure(JobKind::kMerge, failure_);
  status_->note_recovery(JobKind::kHousekeeping);
  EXPECT_NE(error(), "");
  status_->note_recovery(JobKind::kMerge);
  EXPECT_EQ(error(), "");
}

TEST_F(WorkStatusTest, OneJobOfASortRunsAtATime) {
  put(1);
  table_->freeze();
  status_->publish();
  auto seal = std::make_shared<Job>();
  seal->inputs = {table_->segments().front().view};
  status_->started(seal);
  EXPECT_TRUE(status_->is_running(JobKind::kSeal));
  EXPECT_FALSE(status_->is_running(JobKind::kMerge));
  EXPECT_TRUE(table_->segments().front().busy);
  EXPECT_TRUE(status_->status().optimizing);
  auto index = std::make_shared<Job>();
  index->kind = JobKind::kIndex;
  status_->started(index);
  EXPECT_TRUE(status_->is_running(JobKind::kVacuum)) << "a build excludes rewrites";
  OptimizationReport report;
  status_->report(3, report);
  EXPECT_EQ(report.running.size(), 2U);
  for (const auto& job : {seal, index}) {
    status_->ended(*job);
    status_->record(*job, {});
  }
  EXPECT_FALSE(status_->is_any_running());
  EXPECT_EQ(status_->summary().n_done, 2U);
}

TEST_F(WorkStatusTest, CompactionsAreNotReported) {
  auto job = std::make_shared<Job>();
  job->kind = JobKind::kCompactStore;
  status_->started(job);
  EXPECT_TRUE(status_->is_any_running());
  OptimizationReport report;
  status_->report(0, report);
  EXPECT_TRUE(report.running.empty());
  status_->ended(*job);
}

TEST_F(WorkStatusTest, FrozenSegmentsAreWorkInHand) {
  put(1);
  status_->publish();
  EXPECT_FALSE(status_->status().optimizing);
  EXPECT_EQ(status_->status().n_live, 1U);
  table_->freeze();
  status_->publish();
  EXPECT_TRUE(status_->status().optimizing);
  ASSERT_EQ(status_->facts().size(), 1U);
  EXPECT_EQ(status_->facts()[0].n_live(), 1U);
}

TEST_F(WorkStatusTest, FitsOfRemovedSegmentsAreForgotten) {
  put(1);
  table_->freeze();
  const std::uint64_t id = table_->segments().front().id();
  status_->fits(id).note_measured(0, 0);
  status_->fits(id + 100).note_measured(0, 0);
  EXPECT_TRUE(status_->drifted_field(id + 100));
  status_->forget_fits_of_removed();
  EXPECT_TRUE(status_->drifted_field(id));
  EXPECT_FALSE(status_->drifted_field(id + 100));
}

}  // namespace
}  // namespace quiver::engine::testing
