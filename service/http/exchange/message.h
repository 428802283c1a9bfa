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
  std::string accept_encoding;
  std::string if_none_match;
  std::string request_id;         ///< header `x-request-id`, or `x-tracing-id`; see `is_request_id`
  std::string traceparent;        ///< header `traceparent`, if it is one
  std::string tracestate;         ///< header `tracestate`; means nothing without `traceparent`
  std::string host;               ///< header `host`
  std::string requested_headers;  ///< of a browser's preflight; see `is_header_list`
  bool is_preflight = false;      ///< a browser asks what it may send (CORS)
  std::string range;              ///< header `range`
  std::string forwarded_by;       ///< id of the node that sent it on: header `x-quiver-forwarded`
  std::string secret;             ///< header `x-quiver-secret`, between nodes of a cluster
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
  std::string_view content_encoding;   ///< "": the body is as it is
  std::optional<int> retry_after_s;    ///< with 429 and 503
  std::string extra_headers;           ///< each "\r\nname: value"
  std::string body;                    ///< unused with a source
  std::unique_ptr<BodySource> source;  ///< makes the body while it is sent; null: it is `body`

  void clear();
};

/// True for 1 to 128 visible ASCII characters: others must not come into headers and logs.
[[nodiscard]] bool is_request_id(std::string_view text);
/// True for names of headers between commas, of at most 1024 characters.
[[nodiscard]] bool is_header_list(std::string_view text);

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
