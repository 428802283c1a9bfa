#include "engine/shard/apply_lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>

#include "tests/engine/shard/shard_rig.h"

namespace quiver::engine::testing {
namespace {

/// Answers when the test says so, and with what it says.
class HeldLog final : public ShardLog {
 public:
  void append(const Staging& group, const Committed& committed) noexcept override {
    EXPECT_EQ(committed_, nullptr) << "one group at a time";
    n_changes.push_back(group.changes().size());
    first_seq = group.changes().front().seq;
    committed_ = &committed;
  }
  void set_visible() noexcept override {
    if (on_visible) on_visible();
  }
  [[nodiscard]] Result<std::optional<Seq>> last() const override { return std::optional<Seq>(); }
  [[nodiscard]] Result<> replay(Seq, const Visit&) const override { return {}; }

  void answer(const Result<>& result) { (*std::exchange(committed_, nullptr))(result); }
  [[nodiscard]] bool is_asked() const { return committed_ != nullptr; }

  std::vector<std::size_t> n_changes;
  Seq first_seq{};
  std::function<void()> on_visible;

 private:
  const Committed* committed_ = nullptr;
};

/// An apply lane over a `HeldLog`, with its parts. Drains run when the test says so.
class ApplyLaneTest : public ShardParts {
 protected:
  class NoDrain final : public Task::Callable {
   public:
    void call() override { ++n_calls; }
    void release() noexcept override {}
    std::atomic<int> n_calls = 0;
  };
  struct Parts {
    explicit Parts(ApplyLaneTest& test)
        : common(*test.common_), table(*test.table_), context(test.context_), log(test.log_) {}

    ShardCommon& common;
    SegmentTable& table;
    const ShardContext& context;
    HeldLog& log;
    ManifestWriter manifest{common, table};
    WorkStatus status{common, table, default_index};
    NoDrain drain;
    UpdateQueue queue{common.lane, drain, 1U << 20};
    ColumnBuilds columns{common, table, status, [] {}};
    IndexWork indexes{common, context, table, status, [] {}};
    Rewrites rewrites{common, context, table, manifest, status, [] {}};
    BulkLoad bulk{common, table, manifest, status, queue, {[] {}, [] {}}};
    MemoryPlacing memory{common, table};
    DevicePlacing on_devices{common, table, nullptr};
    DroppedVectors dropped{common};
    Maintenance maintenance{
        common,
        {table, manifest, status, columns, indexes, rewrites, memory, on_devices, dropped, bulk}};
    ApplyLane lane{common, table, log, queue, bulk, status, maintenance};
  };

  void SetUp() override {
    ShardParts::SetUp();
    context_.lanes = context_.background = &executor_;
    parts_ = std::make_unique<Parts>(*this);
  }
  void close() override {
    if (common_) common_->lane.drain();
    parts_.reset();
    ShardParts::close();
  }
  /// In the lane.
  template <class F>
  void run(F fn) {
    EXPECT_TRUE(common_->in_lane([&]() -> Result<> {
      fn();
      return {};
    }));
  }
  void submit(std::uint64_t id, Ack ack) {
    auto request = put_request({id});
    request.ack = ack;
    request.done = [this](Result<std::vector<Seq>> result) {
      answers_.push_back(std::move(result));
    };
    ASSERT_TRUE(parts_->queue.submit(std::move(request)));
  }

  HeldLog log_;
  ShardContext context_;
  std::unique_ptr<Parts> parts_;
  std::vector<Result<std::vector<Seq>>> answers_;  ///< changed in the lane
};

TEST_F(ApplyLaneTest, NothingIsVisibleBeforeTheCommit) {
  submit(1, Ack::kVisible);
  submit(2, Ack::kDurable);
  run([&] { parts_->lane.apply_group(); });
  ASSERT_TRUE(log_.is_asked());
  EXPECT_EQ(log_.n_changes, std::vector<std::size_t>{2});
  EXPECT_TRUE(answers_.empty());
  EXPECT_FALSE(seq_of(1));
  run([&] { log_.answer({}); });
  EXPECT_EQ(seq_of(1), 1U);
  EXPECT_EQ(seq_of(2), 2U);
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].value(), std::vector{Seq{2}}) << "durable ones are answered first";
  EXPECT_EQ(answers_[1].value(), std::vector{Seq{1}});
}

