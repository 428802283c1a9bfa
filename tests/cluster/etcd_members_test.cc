// Three members on one machine: one may be away, two may not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster/ledger/etcd_ledger.h"
#include "cluster/ledger/etcd_process.h"
#include "tests/cluster/etcd_for_test.h"
#include "tests/patience.h"

namespace quiver::cluster {
namespace {

class EtcdMembersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_program("etcd")) GTEST_SKIP() << kNoEtcd;
    for (int i = 0; i < 3; ++i) {
      members_.push_back(
          {.name = fmt::format("m{}", i), .host = "127.0.0.1", .peer_port = free_port()});
      client_ports_.push_back(free_port());
    }
    std::vector<client::Endpoint> endpoints;
    for (std::size_t i = 0; i < 3; ++i) {
      start(i);
      endpoints.push_back({.host = "127.0.0.1", .port = client_ports_[i]});
    }
    ledger_ = std::make_unique<EtcdLedger>(EtcdLedgerOptions{.members = endpoints});
    ASSERT_TRUE(serves(*ledger_));
  }

  void start(std::size_t i) {
    auto process = EtcdProcess::start({.data_dir = folder_.path() / members_[i].name,
                                       .name = members_[i].name,
                                       .client_port = client_ports_[i],
                                       .peer_port = members_[i].peer_port,
                                       .members = members_});
    ASSERT_TRUE(process) << process.error().to_string();
    processes_[i] = std::move(*process);
  }

  /// Counts until it is known to be `wanted`. Every outcome may be unknown.
  bool counts_to(int wanted) {
    const auto end = patience_end(std::chrono::seconds(15));
    while (std::chrono::steady_clock::now() < end) {
      const auto found = ledger_->range({.from = "n"});
      if (!found) continue;
      const bool is_new = found->items.empty();
      const int n = is_new ? 0 : std::stoi(found->items[0].value);
      if (n >= wanted) return n == wanted;
      const Condition unchanged{.key = "n",
                                .what = Condition::What::kModRevision,
                                .value = is_new ? 0 : found->items[0].mod_revision};
      const auto outcome = ledger_->transact(
          {.conditions = {unchanged}, .writes = {{.key = "n", .value = std::to_string(n + 1)}}});
      if (outcome || is_expected(outcome.error().code())) continue;
      ADD_FAILURE() << outcome.error().to_string();
    }
    return false;
  }
  static bool is_expected(Code code) {
    return code == Code::kUnavailable || code == Code::kDeadlineExceeded;
  }

  TestFolder folder_;
  std::vector<EtcdMember> members_;
  std::vector<std::uint16_t> client_ports_;
  std::array<std::unique_ptr<EtcdProcess>, 3> processes_;
  std::unique_ptr<EtcdLedger> ledger_;
};

TEST_F(EtcdMembersTest, OneMayBeAwayTwoMayNot) {
  ASSERT_TRUE(counts_to(20));
  for (std::size_t i = 0; i < 3; ++i) {  // one of them leads
    processes_[i]->stop();
    EXPECT_TRUE(counts_to(40 + 20 * static_cast<int>(i))) << i;
    start(i);
  }
  processes_[0]->stop();
  processes_[1]->stop();
  const auto read = ledger_->range({.from = "n"});
  ASSERT_FALSE(read);
  EXPECT_TRUE(is_expected(read.error().code())) << read.error().to_string();
  const auto written = ledger_->transact({.writes = {{.key = "other", .value = "1"}}});
  ASSERT_FALSE(written);
  EXPECT_TRUE(is_expected(written.error().code())) << written.error().to_string();
  start(0);
  EXPECT_TRUE(counts_to(100));
}

}  // namespace
}  // namespace quiver::cluster
