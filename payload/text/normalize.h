// Lower case and ASCII folding of words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "payload/text_options.h"

namespace quiver::payload {

/// Replaces `out` by `word`, which is valid UTF-8, in lower case and folded to ASCII as far as the
/// options ask for it. Lower case is that of single code points: Σ becomes σ, ß stays. Folding
/// replaces a code point if its compatibility decomposition without combining marks is ASCII, or is
/// one of a few letters that do not decompose (ß: ss, ø: o). It drops combining marks behind ASCII.
/// Letters of other scripts stay as they are, with their marks.
void normalize(std::string_view word, const TextOptions& options, std::string& out);

/// Bytes of the beginning of `word` that gives the first `n` code points of its normal form. What
/// folding drops behind them belongs to it.
[[nodiscard]] std::size_t bytes_of_normal_prefix(std::string_view word, const TextOptions& options,
                                                 std::size_t n);

}  // namespace quiver::payload
