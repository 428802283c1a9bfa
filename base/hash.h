// Checksums of bytes on disk and hashes for tables: 64-bit XXH3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace quiver {

/// The value is the same on every machine and in every version, so it may be stored.
[[nodiscard]] std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed = 0);
[[nodiscard]] std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0);

/// The checksum of a file: `hash_bytes` with seed 0.
[[nodiscard]] inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  return hash_bytes(bytes);
}

/// `checksum` of bytes that arrive in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(Checksum&&) noexcept;
  Checksum& operator=(Checksum&&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// Digest of all bytes so far; more may follow.
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quiver
