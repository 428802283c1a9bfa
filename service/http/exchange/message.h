// A request as it was read, and the response to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "service/http/exchange/body.h"

namespace quiver::service {

enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete, kHead, kOptions, kOther };

[[nodiscard]] std::string_view to_string(Method method);

/// The strings keep their memory from request to request.
struct Request {
  Method method = Method::kOther;
  std::string target;
  std::string body;                ///< with a sink: only what the sink has not taken yet
  std::unique_ptr<BodySink> sink;  ///< takes the body; null: the body is kept in `body`
  std::string api_key;             ///< header `api-key`
  std::string authorization;       ///< header `authorization`
  std::string content_encoding;    ///< in lower case
  std::string content_type;
  std::string range;  ///< header `range`
  bool has_api_key = false;
  bool has_authorization = false;
  bool expects_continue = false;
  bool keep_alive = true;
  bool is_http_1_0 = false;

  void clear();
};

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";
  std::string_view allow;              ///< with 405 and OPTIONS
  std::optional<int> retry_after_s;    ///< with 429
  std::string extra_headers;           ///< each "\r\nname: value"
  std::string body;                    ///< unused with a source
  std::unique_ptr<BodySource> source;  ///< makes the body while it is sent; null: it is `body`

  void clear();
};

/// How the receiver finds the end of a response's body.
enum class Framing : std::uint8_t { kLength, kChunked, kClose };

/// kChunked for a source of unknown size, or kClose where the client knows no chunks.
[[nodiscard]] Framing framing_of(const Request& request, const Response& response);
/// The reason phrase of a status.
[[nodiscard]] std::string_view reason_phrase(int status);
/// Appends status line and headers, with the empty line. `cors` adds the headers that let browsers
/// in.
void append_head(std::string& out, const Request& request, const Response& response, bool cors);

}  // namespace quiver::service
