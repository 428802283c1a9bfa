#include "engine/shard/state/job.h"

#include <gtest/gtest.h>

#include <memory>

namespace quiver::engine {
namespace {

TEST(Job, KeepsTheLargestShare) {
  Job job;
  for (const double share : {0.2, 0.6, 0.4}) job.set_done(share);
  EXPECT_EQ(job.share_done, 0.6);
}

TEST(JobHistory, RunningThenDone) {
  JobHistory history;
  auto job = std::make_shared<Job>();
  job->number = 5;
  job->kind = JobKind::kMerge;
  job->n_rows = 1000;
  job->share_done = 0.25;
  history.add(job);
  OptimizationReport running;
  history.report(2, running);
  ASSERT_EQ(running.running.size(), 1U);
  EXPECT_EQ(running.running[0].done, 250U);
  EXPECT_EQ(running.running[0].total, 1000U);
  EXPECT_TRUE(running.running[0].eta_s.has_value());
  history.finish(*job, {});
  OptimizationReport done;
  history.report(2, done);
  EXPECT_TRUE(done.running.empty());
  ASSERT_EQ(done.completed.size(), 1U);
  EXPECT_FALSE(done.completed[0].error);
  EXPECT_EQ(done.completed[0].shard, 2U);
  EXPECT_EQ(done.completed[0].done, 1000U);
}

TEST(JobHistory, FailuresSayWhyAndHistoryIsBounded) {
  JobHistory history;
  for (std::uint64_t i = 0; i < 100; ++i) {
    auto job = std::make_shared<Job>();
    job->number = i;
    job->kind = JobKind::kSeal;
    history.add(job);
    history.finish(*job, fail(Code::kResourceExhausted, "no space left on device"));
  }
  OptimizationReport report;
  history.report(2, report);
  EXPECT_LE(report.completed.size(), 20U);
  EXPECT_EQ(report.completed.front().id, 99U);
  EXPECT_EQ(report.completed.front().error, "no space left on device");
}

TEST(JobHistory, SumsUpAllJobs) {
  JobHistory history;
  EXPECT_EQ(history.summary().n_done, 0U);
  for (std::uint64_t i = 0; i < 100; ++i) {
    Job job;
    job.n_rows = i;
    const bool goes_well = i % 4 != 0;
    history.finish(job, goes_well ? Result<>() : fail(Code::kUnavailable, "not now"));
  }
  const auto summary = history.summary();
  EXPECT_EQ(summary.n_done, 75U);
  EXPECT_EQ(summary.n_failed, 25U);
  EXPECT_EQ(summary.n_rows, 4950U - 1200U);
  EXPECT_LE(summary.min_s, summary.max_s);
  EXPECT_GE(summary.total_s, summary.max_s);
  EXPECT_NEAR(summary.last_at, seconds_since_epoch(), 60);
}

}  // namespace
}  // namespace quiver::engine
