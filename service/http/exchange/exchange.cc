#include "service/http/exchange/exchange.h"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"
#include "service/api/runtime.h"
#include "service/http/exchange/compression.h"

namespace quiver::service {
namespace {

constexpr std::string_view kResultPrefix = "{\"result\":";
constexpr std::string_view kOkSuffix = ",\"status\":\"ok\",\"time\":";

}  // namespace

std::string Exchange::describe() const {
  const std::string id =
      request.request_id.empty() ? trace().logged_id(request.traceparent) : request.request_id;
  return fmt::format("{} {}{}{}", to_string(request.method), request.target,
                     id.empty() ? "" : ", request ", id);
}

void Exchange::clear() {
  request.clear();
  response.clear();
  route = nullptr;
  set_principal(api::Principal());
  for (auto& capture : captures) capture.clear();
  completion.reset();
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
  if (error.status == 429 && retry_after_s() > 0) {
    response.retry_after_s = static_cast<int>(retry_after_s());
  }
  response.content_type = "application/json";
  response.source.reset();
  response.body.clear();
  response.body += "{\"status\":{\"error\":";
  json::append_string(response.body, is_utf8(error.text) ? error.text : to_utf8(error.text));
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
  const bool is_plain = response.content_encoding.empty() && !response.source;
  if (is_plain && response.body.size() > compress_above_bytes && !request.accept_encoding.empty()) {
    if (compress_elsewhere()) return;
    compress_here();
  }
  complete();
}

/// False if the body may be compressed on this thread.
bool Exchange::compress_elsewhere() noexcept {
  constexpr std::size_t kMaxBytesHere = 256 << 10;  // about 2 ms
  Executor& compute = runtime().compute();
  if (response.body.size() <= kMaxBytesHere || runs_on(compute)) return false;
  try {
    if (choose_compression(request.accept_encoding) == Compression::kNone) return false;
    auto task = [this, &compute] {
      enter(compute);
      compress_here();
      complete();
    };
    return compute.post(Priority::kHigh, std::move(task));
  } catch (...) {
    return false;
  }
}

/// Without memory for it, the answer stays as it is.
void Exchange::compress_here() noexcept {
  try {
    compress_answer(response, choose_compression(request.accept_encoding));
  } catch (...) {
    response.content_encoding = {};
  }
}

void Exchange::complete() {
  release_body();  // here, and not when the connection gets to it: others may be waiting for room
  completion.finish();
}

void Exchange::error_or_status(const Error& error) noexcept {
  constexpr int kInsufficientStorage = 507;
  constexpr int kInternalError = 500;
  try {
    this->error(ApiError(error));
  } catch (...) {
    response.status =
        error.code() == Code::kResourceExhausted ? kInsufficientStorage : kInternalError;
    response.body.clear();
  }
}

Decoded<> Exchange::hold_body(std::size_t n_bytes) {
  QV_TRY(body_memory_.hold(n_bytes));
  return {};
}

void Exchange::release_body() {
  if (request.body.capacity() >= kCountedBodyBytes) request.body = std::string();
  body_memory_.release();
}

}  // namespace quiver::service
