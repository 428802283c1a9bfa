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
  /// nullopt where only reading to the end tells.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const = 0;

  /// Fills `out`; returns less than its size only at the end of the file. kDataLoss for damaged
  /// compressed data, kInternal for what the file system says.
  virtual Result<std::size_t> read(std::span<std::byte> out) = 0;
  /// Goes on at `position`, which is not before `position()`, or at the end if that comes first.
  /// Reads up to there unless a kind of source knows better.
  virtual Result<> seek(std::uint64_t position);

  /// "FILE: row 3, byte 128: TEXT". The row is left out where it is unknown.
  [[nodiscard]] Error error(Code code, std::optional<std::uint64_t> row, std::uint64_t byte,
                            std::string_view text) const;

 protected:
  explicit ByteSource(std::string path) : path_(std::move(path)) {}

  std::uint64_t position_ = 0;

 private:
  std::string path_;
};

/// `path`, or if nothing is there, the name of the same file with or without a final ".zst" or
/// ".gz"; nullopt if none of them is there.
[[nodiscard]] std::optional<std::string> existing_path(const std::string& path);

/// Opens the `existing_path`. kNotFound if there is none, kInvalidArgument if it is no regular
/// file.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& name);

/// The path without a final ".zst" or ".gz".
[[nodiscard]] std::string_view unpacked_name(std::string_view path);

/// Decompress what `compressed` gives. For `open_bytes`.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> unzstd(std::unique_ptr<ByteSource> compressed);
[[nodiscard]] Result<std::unique_ptr<ByteSource>> gunzipped(std::unique_ptr<ByteSource> compressed);

}  // namespace quiver::dataset
