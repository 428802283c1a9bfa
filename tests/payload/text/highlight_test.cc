#include "payload/text/highlight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "payload/text/characters.h"
#include "payload/text/splitting.h"

namespace quiver::payload {
namespace {

using testing::ElementsAre;

HighlightOptions brackets(std::uint32_t n_fragments, std::uint32_t fragment_length = 160) {
  HighlightOptions out;
  out.pre = "[";
  out.post = "]";
  out.n_fragments = n_fragments;
  out.fragment_length = fragment_length;
  return out;
}

std::vector<HighlightFragment> fragments_of(const std::vector<std::string>& texts,
                                            const std::string& query,
                                            const HighlightOptions& options,
                                            const TextOptions& text_options = {}) {
  Analyzer analyzer(text_options);
  HighlightTokens tokens;
  tokens.add(query, analyzer);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return highlight(views, tokens, options, analyzer);
}

/// The whole text with its matches in brackets; empty without a match.
std::string marked(const std::string& text, const std::string& query,
                   const TextOptions& text_options = {}) {
  const auto fragments = fragments_of({text}, query, brackets(0), text_options);
  return fragments.empty() ? "" : fragments.front().text;
}

std::vector<std::string> texts_of(const std::vector<HighlightFragment>& fragments) {
  std::vector<std::string> out;
  for (const auto& fragment : fragments) out.push_back(fragment.text);
  return out;
}

TextOptions with_tokenizer(Tokenizer tokenizer) {
  TextOptions out;
  out.tokenizer = tokenizer;
  return out;
}

TEST(Highlight, MarksWordsOfTheQuery) {
  EXPECT_EQ(marked("The cat, the Cats and a CAT.", "cat dog"), "The [cat], the Cats and a [CAT].");
  EXPECT_EQ(marked("nothing here", "cat"), "");
  EXPECT_EQ(marked("", "cat"), "");
  EXPECT_EQ(marked("a cat", ""), "");
  EXPECT_EQ(marked("cat", "cat"), "[cat]");
}

TEST(Highlight, MarksTheWholeWordOfAStem) {
  TextOptions english;
  english.stemmer = StemmerLanguage::kEnglish;
  english.stopwords = {{StopwordLanguage::kEnglish}, {}};
  EXPECT_EQ(marked("Runners ran; the running man runs.", "the run", english),
            "Runners ran; the [running] man [runs].");
  TextOptions folding;
  folding.ascii_folding = true;
  EXPECT_EQ(marked("Ação na Straße", "acao strasse", folding), "[Ação] na [Straße]");
}

TEST(Highlight, MarksThePrefix) {
  auto prefix = with_tokenizer(Tokenizer::kPrefix);
  EXPECT_EQ(marked("Hello helmet hi", "hel", prefix), "[Hel]lo [hel]met hi");
  EXPECT_EQ(marked("Hello helmet hi", "hello hel", prefix), "[Hello] [hel]met hi");
  prefix.ascii_folding = true;
  EXPECT_EQ(marked("Straßen re\xCC\x81sume\xCC\x81 ébahi", "strass re e", prefix),
            "[Straß]en [re\xCC\x81]sume\xCC\x81 [é]bahi");
  prefix.stemmer = StemmerLanguage::kEnglish;
  EXPECT_EQ(marked("running", "ru", prefix), "[running]");
}

TEST(Highlight, MatchesThatOverlapAreOne) {
  const auto multilingual = with_tokenizer(Tokenizer::kMultilingual);
  EXPECT_EQ(marked("我们在北京大学学习 hello", "北京大学", multilingual),
            "我们在[北京大学]学习 hello");
  EXPECT_EQ(marked("北京和北京", "北京", multilingual), "[北京]和[北京]");
  EXPECT_EQ(marked("getHTTPCode2", "http code", with_tokenizer(Tokenizer::kCode)),
            "get[HTTP][Code]2");
}

TEST(Highlight, LongRunsOfMatchesAreCut) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "哈";
  const auto multilingual = with_tokenizer(Tokenizer::kMultilingual);
  const auto fragments = fragments_of({text}, "哈哈", brackets(3, 20), multilingual);
  ASSERT_EQ(fragments.size(), 3U);
  for (const auto& fragment : fragments) {
    EXPECT_EQ(fragment.matches.size(), 1U);
    EXPECT_LE(fragment.matches[0].end - fragment.matches[0].begin, 20U);
  }
  EXPECT_EQ(marked(text, "哈哈", multilingual), "[" + text + "]");
}

TEST(Highlight, FragmentsAreCutBetweenWords) {
  const std::string text =
      "one two three four five six seven eight nine ten eleven twelve thirteen";
  const auto fragments = fragments_of({text}, "seven", brackets(1, 24));
  ASSERT_EQ(fragments.size(), 1U);
  EXPECT_EQ(fragments[0].text, "five six [seven] eight");
  EXPECT_EQ(fragments[0].offset, text.find("five"));
  EXPECT_THAT(fragments[0].matches,
              ElementsAre(HighlightRange{text.find("seven"), text.find("seven") + 5}));
  EXPECT_THAT(texts_of(fragments_of({text}, "one", brackets(1, 20))),
              ElementsAre("[one] two three four"));
  EXPECT_THAT(texts_of(fragments_of({text}, "thirteen", brackets(1, 20))),
              ElementsAre("twelve [thirteen]"));
}

TEST(Highlight, TheBestFragmentsInTheOrderOfTheText) {
  const std::string gap(100, 'w');  // a word: no place to cut
  const std::string text = "a x " + gap + " a a x " + gap + " a b x " + gap + " b x";
  EXPECT_THAT(texts_of(fragments_of({text}, "a b", brackets(1, 16))), ElementsAre("[a] [b] x"));
  EXPECT_THAT(texts_of(fragments_of({text}, "a b", brackets(2, 16))),
              ElementsAre("[a] [a] x", "[a] [b] x"));
  EXPECT_THAT(texts_of(fragments_of({text}, "a b", brackets(3, 16))),
              ElementsAre("[a] x", "[a] [a] x", "[a] [b] x"));
  EXPECT_EQ(fragments_of({text}, "a b", brackets(9, 16)).size(), 4U);
}

TEST(Highlight, SeveralTexts) {
  const std::vector<std::string> texts = {"no", "a cat", "", "cat cat", "one cat"};
  const auto fragments = fragments_of(texts, "cat", brackets(2));
  EXPECT_THAT(texts_of(fragments), ElementsAre("a [cat]", "[cat] [cat]"));
  EXPECT_EQ(fragments[0].text_number, 1U);
  EXPECT_EQ(fragments[1].text_number, 3U);
  EXPECT_THAT(texts_of(fragments_of(texts, "cat", brackets(0))),
              ElementsAre("a [cat]", "[cat] [cat]", "one [cat]"));
}

TEST(Highlight, PositionsAreCodePoints) {
  const auto fragments = fragments_of({"漢字 é \U0001F600 cat"}, "cat é", brackets(0));
  ASSERT_EQ(fragments.size(), 1U);
  EXPECT_THAT(fragments[0].matches, ElementsAre(HighlightRange{3, 4}, HighlightRange{7, 10}));
}

TEST(Highlight, EscapesTheTextButNotTheMarks) {
  auto options = brackets(0);
  options.pre = "<b>";
  options.post = "</b>";
  const std::string text = "<i>cat & 'dog'</i> \"x\"";
  EXPECT_THAT(texts_of(fragments_of({text}, "cat", options)),
              ElementsAre("<i><b>cat</b> & 'dog'</i> \"x\""));
  options.escape = HighlightEscape::kHtml;
  EXPECT_THAT(texts_of(fragments_of({text}, "cat", options)),
              ElementsAre("&lt;i&gt;<b>cat</b> &amp; &#39;dog&#39;&lt;/i&gt; &quot;x&quot;"));
}

TEST(Highlight, OccurrencesAreBounded) {
  std::string text;
  for (std::size_t i = 0; i < kMaxHighlightOccurrences + 10; ++i) text += "a ";
  const auto whole = fragments_of({text, text}, "a", brackets(0));
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0].matches.size(), kMaxHighlightOccurrences);
  EXPECT_EQ(fragments_of({text}, "a", brackets(100, 10'000)).size(), 14U);
}

TEST(Highlight, HostileTextsTakeLinearTime) {
  TextOptions folding = with_tokenizer(Tokenizer::kPrefix);
  folding.ascii_folding = true;
  std::vector<std::string> texts;
  for (const std::string_view part :
       {"a", "a ", "\xFF", "\x80", "e\xCC\x81", "\xCC\x81", " ", "漢"}) {
    auto& text = texts.emplace_back("a ");
    while (text.size() < 1 << 18) text += part;
  }
  for (const auto& text : texts) {
    const auto found = fragments_of({text}, "a e 漢", brackets(100, 10'000), folding);
    EXPECT_FALSE(found.empty());
    EXPECT_FALSE(fragments_of({text}, "a", brackets(100, 16)).empty());
  }
}

// ---- random texts against what the header promises ----

std::string slice(const std::string& text, HighlightRange range) {
  const std::size_t begin = bytes_of_code_points(text, range.begin);
  const std::string_view rest = std::string_view(text).substr(begin);
  return std::string(rest.substr(0, bytes_of_code_points(rest, range.end - range.begin)));
}

std::string random_words(std::mt19937& random) {
  constexpr std::string_view kParts[] = {
      "a", "B",  "runs", "running", "é",  "漢字", "北", " ",         " ",     ". ",
      "-", "\n", "hel",  "Hello",   "xY", "2",    "ß",  "e\xCC\x81", "word ", "\U0001F600"};
  std::string text;
  for (std::size_t n = random() % 80; n > 0; --n) text += kParts[random() % std::size(kParts)];
  return text;
}

TextOptions random_options(std::mt19937& random) {
  TextOptions out = with_tokenizer(static_cast<Tokenizer>(random() % 5));
  out.lowercase = random() % 4 != 0;
  out.ascii_folding = random() % 2;
  if (random() % 3 == 0) out.stemmer = StemmerLanguage::kEnglish;
  if (random() % 3 == 0) out.stopwords = {{}, {"word"}};
  return out;
}

class Promises {
 public:
  Promises(std::vector<std::string> texts, std::string query, TextOptions text_options)
      : texts_(std::move(texts)), query_(std::move(query)), text_options_(std::move(text_options)) {
    for (const auto& token : tokenize(query_, text_options_, TokenUse::kQuery))
      wanted_.insert(token);
  }

  void check(const HighlightOptions& options) const {
    const auto fragments = fragments_of(texts_, query_, options, text_options_);
    if (options.n_fragments > 0) {
      EXPECT_LE(fragments.size(), options.n_fragments);
    }
    const HighlightFragment* last = nullptr;
    for (const auto& fragment : fragments) {
      check_text(fragment, options);
      check_matches(fragment);
      const std::size_t length = length_of(fragment);
      if (options.n_fragments > 0 && fragment.matches.size() > 1) {
        EXPECT_LE(length, options.fragment_length);
      }
      if (last != nullptr && last->text_number == fragment.text_number) {
        EXPECT_LE(last->offset + length_of(*last), fragment.offset);
      }
      last = &fragment;
    }
  }

  /// Each token of the query is marked wherever it is in a text.
  void check_that_all_is_marked() const {
    const auto fragments = fragments_of(texts_, query_, brackets(0), text_options_);
    std::set<std::pair<std::size_t, std::size_t>> marked;  // text, code point
    for (const auto& fragment : fragments) {
      for (const auto& match : fragment.matches) {
        for (auto i = match.begin; i < match.end; ++i) marked.emplace(fragment.text_number, i);
      }
    }
    for (std::size_t number = 0; number < texts_.size(); ++number) {
      const std::string& text = texts_[number];
      split(text, text_options_.tokenizer, [&](const Piece& piece) {
        const auto at = static_cast<std::size_t>(piece.text.data() - text.data());
        const bool is_marked =
            marked.contains({number, count_code_points(std::string_view(text).substr(0, at))});
        if (has_wanted(tokens_of(piece))) {
          EXPECT_TRUE(is_marked) << piece.text;
        } else if (text_options_.tokenizer != Tokenizer::kMultilingual) {  // pairs share characters
          EXPECT_FALSE(is_marked) << piece.text;
        }
      });
    }
  }

 private:
  [[nodiscard]] std::vector<std::string> tokens_of(const Piece& piece) const {
    std::vector<std::string> out;
    Analyzer(text_options_).for_each_token(piece, TokenUse::kDocument, [&](std::string_view token) {
      out.emplace_back(token);
    });
    return out;
  }
  [[nodiscard]] bool has_wanted(const std::vector<std::string>& tokens) const {
    return std::ranges::any_of(tokens, [&](const auto& token) { return wanted_.contains(token); });
  }
  [[nodiscard]] static std::size_t length_of(const HighlightFragment& fragment) {
    return count_code_points(fragment.text) - 2 * fragment.matches.size();
  }

  void check_text(const HighlightFragment& fragment, const HighlightOptions& options) const {
    std::string stripped = fragment.text;
    std::erase_if(stripped, [&](char c) { return c == options.pre[0] || c == options.post[0]; });
    const std::string& text = texts_[fragment.text_number];
    EXPECT_EQ(stripped, slice(text, {fragment.offset, fragment.offset + length_of(fragment)}));
    if (options.n_fragments == 0) {
      EXPECT_EQ(stripped, text);
    }
  }

  void check_matches(const HighlightFragment& fragment) const {
    ASSERT_FALSE(fragment.matches.empty());
    std::size_t last_end = fragment.offset;
    for (const auto& match : fragment.matches) {
      EXPECT_LE(last_end, match.begin);
      EXPECT_LT(match.begin, match.end);
      EXPECT_LE(match.end, fragment.offset + length_of(fragment));
      last_end = match.end;
      const auto part = slice(texts_[fragment.text_number], match);
      EXPECT_TRUE(has_wanted(tokenize(part, text_options_))) << part;
    }
  }

  const std::vector<std::string> texts_;
  const std::string query_;
  const TextOptions text_options_;
  std::set<std::string> wanted_;
};

TEST(HighlightProperties, OfRandomTexts) {
  std::mt19937 random(7);
  for (int round = 0; round < 1500 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    std::vector<std::string> texts;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) texts.push_back(random_words(random));
    const Promises promises(texts, random_words(random).substr(0, 1 + random() % 12),
                            random_options(random));
    promises.check(brackets(0));
    promises.check(brackets(1 + random() % 4, 16 + random() % 30));
    promises.check_that_all_is_marked();
  }
}

/// Distinct tokens, matches, and begin of the best fragment, by trying all.
std::tuple<std::size_t, std::size_t, std::size_t> best_slowly(const std::string& text,
                                                              const std::set<std::string>& wanted,
                                                              std::size_t max_length) {
  struct Word {
    std::size_t begin, end;
    std::string token;
  };
  std::vector<Word> words;
  split(text, Tokenizer::kWord, [&](const Piece& piece) {
    auto token = tokenize(piece.text, {}).front();
    if (!wanted.contains(token)) return;
    const auto at = static_cast<std::size_t>(piece.text.data() - text.data());
    const auto begin = count_code_points(std::string_view(text).substr(0, at));
    words.push_back({begin, begin + count_code_points(piece.text), std::move(token)});
  });
  std::tuple<std::size_t, std::size_t, std::size_t> best;
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::set<std::string> distinct;
    for (std::size_t i = first; i < words.size(); ++i) {
      if (i > first && words[i].end - words[first].begin > max_length) break;
      distinct.insert(words[i].token);
      const std::tuple now(distinct.size(), i - first + 1, words[first].begin);
      const bool is_better = std::tie(std::get<0>(now), std::get<1>(now)) >
                             std::tie(std::get<0>(best), std::get<1>(best));
      if (is_better) best = now;
    }
  }
  return best;
}

TEST(HighlightProperties, TheFirstFragmentIsTheBest) {
  std::mt19937 random(8);
  for (int round = 0; round < 1500; ++round) {
    const std::string text = random_words(random);
    const std::string query = random_words(random);
    const auto max_length = static_cast<std::uint32_t>(16 + random() % 30);
    const auto tokens = tokenize(query, {}, TokenUse::kQuery);
    const auto fragments = fragments_of({text}, query, brackets(1, max_length));
    std::tuple<std::size_t, std::size_t, std::size_t> found;
    if (!fragments.empty()) {
      std::set<std::string> distinct;
      for (const auto& match : fragments[0].matches) {
        distinct.insert(tokenize(slice(text, match), {}).front());
      }
      found = {distinct.size(), fragments[0].matches.size(), fragments[0].matches[0].begin};
    }
    ASSERT_EQ(found, best_slowly(text, {tokens.begin(), tokens.end()}, max_length))
        << round << ": " << text;
  }
}

}  // namespace
}  // namespace quiver::payload
