#include "payload/text/stemmer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>

#include "base/hash.h"

namespace quiver::payload {
namespace {

using enum StemmerLanguage;

struct Case {
  StemmerLanguage language;
  std::string_view word;
  std::string_view stem;
};
/// From the vocabularies that Snowball publishes with its algorithms.
constexpr Case kCases[] = {
    {kEnglish, "consigned", "consign"},
    {kEnglish, "consistency", "consist"},
    {kEnglish, "generously", "generous"},
    {kEnglish, "skies", "sky"},
    {kEnglish, "running", "run"},
    {kGerman, "aufeinanderfolgenden", "aufeinanderfolg"},
    {kGerman, "kategorien", "kategori"},
    {kGerman, "häuser", "haus"},
    {kFrench, "continuellement", "continuel"},
    {kFrench, "majestueusement", "majestu"},
    {kSpanish, "torneos", "torne"},
    {kSpanish, "chicas", "chic"},
    {kItalian, "abbandonata", "abbandon"},
    {kItalian, "pronunciamento", "pronunc"},
    {kPortuguese, "boataria", "boat"},
    {kPortuguese, "quilométricas", "quilométr"},
    {kDutch, "lichamelijke", "licham"},
    {kDutch, "opgaven", "opgav"},
    {kSwedish, "jaktkarlarne", "jaktkarl"},
    {kSwedish, "klostergården", "klostergård"},
    {kDanish, "indtagelse", "indtag"},
    {kNorwegian, "havnedistriktene", "havnedistrikt"},
    {kFinnish, "edeltäjien", "edeltäj"},
    {kRussian, "важнейшими", "важн"},
    {kRussian, "падение", "паден"},
    {kHungarian, "babakocsi", "babakocs"},
    {kTurkish, "kitaplar", "kitap"},
    {kRomanian, "abandonarea", "abandon"},
    {kGreek, "ανθρωποι", "ανθρωπ"},
    {kArabic, "الكتاب", "كتاب"},
    {kTamil, "மரங்கள்", "மரங்"},
};

TEST(Stemmer, GoldenWords) {
  for (const auto& [language, word, stem] : kCases) {
    Stemmer stemmer(language);
    EXPECT_EQ(stemmer.stem(word), stem) << word;
  }
}

TEST(Stemmer, EveryLanguageHasOne) {
  for (std::size_t i = 0; i < kStemmerLanguages.size(); ++i) {
    Stemmer stemmer(static_cast<StemmerLanguage>(i));
    EXPECT_EQ(stemmer.stem(""), "") << kStemmerLanguages[i];
    EXPECT_EQ(stemmer.stem("x"), "x") << kStemmerLanguages[i];
  }
}

TEST(Stemmer, LongWordsStay) {
  Stemmer stemmer(kEnglish);
  const std::string stemmed = std::string(kMaxStemmedBytes - 3, 'x') + "ing";
  EXPECT_EQ(stemmer.stem(stemmed), stemmed);  // no vowel
  const std::string longest = std::string(kMaxStemmedBytes - 4, 'x') + "aing";
  EXPECT_EQ(stemmer.stem(longest), longest.substr(0, longest.size() - 3));
  const std::string longer = "x" + longest;
  EXPECT_EQ(stemmer.stem(longer), longer);
}

TEST(WordCache, SaysWhatItWasToldOrNothing) {
  std::mt19937 random(7);
  WordCache cache;
  std::unordered_map<std::string, std::string> told;
  std::size_t n_found = 0;
  for (int i = 0; i < 300'000; ++i) {
    const std::string word = std::to_string(random() % 100'000);
    const std::uint64_t hash = hash_text(word);
    const auto found = cache.find(word, hash);
    if (found.data() == nullptr) {
      const std::string form = word.substr(random() % word.size());
      told[word] = form;
      cache.remember(word, hash, form);
      continue;
    }
    ++n_found;
    ASSERT_TRUE(told.contains(word)) << word;
    ASSERT_EQ(found, told[word]) << word;
  }
  EXPECT_GT(n_found, 50'000U);
  EXPECT_LE(cache.memory_bytes(), std::size_t{64} << 16);
}

TEST(WordCache, ForgetsWhatIsTooLong) {
  WordCache cache;
  const std::string word(40, 'w');
  cache.remember(word, 1, word.substr(0, 22));
  EXPECT_EQ(cache.find(word, 1), word.substr(0, 22));
  const std::string other(40, 'o');
  cache.remember(other, 2, other.substr(0, 23));
  EXPECT_EQ(cache.find(other, 2).data(), nullptr);
  EXPECT_EQ(cache.find("", 0).data(), nullptr);
  cache.remember("stopped", 3, "");
  EXPECT_NE(cache.find("stopped", 3).data(), nullptr);
  EXPECT_EQ(cache.find("stopped", 3), "");
}

}  // namespace
}  // namespace quiver::payload
