#include "service/http/exchange/message.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace quiver::service {
namespace {

/// A string with more memory than this gives it back after the request.
constexpr std::size_t kMaxKeptBytes = 1 << 20;

void reuse(std::string& text) {
  text.clear();
  if (text.capacity() > kMaxKeptBytes) text.shrink_to_fit();
}

void append_number(std::string& out, std::uint64_t value) {
  std::array<char, 24> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out += "\r\n";
  out += name;
  out += ": ";
  out += value;
}

/// Any origin may call and read everything. `*` for headers does not cover `authorization`, so
/// those that the browser names are repeated.
void append_cors(std::string& out, const Request& request, const Response& response) {
  append_header(out, "access-control-allow-origin", "*");
  append_header(out, "access-control-expose-headers", "*");
  if (!request.is_preflight) return;
  append_header(out, "access-control-allow-methods", response.allow);
  append_header(
      out, "access-control-allow-headers",
      request.requested_headers.empty() ? std::string_view("*") : request.requested_headers);
  append_header(out, "access-control-max-age", "86400");
}

void append_framing(std::string& out, const Request& request, const Response& response) {
  switch (framing_of(request, response)) {
    case Framing::kLength:
      out += "\r\ncontent-length: ";
      append_number(out, response.source ? *response.source->size() : response.body.size());
      return;
    case Framing::kChunked:
      out += "\r\ntransfer-encoding: chunked";
      return;
    case Framing::kClose:
      return;
  }
}

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kHead:
      return "HEAD";
    case Method::kOptions:
      return "OPTIONS";
    case Method::kOther:
      break;
  }
  return "OTHER";
}

void Request::clear() {
  method = Method::kOther;
  target.clear();
  reuse(body);
  sink.reset();
  api_key.clear();
  authorization.clear();
  content_encoding.clear();
  content_type.clear();
  accept_encoding.clear();
  if_none_match.clear();
  request_id.clear();
  traceparent.clear();
  tracestate.clear();
  host.clear();
  requested_headers.clear();
  is_preflight = false;
  range.clear();
  forwarded_by.clear();
  secret.clear();
  has_api_key = has_authorization = expects_continue = is_http_1_0 = false;
  keep_alive = true;
}

void Response::clear() {
  status = 200;
  content_type = "application/json";
  allow = {};
  content_encoding = {};
  retry_after_s.reset();
  extra_headers.clear();
  reuse(body);
  source.reset();
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

bool is_request_id(std::string_view text) {
  constexpr std::size_t kMaxBytes = 128;
  return !text.empty() && text.size() <= kMaxBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool is_header_list(std::string_view text) {
  constexpr std::size_t kMaxBytes = 1024;
  return text.size() <= kMaxBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == ',' || c == ' ';
         });
}

Framing framing_of(const Request& request, const Response& response) {
  if (!response.source || response.source->size()) return Framing::kLength;
  return request.is_http_1_0 ? Framing::kClose : Framing::kChunked;
}

void append_head(std::string& out, const Request& request, const Response& response, bool cors) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(response.status));
  out += ' ';
  out += reason_phrase(response.status);
  if (response.status != 204 && response.status != 304) {
    out += "\r\ncontent-type: ";
    out += response.content_type;
    append_framing(out, request, response);
  }
  if (!request.keep_alive) {
    out += "\r\nconnection: close";
  } else if (request.is_http_1_0) {
    out += "\r\nconnection: keep-alive";
  }
  if (!response.allow.empty()) {
    out += "\r\nallow: ";
    out += response.allow;
  }
  if (response.retry_after_s) {
    out += "\r\nretry-after: ";
    append_number(out, static_cast<std::uint64_t>(*response.retry_after_s));
  }
  if (!response.content_encoding.empty()) {
    append_header(out, "content-encoding", response.content_encoding);
    append_header(out, "vary", "accept-encoding");
  }
  out += response.extra_headers;
  append_header(out, "x-request-id", request.request_id);
  append_header(out, "traceparent", request.traceparent);
  if (cors) append_cors(out, request, response);
  out += "\r\n\r\n";
}

}  // namespace quiver::service
