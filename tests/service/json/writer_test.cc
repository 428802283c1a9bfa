#include "service/json/writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace quiver::service::json {
namespace {

std::string text_of_f32(float value) {
  std::string out;
  Writer(out).f32(value);
  return out;
}

TEST(Writer, PlacesCommas) {
  std::string out;
  Writer writer(out);
  writer.begin_object();
  writer.member("a", std::uint64_t{1});
  writer.key("b");
  writer.begin_array();
  writer.null();
  writer.begin_object();
  writer.end_object();
  writer.begin_array();
  writer.end_array();
  writer.i64(-5);
  writer.end_array();
  writer.member("c", true);
  writer.member("d", "text");
  writer.member("e", 0.5);
  writer.key("f");
  writer.raw("{\"x\":1}");
  writer.escaped_key("\"");
  writer.boolean(false);
  writer.end_object();
  EXPECT_EQ(out,
            R"({"a":1,"b":[null,{},[],-5],"c":true,"d":"text","e":0.5,"f":{"x":1},"\"":false})");
}

TEST(Writer, Escapes) {
  std::string out;
  append_string(out, std::string_view("a\"b\\c\n\r\t\b\f\x01\x1f\0\x7f/é", 17));
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u001f\\u0000\x7f/é\"");
}

TEST(Writer, Integers) {
  std::string out;
  Writer writer(out);
  writer.u64(std::numeric_limits<std::uint64_t>::max());
  writer.i64(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(out, "18446744073709551615,-9223372036854775808");
}

TEST(Writer, ShortestFloats) {
  EXPECT_EQ(text_of_f32(0.3F), "0.3");
  EXPECT_EQ(text_of_f32(1.0F), "1.0");
  EXPECT_EQ(text_of_f32(-0.0F), "-0.0");
  EXPECT_EQ(text_of_f32(1e20F), "1e+20");
  EXPECT_EQ(text_of_f32(16777216.0F), "16777216.0");
  EXPECT_EQ(text_of_f32(std::nanf("")), "null");
  EXPECT_EQ(text_of_f32(std::numeric_limits<float>::infinity()), "null");
  std::string out;
  append_f64(out, 0.1);
  append_f64(out, 3.0);
  EXPECT_EQ(out, "0.13.0");
}

TEST(Writer, FloatsReadBackToTheSameBits) {
  constexpr std::uint32_t kSeed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  std::vector<float> values;
  while (values.size() < 20000) {
    const auto bits = static_cast<std::uint32_t>(random());
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isfinite(value)) values.push_back(value);
  }
  std::string out;
  Writer(out).floats(values);
  const char* p = out.c_str() + 1;
  for (const float value : values) {
    char* end = nullptr;
    const float read = std::strtof(p, &end);
    ASSERT_EQ(std::memcmp(&read, &value, sizeof(value)), 0) << value;
    p = end + 1;
  }
  EXPECT_EQ(p, out.c_str() + out.size());
}

}  // namespace
}  // namespace quiver::service::json
