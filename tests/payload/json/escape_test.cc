#include "payload/json/escape.h"

#include <gtest/gtest.h>

#include <random>

#include "payload/json/document.h"

namespace quiver::payload {
namespace {

std::string to_json_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

TEST(Escape, ShortFormsAndControlCharacters) {
  EXPECT_EQ(to_json_string(""), "\"\"");
  EXPECT_EQ(to_json_string("plain /é\x7f"), "\"plain /é\x7f\"");
  EXPECT_EQ(to_json_string("a\"b\\c\n\r\t\b\f"), "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\"");
  EXPECT_EQ(to_json_string(std::string_view("\x01\x1f\0", 3)), "\"\\u0001\\u001f\\u0000\"");
}

TEST(Escape, EachByteAtEachPlace) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    const std::string quoted = to_json_string(one);
    for (std::size_t n_before = 0; n_before < 18; ++n_before) {
      const std::string before(n_before, 'x');
      const std::string after(17 - n_before, '\x80');
      EXPECT_EQ(to_json_string(before + one + after),
                '"' + before + quoted.substr(1, quoted.size() - 2) + after + '"')
          << byte;
    }
    const bool stays = byte >= 0x20 && byte != '"' && byte != '\\';
    EXPECT_EQ(quoted.size() == 3, stays) << byte;
  }
}

TEST(Escape, AppendsToWhatIsThere) {
  std::string out = "{";
  append_string(out, "k");
  EXPECT_EQ(out, "{\"k\"");
}

TEST(Escape, ParsersReadItBack) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = static_cast<char>(random() % 128);
    const auto back = parse_json(to_json_string(text));
    ASSERT_TRUE(back) << to_json_string(text);
    ASSERT_NE(back->as_string(), nullptr);
    EXPECT_EQ(*back->as_string(), text);
  }
}

}  // namespace
}  // namespace quiver::payload
