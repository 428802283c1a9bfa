// Points in time as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quiver::payload {

/// Microseconds since 1970-01-01 UTC. RFC 3339, and laxer: a date alone; a blank instead of `T`; no
/// seconds; no offset (UTC); offsets `Z`, `+01:00`, `+0100`, `+01`. Years 0000 to 9999. Digits of a
/// fraction beyond the sixth are dropped. nullopt if `text` is none of these or no real date.
[[nodiscard]] std::optional<std::int64_t> parse_datetime(std::string_view text);

/// `2024-01-31T23:59:59Z`, with a fraction of six digits if it is not zero. For messages.
[[nodiscard]] std::string format_datetime(std::int64_t microseconds);

}  // namespace quiver::payload
