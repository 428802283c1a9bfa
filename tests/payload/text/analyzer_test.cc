#include "payload/text/analyzer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "payload/text/characters.h"
#include "payload/text/normalize.h"
#include "payload/text/stemmer.h"
#include "payload/text/stopwords.h"

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

TEST(Prefixes, DocumentsHaveAllQueriesTheLongest) {
  auto prefix = options(Tokenizer::kPrefix);
  prefix.min_token_len = 2;
  prefix.max_token_len = 4;
  EXPECT_THAT(tokenize("Hello a hi, Über", prefix),
              ElementsAre("he", "hel", "hell", "hi", "üb", "übe", "über"));
  EXPECT_THAT(tokenize("Hello a hi, Über", prefix, TokenUse::kQuery),
              ElementsAre("hell", "hi", "über"));
}

TEST(Prefixes, HaveABoundOfTheirOwn) {
  const auto prefix = options(Tokenizer::kPrefix);
  const std::string word(1000, 'x');
  EXPECT_EQ(tokenize(word, prefix).size(), kMaxPrefixLength);
  EXPECT_THAT(tokenize(word, prefix, TokenUse::kQuery),
              ElementsAre(std::string(kMaxPrefixLength, 'x')));
  auto longer = prefix;
  longer.max_token_len = 500;
  EXPECT_EQ(tokenize(word, longer).size(), kMaxPrefixLength);
  auto none = prefix;
  none.min_token_len = 5;
  none.max_token_len = 4;
  EXPECT_THAT(tokenize("hello", none), testing::IsEmpty());
}

TEST(Multilingual, PairsWhereNoSpacesAreWritten) {
  const auto multilingual = options(Tokenizer::kMultilingual);
  EXPECT_THAT(tokenize("我们在北京 hello、世", multilingual),
              ElementsAre("我们", "们在", "在北", "北京", "hello", "世"));
  EXPECT_THAT(tokenize("カレーを食べる", multilingual),
              ElementsAre("カレ", "レー", "ーを", "を食", "食べ", "べる"));
  EXPECT_THAT(tokenize("ภาษา", multilingual), ElementsAre("ภา", "าษ", "ษา"));
  EXPECT_THAT(tokenize("abc漢字def", multilingual), ElementsAre("abc", "漢字", "def"));
  EXPECT_THAT(tokenize("한국어 문서", multilingual), ElementsAre("한국어", "문서"));
}

TEST(Multilingual, WordsByTheRulesOfUnicode) {
  const auto multilingual = options(Tokenizer::kMultilingual);
  EXPECT_THAT(
      tokenize("Don't pay 3.14 or 1,000 for a_b. (e.g.) 'x' 3,a", multilingual),
      ElementsAre("don't", "pay", "3.14", "or", "1,000", "for", "a_b", "e.g", "x", "3", "a"));
  EXPECT_THAT(tokenize("_ __ -. ' l’eau", multilingual), ElementsAre("l’eau"));
}

TEST(Code, IdentifiersHaveParts) {
  const auto code = options(Tokenizer::kCode);
  EXPECT_THAT(tokenize("getHTTPServerByName2(user_id, utf8proc) kMaxSize XMLParser2000x", code),
              ElementsAre("get", "http", "server", "by", "name", "2", "user", "id", "utf", "8",
                          "proc", "k", "max", "size", "xml", "parser", "2000", "x"));
  EXPECT_THAT(tokenize("größeÄndern ABC a AB aB", code),
              ElementsAre("größe", "ändern", "abc", "a", "ab", "a", "b"));
}

TEST(Folding, LettersBecomeAscii) {
  auto folding = options(Tokenizer::kWord);
  folding.ascii_folding = true;
  EXPECT_THAT(tokenize("Ação Straße ŁÓDŹ Ærø đặng ısı œuvre þing ｆｕｌｌ ﬁn", folding),
              ElementsAre("acao", "strasse", "lodz", "aero", "dang", "isi", "oeuvre", "thing",
                          "full", "fin"));
  EXPECT_THAT(tokenize("re\xCC\x81sume\xCC\x81", folding), ElementsAre("resume"));
  // Letters of other scripts stay, with their marks.
  EXPECT_THAT(tokenize("Йод και ά हिन्दी", folding), ElementsAre("йод", "και", "ά", "हिन्दी"));
  folding.lowercase = false;
  EXPECT_THAT(tokenize("ÉÇ Æ ẞ", folding), ElementsAre("EC", "AE", "SS"));
}

TEST(StopWords, AreNoTokens) {
  auto english = options(Tokenizer::kWord);
  english.stopwords = {{StopwordLanguage::kEnglish}, {"Foo"}};
  EXPECT_THAT(tokenize("The cat didn't see a foo, nor THE dog", english),
              ElementsAre("cat", "see", "dog"));
  english.lowercase = false;
  EXPECT_THAT(tokenize("The the Foo foo", english), ElementsAre("The", "foo"));
}

