#include "payload/text/stopwords.h"

#include <array>
#include <mutex>

#include "payload/text/normalize.h"
#include "payload/text/splitting.h"
#include "payload/text/stopwords/lists.h"

namespace quiver::payload {

std::string_view stopword_list(StopwordLanguage language) {
  switch (language) {
    case StopwordLanguage::kArabic:
      return stopwords::kArabic;
    case StopwordLanguage::kAzerbaijani:
      return stopwords::kAzerbaijani;
    case StopwordLanguage::kBasque:
      return stopwords::kBasque;
    case StopwordLanguage::kBengali:
      return stopwords::kBengali;
    case StopwordLanguage::kCatalan:
      return stopwords::kCatalan;
    case StopwordLanguage::kChinese:
      return stopwords::kChinese;
    case StopwordLanguage::kDanish:
      return stopwords::kDanish;
    case StopwordLanguage::kDutch:
      return stopwords::kDutch;
    case StopwordLanguage::kEnglish:
      return stopwords::kEnglish;
    case StopwordLanguage::kFinnish:
      return stopwords::kFinnish;
    case StopwordLanguage::kFrench:
      return stopwords::kFrench;
    case StopwordLanguage::kGerman:
      return stopwords::kGerman;
    case StopwordLanguage::kGreek:
      return stopwords::kGreek;
    case StopwordLanguage::kHebrew:
      return stopwords::kHebrew;
    case StopwordLanguage::kHinglish:
      return stopwords::kHinglish;
    case StopwordLanguage::kHungarian:
      return stopwords::kHungarian;
    case StopwordLanguage::kIndonesian:
      return stopwords::kIndonesian;
    case StopwordLanguage::kItalian:
      return stopwords::kItalian;
    case StopwordLanguage::kJapanese:
      return stopwords::kJapanese;
    case StopwordLanguage::kKazakh:
      return stopwords::kKazakh;
    case StopwordLanguage::kNepali:
      return stopwords::kNepali;
    case StopwordLanguage::kNorwegian:
      return stopwords::kNorwegian;
    case StopwordLanguage::kPortuguese:
      return stopwords::kPortuguese;
    case StopwordLanguage::kRomanian:
      return stopwords::kRomanian;
    case StopwordLanguage::kRussian:
      return stopwords::kRussian;
    case StopwordLanguage::kSlovene:
      return stopwords::kSlovene;
    case StopwordLanguage::kSpanish:
      return stopwords::kSpanish;
    case StopwordLanguage::kSwedish:
      return stopwords::kSwedish;
    case StopwordLanguage::kTajik:
      return stopwords::kTajik;
    case StopwordLanguage::kTurkish:
      return stopwords::kTurkish;
  }
  return {};
}

StopwordSet::StopwordSet(const TextOptions& options) {
  for (const auto language : options.stopwords.languages) {
    lists_.push_back(&list_of(language, options.ascii_folding));
  }
  std::string prepared;
  for (const auto& word : options.stopwords.custom) {
    normalize(word, options, prepared);
    custom_.insert(prepared);
  }
}

const StopwordSet::Words& StopwordSet::list_of(StopwordLanguage language, bool is_folded) {
  struct List {
    std::once_flag is_made;
    Words words;
  };
  static std::array<std::array<List, kStopwordLanguages.size()>, 2> lists;
  List& list = lists[is_folded ? 1 : 0][static_cast<std::size_t>(language)];
  std::call_once(list.is_made, [&] {
    TextOptions folding;
    folding.ascii_folding = is_folded;
    std::string prepared;
    split(stopword_list(language), Tokenizer::kWhitespace, [&](const Piece& piece) {
      normalize(piece.text, folding, prepared);
      list.words.insert(prepared);
    });
  });
  return list.words;
}

}  // namespace quiver::payload
