// Marks the words of a query in texts, and cuts fragments around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "payload/text/analyzer.h"
#include "payload/text_highlight.h"

namespace quiver::payload {

/// The first so many occurrences of tokens in the texts of a field count. Bounds the memory, and
/// the time of choosing fragments: each one is a pass over the occurrences.
inline constexpr std::size_t kMaxHighlightOccurrences = 65'536;

/// The tokens of a query, numbered.
class HighlightTokens {
 public:
  /// Adds the tokens of one text of the query.
  void add(std::string_view text, Analyzer& analyzer);
  [[nodiscard]] bool empty() const { return numbers_.empty(); }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view token) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view token) const { return hash_text(token); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
};

/// The parts of `texts` that show best where `tokens` occur, in the order of the texts.
///
/// A match is a part of a text that gives one of `tokens`; matches that overlap are one, but no
/// longer than a fragment. Fragments do not overlap, and end between words. The best is the one
/// with most distinct tokens, then with most matches, then the first; each next one is the best of
/// the rest. Context is added on both sides. Time is linear in the bytes of the texts.
[[nodiscard]] std::vector<HighlightFragment> highlight(std::span<const std::string_view> texts,
                                                       const HighlightTokens& tokens,
                                                       const HighlightOptions& options,
                                                       Analyzer& analyzer);

}  // namespace quiver::payload
