#include "service/http/exchange.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "service/http/service.h"

namespace quiver::service {
namespace {

constexpr std::string_view kResultPrefix = "{\"result\":";
constexpr std::string_view kOkSuffix = ",\"status\":\"ok\",\"time\":";
/// A body larger than this gives its memory back after the request.
constexpr std::size_t kKeptBytes = 1 << 20;
/// Smaller bodies are not counted: `max_connections` bounds them.
constexpr std::size_t kCountedBodyBytes = 1 << 20;

void reuse(std::string& text) {
  text.clear();
  if (text.capacity() > kKeptBytes) text.shrink_to_fit();
}

void append_number(std::string& out, std::uint64_t value) {
  std::array<char, 24> text;
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
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
  api_key.clear();
  authorization.clear();
  content_encoding.clear();
  content_type.clear();
  has_api_key = has_authorization = expects_continue = is_http_1_0 = false;
  keep_alive = true;
}

void Response::clear() {
  status = 200;
  content_type = "application/json";
  allow = {};
  retry_after_s.reset();
  reuse(body);
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
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

void append_head(std::string& out, const Request& request, const Response& response, bool cors) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(response.status));
  out += ' ';
  out += reason_phrase(response.status);
  if (response.status != 204) {
    out += "\r\ncontent-type: ";
    out += response.content_type;
    out += "\r\ncontent-length: ";
    append_number(out, response.body.size());
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
  if (cors) {
    out +=
        "\r\naccess-control-allow-origin: *\r\naccess-control-allow-headers: *"
        "\r\naccess-control-allow-methods: *";
  }
  out += "\r\n\r\n";
}

void Exchange::begin() {
  start_ = std::chrono::steady_clock::now();
  operation_ = {};
  MutexLock lock(cancel_mutex_);
  cancel_ = nullptr;
  is_cancelled_ = false;
}

double Exchange::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

json::Writer Exchange::begin_result() {
  response.body.clear();
  response.body += kResultPrefix;
  return json::Writer(response.body);
}

void Exchange::end_result() {
  response.body += kOkSuffix;
  json::append_f64(response.body, seconds());
  response.body += '}';
}

void Exchange::result_raw(std::string_view json) {
  begin_result().raw(json);
  end_result();
}

void Exchange::error(const ApiError& error) {
  response.status = error.status;
  if (error.status == 429) response.retry_after_s = 1;
  response.content_type = "application/json";
  response.body.clear();
  response.body += "{\"status\":{\"error\":";
  const bool has_timed_out = error.status == 408 && !operation_.empty() && seconds() >= timeout_s_;
  json::append_string(
      response.body,
      has_timed_out
          ? fmt::format("Timeout: Timeout error: Operation '{}' timed out after {} seconds",
                        operation_, timeout_s_)
          : error.text);
  response.body += "},\"time\":";
  json::append_f64(response.body, seconds());
  response.body += '}';
}

void Exchange::text(int status, std::string_view text) {
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body.assign(text);
}

void Exchange::finish() {
  release_body();  // here, and not when the connection gets to it: others may be waiting for room
  // Whoever comes second, this or `wait`, sees to the resumption.
  if (state_.exchange(State::kFinished, std::memory_order_acq_rel) == State::kWaiting) {
    post_resume(std::move(resume_));
  }
}

void Exchange::wait(Task resume) {
  resume_ = std::move(resume);
  State expected = State::kDeferred;
  if (!state_.compare_exchange_strong(expected, State::kWaiting, std::memory_order_acq_rel)) {
    post_resume(std::move(resume_));
  }
}

void Exchange::out_of_memory() noexcept {
  try {
    error(quiver::out_of_memory());
  } catch (...) {  // not even for words
    response.status = 507;
    response.body.clear();
  }
}

void Exchange::unexpected(std::string_view what) noexcept {
  try {
    log_error("{} {}: {}", to_string(request.method), request.target, what);
    error(ApiError(500, fmt::format("Service internal error: {}", what)));
  } catch (...) {  // no memory for words
    response.status = 500;
    response.body.clear();
  }
}

void Exchange::refuse_closing() {
  error(Error(Code::kUnavailable, "the server is closing"));
  finish();
}

Decoded<> Exchange::hold_body(std::size_t n_bytes) {
  const std::size_t counted = n_bytes < kCountedBodyBytes ? 0 : n_bytes;
  if (counted == held_bytes_) return {};
  auto& held = service_.held_body_bytes();
  const std::size_t more = counted - held_bytes_;  // wraps around if it is less, as `held` does
  const std::size_t now = held.fetch_add(more, std::memory_order_relaxed) + more;
  if (counted > held_bytes_ && now > service_.options().max_held_body_bytes) {
    held.fetch_sub(more, std::memory_order_relaxed);
    return fail(Error(Code::kUnavailable, "too many large requests at once"));
  }
  held_bytes_ = counted;
  return {};
}

void Exchange::release_body() {
  if (request.body.capacity() >= kCountedBodyBytes) request.body = std::string();
  if (held_bytes_ == 0) return;
  service_.held_body_bytes().fetch_sub(held_bytes_, std::memory_order_relaxed);
  held_bytes_ = 0;
}

void Exchange::set_cancel(std::shared_ptr<const Cancel> cancel) {
  MutexLock lock(cancel_mutex_);
  cancel_ = std::move(cancel);
  if (is_cancelled_ && cancel_) cancel_->cancel();
}

void Exchange::cancel() {
  MutexLock lock(cancel_mutex_);
  is_cancelled_ = true;
  if (cancel_) cancel_->cancel();
}

}  // namespace quiver::service
