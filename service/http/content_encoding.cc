#include "service/http/content_encoding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "service/http/front.h"

namespace quiver::service {
namespace {

/// zlib's window sizes: with either a gzip or a zlib header, and with a gzip header.
constexpr int kAnyHeader = 15 + 32;
constexpr int kGzipHeader = 15 + 16;
/// Bytes inflated at once, on the stack.
constexpr std::size_t kPieceBytes = 16 * 1024;
/// The JSON parser reads so far beyond the end.
constexpr std::size_t kReadAheadBytes = 64;

class Inflater {
 public:
  /// `in` outlives this.
  explicit Inflater(std::string_view in) : ok_(inflateInit2(&stream_, kAnyHeader) == Z_OK) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.avail_out = kPieceBytes;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Inflates the next piece. Z_OK: there may be more, Z_STREAM_END: that was all.
  int next() {
    if (!ok_) return Z_MEM_ERROR;
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_out = kPieceBytes;
    return inflate(&stream_, Z_NO_FLUSH);
  }
  [[nodiscard]] std::string_view piece() const {
    return {piece_.data(), kPieceBytes - stream_.avail_out};
  }
  /// Goes on with another member behind the end of this one (RFC 1952, 2.2).
  int begin_member() { return inflateReset2(&stream_, kGzipHeader); }
  [[nodiscard]] bool has_read_all() const { return stream_.avail_in == 0; }

 private:
  z_stream stream_{};
  bool ok_;
  std::array<char, kPieceBytes> piece_;
};

/// A string that counts its memory before it grows. At most the limit of bodies, plus padding.
class CountedText {
 public:
  /// Its memory counts as memory of the body of `x`.
  explicit CountedText(Exchange& x) : x_(x), max_bytes_(x.front().options().max_body_bytes) {}

  /// 413 or 503 if there is no room for `piece`.
  Decoded<> append(std::string_view piece) {
    const std::size_t size = text_.size() + piece.size();
    if (size > max_bytes_) return fail(too_large());
    if (size + kReadAheadBytes > text_.capacity()) {
      QV_TRY(grow(std::min(std::max(size, 2 * text_.size()), max_bytes_) + kReadAheadBytes));
    }
    text_ += piece;
    return {};
  }
  std::string take() { return std::move(text_); }

 private:
  Decoded<> grow(std::size_t capacity) {
    QV_TRY(x_.hold_body(x_.request.body.capacity() + text_.capacity() + capacity));
    std::string larger;
    larger.reserve(capacity);
    larger += text_;
    text_ = std::move(larger);
    return {};
  }
  [[nodiscard]] ApiError too_large() const {
    return {413, fmt::format("Payload too large: a body may have {} bytes, and what this one "
                             "stands for has more; `service.max_request_size_mb` sets the limit",
                             max_bytes_)};
  }

  Exchange& x_;
  std::size_t max_bytes_;
  std::string text_;
};

Decoded<> check_encoding(std::string_view encoding) {
  if (encoding == "gzip" || encoding == "x-gzip" || encoding == "deflate") return {};
  return fail(ApiError(415, fmt::format("Bad request: content-encoding `{}` is not supported, "
                                        "expected `gzip` or `deflate`",
                                        encoding)));
}

}  // namespace

bool is_compressed(const Request& request) {
  return !request.content_encoding.empty() && request.content_encoding != "identity";
}

Decoded<> decompress_body(Exchange& x) {
  const std::string& encoding = x.request.content_encoding;
  QV_TRY(check_encoding(encoding));
  Inflater inflater(x.request.body);
  CountedText text(x);
  int status = Z_OK;
  while (status == Z_OK) {
    status = inflater.next();
    QV_TRY(text.append(inflater.piece()));
    const bool has_more = status == Z_STREAM_END && !inflater.has_read_all();
    if (has_more && encoding != "deflate") status = inflater.begin_member();
  }
  if (status != Z_STREAM_END || !inflater.has_read_all()) {
    return bad_request(fmt::format("the body is not whole {} data", encoding));
  }
  x.request.body = text.take();
  x.request.content_encoding.clear();
  return x.hold_body(x.request.body.capacity());
}

}  // namespace quiver::service
