#include "service/http/content_encoding.h"

#include <fmt/format.h>
#include <zlib.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quiver::service {
namespace {

/// zlib's words for "gzip or zlib, whichever the header says".
constexpr int kAnyHeader = 15 + 32;
constexpr std::size_t kPieceBytes = 64 * 1024;

class Inflater {
 public:
  /// `in` outlives this.
  explicit Inflater(std::string_view in) : ok_(inflateInit2(&stream_, kAnyHeader) == Z_OK) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Appends the next piece. Z_OK: there may be more, Z_STREAM_END: that was all.
  int append_to(std::string& out) {
    if (!ok_) return Z_MEM_ERROR;
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_out = static_cast<uInt>(piece_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    out.append(piece_.data(), piece_.size() - stream_.avail_out);
    return status;
  }
  [[nodiscard]] bool has_read_all() const { return stream_.avail_in == 0; }

 private:
  z_stream stream_{};
  bool ok_;
  std::vector<char> piece_ = std::vector<char>(kPieceBytes);
};

tl::unexpected<ApiError> damaged(const Request& request) {
  return fail(ApiError(
      400, fmt::format("Bad request: the body is not whole {} data", request.content_encoding)));
}

}  // namespace

bool is_compressed(const Request& request) {
  return !request.content_encoding.empty() && request.content_encoding != "identity";
}

Decoded<> decompress_body(Request& request, std::size_t max_bytes) {
  if (request.content_encoding != "gzip" && request.content_encoding != "deflate") {
    return fail(ApiError(415, fmt::format("Bad request: content-encoding `{}` is not supported, "
                                          "expected `gzip` or `deflate`",
                                          request.content_encoding)));
  }
  Inflater inflater(request.body);
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= max_bytes) status = inflater.append_to(out);
  if (out.size() > max_bytes) {
    return fail(ApiError(413, fmt::format("Payload too large: a body may have {} bytes, and what "
                                          "this one stands for has more; "
                                          "`service.max_request_size_mb` sets the limit",
                                          max_bytes)));
  }
  if (status != Z_STREAM_END || !inflater.has_read_all()) return damaged(request);
  request.body = std::move(out);
  request.content_encoding.clear();
  return {};
}

}  // namespace quiver::service
