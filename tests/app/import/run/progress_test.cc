#include "app/import/run/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace quiver::app {
namespace {

using testing::HasSubstr;

TEST(ProgressTest, Texts) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(duration_text(42.4), "42 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(7620), "2 h 07 min");
  EXPECT_EQ(progress_line({5200, 10000, 1200}),
            " 52.0 %  5,200 of 10,000 rows  1,200 rows/s  4 s left");
  EXPECT_EQ(progress_line({5200, std::nullopt, 1200}), "5,200 rows  1,200 rows/s");
  EXPECT_THAT(progress_bar({5, 10, 0}), HasSubstr("[============            ]"));
}

}  // namespace
}  // namespace quiver::app
