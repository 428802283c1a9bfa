// Splitting text into the tokens that text indexes and their queries compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "payload/schema.h"

namespace quiver::payload {

/// The tokens of `text` in order, repetitions included. `kWord` splits at every code point that is
/// neither a letter, a number nor a combining mark; `kWhitespace` at white space; `kPrefix` and
/// `kMultilingual` act as `kWord`. Lower-cased code point by code point if the options say so.
/// Tokens shorter or longer than the bounds are left out. Bytes that are not UTF-8 separate.
[[nodiscard]] std::vector<std::string> tokenize(std::string_view text, const TextOptions& options);

}  // namespace quiver::payload
