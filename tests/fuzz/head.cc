// The HTTP parser fed in two pieces, then the path, the query string and the ids of the request.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "service/api/names.h"
#include "service/http/exchange/uri.h"
#include "service/http/request_parser.h"
#include "service/json/decode/decode.h"

namespace quiver::service {
namespace {

constexpr std::uint32_t kMaxHeaderBytes = 4096;
constexpr std::size_t kMaxBodyBytes = 1 << 16;

/// As a connection does it: what was not consumed is offered again with more behind it.
bool parse(const std::string& bytes, std::size_t split, Request& request) {
  RequestParser parser(request, kMaxHeaderBytes, kMaxBodyBytes);
  std::size_t begin = 0;
  for (const std::size_t end : {split, bytes.size()}) {
    while (begin < end) {
      boost::system::error_code ec;
      begin += parser.put(boost::asio::const_buffer(bytes.data() + begin, end - begin), ec);
      if (parser.is_done()) return true;
      if (ec == boost::beast::http::error::need_more) break;
      if (ec) return false;
    }
  }
  return false;
}

void check_target(const Request& request) {
  const auto target = split_target(request.target);
  if (!target) return;
  for (const char* name : {"wait", "timeout", "ordering", "consistency"}) {
    [[maybe_unused]] const auto value = query_parameter(target->query, name);
  }
  for (std::size_t i = 0; i < target->n_segments; ++i) {
    const auto decoded = percent_decode(target->segments[i]);
    if (!decoded) continue;
    [[maybe_unused]] const auto id = json::parse_path_id(*decoded);
    if (api::is_collection_name(*decoded) != json::check_collection_name(*decoded).has_value()) {
      std::abort();
    }
  }
}

}  // namespace
}  // namespace quiver::service

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using quiver::service::Request;
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t split = bytes.empty() ? 0 : data[0] * bytes.size() / 256;
  Request request;
  if (quiver::service::parse(bytes, split, request)) {
    if (request.body.size() > quiver::service::kMaxBodyBytes) std::abort();
    quiver::service::check_target(request);
  }
  return 0;
}
