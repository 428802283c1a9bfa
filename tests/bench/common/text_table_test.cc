#include "bench/common/text_table.h"

#include <gtest/gtest.h>

namespace quiver::bench {
namespace {

TEST(TextTable, AlignsCharactersNotBytes) {
  TextTable table;
  table.add_column("µs");
  table.add_column("what", Align::kLeft);
  table.add_row({"1,234", "–"});
  table.add_row({"5", "long one"});
  EXPECT_EQ(table.to_string(),
            "   µs  what\n"
            "─────  ────────\n"
            "1,234  –\n"
            "    5  long one\n");
}

TEST(TextTable, Numbers) {
  EXPECT_EQ(grouped(0.12), "0.1");
  EXPECT_EQ(grouped(99.94), "99.9");
  EXPECT_EQ(grouped(123.4), "123");
  EXPECT_EQ(grouped(1234567.8), "1,234,568");
  EXPECT_EQ(grouped(-1234), "-1,234");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1536), "1.5 kB");
  EXPECT_EQ(bytes_text(2.5e9), "2.5 GB");
}

}  // namespace
}  // namespace quiver::bench
