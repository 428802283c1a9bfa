#include "payload/text/word_numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "payload/text/analyzer.h"

namespace quiver::payload {
namespace {

std::string random_ascii(std::mt19937_64& random, std::size_t n) {
  std::string word(n, ' ');
  for (char& c : word) c = static_cast<char>(random() % 128);
  return word;
}

TEST(WordNumbers, KeysTellWordsApartAndLowerOnlyLetters) {
  std::mt19937_64 random(301);
  std::map<std::array<std::uint64_t, 4>, std::string> words;
  for (int i = 0; i < 20000; ++i) {
    const auto word = random_ascii(random, 1 + random() % WordNumbers::kMaxBytes);
    const auto [known, is_new] = words.emplace(WordNumbers::key_of(word).parts, word);
    ASSERT_EQ(known->second, word);
    std::string lower = word;
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    ASSERT_EQ(WordNumbers::to_lower(WordNumbers::key_of(word)).parts,
              WordNumbers::key_of(lower).parts);
    const std::string longer = word + random_ascii(random, random() % 40);
    ASSERT_EQ(
        WordNumbers::key_of(std::string_view(longer).substr(0, word.size()), longer.size()).parts,
        WordNumbers::key_of(word).parts);
  }
  EXPECT_NE(WordNumbers::key_of("a").parts, WordNumbers::key_of(std::string_view("a\0", 2)).parts);
}

TEST(WordNumbers, RemembersOrForgetsButNeverMistakes) {
  std::mt19937_64 random(302);
  WordNumbers numbers;
  std::map<std::string, std::uint32_t> all;
  std::size_t n_known = 0;
  const auto of_a = WordNumbers::key_of("a");
  EXPECT_EQ(numbers.find(of_a, WordNumbers::hash_of(of_a)), WordNumbers::kUnknown);
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const std::string word = "w" + std::to_string(random() % 100'000);
    const auto key = WordNumbers::key_of(word);
    const std::uint64_t hash = WordNumbers::hash_of(key);
    const std::uint32_t number = numbers.find(key, hash);
    const auto known = all.find(word);
    if (number != WordNumbers::kUnknown) {
      ASSERT_NE(known, all.end());
      ASSERT_EQ(number, known->second);
      ++n_known;
      continue;
    }
    const std::uint32_t wanted = random() % 10 == 0 ? WordNumbers::kNoToken : i;
    numbers.remember(key, hash, known == all.end() ? (all[word] = wanted) : known->second);
  }
  EXPECT_GT(n_known, 30'000U);
  EXPECT_LE(numbers.memory_bytes(), std::size_t{32} << 16);
}

/// Numbers of tokens are those of the tokens themselves, under options of all kinds.
TEST(WordNumbers, NumberTheTokensOfTexts) {
  std::mt19937_64 random(303);
  const std::vector<std::string> parts = {"Running",
                                          "the",
                                          "caf\xC3\xA9",
                                          "A",
                                          "x1",
                                          " ",
                                          ", ",
                                          "-",
                                          "\xFF",
                                          "HTTPCode",
                                          "\xE6\x9D\xB1\xE4\xBA\xAC",
                                          "don't",
                                          "pneumonoultramicroscopicsilicovolcanoconiosis",
                                          "\xCC\x81"};
  std::vector<TextOptions> all_options(1);
  for (const auto tokenizer : {Tokenizer::kWord, Tokenizer::kWhitespace, Tokenizer::kPrefix,
                               Tokenizer::kMultilingual, Tokenizer::kCode}) {
    for (int i = 0; i < 8; ++i) {
      TextOptions options;
      options.tokenizer = tokenizer;
      options.lowercase = i % 2 == 0;
      options.ascii_folding = i % 4 < 2;
      if (i >= 4) options.stemmer = StemmerLanguage::kEnglish;
      if (i >= 4) options.stopwords.custom = {"the"};
      if (i % 3 == 0) options.max_token_len = 7;
      if (i % 3 == 1) options.min_token_len = 2;
      if (i == 7) options.synonyms = {{"a", "x1"}};
      all_options.push_back(options);
    }
  }
  for (const auto& options : all_options) {
    Analyzer analyzer(options);
    WordNumbers numbers;
    std::map<std::string, std::uint32_t, std::less<>> ids;
    std::vector<std::string> names;
    const auto number_of = [&](std::string_view token) {
      const auto [entry, is_new] =
          ids.emplace(std::string(token), static_cast<std::uint32_t>(names.size()));
      if (is_new) names.emplace_back(token);
      return entry->second;
    };
    for (int i = 0; i < 100; ++i) {
      std::string text;
      for (std::uint64_t n = random() % 12; n > 0; --n) text += parts[random() % parts.size()];
      std::vector<std::uint32_t> found_numbers;
      analyzer.append_numbers(text, numbers, number_of, found_numbers);
      std::vector<std::string> found;
      for (const std::uint32_t number : found_numbers) found.push_back(names.at(number));
      ASSERT_EQ(found, tokenize(text, options)) << text;
    }
  }
}

}  // namespace
}  // namespace quiver::payload
