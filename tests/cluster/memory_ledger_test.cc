#include "cluster/ledger/memory_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Fault = LedgerFault::What;

/// Two nodes over one store, with a clock that stands still until it is moved.
class MemoryLedgerTest : public testing::Test {
 protected:
  static Transaction put(std::string key, LeaseId lease = 0) {
    return {.writes = {{.key = std::move(key), .value = "v", .lease = lease}}};
  }
  static void fail_all(MemoryLedger& ledger, Fault what) {
    ledger.set_faults([what](LedgerCall) { return LedgerFault{.what = what}; });
  }
  static Code code_of(MemoryLedger& ledger, const std::string& key) {
    const auto outcome = ledger.transact(put(key));
    return outcome ? Code::kUnknown : outcome.error().code();
  }
  [[nodiscard]] bool has(const std::string& key) {
    return !store_->range({.from = key}).value().items.empty();
  }

  MemoryLedgerStore::Time now_{};
  std::shared_ptr<MemoryLedgerStore> store_ =
      std::make_shared<MemoryLedgerStore>([this] { return now_; });
  MemoryLedger a_{store_};
  MemoryLedger b_{store_};
};

TEST_F(MemoryLedgerTest, FaultsSayWhatIsKnown) {
  fail_all(a_, Fault::kNotDone);
  EXPECT_EQ(code_of(a_, "not done"), Code::kUnavailable);
  EXPECT_FALSE(has("not done"));
  fail_all(a_, Fault::kNotKnown);
  EXPECT_EQ(code_of(a_, "not known"), Code::kDeadlineExceeded);
  EXPECT_FALSE(has("not known"));
  fail_all(a_, Fault::kAnswerLost);
  EXPECT_EQ(code_of(a_, "lost"), Code::kDeadlineExceeded);
  EXPECT_TRUE(has("lost"));
  a_.set_faults(nullptr);
  EXPECT_TRUE(a_.transact(put("done")));
}

TEST_F(MemoryLedgerTest, LateTransactionsAreDoneWhenDelivered) {
  fail_all(a_, Fault::kLate);
  const Condition absent{.key = "k", .value = 0};
  const auto create = [&](MemoryLedger& ledger, std::string value) {
    return ledger.transact(
        {.conditions = {absent}, .writes = {{.key = "k", .value = std::move(value)}}});
  };
  EXPECT_EQ(create(a_, "late").error().code(), Code::kDeadlineExceeded);
  EXPECT_FALSE(has("k"));
  EXPECT_FALSE(a_.range({.from = "k"}));
  EXPECT_TRUE(create(b_, "first")->succeeded);
  a_.deliver_late();
  EXPECT_EQ(store_->range({.from = "k"})->items[0].value, "first");
  EXPECT_EQ(code_of(a_, "other"), Code::kDeadlineExceeded);
  a_.deliver_late();
  EXPECT_TRUE(has("other"));
}

TEST_F(MemoryLedgerTest, OneNodeIsCutOff) {
  a_.set_reachable(false);
  EXPECT_EQ(code_of(a_, "k"), Code::kUnavailable);
  EXPECT_EQ(a_.status().error().code(), Code::kUnavailable);
  EXPECT_TRUE(b_.transact(put("k")));
  a_.set_reachable(true);
  EXPECT_EQ(a_.range({.from = "k"})->items.size(), 1U);
}

TEST_F(MemoryLedgerTest, FaultsMayChooseCalls) {
  std::vector<LedgerCall> calls;
  a_.set_faults([&](LedgerCall call) {
    calls.push_back(call);
    return LedgerFault{.what = call == LedgerCall::kRange ? Fault::kNotDone : Fault::kNone,
                       .delay = milliseconds(1)};
  });
  EXPECT_TRUE(a_.transact(put("k")));
  EXPECT_FALSE(a_.range({.from = "k"}));
  EXPECT_THAT(calls, testing::ElementsAre(LedgerCall::kTransact, LedgerCall::kRange));
}

TEST_F(MemoryLedgerTest, LeasesExpireByTheClock) {
  const LeaseId lease = a_.grant_lease(seconds(3)).value();
  EXPECT_TRUE(a_.transact(put("k", lease)));
  now_ += milliseconds(2999);
  EXPECT_TRUE(has("k"));
  EXPECT_TRUE(a_.keep_alive(lease).value());
  now_ += milliseconds(2999);
  EXPECT_TRUE(has("k"));
  const Revision before = store_->status()->revision;
  now_ += milliseconds(1);
  EXPECT_FALSE(has("k"));
  EXPECT_FALSE(a_.keep_alive(lease).value());
  EXPECT_EQ(store_->status()->revision, before + 1);
}

TEST_F(MemoryLedgerTest, LeasesExpireOnDemand) {
  const LeaseId lease = a_.grant_lease(seconds(3)).value();
  EXPECT_TRUE(a_.transact(put("k", lease)));
  store_->expire_lease(lease);
  EXPECT_FALSE(has("k"));
  EXPECT_FALSE(a_.keep_alive(lease).value());
}

TEST_F(MemoryLedgerTest, AFullLedgerTakesOnlyDeletes) {
  EXPECT_TRUE(a_.transact(put("k")));
  store_->set_full(true);
  EXPECT_EQ(code_of(a_, "more"), Code::kResourceExhausted);
  EXPECT_EQ(a_.grant_lease(seconds(3)).error().code(), Code::kResourceExhausted);
  EXPECT_TRUE(a_.transact({.writes = {{.key = "k"}}}));
  EXPECT_FALSE(has("k"));
  store_->set_full(false);
  EXPECT_TRUE(a_.transact(put("more")));
}

}  // namespace
}  // namespace quiver::cluster
