// Three members on one machine: one may be away, two may not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster/ledger/etcd_ledger.h"
#include "cluster/ledger/etcd_membership.h"
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
      members_.push_back({.name = fmt::format("m{}", i),
                          .host = "127.0.0.1",
                          .peer_port = free_port(),
                          .client_port = free_port()});
    }
    std::vector<client::Endpoint> endpoints;
    for (std::size_t i = 0; i < 3; ++i) {
      start(i);
      endpoints.push_back({.host = "127.0.0.1", .port = members_[i].client_port});
    }
    ledger_ = std::make_unique<EtcdLedger>(EtcdLedgerOptions{.members = endpoints});
    ASSERT_TRUE(serves(*ledger_));
  }

  void start(std::size_t i) {
    auto process = EtcdProcess::start({.data_dir = folder_.path() / members_[i].name,
                                       .name = members_[i].name,
                                       .client_port = members_[i].client_port,
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

/// The new one has all that the others had, so one of them may be away again.
TEST_F(EtcdMembersTest, OneWhoseDataIsLostIsReplaced) {
  ASSERT_TRUE(counts_to(20));
  for (std::size_t i = 0; i < 3; ++i) {
    processes_[i]->stop();
    std::filesystem::remove_all(folder_.path() / members_[i].name);
    start(i);
    EtcdLedger own({.members = {{.host = "127.0.0.1", .port = members_[i].client_port}}});
    ASSERT_TRUE(serves(own)) << i;
    processes_[(i + 1) % 3]->stop();
    EXPECT_TRUE(counts_to(40 + 20 * static_cast<int>(i))) << i;
    start((i + 1) % 3);
  }
}

/// Only the others know that it was lost.
TEST_F(EtcdMembersTest, OneWhoseDataIsLostWaitsForTheOthers) {
  ASSERT_TRUE(counts_to(20));
  processes_[0]->stop();
  processes_[1]->stop();
  std::filesystem::remove_all(folder_.path() / members_[0].name);
  start(0);
  start(1);
  EXPECT_TRUE(counts_to(40));
}

TEST(EtcdMembershipTest, ReadsMembers) {
  const auto answer = payload::parse_json(
      R"({"members":[{"ID":"18446744073709551615","name":"a","peerURLs":["http://a:1"],)"
      R"("clientURLs":["http://a:2"]},{"ID":"7","peerURLs":["http://b:1"]}]})");
  const auto members = etcd::read_members(*answer);
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 2U);
  EXPECT_EQ((*members)[0].id, ~std::uint64_t{0});
  EXPECT_EQ((*members)[0].name, "a");
  EXPECT_EQ((*members)[0].client_urls, std::vector<std::string>{"http://a:2"});
  EXPECT_EQ((*members)[1].peer_urls, std::vector<std::string>{"http://b:1"});
  EXPECT_FALSE(etcd::read_members(*payload::parse_json("{}")));
}

TEST(EtcdMembershipTest, JoinsByWhatTheOthersKnow) {
  const std::vector<etcd::ListedMember> members = {
      {.id = 1, .name = "a", .peer_urls = {"http://a:1"}, .client_urls = {"http://a:2"}},
      {.id = 2, .name = "b", .peer_urls = {"http://b:1"}},
      {.id = 3, .peer_urls = {"http://c:1"}}};
  EXPECT_EQ(etcd::how_to_join(members, "http://a:1"), etcd::Joining::kReplace);
  EXPECT_EQ(etcd::how_to_join(members, "http://b:1"), etcd::Joining::kFound);
  EXPECT_EQ(etcd::how_to_join(members, "http://c:1"), etcd::Joining::kStart);
  EXPECT_EQ(etcd::how_to_join(members, "http://d:1"), etcd::Joining::kAdd);
}

}  // namespace
}  // namespace quiver::cluster
