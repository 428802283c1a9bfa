// Points in time as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quiver::payload {

/// Returns microseconds since 1970-01-01 UTC; nullopt if `text` is no valid date. Accepts RFC 3339
/// and also: a date alone; a blank instead of `T`; no seconds; no offset (UTC); offsets `Z`,
/// `+01:00`, `+0100`, `+01`. Years are 0000 to 9999. Fraction digits beyond the sixth are dropped.
[[nodiscard]] std::optional<std::int64_t> parse_datetime(std::string_view text);

/// `2024-01-31T23:59:59Z`, with six fraction digits unless they are all zero. For messages.
[[nodiscard]] std::string format_datetime(std::int64_t microseconds);

}  // namespace quiver::payload
