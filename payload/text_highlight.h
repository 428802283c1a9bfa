// How words of a query are marked in texts, and the marked fragments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quiver::payload {

/// What becomes of the characters of a text. The marks around words are never changed.
enum class HighlightEscape : std::uint8_t {
  kNone,
  kHtml  ///< `&`, `<`, `>`, `"` and `'` become character references
};

struct HighlightOptions {
  static constexpr std::uint32_t kMaxFragments = 100;
  static constexpr std::uint32_t kMinFragmentLength = 16;
  static constexpr std::uint32_t kMaxFragmentLength = 10'000;
  static constexpr std::size_t kMaxMarkBytes = 100;

  std::string pre = "<b>";  ///< before a match; at most kMaxMarkBytes, as `post`
  std::string post = "</b>";
  std::uint32_t n_fragments = 2;  ///< most fragments of a field; 0: whole texts with a match
  /// Most code points of a fragment; a longer match has a fragment that is as long as it.
  std::uint32_t fragment_length = 160;
  HighlightEscape escape = HighlightEscape::kNone;
};

/// A part of a text, in code points from its beginning.
struct HighlightRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const HighlightRange&) const = default;
};

struct HighlightFragment {
  std::size_t text_number = 0;          ///< of the text that it is part of
  std::size_t offset = 0;               ///< its beginning in that text, in code points
  std::string text;                     ///< with marks
  std::vector<HighlightRange> matches;  ///< in the text that it is part of; ascending, disjoint
};

}  // namespace quiver::payload
