// Fixed parts of a file of sections: docs/formats/segment.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/io/file.h"

namespace quiver::section_layout {

inline constexpr std::size_t kAlignment = 64;
inline constexpr std::uint32_t kWithoutOrigin = 1;
inline constexpr std::uint32_t kWithOrigin = 2;

/// The first bytes of a header of `kAlignment` bytes; the rest is zeros. Version 1 has zeros for
/// the origin.
struct Head {
  std::array<char, 8> magic{};
  std::uint32_t version = kWithoutOrigin;
  std::uint32_t reserved = 0;
  FileOrigin origin;
};
static_assert(sizeof(Head) == 32);

/// The last bytes of the file.
struct Trailer {
  std::uint64_t table_offset = 0;
  std::uint32_t n_sections = 0;
  std::uint32_t n_rows = 0;
  std::uint64_t table_checksum = 0;
  std::array<char, 8> magic{};
};
static_assert(sizeof(Trailer) == 32);

}  // namespace quiver::section_layout
