#include "engine/query/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/threads/executor.h"
#include "tests/patience.h"
#include "tests/support/failing_allocation.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kSearches = 5;
/// More than are made on the way to an answer.
constexpr int kAllocations = 150;

/// Answers nothing to every query; remembers how it was asked.
class FakeSource final : public QuerySource {
 public:
  Result<std::vector<Record>> query(const Cancel& cancel) const {
    ++n_alone_;
    wait_while_held();
    if (throws) throw std::runtime_error("the fake was asked to throw");
    QV_TRY(cancel.check());
    return std::vector<Record>();
  }
  Result<std::vector<std::vector<Record>>> query_batch(std::span<const Query> queries,
                                                       const Cancel& cancel) const override {
    largest_batch_ = std::max(largest_batch_.load(), queries.size());
    wait_while_held();
    if (batch_fails) return fail(Code::kInternal, "the fake was asked to fail");
    while (waits_for_cancel && !cancel.poll()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    QV_TRY(cancel.check());
    return std::vector<std::vector<Record>>(queries.size());
  }

  std::atomic<bool> is_held = false;
  bool throws = false;
  bool batch_fails = false;
  bool waits_for_cancel = false;
  [[nodiscard]] std::size_t n_alone() const { return n_alone_; }
  [[nodiscard]] std::size_t largest_batch() const { return largest_batch_; }
  [[nodiscard]] std::size_t n_running() const { return n_running_; }

 private:
  void wait_while_held() const {
    ++n_running_;
    while (is_held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --n_running_;
  }

  mutable std::atomic<std::size_t> n_running_ = 0;
  mutable std::atomic<std::size_t> n_alone_ = 0;
  mutable std::atomic<std::size_t> largest_batch_ = 0;
};

class FakePlanned final : public PlannedQuery {
 public:
  FakePlanned(std::shared_ptr<const FakeSource> source, std::size_t most_together)
      : source_(std::move(source)) {
    cost_.most_together = most_together;
    query_.kind = Nearest{DenseVector{1, 2}};
    // On the CPU it would keep searches apart.
    if (cost_.is_for_device()) query_.filter.emplace();
  }
  const Query& query() const override { return query_; }
  const QueryCost& cost() const override { return cost_; }
  Result<std::vector<Record>> run(const Cancel& cancel) const override {
    return source_->query(cancel);
  }

 private:
  std::shared_ptr<const FakeSource> source_;
  Query query_;
  QueryCost cost_;
};

/// How a search ended. Outlives it.
class Outcome {
 public:
  enum class Kind { kNone, kAnswer, kError, kException };

  /// kNone if it does not end within ten seconds.
  Kind wait() {
    const auto limit = patience(std::chrono::seconds(10));
    if (ended_.get_future().wait_for(limit) != std::future_status::ready) return Kind::kNone;
    return kind_;
  }
  void end(Kind kind) {
    kind_ = kind;
    ended_.set_value();
  }
  void use(std::shared_ptr<const Cancel> cancel) { current_ = std::move(cancel); }

 private:
  Kind kind_ = Kind::kNone;
  std::promise<void> ended_;
  std::shared_ptr<const Cancel> current_;
};

class Waiter final : public SearchWaiter {
 public:
  explicit Waiter(Outcome& outcome) : outcome_(outcome) {}
  void use_cancel(std::shared_ptr<const Cancel> cancel) noexcept override {
    outcome_.use(std::move(cancel));
  }
  void answer(Result<std::vector<Record>> records) noexcept override {
    outcome_.end(records ? Outcome::Kind::kAnswer : Outcome::Kind::kError);
  }
  void fail(std::exception_ptr) noexcept override { outcome_.end(Outcome::Kind::kException); }

 private:
  Outcome& outcome_;
};

class BatcherTest : public ::testing::Test {
 protected:
  Batcher::Search search(Outcome& outcome, Deadline deadline = Deadline::none()) {
    return {source_, std::make_shared<FakePlanned>(source_, most_together_),
            std::make_shared<const Cancel>(deadline), std::make_unique<Waiter>(outcome)};
  }
  /// Adds searches that queue for the only thread while it runs `first`. Calls `before_adding` on
  /// this thread before the middle search is added.
  void ask(Task first, Task before_adding) {
    Executor compute(1, "compute");
    const auto batcher = std::make_shared<Batcher>(compute, 1);
    std::promise<void> all_wait;
    compute.post(Priority::kHigh, [&] {
      all_wait.get_future().wait();
      first();
    });
    std::vector<std::unique_ptr<Outcome>> outcomes;
    for (std::size_t i = 0; i < n_searches_; ++i) {
      outcomes.push_back(std::make_unique<Outcome>());
      auto one = search(*outcomes.back());
      bool is_queued = true;
      if (i == n_searches_ / 2) before_adding();
      try {
        batcher->add(std::move(one));
      } catch (const std::bad_alloc&) {
        is_queued = false;
      }
      testing_support::fail_allocations(0, 0);
      if (!is_queued) outcomes.pop_back();
    }
    EXPECT_GE(outcomes.size(), n_searches_ - 1);
    all_wait.set_value();
    for (const auto& outcome : outcomes) ASSERT_NE(outcome->wait(), Outcome::Kind::kNone);
    compute.stop();
  }

  std::size_t n_searches_ = kSearches;
  std::size_t most_together_ = QueryCost::kMostOnCpu;
  std::shared_ptr<FakeSource> source_ = std::make_shared<FakeSource>();
};

/// Searches of rows that a device has.
class DeviceBatcherTest : public BatcherTest {
 protected:
  DeviceBatcherTest() { most_together_ = QueryCost::kMostOnDevice; }
  static void wait_until(const std::function<bool()>& is_true) {
    while (!is_true()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  /// Adds a search, and waits until it is with the source, which holds it.
  void occupy_device(Batcher& batcher, Outcome& outcome) {
    source_->is_held = true;
    batcher.add(search(outcome));
    wait_until([&] { return source_->n_running() == 1; });
  }
};

TEST_F(BatcherTest, SearchesThatWaitShareAPass) {
  ask([] {}, [] {});
  EXPECT_EQ(source_->largest_batch(), kSearches);
  EXPECT_EQ(source_->n_alone(), 0U);
}

TEST_F(BatcherTest, EachIsAnsweredAloneIfThePassFails) {
  source_->batch_fails = true;
  ask([] {}, [] {});
  EXPECT_EQ(source_->n_alone(), kSearches);
}

TEST_F(BatcherTest, AnExceptionReachesTheOneWhoWaits) {
  source_->throws = true;
  Executor compute(1, "compute");
  const auto batcher = std::make_shared<Batcher>(compute, 1);
  Outcome outcome;
  batcher->add(search(outcome));
  EXPECT_EQ(outcome.wait(), Outcome::Kind::kException);
  compute.stop();
}

TEST_F(BatcherTest, TheEndOfOneSearchLeavesTheOthers) {
  source_->waits_for_cancel = true;
  Executor compute(1, "compute");
  const auto batcher = std::make_shared<Batcher>(compute, 1);
  std::promise<void> both_wait;
  compute.post(Priority::kHigh, [&] { both_wait.get_future().wait(); });
  Outcome limited;
  Outcome patient;
  batcher->add(search(limited, Deadline::after(std::chrono::milliseconds(100))));
  batcher->add(search(patient));
  both_wait.set_value();
  EXPECT_EQ(limited.wait(), Outcome::Kind::kError);
  EXPECT_EQ(patient.wait(), Outcome::Kind::kAnswer);
  EXPECT_EQ(source_->largest_batch(), 2U);
  compute.stop();
}

TEST_F(BatcherTest, FinishesAllIfMemoryRunsOutWhileOneIsAdded) {
  for (int n = 0; n < 12; ++n) {
    SCOPED_TRACE(n);
    ask([] {}, [n] { testing_support::fail_allocations(n, 1); });
    if (HasFatalFailure()) return;
  }
}

TEST_F(BatcherTest, FinishesAllIfMemoryRunsOutInAGroup) {
  for (const int n_failures : {1, 2, 3, 10}) {
    for (int n = 0; n < kAllocations; ++n) {
      SCOPED_TRACE(std::to_string(n_failures) + " failures after " + std::to_string(n));
      ask([n, n_failures] { testing_support::fail_allocations(n, n_failures); }, [] {});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(BatcherTest, APassOnTheCpuHasFewSearches) {
  n_searches_ = 50;
  ask([] {}, [] {});
  EXPECT_EQ(source_->largest_batch(), QueryCost::kMostOnCpu);
}

TEST_F(DeviceBatcherTest, APassHasManySearches) {
  n_searches_ = 300;
  ask([] {}, [] {});
  EXPECT_EQ(source_->largest_batch(), QueryCost::kMostOnDevice);
  EXPECT_EQ(source_->n_alone(), 0U);
}

TEST_F(DeviceBatcherTest, SearchesGatherWhileAGroupIsAtEachLane) {
  constexpr std::size_t kMany = 20;
  Executor compute(4, "compute");
  const auto batcher = std::make_shared<Batcher>(compute, 1);
  std::vector<Outcome> outcomes(1 + kMany);
  occupy_device(*batcher, outcomes[0]);
  for (std::size_t i = 1; i <= kMany; ++i) batcher->add(search(outcomes[i]));
  // Other threads are free, but wait for no lane.
  std::promise<void> is_free;
  wait_until([&] { return compute.n_queued(Priority::kHigh) == 0; });
  compute.post(Priority::kHigh, [&] { is_free.set_value(); });
  is_free.get_future().wait();
  EXPECT_EQ(source_->n_running(), 1U);
  source_->is_held = false;
  for (auto& outcome : outcomes) EXPECT_EQ(outcome.wait(), Outcome::Kind::kAnswer);
  compute.stop();
  EXPECT_EQ(source_->n_alone(), 1U);
  EXPECT_EQ(source_->largest_batch(), kMany);
}

TEST_F(DeviceBatcherTest, SearchesForTheCpuDoNotWaitForALane) {
  Executor compute(4, "compute");
  const auto batcher = std::make_shared<Batcher>(compute, 1);
  Outcome of_device;
  Outcome of_cpu;
  occupy_device(*batcher, of_device);
  most_together_ = QueryCost::kMostOnCpu;
  batcher->add(search(of_cpu));
  wait_until([&] { return source_->n_running() == 2; });
  source_->is_held = false;
  EXPECT_EQ(of_device.wait(), Outcome::Kind::kAnswer);
  EXPECT_EQ(of_cpu.wait(), Outcome::Kind::kAnswer);
  compute.stop();
}

TEST_F(DeviceBatcherTest, TheEndOfSomeSearchesLeavesTheOthersInTheirPass) {
  Executor compute(1, "compute");
  const auto batcher = std::make_shared<Batcher>(compute, 1);
  std::promise<void> all_wait;
  compute.post(Priority::kHigh, [&] { all_wait.get_future().wait(); });
  Outcome patient;
  Outcome limited;
  Outcome gone;
  const auto soon = Deadline::after(patience(std::chrono::milliseconds(500)));
  auto cancelled = search(gone);
  const auto cancel = cancelled.cancel;
  source_->is_held = true;
  batcher->add(search(patient));
  batcher->add(search(limited, soon));
  batcher->add(std::move(cancelled));
  all_wait.set_value();
  wait_until([&] { return source_->n_running() == 1; });
  cancel->cancel();
  wait_until([&] { return soon.has_passed(); });
  source_->is_held = false;
  EXPECT_EQ(patient.wait(), Outcome::Kind::kAnswer);
  EXPECT_EQ(limited.wait(), Outcome::Kind::kError);
  EXPECT_EQ(gone.wait(), Outcome::Kind::kError);
  EXPECT_EQ(source_->largest_batch(), 3U);
  EXPECT_EQ(source_->n_alone(), 0U);
  compute.stop();
}

TEST_F(DeviceBatcherTest, EachIsAnsweredAloneIfThePassFails) {
  n_searches_ = 30;
  source_->batch_fails = true;
  ask([] {}, [] {});
  EXPECT_EQ(source_->n_alone(), n_searches_);
}

TEST_F(DeviceBatcherTest, FinishesAllIfMemoryRunsOutInAGroup) {
  n_searches_ = 12;
  for (const int n_failures : {1, 3, 10}) {
    for (int n = 0; n < kAllocations; ++n) {
      SCOPED_TRACE(std::to_string(n_failures) + " failures after " + std::to_string(n));
      ask([n, n_failures] { testing_support::fail_allocations(n, n_failures); }, [] {});
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace quiver::engine
