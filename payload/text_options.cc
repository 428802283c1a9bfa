#include "payload/text_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace quiver::payload {
namespace {

/// True if the first release of text indexes made the same tokens of these options.
bool is_first_release(const TextOptions& options) {
  const bool is_old_tokenizer =
      options.tokenizer == Tokenizer::kWord || options.tokenizer == Tokenizer::kWhitespace;
  return is_old_tokenizer && !options.ascii_folding && !options.stemmer &&
         options.stopwords.empty() && options.synonyms.empty();
}

template <class T>
void sort_distinct(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace

void Stopwords::normalize() {
  sort_distinct(languages);
  sort_distinct(custom);
}

std::string analysis_identity(const TextOptions& options) {
  if (is_first_release(options)) return {};
  std::string text = fmt::format("analysis 1 folding {}", options.ascii_folding);
  if (options.stemmer) {
    text +=
        fmt::format(" stemmer {}", kStemmerLanguages[static_cast<std::size_t>(*options.stemmer)]);
  }
  for (const auto language : options.stopwords.languages) {
    text += fmt::format(" stop {}", kStopwordLanguages[static_cast<std::size_t>(language)]);
  }
  for (const auto& word : options.stopwords.custom) {
    text += fmt::format(" word {}:{}", word.size(), word);
  }
  for (const auto& group : options.synonyms) {
    text += fmt::format(" synonyms {}", group.size());
    for (const auto& word : group) text += fmt::format(" {}:{}", word.size(), word);
  }
  return text;
}

}  // namespace quiver::payload
