// Lines of a text file, decompressed if its name ends in `.zst`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "dataset/byte_source.h"

namespace quiver::app {

/// One thread.
class LineReader {
 public:
  [[nodiscard]] static Result<LineReader> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return source_->path(); }
  /// How many lines were given; the number, from 1, of the last.
  [[nodiscard]] std::uint64_t line() const { return line_; }
  /// The next line without its end, until the next call; nullopt at the end of the file.
  Result<std::optional<std::string_view>> next();
  /// Passes over lines until `line()` is `line`, or the end.
  Result<> skip_to(std::uint64_t line);

 private:
  explicit LineReader(std::unique_ptr<dataset::ByteSource> source) : source_(std::move(source)) {}
  Result<> fill();

  std::unique_ptr<dataset::ByteSource> source_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool at_end_ = false;
  std::uint64_t line_ = 0;
};

}  // namespace quiver::app
