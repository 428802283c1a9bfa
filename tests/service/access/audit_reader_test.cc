#include "service/access/audit_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace quiver::service::access {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFirstMs = 1'900'000'000'123;  // 2030-03-17T17:46:40.123Z
constexpr std::int64_t kHourMs = 60LL * 60 * 1000;

/// Ten requests, seven hours apart: on three days.
class AuditReaderTest : public ::testing::Test {
 protected:
  AuditReaderTest() : dir_(::testing::TempDir() + "audit_reader_test") {
    fs::remove_all(dir_);
    log_ = AuditLog::open({.enabled = true, .dir = dir_, .max_log_files = 0}).value();
    for (int i = 0; i < 10; ++i) {
      AuditEvent event;
      const std::string id = "r" + std::to_string(i);
      event.transport = "rest";
      event.verb = "GET /collections/{collection_name}";
      event.collection = i % 2 == 0 ? "even" : "odd";
      event.outcome = i % 5 == 0 ? Outcome::kDenied : Outcome::kFailed;
      event.status = i % 5 == 0 ? 403 : 404;
      event.request_id = id;
      log_->write_at(kFirstMs + i * 7 * kHourMs,
                     Principal(Principal::Level::kGlobalRead, KeyKind::kReadOnlyApiKey), event);
    }
  }
  ~AuditReaderTest() override { fs::remove_all(dir_); }

  std::vector<std::string> ids(const AuditQuery& query) const {
    std::vector<std::string> ids;
    const auto entries = read_audit_log(*log_, query).value();
    for (const auto& entry : entries) {
      for (const auto& [name, value] : entry) {
        if (name == "tracing_id") ids.push_back(value);
      }
    }
    return ids;
  }

  const std::string dir_;
  std::unique_ptr<AuditLog> log_;
};

using Ids = std::vector<std::string>;

TEST_F(AuditReaderTest, TheNewestComeFirstUpToALimit) {
  EXPECT_GE(log_->files().value().size(), 3U);
  EXPECT_EQ(ids({}), (Ids{"r9", "r8", "r7", "r6", "r5", "r4", "r3", "r2", "r1", "r0"}));
  EXPECT_EQ(ids({.limit = 4}), (Ids{"r9", "r8", "r7", "r6"}));
  EXPECT_EQ(ids({.limit = 1}), (Ids{"r9"}));
}

TEST_F(AuditReaderTest, TimesAreFromInclusiveToExclusive) {
  const AuditQuery query{.from_ms = kFirstMs + 14 * kHourMs, .to_ms = kFirstMs + 28 * kHourMs};
  EXPECT_EQ(ids(query), (Ids{"r3", "r2"}));
  EXPECT_EQ(ids({.to_ms = 0}), Ids());
  EXPECT_EQ(ids({.from_ms = kFirstMs + 100 * kHourMs}), Ids());
}

TEST_F(AuditReaderTest, FiltersCompareMembers) {
  EXPECT_EQ(ids({.filters = {{"collection", "odd"}, {"result", "denied"}}}), (Ids{"r5"}));
  EXPECT_EQ(ids({.limit = 2, .filters = {{"collection", "even"}}}), (Ids{"r8", "r6"}));
  EXPECT_EQ(ids({.filters = {{"status", "403"}}}), (Ids{"r5", "r0"}));
  EXPECT_EQ(ids({.filters = {{"outcome", "failed"}, {"auth_type", "ApiKey"}}}).size(), 8U);
  EXPECT_EQ(ids({.filters = {{"subject", ""}}}), Ids()) << "no entry has a subject";
  EXPECT_EQ(ids({.filters = {{"nothing", "x"}}}), Ids());
}

TEST_F(AuditReaderTest, LinesThatAreNoEntriesAreSkipped) {
  std::ofstream(log_->files().value().back(), std::ios::app)
      << "{\"time\":\"2030\n\nnonsense\n[1]\n{\"verb\":\"x\"}\n{\"time\":\"2030-03-17T20:00:00."
         "000Z\"}\n{\"tim";
  EXPECT_EQ(ids({}).size(), 10U);
  EXPECT_FALSE(parse_audit_line("{}"));
  EXPECT_FALSE(parse_audit_line(R"({"time":7.5})"));
  EXPECT_TRUE(parse_audit_line(R"({"time":"2030-03-17T20:00:00.000Z"})"));
}

TEST_F(AuditReaderTest, AFileThatCannotBeReadIsAnError) {
  fs::remove_all(dir_);
  EXPECT_EQ(read_audit_log(*log_, {}).error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace quiver::service::access
