// Keys of the tables `points` and `ops`: bytes whose order is the order of the ids.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/ids.h"

namespace quiver::storage {

static_assert(std::endian::native == std::endian::little);

inline void store_big_endian(char* to, std::uint64_t value) {
  const std::uint64_t swapped = __builtin_bswap64(value);
  std::memcpy(to, &swapped, sizeof(swapped));
}

/// Equal to `PointId::to_key`, without an allocation.
class PointKey {
 public:
  explicit PointKey(const PointId& id) {
    bytes_[0] = static_cast<char>(id.kind());
    store_big_endian(bytes_.data() + 1, id.high());
    store_big_endian(bytes_.data() + 9, id.low());
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), bytes_.size()}; }

 private:
  std::array<char, PointId::kKeyBytes> bytes_;
};

class OpKey {
 public:
  explicit OpKey(Seq seq) { store_big_endian(bytes_.data(), to_number(seq)); }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), bytes_.size()}; }
  [[nodiscard]] static std::optional<Seq> parse(std::string_view key) {
    std::uint64_t swapped = 0;
    if (key.size() != sizeof(swapped)) return std::nullopt;
    std::memcpy(&swapped, key.data(), sizeof(swapped));
    return Seq{__builtin_bswap64(swapped)};
  }

 private:
  std::array<char, sizeof(std::uint64_t)> bytes_;
};

}  // namespace quiver::storage
