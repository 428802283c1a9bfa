// Changes of bytes that the input of a target names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/io/file.h"

namespace quiver::fuzz {

/// One change of a value. Eight bytes of the input.
struct Change {
  std::uint8_t file, n_bytes;
  std::uint16_t value;
  std::uint32_t place;  ///< modulo the size

  void make(std::span<std::byte> bytes) const {
    const std::uint64_t wide = value % 7 == 0 ? ~std::uint64_t{value} : value;
    const std::size_t n = std::array<std::size_t, 4>{1, 2, 4, 8}[n_bytes % 4];
    if (bytes.size() >= n) std::memcpy(bytes.data() + place % (bytes.size() - n + 1), &wide, n);
  }
  /// In a file in memory that is mapped, as bits of a running server's files may change.
  void make_mapped(const Directory& directory, const std::string& name) const {
    const auto mapped = (*directory.open_file(name))->map();
    const auto bytes = (*mapped)->bytes();
    make({const_cast<std::byte*>(bytes.data()), bytes.size()});
  }
};
static_assert(sizeof(Change) == 8);

/// The changes in the rest of an input.
inline std::vector<Change> changes_of(const std::uint8_t* data, std::size_t size) {
  std::vector<Change> changes(size / sizeof(Change));
  std::memcpy(changes.data(), data, changes.size() * sizeof(Change));
  return changes;
}

inline void require(bool is_true, const std::string& what) {
  if (is_true) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace quiver::fuzz
