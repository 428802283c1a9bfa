#include "app/export/options.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace quiver::app {
namespace {

TEST(ExportFormatTest, TheNameDecides) {
  for (const char* lines : {"docs.jsonl", "a/docs.jsonl.zst"}) {
    EXPECT_EQ(export_format(lines).value(), ExportFormat::kLines) << lines;
  }
  for (const char* arrays : {"docs", "a/docs", "docs.v2/"}) {
    EXPECT_EQ(export_format(arrays).value(), ExportFormat::kArrays) << arrays;
  }
  for (const char* wrong : {"", "docs.csv", "docs.npy", "docs.v2"}) {
    EXPECT_FALSE(export_format(wrong)) << wrong;
  }
  const auto existing = std::filesystem::temp_directory_path() / "quiver_export.v2";
  std::filesystem::create_directories(existing);
  EXPECT_EQ(export_format(existing).value(), ExportFormat::kArrays);
  std::filesystem::remove_all(existing);
}

TEST(ExportOptionsTest, TheUrlIsChecked) {
  ExportOptions options;
  options.out = "docs.jsonl";
  EXPECT_TRUE(check_usage(options));
  options.url = "localhost";
  EXPECT_FALSE(check_usage(options));
}

}  // namespace
}  // namespace quiver::app
