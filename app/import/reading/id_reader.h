// Ids from a file of their own: a list of integers (.npy), or JSON lines, an id each.
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

/// Of a path, which may be compressed.
[[nodiscard]] bool is_npy(const std::string& path);

/// One thread.
class IdReader {
 public:
  /// `.npy` is [n] of an integer type; anything else is taken for JSON lines.
  [[nodiscard]] static Result<IdReader> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Replaces `out` by the next `n` ids, fewer only at the end; one that is none is an error.
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
