#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace quiver {
namespace {

TEST(Utf8, KnowsWholeCharacters) {
  for (const std::string text : {"", "abc", "é", "日本", "\xF0\x9F\x98\x80", "\x7F"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(to_utf8(text), text);
  }
}

TEST(Utf8, RefusesTheRest) {
  // Lone bytes, cut ones, overlong forms, a surrogate, beyond U+10FFFF.
  for (const std::string text : {"\xFF", "\x80", "a\xC3", "\xC3(", "\xC0\x80", "\xE0\x80\x80",
                                 "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x9F\x98"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_TRUE(is_utf8(to_utf8(text)));
  }
  EXPECT_EQ(to_utf8("a\xFF\xC3\xA9"), "a\xEF\xBF\xBD\xC3\xA9");
}

}  // namespace
}  // namespace quiver
