// Lines of a text file, each a JSON object: a point, or the payload of row i in line i. The caller
// decodes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {

/// Longer lines are an error, so that a file without line ends is not read into memory.
inline constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;

/// Reads forwards. Decompresses if the name ends in `.zst` or `.gz`. One thread.
class LineReader {
 public:
  /// kNotFound if there is no such file.
  [[nodiscard]] static Result<LineReader> open(const std::string& path,
                                               std::size_t max_line_bytes = kMaxLineBytes);

  [[nodiscard]] const std::string& path() const { return source_->path(); }
  /// Lines returned so far: the number of the last one, counted from 1.
  [[nodiscard]] std::uint64_t line() const { return line_; }
  /// Offset of the next line in decompressed bytes.
  [[nodiscard]] std::uint64_t byte() const {
    return source_->position() - (buffer_.size() - begin_);
  }

  /// Estimated bytes of a line: the mean of those read ahead, or 0 if none were.
  [[nodiscard]] double guessed_line_bytes() const;

  /// Returns the next line without its "\n" or "\r\n", valid until the next call; nullopt at the
  /// end. Empty lines count. A byte order mark at the beginning is left out. Fails (kDataLoss,
  /// kInvalidArgument) for damaged data and overlong lines; the text names file, line and byte.
  Result<std::optional<std::string_view>> next();
  /// Skips lines until `line()` is `line`. Fails with kOutOfRange if there are fewer.
  Result<> skip_to(std::uint64_t line);

 private:
  LineReader(std::unique_ptr<ByteSource> source, std::size_t max_line_bytes)
      : source_(std::move(source)), max_line_bytes_(max_line_bytes) {}
  Result<> fill();
  Result<std::size_t> find_end();

  std::unique_ptr<ByteSource> source_;
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool at_end_ = false;
  std::uint64_t line_ = 0;
};

}  // namespace quiver::dataset
