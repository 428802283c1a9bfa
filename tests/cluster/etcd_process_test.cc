#include "cluster/ledger/etcd_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "cluster/ledger/child_process.h"
#include "tests/cluster/etcd_for_test.h"
#include "tests/patience.h"

namespace quiver::cluster {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;

template <class Condition>
bool becomes_true(const Condition& condition) {
  const auto end = patience_end(std::chrono::seconds(10));
  while (!condition() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  return condition();
}

bool is_gone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

/// A script in place of etcd: says its version and then does as told.
EtcdProcessOptions with_script(const TestFolder& folder, const std::string& version,
                               const std::string& does) {
  const std::filesystem::path path = folder.path() / "etcd";
  std::ofstream(path) << "#!/bin/sh\n[ \"$1\" = --version ] && echo 'etcd Version: " << version
                      << "' && exit\n"
                      << does << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  EtcdProcessOptions options = one_member(folder.path() / "data");
  options.binary = path.string();
  return options;
}

/// Keeps what is logged.
class Lines {
 public:
  auto taker() {
    return [this](LogLevel level, std::string_view text) {
      MutexLock lock(mutex_);
      text_ += std::to_string(static_cast<int>(level)) + " " + std::string(text) + "\n";
    };
  }
  std::string text() {
    MutexLock lock(mutex_);
    return text_;
  }

 private:
  Mutex mutex_;
  std::string text_;
};

TEST(EtcdProcessTest, FlagsNameAllMembers) {
  EtcdProcessOptions options{.data_dir = "/data/ledger", .name = "b", .listen_host = "0.0.0.0"};
  options.members = {{.name = "a", .host = "10.0.0.1"}, {.name = "b", .host = "fe80::2"}};
  const auto flags = etcd_flags(options, etcd::InitialState::kExisting);
  for (const char* wanted :
       {"--name=b", "--data-dir=/data/ledger", "--listen-client-urls=http://0.0.0.0:6336",
        "--advertise-client-urls=http://[fe80::2]:6336",
        "--initial-cluster=a=http://10.0.0.1:6337,b=http://[fe80::2]:6337",
        "--initial-cluster-state=existing", "--heartbeat-interval=100", "--election-timeout=1000",
        "--snapshot-count=10000", "--quota-backend-bytes=4294967296",
        "--auto-compaction-mode=revision", "--auto-compaction-retention=10000"}) {
    EXPECT_THAT(flags, Contains(wanted));
  }
}

TEST(EtcdProcessTest, LinesBecomeOurs) {
  const auto line = [](const char* text) {
    const EtcdLine found = read_etcd_line(text);
    return std::to_string(static_cast<int>(found.level)) + found.text;
  };
  const auto level = [](LogLevel value) { return std::to_string(static_cast<int>(value)); };
  EXPECT_EQ(line(R"({"level":"info","ts":"2026","caller":"a.go:1","msg":"serving","n":3})"),
            level(LogLevel::kDebug) + R"(etcd: serving {"n":3})");
  EXPECT_EQ(line(R"({"level":"warn","msg":"slow"})"), level(LogLevel::kWarning) + "etcd: slow");
  EXPECT_EQ(line(R"({"level":"fatal","msg":"no","stacktrace":"x"})"),
            level(LogLevel::kError) + "etcd: no");
  EXPECT_EQ(line("WARNING: 2026/11/25 grpc"),
            level(LogLevel::kDebug) + "etcd: WARNING: 2026/11/25 grpc");
  EXPECT_EQ(line("panic: [1]"), level(LogLevel::kWarning) + "etcd: panic: [1]");
}

TEST(EtcdProcessTest, AMissingBinaryIsAClearError) {
  const TestFolder folder;
  EtcdProcessOptions options = one_member(folder.path() / "data");
  options.binary = "no-such-etcd";
  const auto process = EtcdProcess::start(options);
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().code(), Code::kNotFound);
  EXPECT_EQ(
      process.error().message(),
      "no-such-etcd was not found in PATH: install etcd-server, or name a ledger that runs by "
      "cluster.ledger");
  EXPECT_FALSE(std::filesystem::exists(options.data_dir));
}

TEST(EtcdProcessTest, WhatCannotWorkIsRefused) {
  const TestFolder folder;
  EtcdProcessOptions options = with_script(folder, "3.5.2", "exec sleep 1000");
  EXPECT_EQ(EtcdProcess::start(options).error().code(), Code::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(options.data_dir));
  options.binary = "/bin/true";
  EXPECT_EQ(EtcdProcess::start(options).error().code(), Code::kFailedPrecondition);
  options = with_script(folder, "3.4.23", "exec sleep 1000");
  options.data_dir = "/dev/null/data";
  EXPECT_EQ(EtcdProcess::start(options).error().code(), Code::kUnavailable);
  options.name = "other";
  EXPECT_EQ(EtcdProcess::start(options).error().code(), Code::kInvalidArgument);
  options.name = "one";
  ++options.peer_port;
  EXPECT_EQ(EtcdProcess::start(options).error().code(), Code::kInvalidArgument);
}

TEST(EtcdProcessTest, AnEtcdThatDiesIsStartedAgainAndAgain) {
  const TestFolder folder;
  Lines lines;
  EtcdProcessOptions options =
      with_script(folder, "3.4.23", "echo '{\"level\":\"fatal\",\"msg\":\"no\"}'; exit 3");
  options.log = lines.taker();
  auto process = EtcdProcess::start(options);
  ASSERT_TRUE(process) << process.error().to_string();
  EXPECT_TRUE(becomes_true([&] { return (*process)->n_starts() >= 3; }));
  (*process)->stop();
  const std::string error = std::to_string(static_cast<int>(LogLevel::kError));
  EXPECT_THAT(lines.text(), HasSubstr(error + " etcd: no\n"));
  EXPECT_THAT(lines.text(),
              HasSubstr(error + " etcd ended with status 3; it is started again in 200 ms"));
}

TEST(EtcdProcessTest, AnEtcdThatDoesNotStopIsKilled) {
  const TestFolder folder;
  Lines lines;
  EtcdProcessOptions options =
      with_script(folder, "3.4.23", "trap '' TERM; echo ready; exec sleep 1000");
  options.stop_timeout = milliseconds(100);
  options.log = lines.taker();
  auto process = EtcdProcess::start(options);
  ASSERT_TRUE(process) << process.error().to_string();
  EXPECT_TRUE(becomes_true([&] { return lines.text().find("ready") != std::string::npos; }));
  const pid_t pid = (*process)->pid();
  (*process)->stop();
  (*process)->stop();
  EXPECT_TRUE(is_gone(pid));
  EXPECT_EQ((*process)->pid(), 0);
  EXPECT_EQ((*process)->n_starts(), 1U);
}

TEST(EtcdProcessTest, SettingsOfTheEnvironmentDoNotReachEtcd) {
  const TestFolder folder;
  Lines lines;
  setenv("ETCD_NAME", "wrong", 1);
  EtcdProcessOptions options =
      with_script(folder, "3.4.23", "echo \"<$ETCD_NAME>\"; exec sleep 1000");
  options.log = lines.taker();
  auto process = EtcdProcess::start(options);
  ASSERT_TRUE(process) << process.error().to_string();
  EXPECT_TRUE(becomes_true([&] { return lines.text().find("<>") != std::string::npos; }));
  unsetenv("ETCD_NAME");
}

TEST(EtcdProcessTest, ACrashOfEtcdLosesNothing) {
  const auto etcd = EtcdForTest::start();
  if (!etcd) GTEST_SKIP() << kNoEtcd;
  ASSERT_TRUE(etcd->ledger().transact({.writes = {{.key = "a", .value = "1"}}}));
  const pid_t killed = etcd->process().pid();
  ASSERT_EQ(kill(killed, SIGKILL), 0);
  EXPECT_TRUE(becomes_true([&] {
    const pid_t pid = etcd->process().pid();
    return pid != 0 && pid != killed;
  }));
  ASSERT_TRUE(serves(etcd->ledger()));
  EXPECT_EQ(etcd->ledger().range({.from = "a"})->items.at(0).value, "1");
  const pid_t stopped = etcd->process().pid();
  etcd->process().stop();
  EXPECT_TRUE(is_gone(stopped));
  EXPECT_EQ(etcd->ledger().status().error().code(), Code::kUnavailable);
}

TEST(ChildProcessTest, DiesWithItsParent) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto child = ChildProcess::start({"/bin/sleep", "1000"}, {});
    const pid_t pid = child ? child->pid() : 0;
    [[maybe_unused]] const ssize_t n = write(ends[1], &pid, sizeof pid);
    _exit(0);  // without destructors, as after a crash
  }
  pid_t pid = 0;
  ASSERT_EQ(read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ASSERT_GT(pid, 0);
  waitpid(parent, nullptr, 0);
  // Nobody may have waited for it: a zombie has ended, too.
  EXPECT_TRUE(becomes_true([&] {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string ignored;
    std::string state;
    return !(stat >> ignored >> ignored >> state) || state == "Z";
  }));
  close(ends[0]);
  close(ends[1]);
}

TEST(ChildProcessTest, ProgramsRunToTheirEndOrTheDeadline) {
  EXPECT_EQ(
      run_program({"/bin/sh", "-c", "echo out; echo err >&2"}, {}, milliseconds(60000)).value(),
      "out\nerr\n");
  EXPECT_EQ(run_program({"/bin/sleep", "1000"}, {}, milliseconds(50)).error().code(),
            Code::kDeadlineExceeded);
  EXPECT_THAT(run_program({"/dev/null"}, {}, milliseconds(60000)).value(),
              HasSubstr("cannot be run"));
  EXPECT_EQ(find_program("sh").value().back(), 'h');
  EXPECT_EQ(find_program("/dev/null").error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace quiver::cluster
