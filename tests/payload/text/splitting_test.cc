#include "payload/text/splitting.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace quiver::payload {
namespace {

struct Found {
  std::string text;
  bool is_ascii;
  bool operator==(const Found&) const = default;
};

/// Code point by code point.
std::vector<Found> slow_words(std::string_view text) {
  std::vector<Found> words;
  Found word{{}, true};
  const auto end_word = [&] {
    if (!word.text.empty()) words.push_back(word);
    word = {{}, true};
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = code_point_at(text, at);
    if (next.value >= 0 && is_word(next.value)) {
      word.text += text.substr(at, next.n_bytes);
      word.is_ascii = word.is_ascii && next.value < 0x80;
    } else {
      end_word();
    }
    at += next.n_bytes;
  }
  end_word();
  return words;
}

std::vector<Found> words_of(std::string_view text) {
  std::vector<Found> words;
  split(text, Tokenizer::kWord, [&](const Piece& piece) {
    words.push_back({std::string(piece.text), piece.is_ascii});
  });
  return words;
}

TEST(Splitting, EachByteEndsAWordOrDoesNot) {
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::size_t n_before : {0, 1, 31, 62, 63, 64, 65, 127, 128}) {
      const std::string text = std::string(n_before, 'a') + static_cast<char>(byte) + "z9";
      ASSERT_EQ(words_of(text), slow_words(text)) << byte << " " << n_before;
    }
  }
}

TEST(Splitting, RandomTextsOfAllLengths) {
  std::mt19937_64 random(311);
  const std::vector<std::string> others = {"\xC3\xA9", "\xCC\x81", "\xFF", "\xE6\x9D\xB1", "\xC2"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const std::size_t n = random() % 200;
    const std::uint64_t mean_length = 1 + random() % 90;
    const bool has_others = random() % 2 == 0;
    while (text.size() < n) {
      if (random() % mean_length == 0) {
        text += has_others && random() % 3 == 0 ? others[random() % others.size()] : " ";
      } else {
        text += "aZ09@[`{/:"[random() % (random() % 20 == 0 ? 10 : 4)];
      }
    }
    ASSERT_EQ(words_of(text), slow_words(text)) << text;
  }
}

}  // namespace
}  // namespace quiver::payload
