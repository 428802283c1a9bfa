// Headers of tar archives (ustar), as far as snapshots need them: plain files with relative names.
//
// Written by hand because an archive must be the same bytes each time and readable at any offset:
// its checksum is known before it is sent, and a download may begin anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quiver::engine {

inline constexpr std::size_t kTarBlockBytes = 512;
/// Zero bytes that end an archive.
inline constexpr std::size_t kTarEndBytes = 2 * kTarBlockBytes;

struct TarEntry {
  std::string path;
  std::uint64_t size_bytes = 0;
};

/// kInvalidArgument unless `path` is relative, without empty parts, ".", ".." and control
/// characters.
[[nodiscard]] Result<> check_archive_path(std::string_view path);

/// The block before a file's bytes. kInvalidArgument for a path that does not fit. Owner, time and
/// rights are always the same.
[[nodiscard]] Result<std::string> tar_header(const TarEntry& entry);
/// Zero bytes between the end of a file and the next header.
[[nodiscard]] std::uint64_t tar_padding(std::uint64_t size_bytes);
/// nullopt for a block of zeros, which ends the archive. kInvalidArgument for a damaged header, for
/// links, directories and other kinds, and for names that could leave the folder.
[[nodiscard]] Result<std::optional<TarEntry>> parse_tar_header(std::string_view block);

}  // namespace quiver::engine
