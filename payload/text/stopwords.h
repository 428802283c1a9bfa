// Lists of stop words: words so frequent that they say nothing of a text.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "payload/text_options.h"

namespace quiver::payload {

/// The words of a language in lower case, separated by spaces. The list of English is that of NLTK.
[[nodiscard]] std::string_view stopword_list(StopwordLanguage language);

/// The stop words of a text index, prepared as its tokens are. Any thread may ask. Cheap to make:
/// the lists of languages are prepared once in a process.
class StopwordSet {
 public:
  explicit StopwordSet(const TextOptions& options);

  [[nodiscard]] bool empty() const { return lists_.empty() && custom_.empty(); }
  /// `word` in the case and folding of the options.
  [[nodiscard]] bool contains(std::string_view word) const {
    return custom_.contains(word) ||
           std::ranges::any_of(lists_, [&](const Words* list) { return list->contains(word); });
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return hash_text(word); }
  };
  using Words = std::unordered_set<std::string, Hash, std::equal_to<>>;

  /// The list of a language, folded to ASCII or not; its words are in lower case in any case.
  static const Words& list_of(StopwordLanguage language, bool is_folded);

  std::vector<const Words*> lists_;
  Words custom_;
};

}  // namespace quiver::payload
