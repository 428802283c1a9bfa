// Lists of stop words: words so frequent that they say nothing of a text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "base/hash.h"
#include "payload/text_options.h"

namespace quiver::payload {

/// The words of a language in lower case, separated by spaces. The list of English is that of NLTK.
[[nodiscard]] std::string_view stopword_list(StopwordLanguage language);

/// The stop words of a text index, prepared as its tokens are. Any thread may ask.
class StopwordSet {
 public:
  explicit StopwordSet(const TextOptions& options);

  [[nodiscard]] bool empty() const { return words_.empty(); }
  /// `word` in the case and folding of the options.
  [[nodiscard]] bool contains(std::string_view word) const { return words_.contains(word); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return hash_text(word); }
  };
  void add(std::string_view word, const TextOptions& options);

  std::unordered_set<std::string, Hash, std::equal_to<>> words_;
};

}  // namespace quiver::payload
