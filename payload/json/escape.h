// JSON strings: quoting and escaping.
#pragma once

#include <string>
#include <string_view>

namespace quiver::payload {

/// Appends `text` as a JSON string, with quotes. Escapes quotes, backslashes and control characters
/// (`\n` where JSON has a short form, else `\u001f` in lower case); other bytes stay as they are.
void append_string(std::string& out, std::string_view text);

}  // namespace quiver::payload
