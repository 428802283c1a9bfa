// Reads ids from a file: a list of integers (.npy) or JSON lines with one id each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dataset/formats/array_stream.h"
#include "dataset/streams/lines.h"

namespace quiver::app {

/// True for a .npy path, compressed or not.
[[nodiscard]] bool is_npy(const std::string& path);

/// Use from one thread.
class IdReader {
 public:
  /// A .npy file must hold integers of shape `[n]`; any other file is read as JSON lines.
  [[nodiscard]] static Result<IdReader> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Replaces `out` with the next `n` ids, fewer only at the end. An invalid id is an error
  /// element.
  Result<> read(std::size_t n, std::vector<Result<PointId>>& out);
  Result<> skip_to(std::uint64_t row);

 private:
  explicit IdReader(std::string path) : path_(std::move(path)) {}
  Result<> read_lines(std::size_t n, std::vector<Result<PointId>>& out);
  Result<> read_numbers(std::size_t n, std::vector<Result<PointId>>& out);

  std::string path_;
  std::unique_ptr<dataset::ArrayStream> numbers_;
  std::unique_ptr<dataset::LineReader> lines_;
  std::vector<std::int64_t> scratch_;
};

}  // namespace quiver::app
