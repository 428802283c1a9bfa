// One set of tests for every ledger.
#include "cluster/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "cluster/ledger/memory_ledger.h"
#include "tests/cluster/etcd_for_test.h"
#include "tests/patience.h"

namespace quiver::cluster {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using What = Condition::What;

/// Makes one ledger for all tests of a kind; each test has keys of its own.
struct LedgerKind {
  const char* name;
  std::function<std::shared_ptr<Ledger>()> open;  ///< null: there is none here
};

std::shared_ptr<Ledger> open_memory() {
  static const auto ledger = std::make_shared<MemoryLedger>();
  return ledger;
}

std::shared_ptr<Ledger> open_etcd() {
  static const auto etcd = EtcdForTest::start();
  return etcd ? std::shared_ptr<Ledger>(etcd, &etcd->ledger()) : nullptr;
}

class LedgerTest : public testing::TestWithParam<LedgerKind> {
 protected:
  void SetUp() override {
    ledger_ = GetParam().open();
    if (!ledger_) GTEST_SKIP() << kNoEtcd;
    prefix_ =
        std::string("/test/") + testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
  }

  [[nodiscard]] std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  [[nodiscard]] Write put(std::string_view name, std::string value, LeaseId lease = 0) const {
    return {.key = key(name), .value = std::move(value), .lease = lease};
  }
  Outcome done(const Transaction& transaction) const {
    const auto outcome = ledger_->transact(transaction);
    if (!outcome) ADD_FAILURE() << outcome.error().to_string();
    return outcome.value_or(Outcome());
  }
  [[nodiscard]] RangeAnswer read(const RangeRequest& request) const {
    auto answer = ledger_->range(request);
    if (!answer) ADD_FAILURE() << answer.error().to_string();
    return std::move(answer).value_or(RangeAnswer());
  }
  [[nodiscard]] RangeAnswer all(std::int64_t limit = 0) const {
    return read({.from = prefix_, .end = prefix_end(prefix_), .limit = limit});
  }
  /// Names and values of this test's keys: "a=1".
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> found;
    for (const KeyValue& item : all().items) {
      found.push_back(item.key.substr(prefix_.size()) + "=" + item.value);
    }
    return found;
  }
  [[nodiscard]] LeaseId lease(seconds ttl) const {
    const auto lease = ledger_->grant_lease(ttl);
    if (!lease) ADD_FAILURE() << lease.error().to_string();
    return lease.value_or(0);
  }
  [[nodiscard]] Code code_of(const Transaction& transaction) const {
    const auto outcome = ledger_->transact(transaction);
    return outcome ? Code::kUnknown : outcome.error().code();
  }
  [[nodiscard]] bool vanishes(std::string_view name) const {
    const auto end = patience_end(seconds(4));
    while (std::chrono::steady_clock::now() < end) {
      if (read({.from = key(name)}).items.empty()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  std::shared_ptr<Ledger> ledger_;
  std::string prefix_;
};

TEST_P(LedgerTest, PutsAndReadsWithRevisions) {
  const Outcome first = done({.writes = {put("a", "1"), put("b", "2")}});
  EXPECT_TRUE(first.succeeded);
  const Outcome second = done({.writes = {put("a", "3")}});
  EXPECT_EQ(second.revision, first.revision + 1);

  const RangeAnswer answer = read({.from = key("a")});
  const KeyValue wanted{.key = key("a"),
                        .value = "3",
                        .create_revision = first.revision,
                        .mod_revision = second.revision,
                        .version = 2,
                        .lease = 0};
  EXPECT_THAT(answer.items, ElementsAre(wanted));
  EXPECT_GE(answer.revision, second.revision);
  EXPECT_FALSE(answer.more);
  EXPECT_THAT(texts(), ElementsAre("a=3", "b=2"));
}

TEST_P(LedgerTest, AbsentKeysReadAsNothing) {
  EXPECT_THAT(read({.from = key("a")}).items, IsEmpty());
  EXPECT_THAT(all().items, IsEmpty());
  EXPECT_THAT(read({.from = key("b"), .end = key("a")}).items, IsEmpty());
  const Outcome outcome = done({.writes = {{.key = key("a")}}});
  EXPECT_TRUE(outcome.succeeded);
  EXPECT_EQ(outcome.revision, all().revision) << "deleting nothing is no change";
}

TEST_P(LedgerTest, ConditionsOnAKeyThatIsThere) {
  const Revision made = done({.writes = {put("a", "1")}}).revision;
  const Revision changed = done({.writes = {put("a", "2")}}).revision;
  const auto holds = [&](What what, std::int64_t value) {
    return done({.conditions = {{.key = key("a"), .what = what, .value = value}}}).succeeded;
  };
  EXPECT_TRUE(holds(What::kVersion, 2));
  EXPECT_TRUE(holds(What::kCreateRevision, made));
  EXPECT_TRUE(holds(What::kModRevision, changed));
  EXPECT_FALSE(holds(What::kVersion, 1));
  EXPECT_FALSE(holds(What::kVersion, 0));
  EXPECT_FALSE(holds(What::kCreateRevision, changed));
  EXPECT_FALSE(holds(What::kModRevision, made));
}

TEST_P(LedgerTest, AnAbsentKeyHasZeroForEach) {
  for (const What what : {What::kVersion, What::kCreateRevision, What::kModRevision}) {
    EXPECT_TRUE(done({.conditions = {{.key = key("a"), .what = what, .value = 0}}}).succeeded);
    EXPECT_FALSE(done({.conditions = {{.key = key("a"), .what = what, .value = 1}}}).succeeded);
  }
}

TEST_P(LedgerTest, OneFailingConditionStopsAllWrites) {
  const Revision before = done({.writes = {put("a", "1")}}).revision;
  const Outcome outcome =
      done({.conditions = {{.key = key("a"), .value = 1}, {.key = key("b"), .value = 7}},
            .writes = {put("a", "2"), put("b", "2")}});
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.revision, before);
  EXPECT_THAT(texts(), ElementsAre("a=1"));
}

TEST_P(LedgerTest, AKeyIsMadeOnlyOnce) {
  const Transaction create{.conditions = {{.key = key("a"), .value = 0}},
                           .writes = {put("a", "1")}};
  EXPECT_TRUE(done(create).succeeded);
  EXPECT_FALSE(done(create).succeeded);
}

TEST_P(LedgerTest, AKeyThatIsMadeAgainStartsAnew) {
  const Revision first = done({.writes = {put("a", "1")}}).revision;
  done({.writes = {{.key = key("a")}}});
  const Revision again = done({.writes = {put("a", "2")}}).revision;
  EXPECT_EQ(again, first + 2);
  const auto items = all().items;
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0].version, 1);
  EXPECT_EQ(items[0].create_revision, again);
}

