// Lower case and ASCII folding of words.
#pragma once

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

}  // namespace quiver::payload
