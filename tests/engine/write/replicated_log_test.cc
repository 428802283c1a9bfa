#include "engine/write/replicated_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/row.h"
#include "storage/rows/runtime.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

/// Commits when the test says so.
class HeldReplication final : public Replication {
 public:
  [[nodiscard]] Result<> check_leads(const std::string&) const override {
    if (leads) return {};
    return fail(Code::kUnavailable, "node2 leads");
  }
  void commit(const ShardName& shard, std::shared_ptr<const Entry> sent,
              Done then) noexcept override {
    EXPECT_EQ(shard.collection, "c");
    entry = std::move(sent);
    done = std::move(then);
  }
  void confirm_leads(const std::string&, Done then) noexcept override { done = std::move(then); }
  [[nodiscard]] Result<> commit_config(const std::string&, const CollectionConfig&,
                                       const CollectionConfig&) override {
    return {};
  }
  void when_replicas_applied(const std::string&, std::function<void()> then) noexcept override {
    then();
  }

  bool leads = true;
  std::shared_ptr<const Entry> entry;
  Done done;
};

class ReplicatedLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_replicated_log_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    config_.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    open();
  }
  void TearDown() override {
    log_.reset();
    store_.reset();
    std::filesystem::remove_all(root_);
  }
  void open() {
    log_.reset();
    store_.reset();
    store_ =
        storage::ShardStore::open(root_.string(), storage::Runtime::create({}).value()).value();
    log_ = std::make_unique<ReplicatedLog>(ShardName{"c", 3}, *store_, lane_, replication_);
    ASSERT_TRUE(log_->load());
  }
  void stage(Staging& group, const std::vector<std::uint64_t>& ids, std::uint64_t seq) {
    PreparedPoints points;
    for (const std::uint64_t id : ids) {
      points.rows.push_back({PointId::number(id),
                             {},
                             "{}",
                             {to_stored(config_.fields[0], DenseVector{1, 2}).value()}});
    }
    Seq next{seq};
    ASSERT_TRUE(group.apply(points, next));
  }
  [[nodiscard]] bool has_row(std::uint64_t id) const {
    return store_->row(PointId::number(id)).value().has_value();
  }

  std::filesystem::path root_;
  CollectionConfig config_;
  SegmentSet base_;
  Executor executor_{1, "lane"};
  SerialLane lane_{executor_, Priority::kHigh};
  HeldReplication replication_;
  std::unique_ptr<storage::ShardStore> store_;
  std::unique_ptr<ReplicatedLog> log_;
};

TEST_F(ReplicatedLogTest, NothingIsWrittenBeforeTheCommit) {
  Staging group(base_, config_, nullptr);
  stage(group, {1, 2}, 1);
  std::promise<Result<>> answer;
  const ShardLog::Committed committed = [&](const Result<>& result) { answer.set_value(result); };
  log_->append(group, committed);
  ASSERT_NE(replication_.entry, nullptr);
  EXPECT_EQ(replication_.entry->id.number, 1U);
  EXPECT_EQ(replication_.entry->first, Seq{1});
  EXPECT_EQ(replication_.entry->last, Seq{2});
  EXPECT_FALSE(has_row(1));
  EXPECT_EQ(log_->applied(), 0U);
  EXPECT_FALSE(log_->wait_until_idle(std::chrono::milliseconds(1)));
  EXPECT_EQ(log_->body(replication_.entry->id).value(), replication_.entry->body);
  replication_.done({});
  EXPECT_TRUE(answer.get_future().get());
  EXPECT_TRUE(log_->wait_until_idle(std::chrono::seconds(10)));
  EXPECT_TRUE(has_row(1) && has_row(2));
  EXPECT_EQ(log_->applied(), 1U);
  open();
  EXPECT_EQ(log_->applied(), 1U);
  EXPECT_EQ(log_->last().value(), Seq{2});
}

TEST_F(ReplicatedLogTest, WhatIsNotCommittedLeavesNoRow) {
  Staging group(base_, config_, nullptr);
  stage(group, {1}, 1);
  std::promise<Result<>> answer;
  const ShardLog::Committed committed = [&](const Result<>& result) { answer.set_value(result); };
  log_->append(group, committed);
  replication_.done(fail(Code::kUnavailable, "too few nodes"));
  EXPECT_EQ(answer.get_future().get().error().message(), "too few nodes");
  EXPECT_FALSE(has_row(1));
  EXPECT_EQ(log_->applied(), 0U);
}

TEST_F(ReplicatedLogTest, ANodeThatDoesNotLeadAppendsNothing) {
  replication_.leads = false;
  Staging group(base_, config_, nullptr);
  stage(group, {1}, 1);
  Result<> outcome;
  const ShardLog::Committed committed = [&](const Result<>& result) { outcome = result; };
  log_->append(group, committed);
  EXPECT_EQ(outcome.error().message(), "node2 leads");
  EXPECT_EQ(replication_.entry, nullptr);
  EXPECT_TRUE(log_->wait_until_idle(std::chrono::milliseconds(0)));
}

TEST_F(ReplicatedLogTest, EntriesOfTheClusterAreWrittenWithTheirNumber) {
  Staging group(base_, config_, nullptr);
  stage(group, {5}, 7);
  Result<> outcome = fail(Code::kInternal, "not called");
  const ShardLog::Committed committed = [&](const Result<>& result) { outcome = result; };
  log_->append_entries(group, 12, committed);
  EXPECT_TRUE(outcome);
  EXPECT_EQ(log_->applied(), 12U);
  EXPECT_TRUE(has_row(5));
}

TEST_F(ReplicatedLogTest, BodiesAreKeptByNumberAndHash) {
  const std::string one = "one";
  const std::string other = "other";
  const EntryId first{4, entry_hash(one)};
  const EntryId second{4, entry_hash(other)};
  ASSERT_TRUE(log_->store_body(first, one));
  ASSERT_TRUE(log_->store_body(second, other));
  EXPECT_FALSE(log_->store_body(first, other)) << "the hash is another one";
  open();
  EXPECT_EQ(log_->body(first).value(), one);
  EXPECT_EQ(log_->body(second).value(), other);
  EXPECT_EQ(log_->body({5, entry_hash(one)}).value(), std::nullopt);
}

TEST_F(ReplicatedLogTest, TrimmingKeepsLaterBodies) {
  for (EntryNumber n = 1; n <= 300; ++n) {
    const std::string body = std::to_string(n);
    ASSERT_TRUE(log_->store_body({n, entry_hash(body)}, body));
  }
  ASSERT_TRUE(log_->trim(257));
  for (EntryNumber n = 1; n <= 300; ++n) {
    const auto found = log_->body({n, entry_hash(std::to_string(n))}).value();
    EXPECT_EQ(found.has_value(), n >= 257) << n;
  }
}

}  // namespace
}  // namespace quiver::engine::testing
