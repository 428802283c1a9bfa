// New files, written front to back. A file gets its name when it is complete. Until then it is
// called `NAME.partial`, and it is removed if it is never finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace quiver::dataset {

/// What to do if a file of that name exists.
enum class IfExists : std::uint8_t { kFail, kReplace };

/// One thread.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  /// kResourceExhausted if the disk is full.
  virtual Result<> append(std::span<const std::byte> bytes) = 0;
  /// Syncs the bytes to disk and gives the file its name. Must be the last call.
  virtual Result<> finish() = 0;

 protected:
  ByteSink() = default;
};

/// An uncompressed file.
class FileSink final : public ByteSink {
 public:
  /// Fails with kAlreadyExists, or with kNotFound if the directory is missing.
  [[nodiscard]] static Result<std::unique_ptr<FileSink>> create(const std::string& path,
                                                                IfExists if_exists);
  ~FileSink() override;

  Result<> append(std::span<const std::byte> bytes) override;
  Result<> finish() override;

  /// Overwrites the first bytes, which must have been appended before.
  Result<> overwrite_header(std::span<const std::byte> bytes);
  /// Appends everything to `other`.
  Result<> copy_to(ByteSink& other);

 private:
  FileSink(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  [[nodiscard]] std::string partial() const { return path_ + ".partial"; }
  Result<> flush();

  std::string path_;
  int descriptor_;
  std::vector<std::byte> buffer_;
  std::uint64_t n_written_ = 0;
};

/// A file whose bytes are compressed if its name ends in `.zst`.
[[nodiscard]] Result<std::unique_ptr<ByteSink>> create_bytes(const std::string& path,
                                                             IfExists if_exists);

/// Returns a sink that compresses into `file`. For `create_bytes`.
[[nodiscard]] Result<std::unique_ptr<ByteSink>> compressing(std::unique_ptr<ByteSink> file);

}  // namespace quiver::dataset
