// The record of which sealed segments make up a shard, in the shard store under `meta`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bitset.h"
#include "base/ids.h"
#include "base/result.h"

namespace quiver::engine {

inline constexpr std::string_view kManifestKey = "manifest";
/// 16 hexadecimal digits: `FileOrigin::owner` of the shard's files.
inline constexpr std::string_view kOwnerKey = "owner";

struct Manifest {
  std::uint64_t next_segment = 1;
  /// Every operation up to here is in the segments below and in their stored deletes.
  Seq covered{};
  std::vector<std::uint64_t> segments;
  /// The last number given to a change: numbers of bulk loads are in no log. 0 in manifests that
  /// are older than bulk loads.
  Seq last{};
  /// Segments whose files were damaged. They are never opened again, since their deletes are not
  /// kept any more. Their rows are read from the store.
  std::vector<std::uint64_t> damaged;

  bool operator==(const Manifest&) const = default;
};

[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
[[nodiscard]] Result<Manifest> decode_manifest(std::string_view text);

/// The key of a segment's deleted rows, and their bytes: u64 size, then 64-bit words.
[[nodiscard]] std::string deleted_key(std::uint64_t segment);
/// The segment of a key that `deleted_key` made; nullopt for other keys.
[[nodiscard]] std::optional<std::uint64_t> segment_of_deleted_key(std::string_view key);
[[nodiscard]] std::string encode_bitset(const Bitset& bits);
[[nodiscard]] Result<Bitset> decode_bitset(std::string_view bytes, std::size_t expected_size);

}  // namespace quiver::engine
