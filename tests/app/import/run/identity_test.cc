#include "app/import/run/identity.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace quiver::app {
namespace {

using testing::Contains;

TEST(IdentityTest, Differences) {
  EXPECT_EQ(first_difference({"a", "b"}, {"a", "b"}), "");
  EXPECT_EQ(first_difference({"a", "b"}, {"a", "c"}), "then \"b\", now \"c\"");
  EXPECT_EQ(first_difference({"a"}, {"a", "c"}), "then \"\", now \"c\"");
  EXPECT_EQ(first_difference({"a", "b"}, {"a"}), "then \"b\", now \"\"");
  EXPECT_EQ(
      first_difference({"file /a: b: 3 bytes, modified X"}, {"file /a: b: 4 bytes, modified Y"}),
      "file /a: b has changed: it had 3 bytes, modified X; now 4 bytes, modified Y");
  EXPECT_EQ(first_difference({"file /a: 3 bytes, modified X"}, {"file /b: 3 bytes, modified X"}),
            "then \"file /a: 3 bytes, modified X\", now \"file /b: 3 bytes, modified X\"");
}

TEST(IdentityTest, FilesAreToldBySizeAndTime) {
  const auto path = std::filesystem::temp_directory_path() / "quiver_identity_test.jsonl";
  std::ofstream(path) << "{}\n";
  const timespec times[2] = {{0, 0}, {1775046605, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  ImportOptions options;
  options.payload = path;
  const auto lines = import_identity(options, *make_plan(options));
  ASSERT_TRUE(lines) << lines.error().message();
  EXPECT_THAT(*lines, Contains("file " + path.string() +
                               ": 3 bytes, modified 2026-04-01T12:30:05.000000007Z"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace quiver::app
