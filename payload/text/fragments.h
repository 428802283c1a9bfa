// Which parts of texts are shown for the matches in them. Only payload/text/highlight.cc uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace quiver::payload {

/// A place in a text.
struct TextPosition {
  std::size_t byte = 0;
  std::size_t point = 0;  ///< code points before it
};

struct TextOccurrence {
  TextPosition begin;
  TextPosition end;
  std::size_t tokens_end = 0;  ///< end of its tokens in `MatchedText::tokens`
};

/// A text with its matches, ascending and disjoint, at least one.
struct MatchedText {
  std::size_t number = 0;
  std::string_view text;
  std::vector<TextOccurrence> matches;
  std::vector<std::uint32_t> tokens;  ///< numbers of tokens, match by match

  [[nodiscard]] std::span<const std::uint32_t> tokens_of(std::size_t match) const {
    const std::size_t begin = match == 0 ? 0 : matches[match - 1].tokens_end;
    return std::span(tokens).subspan(begin, matches[match].tokens_end - begin);
  }
};

/// A part of a text to be shown, and the matches within: from `first_match` up to `end_match`.
struct Fragment {
  std::size_t text = 0;  ///< index of the text
  std::size_t first_match = 0;
  std::size_t end_match = 0;
  TextPosition begin;
  TextPosition end;
};

struct FragmentLimits {
  std::size_t n_fragments = 0;  ///< at least 1
  std::size_t max_length = 0;   ///< code points
  std::size_t n_tokens = 0;     ///< all token numbers are smaller
};

/// As `highlight` chooses them, in the order of the texts.
[[nodiscard]] std::vector<Fragment> choose_fragments(std::span<const MatchedText> texts,
                                                     const FragmentLimits& limits);

}  // namespace quiver::payload
