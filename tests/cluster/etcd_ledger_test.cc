#include "cluster/ledger/etcd_ledger.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "base/clock.h"
#include "cluster/ledger/etcd_json.h"
#include "tests/cluster/etcd_for_test.h"
#include "tests/service/client/listener.h"

namespace quiver::cluster {
namespace {

using client::Listener;
using std::chrono::milliseconds;

client::Endpoint nobody() { return {.host = "127.0.0.1", .port = free_port()}; }

Transaction put_a() { return {.writes = {{.key = "/etcd_ledger_test/a", .value = "1"}}}; }

template <class T>
Code code(const Result<T>& result) {
  return result ? Code{} : result.error().code();
}

TEST(EtcdLedgerTest, WithoutServerNothingIsDone) {
  EtcdLedger ledger({.members = {nobody(), nobody()}});
  EXPECT_EQ(code(ledger.transact(put_a())), Code::kUnavailable);
  EXPECT_EQ(code(ledger.range({.from = "a"})), Code::kUnavailable);
  EXPECT_EQ(code(ledger.keep_alive(1)), Code::kUnavailable);
  EXPECT_EQ(code(ledger.status()), Code::kUnavailable);
  EtcdLedger none({.members = {}});
  EXPECT_EQ(code(none.status()), Code::kUnavailable);
}

TEST(EtcdLedgerTest, WithAServerThatHangsTheOutcomeIsNotKnown) {
  const Listener one;
  const Listener two;
  EtcdLedger ledger({.members = {one.endpoint(), two.endpoint()}, .timeout = milliseconds(300)});
  const Stopwatch watch;
  EXPECT_EQ(code(ledger.transact(put_a())), Code::kDeadlineExceeded);
  EXPECT_EQ(code(ledger.revoke_lease(1)), Code::kDeadlineExceeded);
  EXPECT_EQ(code(ledger.compact(1)), Code::kDeadlineExceeded);
  EXPECT_EQ(code(ledger.range({.from = "a"})), Code::kUnavailable) << "a read may be repeated";
  EXPECT_EQ(code(ledger.grant_lease(std::chrono::seconds(9))), Code::kUnavailable);
  EXPECT_EQ(code(ledger.keep_alive(1)), Code::kUnavailable);
  EXPECT_EQ(code(ledger.status()), Code::kUnavailable);
  EXPECT_GE(watch.seconds(), 0.5);
  EXPECT_LT(watch.seconds(), 30) << "sockets of the client have a limit of a minute";
}

TEST(EtcdLedgerTest, ABrokenConnectionLeavesTheOutcomeUnknown) {
  const Listener listener;
  std::thread server([&] { listener.answer_once(""); });
  EtcdLedger ledger({.members = {listener.endpoint()}});
  EXPECT_EQ(code(ledger.transact(put_a())), Code::kDeadlineExceeded);
  server.join();
}

TEST(EtcdLedgerTest, AServerThatIsNoEtcdIsSaidToBeNone) {
  const Listener listener;
  std::thread server([&] {
    listener.answer_once("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found");
  });
  EtcdLedger ledger({.members = {listener.endpoint()}});
  EXPECT_EQ(code(ledger.transact(put_a())), Code::kUnimplemented);
  server.join();
}

TEST(EtcdLedgerTest, TheNextMemberIsAskedWhenOneRefuses) {
  const auto etcd = EtcdForTest::start();
  if (!etcd) GTEST_SKIP() << kNoEtcd;
  EtcdLedger ledger(patient({nobody(), etcd->process().endpoint()}));
  EXPECT_TRUE(ledger.transact(put_a()));
  EXPECT_TRUE(ledger.status());
}

TEST(EtcdLedgerTest, OnlyReadsAndRenewalsAreRepeated) {
  const auto etcd = EtcdForTest::start();
  if (!etcd) GTEST_SKIP() << kNoEtcd;
  const Listener breaks;
  // Each ledger first asks the member that breaks the connection.
  const auto with_new_ledger = [&](const auto& call) {
    std::thread server([&] { breaks.answer_once(""); });
    EtcdLedger ledger(patient({breaks.endpoint(), etcd->process().endpoint()}));
    call(ledger);
    server.join();
  };
  with_new_ledger([](EtcdLedger& ledger) { EXPECT_TRUE(ledger.range({.from = "a"})); });
  with_new_ledger([](EtcdLedger& ledger) { EXPECT_TRUE(ledger.keep_alive(7)); });
  with_new_ledger([](EtcdLedger& ledger) {
    EXPECT_EQ(code(ledger.transact(put_a())), Code::kDeadlineExceeded);
    EXPECT_TRUE(ledger.transact(put_a())) << "the next call begins with the member that answers";
  });
}

TEST(EtcdLedgerTest, ConnectionsOfAnEtcdThatWasRestartedAreReplaced) {
  const auto etcd = EtcdForTest::start();
  if (!etcd) GTEST_SKIP() << kNoEtcd;
  Ledger& ledger = etcd->ledger();
  ASSERT_TRUE(ledger.transact(put_a()));
  const pid_t old = etcd->process().pid();
  kill(old, SIGKILL);
  const auto end = patience_end(std::chrono::seconds(10));
  while (etcd->process().n_starts() < 2 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EtcdLedger other(patient({etcd->process().endpoint()}));
  ASSERT_TRUE(serves(other));
  const auto again = ledger.transact(put_a());
  EXPECT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(ledger.range({.from = "/etcd_ledger_test/a"})->items.at(0).version, 2);
}

std::string failure_text(int code, std::string_view text) {
  return fmt::format(R"({{"error":"{0}","message":"{0}","code":{1}}})", text, code);
}

TEST(EtcdJsonTest, ErrorsSayWhatIsKnown) {
  struct Case {
    int code;
    const char* text;
    Code wanted;
  };
  for (const Case& one : {
           Case{14, "etcdserver: request timed out", Code::kDeadlineExceeded},
           Case{14, "etcdserver: leader changed", Code::kDeadlineExceeded},
           Case{14, "etcdserver: request timed out, possibly due to connection lost",
                Code::kDeadlineExceeded},
           Case{14, "transport is closing", Code::kDeadlineExceeded},
           Case{2, "etcdserver: server stopped", Code::kDeadlineExceeded},
           Case{4, "context deadline exceeded", Code::kDeadlineExceeded},
           Case{99, "anything", Code::kDeadlineExceeded},
           Case{8, "etcdserver: mvcc: database space exceeded", Code::kResourceExhausted},
           Case{8, "etcdserver: too many requests", Code::kUnavailable},
           Case{8, "grpc: received message larger than max", Code::kInvalidArgument},
           Case{3, "etcdserver: request is too large", Code::kInvalidArgument},
           Case{3, "etcdserver: user name is empty", Code::kUnauthenticated},
           Case{16, "etcdserver: invalid auth token", Code::kUnauthenticated},
           Case{7, "etcdserver: permission denied", Code::kPermissionDenied},
           Case{11, "etcdserver: mvcc: required revision has been compacted", Code::kOutOfRange},
           Case{5, "etcdserver: requested lease not found", Code::kNotFound},
       }) {
    const auto answer = etcd::read_answer(500, failure_text(one.code, one.text));
    ASSERT_FALSE(answer) << one.text;
    EXPECT_EQ(answer.error().code(), one.wanted) << answer.error().to_string();
    EXPECT_THAT(answer.error().message(), testing::HasSubstr(one.text));
  }
}

TEST(EtcdJsonTest, CredentialsAreNamed) {
  const auto answer = etcd::read_answer(400, failure_text(3, "etcdserver: user name is empty"));
  EXPECT_THAT(answer.error().message(), testing::HasSubstr("it wants a user and a password"));
}

TEST(EtcdJsonTest, AnswersThatAreNotUnderstoodLeaveTheOutcomeUnknown) {
  EXPECT_EQ(code(etcd::read_answer(200, "")), Code::kDeadlineExceeded);
  EXPECT_EQ(code(etcd::read_answer(502, "<html>")), Code::kDeadlineExceeded);
  EXPECT_EQ(code(etcd::read_answer(502, "{}")), Code::kDeadlineExceeded);
  EXPECT_EQ(code(etcd::read_answer(404, "Not Found")), Code::kUnimplemented);
  EXPECT_EQ(code(etcd::read_answer(
                200, R"({"error":{"grpc_code":14,"http_code":503,"message":"no leader"}})")),
            Code::kDeadlineExceeded);
  const auto parse = [](const char* text) { return payload::parse_json(text).value(); };
  EXPECT_EQ(code(etcd::read_outcome(parse("{}"))), Code::kDeadlineExceeded);
  EXPECT_FALSE(etcd::read_range(parse(R"({"header":{},"kvs":[{"key":"!!!!"}]})")));
  EXPECT_FALSE(etcd::read_range(parse(R"({"header":{},"kvs":[{"key":"YQ="}]})")));
  EXPECT_EQ(etcd::read_range(parse(R"({"header":{},"kvs":[{"key":"YQ=="}]})"))->items[0].key, "a");
}

TEST(EtcdVersionTest, RefusesThoseThatMayLoseData) {
  for (const char* good : {"3.4.0", "3.4.23", "3.4.37", "3.5.6", "3.5.21", "3.6.0", "3.6.0-rc.1"}) {
    EXPECT_TRUE(check_version(good)) << good;
  }
  for (const char* bad : {"3.5.0", "3.5.1", "3.5.5", "3.3.27", "2.3.8", "4.0.0", "", "x"}) {
    const auto checked = check_version(bad);
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().code(), Code::kFailedPrecondition);
  }
  EXPECT_THAT(check_version("3.5.4").error().message(), testing::HasSubstr("inconsistent"));
}

}  // namespace
}  // namespace quiver::cluster