TEST_P(LedgerTest, RangesAreAscendingAndLimited) {
  done({.writes = {put("c", "3"), put("a", "1"), put("b", "2")}});
  const auto names = [&](const RangeAnswer& answer) {
    std::string found;
    for (const KeyValue& item : answer.items) found += item.key.substr(prefix_.size());
    return found + (answer.more ? "+" : "");
  };
  EXPECT_EQ(names(all()), "abc");
  EXPECT_EQ(names(all(2)), "ab+");
  EXPECT_EQ(names(all(3)), "abc");
  EXPECT_EQ(names(all(9)), "abc");
  EXPECT_EQ(names(read({.from = key("a"), .end = key("c")})), "ab");
  EXPECT_EQ(names(read({.from = key("b"), .end = prefix_end(prefix_), .limit = 1})), "b+");
  EXPECT_GE(read({.from = key("a"), .end = std::string(kNoEnd)}).items.size(), 3U);
}

TEST_P(LedgerTest, DeletesARangeInOneRevision) {
  const Revision before =
      done({.writes = {put("a/1", "1"), put("a/2", "2"), put("b", "3")}}).revision;
  const Outcome outcome =
      done({.writes = {{.key = key("a/"), .end = prefix_end(key("a/"))}, put("c", "4")}});
  EXPECT_EQ(outcome.revision, before + 1);
  EXPECT_THAT(texts(), ElementsAre("b=3", "c=4"));
}

