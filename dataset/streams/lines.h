// Lines of a text file, one JSON object each: points, or payloads (line i is row i's). Only lines
// here: what is in them, the caller's decoder knows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dataset/streams/byte_source.h"

namespace quiver::dataset {

/// Longer ones are an error, so that a file without lines does not end up in memory.
inline constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;

/// Reads forwards; decompresses if the name ends in `.zst` or `.gz`. One thread.
class LineReader {
 public:
  /// kNotFound if there is no such file.
  [[nodiscard]] static Result<LineReader> open(const std::string& path,
                                               std::size_t max_line_bytes = kMaxLineBytes);

  [[nodiscard]] const std::string& path() const { return source_->path(); }
  /// How many lines were given, which is also the number, from 1, of the last.
  [[nodiscard]] std::uint64_t line() const { return line_; }
  /// Where the next line begins (in decompressed bytes).
  [[nodiscard]] std::uint64_t byte() const {
    return source_->position() - (buffer_.size() - begin_);
  }

  /// About the bytes of a line, as those that were read ahead have them; 0 where none were.
  [[nodiscard]] double guessed_line_bytes() const;

  /// The next line without its "\n" or "\r\n", valid until the next call; nullopt at the end. Empty
  /// lines count. A byte order mark at the beginning is left out. kDataLoss, kInvalidArgument for
  /// damaged or overlong lines; the text names the file, the line and the byte.
  Result<std::optional<std::string_view>> next();
  /// Passes over lines until `line()` is `line`; kOutOfRange if there are fewer.
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
