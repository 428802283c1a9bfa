#include "service/http/multipart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace quiver::service {
namespace {

constexpr std::size_t kMaxHeaderBytes = 16 << 10;

tl::unexpected<Error> malformed(std::string_view what) {
  return fail(Code::kInvalidArgument, fmt::format("malformed multipart body: {}", what));
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

/// The value of `name=value` or `name="value"` in a header; nullopt if it is not there.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
  const std::string small = lower(header);
  for (std::size_t at = small.find(';'); at != std::string::npos; at = small.find(';', at + 1)) {
    const std::size_t begin = std::min(small.find_first_not_of(" \t", at + 1), small.size());
    if (!std::string_view(small).substr(begin).starts_with(fmt::format("{}=", name))) continue;
    std::string_view value = header.substr(begin + name.size() + 1);
    if (value.starts_with('"')) {
      value.remove_prefix(1);
      return std::string(value.substr(0, value.find('"')));
    }
    return std::string(value.substr(0, value.find_first_of("; \t")));
  }
  return std::nullopt;
}

/// The name of the part that has these headers.
std::string field_name(std::string_view headers) {
  while (!headers.empty()) {
    const auto line = headers.substr(0, headers.find("\r\n"));
    if (lower(line.substr(0, line.find(':'))) == "content-disposition") {
      return parameter(line, "name").value_or("");
    }
    headers.remove_prefix(std::min(line.size() + 2, headers.size()));
  }
  return {};
}

}  // namespace

std::optional<std::string> multipart_boundary(std::string_view content_type) {
  if (!lower(content_type).starts_with("multipart/form-data")) return std::nullopt;
  auto boundary = parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 70) return std::nullopt;
  return boundary;
}

Result<> MultipartReader::write(std::string_view bytes) {
  buffer_.append(bytes);
  while (true) {
    QV_TRY(const bool goes_on, step());
    if (!goes_on) return {};
  }
}

Result<bool> MultipartReader::step() {
  switch (state_) {
    case State::kBefore:
    case State::kContent:
      return find_delimiter();
    case State::kAfterDelimiter:
      return after_delimiter();
    case State::kHeaders:
      return read_headers();
    case State::kEnd:
      break;
  }
  buffer_.clear();  // what follows the end has no meaning
  return false;
}

/// Everything before the delimiter is content, or has no meaning.
Result<bool> MultipartReader::find_delimiter() {
  const std::size_t at = buffer_.find(delimiter_);
  const bool is_here = at != std::string::npos;
  const std::size_t kept = std::min(buffer_.size(), delimiter_.size() - 1);
  const std::size_t n = is_here ? at : buffer_.size() - kept;
  QV_TRY(pass_on(std::string_view(buffer_).substr(0, n)));
  buffer_.erase(0, is_here ? n + delimiter_.size() : n);
  if (is_here) state_ = State::kAfterDelimiter;
  return is_here;
}

Result<> MultipartReader::pass_on(std::string_view content) {
  if (state_ != State::kContent || !is_wanted_ || content.empty()) return {};
  return take_(content);
}

Result<bool> MultipartReader::after_delimiter() {
  if (buffer_.size() < 2) return false;
  if (buffer_.starts_with("--")) {
    state_ = State::kEnd;
    return true;
  }
  const std::size_t end = buffer_.find("\r\n");
  if (end == std::string::npos) {
    if (buffer_.size() > kMaxHeaderBytes) return malformed("no line ends after a boundary");
    return false;
  }
  if (buffer_.find_first_not_of(" \t") < end) return malformed("something follows a boundary");
  buffer_.erase(0, end);  // the line's end begins the headers, of which there may be none
  state_ = State::kHeaders;
  return true;
}

Result<bool> MultipartReader::read_headers() {
  const std::size_t end = buffer_.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (buffer_.size() > kMaxHeaderBytes) return malformed("the headers of a part are too long");
    return false;
  }
  const std::string name = field_name(std::string_view(buffer_).substr(2, end));
  is_wanted_ = !is_found_ && name == field_;
  is_found_ = is_found_ || is_wanted_;
  buffer_.erase(0, end + 4);
  state_ = State::kContent;
  return true;
}

Result<> MultipartReader::finish() const {
  if (state_ != State::kEnd) return malformed("it ends too early");
  if (!is_found_) return malformed(fmt::format("it has no field `{}`", field_));
  return {};
}

}  // namespace quiver::service