TEST_P(LedgerTest, KeysAndValuesAreAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  done({.writes = {put(bytes, bytes), put("\xff", ""), put(std::string_view("\0", 1), "x")}});
  const auto items = all().items;
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].key, key(std::string_view("\0", 1)));
  EXPECT_EQ(items[1].key, key(bytes));
  EXPECT_EQ(items[1].value, bytes);
  EXPECT_EQ(items[2].value, "");
  EXPECT_EQ(read({.from = key(bytes)}).items.size(), 1U);
}

TEST_P(LedgerTest, BigValuesUpToTheLimit) {
  const std::string value(kMaxRequestBytes - 4096, 'v');
  for (const char* name : {"a", "b", "c", "d"}) done({.writes = {put(name, value)}});
  const auto items = all().items;
  ASSERT_EQ(items.size(), 4U);
  for (const KeyValue& item : items) EXPECT_EQ(item.value, value);
  EXPECT_EQ(code_of({.writes = {put("e", std::string(kMaxRequestBytes + 1, 'v'))}}),
            Code::kInvalidArgument);
}

TEST_P(LedgerTest, ManyOperationsUpToTheLimit) {
  Transaction transaction;
  for (std::size_t i = 0; i < kMaxOperations; ++i) {
    transaction.conditions.push_back({.key = key(std::to_string(i)), .value = 0});
    transaction.writes.push_back(put(std::to_string(i), "x"));
  }
  EXPECT_TRUE(done(transaction).succeeded);
  EXPECT_EQ(all().items.size(), kMaxOperations);
  transaction.writes.push_back(put("more", "x"));
  EXPECT_EQ(code_of(transaction), Code::kInvalidArgument);
}

