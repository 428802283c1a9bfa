// The stop words of each language: function words in lower case (NFC), separated by spaces. English
// has the list of NLTK, with the parts of contractions ("don", "t", "ll").
#pragma once

#include <string_view>

namespace quiver::payload::stopwords {

extern const std::string_view kArabic;
extern const std::string_view kAzerbaijani;
extern const std::string_view kBasque;
extern const std::string_view kBengali;
extern const std::string_view kCatalan;
extern const std::string_view kChinese;
extern const std::string_view kDanish;
extern const std::string_view kDutch;
extern const std::string_view kEnglish;
extern const std::string_view kFinnish;
extern const std::string_view kFrench;
extern const std::string_view kGerman;
extern const std::string_view kGreek;
extern const std::string_view kHebrew;
extern const std::string_view kHinglish;
extern const std::string_view kHungarian;
extern const std::string_view kIndonesian;
extern const std::string_view kItalian;
extern const std::string_view kJapanese;
extern const std::string_view kKazakh;
extern const std::string_view kNepali;
extern const std::string_view kNorwegian;
extern const std::string_view kPortuguese;
extern const std::string_view kRomanian;
extern const std::string_view kRussian;
extern const std::string_view kSlovene;
extern const std::string_view kSpanish;
extern const std::string_view kSwedish;
extern const std::string_view kTajik;
extern const std::string_view kTurkish;

}  // namespace quiver::payload::stopwords
