// The bytes of a file, front to back, decompressed if its name ends in `.zst` or `.gz`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quiver::dataset {

/// One thread. Offsets count decompressed bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// Size in bytes; nullopt if it is known only at the end.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const = 0;

  /// Fills `out`; returns less than its size only at the end of the file. Fails with kDataLoss for
  /// damaged compressed data, with kInternal for errors of the file system.
  virtual Result<std::size_t> read(std::span<std::byte> out) = 0;
  /// Continues at `position`, which is not before `position()`, or at the end if that comes first.
  /// The default reads all bytes up to there.
  virtual Result<> seek(std::uint64_t position);

  /// Makes an error "FILE: row 3, byte 128: TEXT". An unknown row is left out.
  [[nodiscard]] Error error(Code code, std::optional<std::uint64_t> row, std::uint64_t byte,
                            std::string_view text) const;

 protected:
  explicit ByteSource(std::string path) : path_(std::move(path)) {}

  std::uint64_t position_ = 0;

 private:
  std::string path_;
};

/// Returns `path` if it exists. Otherwise returns the existing file with the same name and another
/// compression: `.zst`, `.gz` or none. nullopt if there is none.
[[nodiscard]] std::optional<std::string> existing_path(const std::string& path);

/// Opens the `existing_path` of `name`. Fails with kNotFound if there is none, with
/// kInvalidArgument if it is not a regular file.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& name);

/// Returns the path without a final ".zst" or ".gz".
[[nodiscard]] std::string_view unpacked_name(std::string_view path);

/// Sources that decompress `compressed`. For `open_bytes`.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> unzstd(std::unique_ptr<ByteSource> compressed);
[[nodiscard]] Result<std::unique_ptr<ByteSource>> gunzipped(std::unique_ptr<ByteSource> compressed);

}  // namespace quiver::dataset