/// A node whose log says so promises it to readers.
TEST_F(ApplyLaneTest, TheLogIsToldOnceReadersSeeTheGroup) {
  std::vector<std::optional<std::uint64_t>> seen;
  log_.on_visible = [&] { seen.push_back(seq_of(1)); };
  submit(1, Ack::kDurable);
  run([&] { parts_->lane.apply_group(); });
  EXPECT_TRUE(seen.empty());
  run([&] { log_.answer(fail(Code::kUnavailable, "not leading")); });
  EXPECT_TRUE(seen.empty());
  submit(1, Ack::kDurable);
  run([&] { parts_->lane.apply_group(); });
  run([&] { log_.answer({}); });
  EXPECT_EQ(seen, (std::vector<std::optional<std::uint64_t>>{2U}));
}

TEST_F(ApplyLaneTest, NoDrainIsPostedWhileAGroupIsOnItsWay) {
  submit(1, Ack::kVisible);
  run([&] { parts_->lane.apply_group(); });
  const int n_before = parts_->drain.n_calls;
  submit(2, Ack::kVisible);
  parts_->queue.wake();
  common_->lane.drain();
  EXPECT_EQ(parts_->drain.n_calls, n_before);
  run([&] { log_.answer({}); });
  common_->lane.drain();
  EXPECT_EQ(parts_->drain.n_calls, n_before + 1);
}

TEST_F(ApplyLaneTest, AFailedGroupIsNotAppliedAndItsNumbersAreNotUsedAgain) {
  submit(1, Ack::kVisible);
  run([&] { parts_->lane.apply_group(); });
  run([&] { log_.answer(fail(Code::kResourceExhausted, "no space left on device")); });
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].error().code(), Code::kResourceExhausted);
  EXPECT_FALSE(seq_of(1));
  submit(1, Ack::kVisible);
  run([&] { parts_->lane.apply_group(); });
  EXPECT_EQ(log_.first_seq, Seq{2});
  run([&] { log_.answer({}); });
  EXPECT_EQ(seq_of(1), 2U);
}

TEST_F(ApplyLaneTest, AGroupWithoutChangesIsNotAppended) {
  auto request = delete_request(7);
  request.done = [this](Result<std::vector<Seq>> result) { answers_.push_back(std::move(result)); };
  ASSERT_TRUE(parts_->queue.submit(std::move(request)));
  run([&] { parts_->lane.apply_group(); });
  EXPECT_FALSE(log_.is_asked());
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0]);
}

TEST_F(ApplyLaneTest, UpdatesWaitForABulkLoad) {
  run([&] { EXPECT_FALSE(parts_->lane.put_off()); });
  ASSERT_TRUE(parts_->bulk.begin());
  run([&] { EXPECT_TRUE(parts_->lane.put_off()); });
  ASSERT_TRUE(parts_->bulk.cancel());
  run([&] { EXPECT_FALSE(parts_->lane.put_off()); });
}

/// They waited for ever.
TEST_F(ApplyLaneTest, UpdatesBehindABulkLoadAreRefusedAtTheirDeadline) {
  ASSERT_TRUE(parts_->bulk.begin());
  auto request = put_request({1});
  request.deadline = Deadline::after(std::chrono::nanoseconds(0));
  request.done = [this](Result<std::vector<Seq>> result) { answers_.push_back(std::move(result)); };
  ASSERT_TRUE(parts_->queue.submit(std::move(request)));
  submit(2, Ack::kVisible);
  run([&] {
    EXPECT_TRUE(parts_->lane.put_off());
    parts_->lane.refuse_overdue();
  });
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].error().code(), Code::kUnavailable);
  EXPECT_THAT(answers_[0].error().message(), ::testing::HasSubstr("still runs"));
  parts_->bulk.note_failure(Error(Code::kUnavailable, "the disk is broken"));
  run([&] { EXPECT_THAT(parts_->bulk.describe(), ::testing::HasSubstr("the disk is broken")); });
  ASSERT_TRUE(parts_->bulk.cancel());
  run([&] { parts_->lane.apply_group(); });
  run([&] { log_.answer({}); });
  EXPECT_FALSE(seq_of(1)) << "what was refused is not applied later";
  EXPECT_TRUE(seq_of(2));
}

}  // namespace
}  // namespace quiver::engine::testing
