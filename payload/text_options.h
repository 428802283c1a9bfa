// How the texts under a key become the tokens of a kText index, and the languages that this takes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quiver::payload {

/// How a text is split; see payload/text/analyzer.h.
enum class Tokenizer : std::uint8_t {
  kWord = 0,
  kWhitespace = 1,
  kPrefix = 2,
  kMultilingual = 3,
  kCode = 4,
};
/// Names in requests and stored configurations, in the order of Tokenizer.
inline constexpr std::array<std::string_view, 5> kTokenizerNames = {"word", "whitespace", "prefix",
                                                                    "multilingual", "code"};

/// Languages with a Snowball stemmer.
enum class StemmerLanguage : std::uint8_t {
  kArabic,
  kArmenian,
  kDanish,
  kDutch,
  kEnglish,
  kFinnish,
  kFrench,
  kGerman,
  kGreek,
  kHungarian,
  kItalian,
  kNorwegian,
  kPortuguese,
  kRomanian,
  kRussian,
  kSpanish,
  kSwedish,
  kTamil,
  kTurkish,
};
/// Names in requests and stored configurations, in the order of StemmerLanguage. They are also
/// Snowball's names.
inline constexpr std::array<std::string_view, 19> kStemmerLanguages = {
    "arabic",  "armenian", "danish",    "dutch",   "english",   "finnish",    "french",
    "german",  "greek",    "hungarian", "italian", "norwegian", "portuguese", "romanian",
    "russian", "spanish",  "swedish",   "tamil",   "turkish"};

/// Languages with a list of stop words, payload/text/stopwords/.
enum class StopwordLanguage : std::uint8_t {
  kArabic,
  kAzerbaijani,
  kBasque,
  kBengali,
  kCatalan,
  kChinese,
  kDanish,
  kDutch,
  kEnglish,
  kFinnish,
  kFrench,
  kGerman,
  kGreek,
  kHebrew,
  kHinglish,
  kHungarian,
  kIndonesian,
  kItalian,
  kJapanese,
  kKazakh,
  kNepali,
  kNorwegian,
  kPortuguese,
  kRomanian,
  kRussian,
  kSlovene,
  kSpanish,
  kSwedish,
  kTajik,
  kTurkish,
};
/// Names in requests and stored configurations, in the order of StopwordLanguage.
inline constexpr std::array<std::string_view, 30> kStopwordLanguages = {
    "arabic",   "azerbaijani", "basque",   "bengali",   "catalan",    "chinese",
    "danish",   "dutch",       "english",  "finnish",   "french",     "german",
    "greek",    "hebrew",      "hinglish", "hungarian", "indonesian", "italian",
    "japanese", "kazakh",      "nepali",   "norwegian", "portuguese", "romanian",
    "russian",  "slovene",     "spanish",  "swedish",   "tajik",      "turkish"};

/// Words that are no tokens.
struct Stopwords {
  std::vector<StopwordLanguage> languages;  ///< all words of their lists
  std::vector<std::string> custom;

  [[nodiscard]] bool empty() const { return languages.empty() && custom.empty(); }
  /// Makes both lists ascending without repetitions, so that equal sets compare equal.
  void normalize();
  bool operator==(const Stopwords&) const = default;
};

/// Options of kText indexes.
struct TextOptions {
  Tokenizer tokenizer = Tokenizer::kWord;
  bool lowercase = true;
  bool phrase_matching = false;
  std::uint32_t min_token_len = 0;  ///< in code points; 0 means no bound
  std::uint32_t max_token_len = 0;
  bool ascii_folding = false;
  std::optional<StemmerLanguage> stemmer = std::nullopt;
  Stopwords stopwords = {};
  /// Groups of words that count as the first of their group. Each is one piece of the tokenizer.
  std::vector<std::vector<std::string>> synonyms = {};
  static constexpr std::size_t kMaxSynonyms = 10'000;  ///< words of all groups

  bool operator==(const TextOptions&) const = default;
};

/// Text that differs for two sets of options with other tokens, in what the first release of text
/// indexes had not: every tokenizer but words and white space, folding, stemmer, stop words,
/// synonyms. Empty if none is set, so that names and files of that release stay valid. Stored on
/// disk by its hash: the text for given options never changes, unless their tokens do.
[[nodiscard]] std::string analysis_identity(const TextOptions& options);

}  // namespace quiver::payload
