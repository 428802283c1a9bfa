// What a power cut leaves of changes that were not synced.
#pragma once

#include <cstdint>

namespace quiver {

enum class Loss : std::uint8_t {
  kAllUnsynced,   ///< no byte and no name
  kSomeUnsynced,  ///< some: bytes up to a random place, and some of the names
  kNamesOnly,     ///< all names and no byte: a new file that was never synced is empty
};

inline constexpr std::uint64_t kNumLosses = 3;

}  // namespace quiver
