#include "app/import/line_reader.h"

#include <span>

namespace quiver::app {
namespace {

constexpr std::size_t kChunk = 256 << 10;

}  // namespace

Result<LineReader> LineReader::open(const std::string& path) {
  QV_TRY(auto source, dataset::open_bytes(path));
  return LineReader(std::move(source));
}

Result<> LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kChunk);
  QV_TRY(const std::size_t n,
         source_->read(std::as_writable_bytes(std::span(buffer_)).subspan(size)));
  buffer_.resize(size + n);
  at_end_ = n < kChunk;
  return {};
}

Result<std::optional<std::string_view>> LineReader::next() {
  auto end = buffer_.find('\n', begin_);
  while (end == std::string::npos && !at_end_) {
    const std::size_t seen = buffer_.size() - begin_;
    QV_TRY(fill());
    end = buffer_.find('\n', seen);
  }
  if (end == std::string::npos && begin_ == buffer_.size())
    return std::optional<std::string_view>();
  std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
  begin_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_;
  return std::optional(line);
}

Result<> LineReader::skip_to(std::uint64_t line) {
  while (line_ < line) {
    QV_TRY(const auto skipped, next());
    if (!skipped) break;
  }
  return {};
}

}  // namespace quiver::app
