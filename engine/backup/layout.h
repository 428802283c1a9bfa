// Where everything is in the archive of a snapshot: docs/formats/snapshot.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/backup/manifest.h"

namespace quiver::engine {

/// The first file of an archive: that it is a snapshot, and where its manifest is.
inline constexpr std::string_view kIntroFile = "quiver-snapshot.json";
/// The last file of an archive.
inline constexpr std::string_view kManifestFile = "manifest.json";

struct ArchiveIntro {
  std::uint64_t manifest_offset = 0;
  std::uint64_t manifest_bytes = 0;
};
/// kInvalidArgument if the text is of something else; kUnimplemented for another version.
[[nodiscard]] Result<ArchiveIntro> decode_intro(std::string_view text);

/// Immutable. The layout does not depend on checksums, so that it is known before they are.
class ArchiveLayout {
 public:
  /// A part of the archive: its bytes, or a file of the manifest.
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    std::string text;
    std::optional<std::size_t> file;  ///< number in the manifest
  };

  /// kInvalidArgument if a path does not fit an archive.
  [[nodiscard]] static Result<ArchiveLayout> of(const SnapshotManifest& manifest);

  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  /// In order, without gaps.
  [[nodiscard]] std::span<const Piece> pieces() const { return pieces_; }
  /// The piece that holds `offset`, which is below the size.
  [[nodiscard]] const Piece& piece_at(std::uint64_t offset) const;

 private:
  void add(std::string text);
  void add_file(std::size_t number, std::uint64_t size_bytes);
  Result<> add_text_file(std::string_view name, const std::string& text);

  std::vector<Piece> pieces_;
  std::uint64_t size_bytes_ = 0;
};

}  // namespace quiver::engine
