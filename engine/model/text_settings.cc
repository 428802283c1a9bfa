#include "engine/model/text_settings.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace quiver::engine {
namespace {

using payload::Array;
using payload::Object;
using payload::TextOptions;
using payload::Value;

template <class Enum, std::size_t n>
Value name_in(const std::array<std::string_view, n>& names, Enum value) {
  return Value(std::string(names[static_cast<std::size_t>(value)]));
}

template <class Enum, std::size_t n>
std::optional<Enum> find_name(const std::array<std::string_view, n>& names, const Value* value) {
  const std::string* name = value == nullptr ? nullptr : value->as_string();
  if (name == nullptr) return std::nullopt;
  const auto found = std::ranges::find(names, *name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

void add_language(const Value& value, payload::Stopwords& stopwords) {
  const auto language = find_name<payload::StopwordLanguage>(payload::kStopwordLanguages, &value);
  if (language) stopwords.languages.push_back(*language);
}

const Array& list_in(const Value& object, std::string_view key) {
  static const Array kNone;
  const Value* member = object.find(key);
  const Array* array = member == nullptr ? nullptr : member->as_array();
  return array == nullptr ? kNone : *array;
}

payload::Stopwords read_stopwords(const Value& value) {
  payload::Stopwords out;
  add_language(value, out);
  for (const Value& language : list_in(value, "languages")) add_language(language, out);
  for (const Value& word : list_in(value, "custom")) {
    if (const auto* text = word.as_string()) out.custom.push_back(*text);
  }
  out.normalize();
  return out;
}

Value synonyms_value(const TextOptions& options) {
  Array groups;
  for (const auto& group : options.synonyms) {
    Array words;
    for (const auto& word : group) words.push_back(Value(word));
    groups.push_back(Value(std::move(words)));
  }
  return Value(std::move(groups));
}

std::vector<std::vector<std::string>> read_synonyms(const Value& value) {
  std::vector<std::vector<std::string>> groups;
  const Array* array = value.as_array();
  if (array == nullptr) return groups;
  for (const Value& group : *array) {
    auto& words = groups.emplace_back();
    const Array* texts = group.as_array();
    if (texts == nullptr) continue;
    for (const Value& word : *texts) {
      if (const auto* text = word.as_string()) words.push_back(*text);
    }
  }
  return groups;
}

}  // namespace

Value analysis_of(const TextOptions& options) {
  Object out{{"ascii_folding", Value(options.ascii_folding)}};
  if (options.stemmer) {
    out.push_back(
        {"stemmer",
         Value(Object{{"type", Value(std::string("snowball"))},
                      {"language", name_in(payload::kStemmerLanguages, *options.stemmer)}})});
  }
  Array languages;
  for (const auto language : options.stopwords.languages) {
    languages.push_back(name_in(payload::kStopwordLanguages, language));
  }
  Array custom;
  for (const auto& word : options.stopwords.custom) custom.push_back(Value(word));
  out.push_back({"stopwords", Value(Object{{"languages", Value(std::move(languages))},
                                           {"custom", Value(std::move(custom))}})});
  if (!options.synonyms.empty()) out.push_back({"synonyms", synonyms_value(options)});
  return Value(std::move(out));
}

void read_analysis(const Value& settings, TextOptions& options) {
  const Value* folding = settings.find("ascii_folding");
  const bool* folds = folding == nullptr ? nullptr : folding->as_bool();
  if (folds != nullptr) options.ascii_folding = *folds;
  if (const Value* stemmer = settings.find("stemmer")) {
    options.stemmer =
        find_name<payload::StemmerLanguage>(payload::kStemmerLanguages, stemmer->find("language"));
  }
  if (const Value* stopwords = settings.find("stopwords")) {
    options.stopwords = read_stopwords(*stopwords);
  }
  if (const Value* synonyms = settings.find("synonyms")) {
    options.synonyms = read_synonyms(*synonyms);
  }
}

}  // namespace quiver::engine
