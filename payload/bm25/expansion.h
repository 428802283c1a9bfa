// Words of the texts that resemble those of a query: for misspelt words, and for search while
// typing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "payload/bm25/bm25.h"
#include "payload/column/column.h"
#include "payload/text/resembling.h"

namespace quiver::payload {

struct Expansion {
  static constexpr std::uint32_t kMaxDistance = Resembling::kMaxDistance;
  static constexpr std::uint32_t kMaxWords = 1000;

  /// Words of up to so many differences, see `Resembling`; 0: the word itself.
  std::uint32_t max_distance = 0;
  /// Words that begin with the last token of the query.
  bool last_is_prefix = false;
  /// Most words in place of one token: those of the least distance, then the most frequent.
  std::uint32_t max_words = 50;

  [[nodiscard]] bool is_none() const { return max_distance == 0 && !last_is_prefix; }
  bool operator==(const Expansion&) const = default;
};

/// Adds to `tokens` what resembles them in `columns`. The share of an added word is that of its
/// token, times 1 - distance / code points of the token; that of a longer word with the prefix is
/// the token's. `last`: number of the
/// query's last token, or kNone. Reads all terms that begin with the first
/// code point of a token: a misspelt first letter is not found.
void expand(const Expansion& expansion, std::span<const ColumnView> columns, std::size_t last,
            QueryTokens& tokens);

}  // namespace quiver::payload
