// CRC-32C (Castagnoli; RFC 3720, appendix B.4): the checksum of RocksDB's logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quiver {

/// Continues the checksum `crc` with `bytes`: returns that of all bytes so far. `crc` is 0 for the
/// first bytes.
[[nodiscard]] std::uint32_t crc32c(std::uint32_t crc, std::span<const std::byte> bytes);
/// The same without the processor's instruction, a byte at a time.
[[nodiscard]] std::uint32_t crc32c_by_table(std::uint32_t crc, std::span<const std::byte> bytes);

}  // namespace quiver
