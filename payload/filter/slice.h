// Parts of the id space.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "payload/filter.h"

namespace quiver::payload {

/// SipHash-2-4 with a zero key (Aumasson, Bernstein 2012) of a number's 8 bytes, little-endian, or
/// of a UUID's 16 bytes as RFC 4122 orders them. Clients compute it too, so it never changes.
[[nodiscard]] std::uint64_t slice_hash(const PointId& id);

[[nodiscard]] bool is_in_slice(const Slice& slice, const PointId& id);

}  // namespace quiver::payload
