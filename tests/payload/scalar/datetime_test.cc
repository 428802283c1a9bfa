#include "payload/scalar/datetime.h"

#include <gtest/gtest.h>

#include <random>

namespace quiver::payload {
namespace {

TEST(Datetime, ReadsTheFormsOfTheWire) {
  const std::int64_t day = 1704067200000000;  // 2024-01-01
  const std::pair<const char*, std::int64_t> cases[] = {
      {"2024-01-01", day},
      {"2024-01-01T00:00:00Z", day},
      {"2024-01-01t00:00:00z", day},
      {"2024-01-01T00:00:00", day},
      {"2024-01-01 00:00", day},
      {"2024-01-01 00:00:00.5", day + 500000},
      {"2024-01-01T00:00:00.1234567Z", day + 123456},
      {"2024-01-01T01:00:00+01:00", day},
      {"2024-01-01T01:00:00+0100", day},
      {"2024-01-01 01:00:00+01", day},
      {"2023-12-31T22:30:00-01:30", day},
      {"1970-01-01", 0},
      {"1969-12-31T23:59:59.999999Z", -1},
      {"0000-01-01", -62167219200000000},
      {"9999-12-31T23:59:59Z", 253402300799000000},
      {"2024-02-29", 1709164800000000},
      {"2016-12-31T23:59:60Z", 1483228800000000},
  };
  for (const auto& [text, wanted] : cases) {
    const auto got = parse_datetime(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(*got, wanted) << text;
  }
}

TEST(Datetime, RefusesOthers) {
  for (const char* text :
       {"", "2024", "2024-1-1", "2024-13-01", "2023-02-29", "2024-01-01T", "2024-01-01T24:00:00",
        "2024-01-01T00:60:00", "2024-01-01T00:00:61", "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00+1", "2024-01-01T00:00:00+25:00", "2024-01-01T00:00:00Zx",
        "2024-01-01x", " 2024-01-01", "yesterday", "20240101", "-2024-01-01"}) {
    EXPECT_FALSE(parse_datetime(text)) << text;
  }
}

TEST(Datetime, PrintsWhatItReads) {
  std::mt19937_64 random(32);
  for (int i = 0; i < 10000; ++i) {
    const auto span = std::uint64_t{253402300799000000} + 62167219200000000;
    const auto micros = static_cast<std::int64_t>(random() % span) - 62167219200000000;
    ASSERT_EQ(parse_datetime(format_datetime(micros)), micros) << format_datetime(micros);
  }
  EXPECT_EQ(format_datetime(1704067200000000), "2024-01-01T00:00:00Z");
  EXPECT_EQ(format_datetime(-1), "1969-12-31T23:59:59.999999Z");
}

}  // namespace
}  // namespace quiver::payload
