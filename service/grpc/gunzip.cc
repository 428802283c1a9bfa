#include "service/grpc/gunzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <memory>

namespace quiver::service::rpc {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr std::size_t kFirstBytes = 64 * 1024;

ApiError too_long(std::size_t max_bytes) {
  return {413, fmt::format("Payload too large: a message may have {} bytes, and what this one "
                           "stands for has more; `service.max_request_size_mb` sets the limit",
                           max_bytes)};
}

}  // namespace

Decoded<std::string> gunzip(std::string_view bytes, std::size_t max_bytes) {
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int status = inflateInit2(&stream, kGzipWindow);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  std::string text;
  std::size_t size = 0;
  while (status == Z_OK) {
    if (size > max_bytes) return fail(too_long(max_bytes));
    text.resize(std::min(std::max(kFirstBytes, 2 * size), max_bytes + 1));
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + size);
    stream.avail_out = static_cast<uInt>(text.size() - size);
    status = inflate(&stream, Z_NO_FLUSH);
    size = text.size() - stream.avail_out;
  }
  if (size > max_bytes) return fail(too_long(max_bytes));
  if (status != Z_STREAM_END) return bad_request("the message is not whole gzip data");
  text.resize(std::min(size, text.size()));
  return text;
}

}  // namespace quiver::service::rpc
