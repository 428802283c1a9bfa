#include "base/params.h"

#include <gtest/gtest.h>

namespace quiver {
namespace {

struct SampleParams {
  std::uint32_t m = 16;
  float alpha = 1.25F;
  bool fast = false;
  std::string mode = "plain";
  std::uint8_t small = 3;
  bool operator==(const SampleParams&) const = default;
  template <class V>
  static constexpr void fields(V&& v) {
    v(field("m", &SampleParams::m, {.min = 2, .max = 128}));
    v(field("alpha", &SampleParams::alpha, {.min = 1}));
    v(field("fast", &SampleParams::fast));
    v(field("mode", &SampleParams::mode));
    v(field("small", &SampleParams::small));
  }
};

std::string error_of(const KeyValues& values) {
  const auto parsed = parse_params<SampleParams>(values);
  return parsed ? "none" : parsed.error().to_string();
}

TEST(Params, EmptyMeansDefaults) { EXPECT_EQ(*parse_params<SampleParams>({}), SampleParams{}); }

TEST(Params, ReadsEveryKind) {
  const auto parsed = parse_params<SampleParams>({{"m", std::int64_t{32}},
                                                  {"alpha", std::int64_t{2}},
                                                  {"fast", true},
                                                  {"mode", std::string("x")},
                                                  {"small", 255.0}});
  ASSERT_TRUE(parsed) << parsed.error().to_string();
  EXPECT_EQ(*parsed, (SampleParams{32, 2, true, "x", 255}));
  EXPECT_EQ(to_string(to_key_values(*parsed)), "alpha=2 fast=true m=32 mode=\"x\" small=255");
  EXPECT_EQ(*parse_params<SampleParams>(to_key_values(*parsed)), *parsed);
}

TEST(Params, KeepsGivenDefaults) {
  const auto parsed = parse_params<SampleParams>({{"fast", true}}, SampleParams{.m = 4});
  EXPECT_EQ(parsed->m, 4U);
  EXPECT_TRUE(parsed->fast);
}

TEST(Params, ErrorsNameFoundAndWanted) {
  EXPECT_EQ(error_of({{"n", true}}),
            "invalid_argument: unknown parameter `n`: known are m, alpha, fast, mode, small");
  EXPECT_EQ(error_of({{"m", std::int64_t{1}}}),
            "invalid_argument: parameter `m` is 1: wanted 2 to 128");
  EXPECT_EQ(error_of({{"m", 16.5}}), "invalid_argument: parameter `m` is 16.5: wanted an integer");
  EXPECT_EQ(error_of({{"m", std::string("16")}}),
            "invalid_argument: parameter `m` is \"16\": wanted an integer");
  EXPECT_EQ(error_of({{"alpha", 0.5}}),
            "invalid_argument: parameter `alpha` is 0.5: wanted at least 1");
  EXPECT_EQ(error_of({{"alpha", true}}),
            "invalid_argument: parameter `alpha` is true: wanted a number");
  EXPECT_EQ(error_of({{"fast", std::int64_t{1}}}),
            "invalid_argument: parameter `fast` is 1: wanted true or false");
  EXPECT_EQ(error_of({{"mode", false}}),
            "invalid_argument: parameter `mode` is false: wanted a string");
  EXPECT_EQ(error_of({{"small", std::int64_t{256}}}),
            "invalid_argument: parameter `small` is 256: wanted 0 to 255");
  EXPECT_EQ(error_of({{"alpha", std::numeric_limits<double>::quiet_NaN()}}),
            "invalid_argument: parameter `alpha` is nan: wanted at least 1");
}

TEST(Params, ValidatesWhatWasNotParsed) {
  EXPECT_TRUE(validate_params(SampleParams{}));
  EXPECT_EQ(validate_params(SampleParams{.m = 1000}).error().message(),
            "parameter `m` is 1000: wanted 2 to 128");
}

TEST(Params, DescribesItself) {
  const auto infos = describe_params<SampleParams>();
  ASSERT_EQ(infos.size(), 5U);
  EXPECT_EQ(infos[0].name, "m");
  EXPECT_EQ(infos[0].type, "integer");
  EXPECT_EQ(infos[0].range.max, 128);
  EXPECT_EQ(to_string(infos[1].default_value), "1.25");
  EXPECT_EQ(infos[3].type, "string");
  EXPECT_EQ(infos[4].range.max, 255);
}

}  // namespace
}  // namespace quiver
