// Words that count as another word.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/hash.h"
#include "payload/text/stemmer.h"
#include "payload/text_options.h"

namespace quiver::payload {

/// The synonyms of a text index, prepared as its tokens are: case, folding, stems. Any thread may
/// ask.
class SynonymMap {
 public:
  /// `stemmer`: nullptr if words stay. Groups with a common word are one.
  SynonymMap(const TextOptions& options, Stemmer* stemmer);

  [[nodiscard]] bool empty() const { return first_words_.empty(); }
  /// The first word of the group of `token`; `token` itself if it is in none.
  [[nodiscard]] std::string_view first_of(std::string_view token) const {
    const auto found = first_words_.find(token);
    return found == first_words_.end() ? token : std::string_view(found->second);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return hash_text(word); }
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> first_words_;
};

}  // namespace quiver::payload