TEST_P(LedgerTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(code_of({.writes = {put("a", "1"), put("a", "2")}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({.writes = {put("a", "1"), {.key = key("a")}}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({.writes = {{.key = prefix_, .end = prefix_end(prefix_)}, put("a", "1")}}),
            Code::kInvalidArgument);
  EXPECT_EQ(code_of({.writes = {{.key = "", .value = "1"}}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({.conditions = {{.key = "", .value = 1}}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({.writes = {{.key = key("a"), .value = "1", .end = key("b")}}}),
            Code::kInvalidArgument);
  EXPECT_FALSE(ledger_->range({.from = ""}));
  EXPECT_FALSE(ledger_->range({.from = "a", .end = "b", .limit = -1}));
  EXPECT_FALSE(ledger_->grant_lease(seconds(0)));
  EXPECT_THAT(texts(), IsEmpty());
}

TEST_P(LedgerTest, KeysVanishWithTheirLease) {
  const LeaseId id = lease(seconds(1));
  done({.writes = {put("bound", "1", id), put("free", "2"), put("freed", "3", id)}});
  EXPECT_EQ(all().items[0].lease, id);
  done({.writes = {put("freed", "4")}});
  EXPECT_TRUE(vanishes("bound"));
  EXPECT_THAT(texts(), ElementsAre("free=2", "freed=4"));
  EXPECT_EQ(ledger_->keep_alive(id).value(), false);
}

TEST_P(LedgerTest, KeepingALeaseAliveKeepsItsKeys) {
  const LeaseId id = lease(seconds(2));
  done({.writes = {put("a", "1", id)}});
  const Stopwatch whole;
  while (whole.seconds() < 5) {
    const Stopwatch pause;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const bool is_alive = ledger_->keep_alive(id).value();
    if (pause.seconds() > 1.5) GTEST_SKIP() << "this machine is too busy to keep a lease alive";
    ASSERT_TRUE(is_alive);
  }
  EXPECT_THAT(texts(), ElementsAre("a=1"));
  EXPECT_TRUE(vanishes("a"));
}

TEST_P(LedgerTest, RevokingALeaseDeletesItsKeysAtOnce) {
  const LeaseId id = lease(seconds(100));
  done({.writes = {put("a", "1", id)}});
  EXPECT_TRUE(ledger_->revoke_lease(id));
  EXPECT_THAT(texts(), IsEmpty());
  EXPECT_EQ(ledger_->keep_alive(id).value(), false);
  const auto again = ledger_->revoke_lease(id);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::kNotFound);
  EXPECT_EQ(code_of({.writes = {put("a", "1", id)}}), Code::kFailedPrecondition);
  EXPECT_THAT(texts(), IsEmpty());
}

TEST_P(LedgerTest, ALeaseThatIsGoneDoesNotMatterIfConditionsFail) {
  const Outcome outcome = done(
      {.conditions = {{.key = key("a"), .value = 5}}, .writes = {put("a", "1", LeaseId{1} << 40)}});
  EXPECT_FALSE(outcome.succeeded);
}

TEST_P(LedgerTest, CompactsOnlyForward) {
  done({.writes = {put("a", "1")}});
  const Revision revision = done({.writes = {put("a", "2")}}).revision;
  EXPECT_TRUE(ledger_->compact(revision));
  EXPECT_THAT(texts(), ElementsAre("a=2"));
  for (const Revision wrong : {revision - 1, revision, revision + 1000}) {
    const auto compacted = ledger_->compact(wrong);
    ASSERT_FALSE(compacted) << wrong;
    EXPECT_EQ(compacted.error().code(), Code::kOutOfRange) << compacted.error().to_string();
  }
}

TEST_P(LedgerTest, StatusNamesVersionLeaderAndRevision) {
  const Revision revision = done({.writes = {put("a", "1")}}).revision;
  const auto status = ledger_->status();
  ASSERT_TRUE(status) << status.error().to_string();
  EXPECT_TRUE(status->version.starts_with("3."));
  EXPECT_GT(status->db_bytes, 0U);
  EXPECT_NE(status->leader, 0U);
  EXPECT_EQ(status->leader, status->member);
  EXPECT_GT(status->raft_term, 0U);
  EXPECT_GE(status->revision, revision);
}

TEST_P(LedgerTest, ManyThreadsCountWithoutLoss) {
  done({.writes = {put("n", "0")}});
  const auto count = [&] {
    for (int n_done = 0; n_done < 10;) {
      const auto items = read({.from = key("n")}).items;
      if (items.size() != 1) return;
      const std::string next = std::to_string(std::stoi(items[0].value) + 1);
      const Condition unchanged{
          .key = key("n"), .what = What::kModRevision, .value = items[0].mod_revision};
      if (done({.conditions = {unchanged}, .writes = {put("n", next)}}).succeeded) ++n_done;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(count);
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(texts(), ElementsAre("n=40"));
}

INSTANTIATE_TEST_SUITE_P(Ledgers, LedgerTest,
                         testing::Values(LedgerKind{"Memory", open_memory},
                                         LedgerKind{"Etcd", open_etcd}),
                         [](const auto& kind) { return kind.param.name; });

TEST(PrefixEndTest, IsTheFirstKeyBehindThePrefix) {
  EXPECT_EQ(prefix_end("a/"), "a0");
  EXPECT_EQ(prefix_end("a\xff"), "b");
  EXPECT_EQ(prefix_end("a\xff\xff"), "b");
  EXPECT_EQ(prefix_end("\xff"), kNoEnd);
  EXPECT_EQ(prefix_end(""), kNoEnd);
  EXPECT_EQ(prefix_end("\x7f"), "\x80");
}

}  // namespace
}  // namespace quiver::cluster
