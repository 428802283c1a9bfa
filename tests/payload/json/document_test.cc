#include "payload/json/document.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/payload/random_payload.h"

namespace quiver::payload {
namespace {

std::string canonical(std::string_view text) {
  const auto out = canonical_json(text);
  return out ? *out : "error: " + out.error().message();
}

TEST(Document, NumbersKeepTheirTypeAndValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"1", "1"},
      {"1.0", "1.0"},
      {"-0.0", "-0.0"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"9223372036854775808", "9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"0.1", "0.1"},
      {"1e2", "100.0"},
      {"1E400", nullptr},
      {"18446744073709551616", nullptr},
      {"1e20", "1e+20"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"5e-324", "5e-324"},
      {"123456789012345680.0", "123456789012345680.0"},
      {"0.30000000000000004", "0.30000000000000004"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto got = canonical_json(text);
    ASSERT_EQ(got.has_value(), wanted != nullptr) << text;
    if (wanted == nullptr) continue;
    EXPECT_EQ(*got, wanted) << text;
    EXPECT_EQ(canonical(*got), *got) << "printing is stable";
  }
}

TEST(Document, DoublesReadBackToTheSameBits) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const auto back = parse_json(to_json(Value(value)));
    ASSERT_TRUE(back);
    ASSERT_NE(back->as_double(), nullptr) << to_json(Value(value));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(*back->as_double()),
              std::bit_cast<std::uint64_t>(value));
  }
}

TEST(Document, CanonicalTextKeepsOrderAndDropsSpaces) {
  EXPECT_EQ(canonical(" { \"b\" : [ 1 , true , null ] , \"a\" : { } } "),
            R"({"b":[1,true,null],"a":{}})");
  EXPECT_EQ(canonical(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
  EXPECT_EQ(canonical(R"("\u00fc \/ \u0001 \n \" \\")"), "\"\xC3\xBC / \\u0001 \\n \\\" \\\\\"");
  EXPECT_EQ(canonical(R"("\ud83d\ude00")"), "\"\xF0\x9F\x98\x80\"");
}

TEST(Document, ManyRepeatedKeysTakeTheLastValue) {
  std::string text = "{";
  for (int i = 0; i < 200; ++i)
    text += "\"k" + std::to_string(i % 40) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const auto value = *parse_json(text);
  ASSERT_EQ(value.as_object()->size(), 40U);
  EXPECT_EQ(*value.find("k7")->as_i64(), 167);
  EXPECT_EQ(value.as_object()->front().key, "k0");
}

TEST(Document, RefusesWhatIsNotJson) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\"}", "nul", "NaN", "1 2", "'a'", "\"\xFF\"",
                           "\"\\ud800\"", "{\"a\":1}}", "+1", "01"}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code(), Code::kInvalidArgument);
  }
}

TEST(Document, RefusesDeepNestingOnly) {
  const auto nest = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse_json(nest(100)));
  const auto deep = parse_json(nest(100000));
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().message().find("deeper than 128"), std::string::npos);
  EXPECT_TRUE(parse_json("[1]")) << "the parser recovers";
}

TEST(Document, LargeAndSmallTextsAlternate) {
  const std::string large = "[\"" + std::string(3 << 20, 'x') + "\"]";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(canonical(large), large);
    EXPECT_EQ(canonical("[1]"), "[1]");
  }
}

TEST(Document, RandomDocumentsSurvive) {
  RandomPayload random(11);
  for (int i = 0; i < 2000; ++i) {
    const Value document = random.document();
    const auto back = parse_json(to_json(document));
    ASSERT_TRUE(back);
    ASSERT_TRUE(*back == document) << to_json(document);
  }
}

TEST(Document, UnsignedNumbersThatFitAreSigned) {
  EXPECT_TRUE(Value(std::uint64_t{5}) == Value(std::int64_t{5}));
  EXPECT_NE(Value(std::numeric_limits<std::uint64_t>::max()).as_u64(), nullptr);
  EXPECT_FALSE(Value(1.0) == Value(std::int64_t{1}));
}

TEST(Document, UnsignedIntegersOfBothKinds) {
  constexpr std::uint64_t kSigned = std::numeric_limits<std::int64_t>::max();
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{7}, kSigned, kSigned + 1,
                                     std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_EQ(Value(number).as_unsigned(), number);
    EXPECT_EQ(parse_json(std::to_string(number))->as_unsigned(), number);
  }
  for (const char* other : {"-1", "-9223372036854775808", "1.0", "\"1\"", "true", "null", "[1]"}) {
    EXPECT_EQ(parse_json(other)->as_unsigned(), std::nullopt) << other;
  }
  const Value object = *parse_json(R"({"a":7,"b":-7})");
  EXPECT_EQ(object.find_unsigned("a"), 7U);
  EXPECT_EQ(object.find_unsigned("b"), std::nullopt);
  EXPECT_EQ(object.find_unsigned("c"), std::nullopt);
  EXPECT_EQ(parse_json("[7]")->find_unsigned("a"), std::nullopt);
}

}  // namespace
}  // namespace quiver::payload
