// Splits text into tokens for text indexes and their queries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "payload/schema.h"

namespace quiver::payload {

/// The tokens of `text` in order, including repetitions. `kWord` splits at every code point that is
/// neither a letter, a number nor a combining mark; `kWhitespace` splits at white space; `kPrefix`
/// and `kMultilingual` act as `kWord`. The options may ask for lower case (code point by code
/// point) and bound the token length. Bytes that are not UTF-8 separate tokens.
[[nodiscard]] std::vector<std::string> tokenize(std::string_view text, const TextOptions& options);

}  // namespace quiver::payload
