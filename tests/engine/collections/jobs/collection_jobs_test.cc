// Jobs of a collection: turns, restarts, failures, limits and damaged files, with joins that the
// test decides.
#include "engine/collections/jobs/collection_jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace quiver::engine::testing {
namespace {

JoinTable small_table() {
  JoinTable table;
  table.ids = SharedSpan<PointId>::of({PointId::number(3), PointId::number(5)});
  table.groups = SharedSpan<std::uint32_t>::of({0, 0});
  table.offsets = SharedSpan<std::uint64_t>::of({0, 1, 2});
  table.neighbours = SharedSpan<std::uint32_t>::of({1, 0});
  table.scores = SharedSpan<float>::of({0.5F, 0.5F});
  return table;
}

class CollectionJobsTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void TearDown() override { close(); }

  void open() {
    context_ = {&executor_, &turns_, [](std::string_view text) -> Result<JoinRequest> {
                  if (text == "unreadable") return fail(Code::kDataLoss, "cannot be read");
                  return duplicates(text == "mark" ? "dup_of" : "");
                }};
    JobHost host;
    host.check = [](const JoinRequest& request) -> Result<> {
      return request.into == "bad" ? Result<>(fail(Code::kInvalidArgument, "bad")) : Result<>();
    };
    host.join = [this](const JoinRequest&, const Cancel& cancel, JoinProgress&) {
      return join(cancel);
    };
    host.apply = [this](const std::vector<Operation>& operations) {
      n_applied_ += static_cast<int>(operations.size());
      return Result<>();
    };
    host.project = [](const auto&, const Cancel&) { return Result<Projection>(Projection{}); };
    host.keep = [] { return std::make_shared<int>(0); };
    jobs_ = std::make_unique<CollectionJobs>(context_, root_->subdirectory("c").value(), host);
    ASSERT_TRUE(jobs_->open());
  }
  void close() {
    jobs_->close();
    turns_.drain();
  }
  void open_again() {
    close();
    open();
  }
  static JoinRequest duplicates(const std::string& mark) {
    JoinRequest request;
    request.kind = DuplicatesJoin{};
    request.into = mark;
    return request;
  }
  Result<JoinTable> join(const Cancel& cancel) {
    ++n_joins_;
    while (is_blocked_) {
      QV_TRY(cancel.check());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (fails_) return fail(Code::kUnavailable, "no luck");
    return small_table();
  }
  std::uint64_t start(const std::string& text = "plain") {
    return jobs_->start(duplicates(text == "mark" ? "dup_of" : ""), text).value().id;
  }
  JobStatus wait(std::uint64_t id, JobState state) {
    JobStatus status = jobs_->status(id).value();
    for (int i = 0; i < 20'000 && status.state != state; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      status = jobs_->status(id).value();
    }
    EXPECT_EQ(status.state, state);
    return status;
  }
  void flip(const std::string& name) {
    const auto directory = root_->subdirectory("c").value()->subdirectory("jobs").value();
    auto bytes = directory->read_file(name).value();
    bytes[bytes.size() / 2] ^= std::byte{1};
    ASSERT_TRUE(directory->replace_file(name, bytes));
  }

  std::unique_ptr<Directory> root_ = make_memory_directory();
  Executor executor_{2, "job"};
  SerialLane turns_{executor_, Priority::kHigh};
  JobContext context_;
  std::unique_ptr<CollectionJobs> jobs_;
  std::atomic<bool> is_blocked_ = false;
  std::atomic<bool> fails_ = false;
  std::atomic<int> n_joins_ = 0;
  std::atomic<int> n_applied_ = 0;
};

TEST_F(CollectionJobsTest, ResultsSurviveARestart) {
  const auto id = start();
  const auto status = wait(id, JobState::kDone);
  EXPECT_EQ(status.facts.n_points, 2U);
  EXPECT_EQ(status.facts.n_neighbours, 2U);
  EXPECT_EQ(status.facts.n_groups, 1U);
  EXPECT_EQ(status.progress, 1);
  open_again();
  EXPECT_EQ(jobs_->status(id).value().state, JobState::kDone);
  const auto result = jobs_->result(id).value();
  EXPECT_EQ(result.table.ids[1], PointId::number(5));
  EXPECT_EQ(result.table.neighbours[1], 0U);
  EXPECT_EQ(n_joins_, 1);
  EXPECT_EQ(n_applied_, 0) << "nothing is written unasked";
  EXPECT_EQ(start(), id + 1);
}

TEST_F(CollectionJobsTest, JobsThatHaveNotEndedStartAgain) {
  is_blocked_ = true;
  const auto first = start();
  const auto second = start("mark");
  wait(first, JobState::kRunning);
  EXPECT_EQ(jobs_->status(second).value().state, JobState::kWaiting);
  EXPECT_EQ(jobs_->result(first).error().code(), Code::kFailedPrecondition);
  open_again();
  wait(first, JobState::kRunning);
  is_blocked_ = false;
  wait(first, JobState::kDone);
  wait(second, JobState::kDone);
  EXPECT_EQ(n_applied_, 1) << "point 5 is a duplicate of point 3";
  EXPECT_EQ(n_joins_, 3);
}

TEST_F(CollectionJobsTest, ForgottenJobsEndAndLeaveNothing) {
  is_blocked_ = true;
  const auto first = start();
  const auto second = start();
  wait(first, JobState::kRunning);
  ASSERT_TRUE(jobs_->forget(second));
  ASSERT_TRUE(jobs_->forget(first));
  EXPECT_EQ(jobs_->status(first).error().code(), Code::kNotFound);
  EXPECT_EQ(jobs_->forget(first).error().code(), Code::kNotFound);
  EXPECT_TRUE(jobs_->list().empty());
  open_again();
  EXPECT_TRUE(jobs_->list().empty());
  EXPECT_EQ(n_joins_, 1);
}

TEST_F(CollectionJobsTest, FailuresAreTold) {
  fails_ = true;
  const auto id = start();
  EXPECT_EQ(wait(id, JobState::kFailed).error, "no luck");
  open_again();
  EXPECT_EQ(jobs_->status(id).value().error, "no luck");
  EXPECT_EQ(n_joins_, 1);
  EXPECT_EQ(jobs_->start(duplicates("bad"), "bad").error().code(), Code::kInvalidArgument);
}

TEST_F(CollectionJobsTest, DamagedFilesAreToldAndNotUsed) {
  const auto first = start();
  const auto second = start();
  const auto third = start("unreadable");
  for (const auto id : {first, second, third}) wait(id, JobState::kDone);
  close();
  flip(std::to_string(first) + ".job");
  flip(std::to_string(second) + ".result");
  open();
  EXPECT_EQ(jobs_->list().size(), 3U);
  for (const auto id : {first, third}) {
    const auto status = jobs_->status(id).value();
    EXPECT_EQ(status.state, JobState::kFailed);
    EXPECT_FALSE(status.error.empty());
    EXPECT_EQ(jobs_->result(id).error().code(), Code::kDataLoss);
  }
  EXPECT_EQ(jobs_->status(second).value().state, JobState::kDone);
  EXPECT_EQ(jobs_->result(second).error().code(), Code::kDataLoss);
  for (const auto id : {first, second, third}) EXPECT_TRUE(jobs_->forget(id));
}

TEST_F(CollectionJobsTest, TheirNumberIsLimited) {
  is_blocked_ = true;
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < kMaxJobs; ++i) ids.push_back(start());
  EXPECT_EQ(jobs_->start(duplicates(""), "plain").error().code(), Code::kResourceExhausted);
  ASSERT_TRUE(jobs_->forget(ids.back()));
  EXPECT_TRUE(jobs_->start(duplicates(""), "plain"));
  jobs_->close();
  EXPECT_EQ(jobs_->start(duplicates(""), "plain").error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace quiver::engine::testing
