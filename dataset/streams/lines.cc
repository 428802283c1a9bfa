#include "dataset/streams/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace quiver::dataset {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Result<LineReader> LineReader::open(const std::string& path, std::size_t max_line_bytes) {
  QV_TRY(auto source, open_bytes(path));
  LineReader reader(std::move(source), max_line_bytes);
  QV_TRY(reader.fill());
  if (reader.buffer_.starts_with(kByteOrderMark)) reader.begin_ = kByteOrderMark.size();
  return reader;
}

Result<> LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kChunkBytes);
  auto n_read = source_->read(std::as_writable_bytes(std::span(buffer_)).subspan(size));
  buffer_.resize(size + n_read.value_or(0));
  if (!n_read) {
    return fail(n_read.error().code(),
                fmt::format("{} (line {})", n_read.error().message(), line_ + 1));
  }
  at_end_ = *n_read < kChunkBytes;
  return {};
}

/// Returns the end in `buffer_` of the line that begins at `begin_`.
Result<std::size_t> LineReader::find_end() {
  auto end = buffer_.find('\n', begin_);
  while (end == std::string::npos && !at_end_) {
    const std::size_t n_seen = buffer_.size() - begin_;
    if (n_seen > max_line_bytes_) break;
    QV_TRY(fill());
    end = buffer_.find('\n', n_seen);
  }
  end = std::min(end, buffer_.size());
  if (end - begin_ <= max_line_bytes_) return end;
  return fail(source_->error(Code::kInvalidArgument, std::nullopt, byte(),
                             fmt::format("line {} is longer than {} bytes, wanted JSON lines",
                                         line_ + 1, max_line_bytes_)));
}

double LineReader::guessed_line_bytes() const {
  const std::string_view ahead = std::string_view(buffer_).substr(begin_);
  const auto n_ends = std::count(ahead.begin(), ahead.end(), '\n');
  return static_cast<double>(ahead.size()) /
         static_cast<double>(std::max<std::ptrdiff_t>(n_ends, 1));
}

Result<std::optional<std::string_view>> LineReader::next() {
  QV_TRY(const std::size_t end, find_end());
  if (begin_ == buffer_.size()) return std::optional<std::string_view>();
  std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = std::min(end + 1, buffer_.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_;
  return std::optional(line);
}

Result<> LineReader::skip_to(std::uint64_t line) {
  while (line_ < line) {
    QV_TRY(const auto skipped, next());
    if (skipped) continue;
    return fail(Code::kOutOfRange,
                fmt::format("{}: found {} lines, wanted line {}", path(), line_, line));
  }
  return {};
}

}  // namespace quiver::dataset
