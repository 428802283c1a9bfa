#include "service/access/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace quiver::service::access {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDayMs = 24LL * 60 * 60 * 1000;
constexpr std::int64_t kNowMs = 1'900'000'000'123;  // 2030-03-17T17:46:40.123Z

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() : dir_(::testing::TempDir() + "audit_log_test/logs") { fs::remove_all(dir_); }
  ~AuditLogTest() override { fs::remove_all(dir_); }

  std::unique_ptr<AuditLog> open(std::uint32_t max_log_files) {
    auto log = AuditLog::open({.enabled = true, .dir = dir_, .max_log_files = max_log_files});
    EXPECT_TRUE(log) << log.error().to_string();
    return *std::move(log);
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_)) names.insert(entry.path().filename());
    return names;
  }
  std::string text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(dir_ + "/" + name).rdbuf();
    return out.str();
  }

  const std::string dir_;
};

AuditEvent event() {
  AuditEvent event;
  event.transport = "rest";
  event.verb = "PUT /collections/{collection_name}";
  event.collection = "a\"b\n";
  event.outcome = Outcome::kDenied;
  event.status = 403;
  event.request_id = "r-1";
  event.remote = "127.0.0.1";
  return event;
}

TEST_F(AuditLogTest, WritesALinePerEvent) {
  const auto log = open(7);
  Principal::Claims claims;
  claims.subject = "me";
  const Principal caller(Principal::Level::kCollections, KeyKind::kToken,
                         std::make_shared<const Principal::Claims>(claims));
  log->write_at(kNowMs, caller, event());
  log->write_at(kNowMs, Principal(), event());
  EXPECT_EQ(
      text("audit-2030-03-17.jsonl"),
      R"({"time":"2030-03-17T17:46:40.123Z","transport":"rest","verb":"PUT /collections/{collection_name}","collection":"a\"b\n","caller":"token","subject":"me","outcome":"denied","status":403,"request_id":"r-1","remote":"127.0.0.1"})"
      "\n"
      R"({"time":"2030-03-17T17:46:40.123Z","transport":"rest","verb":"PUT /collections/{collection_name}","collection":"a\"b\n","caller":"none","outcome":"denied","status":403,"request_id":"r-1","remote":"127.0.0.1"})"
      "\n");
}

TEST_F(AuditLogTest, KeepsTheYoungestFiles) {
  {
    const auto log = open(3);
    std::ofstream(dir_ + "/audit-notes.txt") << "mine";
    for (int day = 0; day < 6; ++day) log->write_at(kNowMs + day * kDayMs, Principal(), event());
  }
  EXPECT_EQ(files(), (std::set<std::string>{"audit-2030-03-20.jsonl", "audit-2030-03-21.jsonl",
                                            "audit-2030-03-22.jsonl", "audit-notes.txt"}));
}

TEST_F(AuditLogTest, GoesOnInAnExistingFile) {
  for (int i = 0; i < 2; ++i) open(0)->write_at(kNowMs, Principal(), event());
  const std::string lines = text("audit-2030-03-17.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

TEST_F(AuditLogTest, NeedsADirectory) {
  fs::create_directories(fs::path(dir_).parent_path());
  std::ofstream(dir_) << "a file";
  const auto log = AuditLog::open({.enabled = true, .dir = dir_, .max_log_files = 7});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), Code::kUnavailable);
  EXPECT_THAT(log.error().message(), ::testing::HasSubstr(dir_));
}

/// A limit of the file's size fails as a full disk does: half of the line is written first.
TEST_F(AuditLogTest, AFullDiskLeavesNoHalfLine) {
  const auto log = open(7);
  log->write_at(kNowMs, Principal(), event());
  const std::string name = "audit-2030-03-17.jsonl";
  const std::string first = text(name);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{.rlim_cur = first.size() + 20, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  log->write_at(kNowMs, Principal(), event());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(text(name), first);
  log->write_at(kNowMs, Principal(), event());
  EXPECT_EQ(text(name), first + first);
}

TEST_F(AuditLogTest, TheNextEventBeginsALineOfItsOwn) {
  const std::string name = "audit-2030-03-17.jsonl";
  open(7);
  std::ofstream(dir_ + "/" + name) << R"({"time":"half)";
  const auto log = open(7);
  log->write_at(kNowMs, Principal(), event());
  EXPECT_THAT(text(name), ::testing::StartsWith("{\"time\":\"half\n{\"time\""));
}

TEST_F(AuditLogTest, LinesAreUtf8) {
  AuditEvent odd = event();
  odd.collection = "a\xFF";
  odd.request_id = "\xC3";
  const std::string line = audit_line(kNowMs, Principal(), odd);
  EXPECT_THAT(line, ::testing::HasSubstr("\"collection\":\"a\xEF\xBF\xBD\""));
  EXPECT_EQ(line.find('\xFF'), std::string::npos);
}

}  // namespace
}  // namespace quiver::service::access