TEST(StopWords, FoldAsTokensDo) {
  auto portuguese = options(Tokenizer::kWord);
  portuguese.stopwords = {{StopwordLanguage::kPortuguese}, {}};
  EXPECT_THAT(tokenize("não nao", portuguese), ElementsAre("nao"));
  portuguese.ascii_folding = true;
  EXPECT_THAT(tokenize("não nao", portuguese), testing::IsEmpty());
}

TEST(StopWords, EveryLanguageHasAList) {
  for (std::size_t i = 0; i < kStopwordLanguages.size(); ++i) {
    const auto list = stopword_list(static_cast<StopwordLanguage>(i));
    const auto words = tokenize(list, options(Tokenizer::kWhitespace));
    EXPECT_GE(words.size(), 30U) << kStopwordLanguages[i];
    EXPECT_EQ(words, tokenize(list, options(Tokenizer::kWhitespace, false)))
        << kStopwordLanguages[i] << ": wanted lower case";
    EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
  }
  EXPECT_EQ(
      tokenize(stopword_list(StopwordLanguage::kEnglish), options(Tokenizer::kWhitespace)).size(),
      179U);
}

TEST(Analysis, OrderOfTheSteps) {
  auto all = options(Tokenizer::kWord);
  all.stemmer = StemmerLanguage::kEnglish;
  all.stopwords = {{StopwordLanguage::kEnglish}, {}};
  all.ascii_folding = true;
  all.min_token_len = 3;
  // Stop words are compared before the stem is taken, lengths after it.
  EXPECT_THAT(tokenize("The RÉSUMÉS were running being doings skis ass", all),
              ElementsAre("resum", "run", "ski", "ass"));
  all.max_token_len = 3;
  EXPECT_THAT(tokenize("runnings running doings", all), ElementsAre("run", "run"));
}

TEST(Analysis, AnAnalyzerMayBeUsedAgain) {
  auto english = options(Tokenizer::kWord);
  english.stemmer = StemmerLanguage::kEnglish;
  Analyzer analyzer(english);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(analyzer.tokens("Cats and running dogs", TokenUse::kDocument),
                ElementsAre("cat", "and", "run", "dog"));
  }
  EXPECT_GT(analyzer.memory_bytes(), 0U);
}

TEST(Analysis, APoolServesThreads) {
  auto english = options(Tokenizer::kWord);
  english.stemmer = StemmerLanguage::kEnglish;
  const AnalyzerPool pool(english);
  std::vector<std::thread> threads;
  std::atomic<int> n_wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string word = "word" + std::to_string(t) + "x";
        const auto found = pool.tokens(word + " running", TokenUse::kQuery);
        if (found != std::vector<std::string>{word, "run"}) ++n_wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(n_wrong, 0);
}

/// What the steps mean, one code point after another and without any cache.
std::vector<std::string> slowly(std::string_view text, const TextOptions& options) {
  std::vector<std::string> out;
  std::string word;
  const auto end_word = [&] {
    std::string token;
    normalize(word, options, token);
    const bool stopped = StopwordSet(options).contains(token);
    if (options.stemmer) token = Stemmer(*options.stemmer).stem(std::string(token));
    const std::size_t length = count_code_points(token);
    const bool fits = length >= options.min_token_len &&
                      (options.max_token_len == 0 || length <= options.max_token_len);
    if (!word.empty() && !stopped && fits) out.push_back(token);
    word.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = code_point_at(text, at);
    const bool belongs =
        next.value >= 0 &&
        (options.tokenizer == Tokenizer::kWhitespace ? !is_space(next.value) : is_word(next.value));
    belongs ? append_code_point(word, next.value) : end_word();
    at += next.n_bytes;
  }
  end_word();
  return out;
}

std::string random_text(std::mt19937& random) {
  constexpr std::string_view kParts[] = {
      "the", "Running", " ", "\t",       "-", "é", "É", "\xFF",     "ß",     "漢", "x",
      "ING", "s",       "_", "\xCC\x81", "2", " ", " ", "\xE2\x80", "flies", "İ"};
  std::string text;
  for (std::size_t n = random() % 40; n > 0; --n) text += kParts[random() % std::size(kParts)];
  return text;
}

TEST(Analysis, FastPathsEqualTheSlowOne) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    auto chosen = options(random() % 2 ? Tokenizer::kWord : Tokenizer::kWhitespace, random() % 2);
    chosen.ascii_folding = random() % 2;
    if (random() % 2) chosen.stemmer = StemmerLanguage::kEnglish;
    if (random() % 2) chosen.stopwords = {{StopwordLanguage::kEnglish}, {"x"}};
    chosen.min_token_len = random() % 3;
    chosen.max_token_len = random() % 2 ? 0 : 6;
    Analyzer analyzer(chosen);
    for (int i = 0; i < 30; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(analyzer.tokens(text, TokenUse::kDocument), slowly(text, chosen)) << text;
    }
  }
}

