#include "payload/scalar/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quiver::payload {
namespace {

using testing::ElementsAre;

TextOptions options(Tokenizer tokenizer, bool lowercase = true) {
  TextOptions out;
  out.tokenizer = tokenizer;
  out.lowercase = lowercase;
  return out;
}

TEST(Text, WordsEndAtWhatIsNeitherLetterNorNumber) {
  const auto word = options(Tokenizer::kWord);
  EXPECT_THAT(tokenize("Hello, World! x2 a_b 3.14", word),
              ElementsAre("hello", "world", "x2", "a", "b", "3", "14"));
  EXPECT_THAT(tokenize("\xC3\x9C"
                       "ber stra\xC3\x9F"
                       "e",
                       word),
              ElementsAre("\xC3\xBC"
                          "ber",
                          "stra\xC3\x9F"
                          "e"));
  EXPECT_THAT(tokenize("\xD0\x9C\xD0\xB8\xD1\x80-\xE4\xB8\xAD\xE6\x96\x87", word),
              ElementsAre("\xD0\xBC\xD0\xB8\xD1\x80", "\xE4\xB8\xAD\xE6\x96\x87"));
  EXPECT_THAT(tokenize("", word), testing::IsEmpty());
  EXPECT_THAT(tokenize(" .,- ", word), testing::IsEmpty());
}

TEST(Text, WhitespaceKeepsPunctuation) {
  EXPECT_THAT(tokenize(" C++ is\tfun.\xC2\xA0OK ", options(Tokenizer::kWhitespace)),
              ElementsAre("c++", "is", "fun.", "ok"));
}

TEST(Text, CaseIsKeptOnDemand) {
  EXPECT_THAT(tokenize("Hello", options(Tokenizer::kWord, false)), ElementsAre("Hello"));
}

TEST(Text, LengthsAreInCodePoints) {
  auto bounded = options(Tokenizer::kWord);
  bounded.min_token_len = 2;
  bounded.max_token_len = 4;
  EXPECT_THAT(tokenize("a \xC3\xBC\xC3\xBC four fives", bounded),
              ElementsAre("\xC3\xBC\xC3\xBC", "four"));
}

TEST(Text, BrokenUtf8Separates) {
  EXPECT_THAT(tokenize("ab\xFF"
                       "cd\xC3",
                       options(Tokenizer::kWord)),
              ElementsAre("ab", "cd"));
}

}  // namespace
}  // namespace quiver::payload
