// Text that may come from anywhere: is it UTF-8?
#pragma once

#include <string>
#include <string_view>

namespace quiver {

/// False also for overlong forms, surrogates and code points beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);
/// The text with U+FFFD in place of each byte that belongs to no character.
[[nodiscard]] std::string to_utf8(std::string_view text);

}  // namespace quiver