TEST(Analysis, HostileTextsTakeLinearTime) {
  std::vector<std::string> texts;
  texts.emplace_back(1 << 20, 'a');
  texts.emplace_back(1 << 20, '\xFF');
  texts.emplace_back(1 << 20, '_');
  texts.emplace_back(1 << 20, '\'');
  for (const std::string_view part :
       {"\xCC\x81", "e\xCC\x81", "漢", "\xEF\xB7\xBA", "aA", "a.", "\xE6"}) {
    auto& text = texts.emplace_back();
    while (text.size() < 1 << 20) text += part;
  }
  for (const auto tokenizer : {Tokenizer::kWord, Tokenizer::kWhitespace, Tokenizer::kPrefix,
                               Tokenizer::kMultilingual, Tokenizer::kCode}) {
    auto all = options(tokenizer);
    all.ascii_folding = true;
    all.stemmer = StemmerLanguage::kEnglish;
    Analyzer analyzer(all);
    for (const auto& text : texts) {
      std::size_t n_bytes = 0;
      analyzer.for_each_token(text, TokenUse::kDocument,
                              [&](std::string_view token) { n_bytes += token.size(); });
      EXPECT_LE(n_bytes, 32 * text.size());
    }
  }
}

TEST(Synonyms, CountAsTheFirstWordOfTheirGroup) {
  TextOptions options;
  options.synonyms = {{"Car", "automobile", "AUTO"}, {"tv", "television"}, {"robot", "auto"}};
  const auto tokens =
      tokenize("cars, a car, Automobiles and an automobile; auto TV robot", options);
  EXPECT_EQ(tokens, (std::vector<std::string>{"cars", "a", "car", "automobiles", "and", "an", "car",
                                              "car", "tv", "car"}));
}

TEST(Synonyms, AreStemmedAndFolded) {
  TextOptions options;
  options.synonyms = {{"vehicles", "automobile", "M\xC3\xBCll"}};
  options.stemmer = StemmerLanguage::kEnglish;
  options.ascii_folding = true;
  const std::string vehicle = tokenize("vehicle", options).at(0);
  for (const auto& token : tokenize("vehicles automobiles Automobile mull M\xC3\x9CLL", options)) {
    EXPECT_EQ(token, vehicle);
  }
  // The form is kept with the word that was seen first.
  Analyzer analyzer(options);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(analyzer.tokens("automobiles", TokenUse::kDocument), std::vector{vehicle});
  }
}

TEST(Synonyms, StopWordsGoFirst) {
  TextOptions options;
  options.stopwords.custom = {"the"};
  options.synonyms = {{"article", "the", "a"}};
  EXPECT_EQ(tokenize("the a article", options), (std::vector<std::string>{"article", "article"}));
}

TEST(AnalysisIdentity, IsEmptyForTheFirstRelease) {
  EXPECT_EQ(analysis_identity(options(Tokenizer::kWord)), "");
  EXPECT_EQ(analysis_identity(options(Tokenizer::kWhitespace, false)), "");
  TextOptions changed;
  changed.min_token_len = 3;
  EXPECT_EQ(analysis_identity(changed), "");
}

TEST(AnalysisIdentity, TellsOptionsApart) {
  std::set<std::string> seen;
  const auto is_new = [&](auto change) {
    TextOptions changed;
    change(changed);
    return seen.insert(analysis_identity(changed)).second;
  };
  EXPECT_TRUE(is_new([](TextOptions&) {}));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.tokenizer = Tokenizer::kPrefix; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.ascii_folding = true; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.stemmer = StemmerLanguage::kEnglish; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.stemmer = StemmerLanguage::kGerman; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.stopwords = {{StopwordLanguage::kGerman}, {}}; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.stopwords = {{}, {"a", "b"}}; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.stopwords = {{}, {"a word 1:b"}}; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.synonyms = {{"a", "b"}}; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.synonyms = {{"a"}, {"b"}}; }));
  EXPECT_TRUE(is_new([](TextOptions& o) { o.synonyms = {{"b", "a"}}; }));
}

TEST(Stopwords, NormalizeMakesEqualSetsEqual) {
  Stopwords a{{StopwordLanguage::kGerman, StopwordLanguage::kArabic}, {"x", "a", "x"}};
  Stopwords b{{StopwordLanguage::kArabic, StopwordLanguage::kGerman, StopwordLanguage::kGerman},
              {"a", "x"}};
  a.normalize();
  b.normalize();
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace quiver::payload
