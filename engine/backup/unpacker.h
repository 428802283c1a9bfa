// Takes the archive of a snapshot piece by piece and puts its files into a folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/io/file.h"
#include "base/result.h"
#include "engine/backup/manifest.h"
#include "engine/backup/sha256.h"
#include "engine/backup/tar.h"

namespace quiver::engine {

/// One thread. Writes only below `target`, which must be empty. After an error it takes no more.
class Unpacker {
 public:
  explicit Unpacker(std::string target) : target_(std::move(target)) {}

  /// kInvalidArgument names what is wrong with the archive.
  Result<> write(std::string_view bytes);
  /// Compares all files with the manifest and, unless it is empty, the archive with `sha256`.
  /// Durable on return.
  Result<SnapshotManifest> finish(std::string_view sha256);

 private:
  enum class State : std::uint8_t { kHeader, kContent, kPadding, kEnd };
  struct Unpacked {
    std::uint64_t size_bytes = 0;
    std::uint64_t checksum = 0;
  };

  Result<std::size_t> step(std::string_view bytes);
  Result<> begin_entry();
  Result<> begin_file(const TarEntry& entry);
  Result<> take_content(std::string_view bytes);
  Result<> end_entry();
  Result<> check_files() const;

  const std::string target_;
  State state_ = State::kHeader;
  std::string header_;
  TarEntry entry_;
  std::uint64_t left_ = 0;  ///< bytes left of the content or the padding
  bool has_intro_ = false;
  std::string text_;  ///< of the intro or the manifest
  std::unique_ptr<WritableFile> file_;
  Checksum file_sum_;
  std::map<std::string, Unpacked> files_;
  std::optional<SnapshotManifest> manifest_;
  Sha256 sha256_;
};

}  // namespace quiver::engine
