#include "service/http/request_parser.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "service/tracing/trace_context.h"

namespace quiver::service {
namespace {

namespace http = boost::beast::http;

/// Memory reserved at once for a body of declared length; the rest is taken as it arrives.
constexpr std::uint64_t kMaxReservedBytes = 4 << 20;
/// The JSON parser reads so far beyond the end.
constexpr std::uint64_t kPaddingBytes = 64;

Method to_method(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::kGet;
    case http::verb::post:
      return Method::kPost;
    case http::verb::put:
      return Method::kPut;
    case http::verb::patch:
      return Method::kPatch;
    case http::verb::delete_:
      return Method::kDelete;
    case http::verb::head:
      return Method::kHead;
    case http::verb::options:
      return Method::kOptions;
    default:
      return Method::kOther;
  }
}

char to_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return to_lower(a) == b; });
}

}  // namespace

RequestParser::RequestParser(Request& request, std::uint32_t max_header_bytes,
                             std::size_t max_body_bytes, BodyChooser* chooser)
    : request_(request), max_body_bytes_(max_body_bytes), chooser_(chooser) {
  header_limit(max_header_bytes);
  body_limit(boost::none);  // Beast looks before a sink can be chosen; `fits` looks afterwards
  eager(true);
}

void RequestParser::on_request_impl(http::verb method, StringView, StringView target, int version,
                                    ErrorCode&) {
  request_.method = to_method(method);
  request_.target.assign(target.data(), target.size());
  request_.is_http_1_0 = version < 11;
}

void RequestParser::on_field_impl(http::field name, StringView name_text, StringView value,
                                  ErrorCode&) {
  const std::string_view text(value.data(), value.size());
  if (name == http::field::authorization) {
    request_.authorization.assign(value.data(), value.size());
    request_.has_authorization = true;
  } else if (name == http::field::expect) {
    request_.expects_continue = equals_ignoring_case({value.data(), value.size()}, "100-continue");
  } else if (name == http::field::transfer_encoding) {
    has_transfer_encoding_ = true;
  } else if (name == http::field::content_encoding) {
    request_.content_encoding.assign(value.data(), value.size());
    std::transform(value.begin(), value.end(), request_.content_encoding.begin(), to_lower);
  } else if (name == http::field::content_length) {
    std::from_chars(value.data(), value.data() + value.size(), declared_length_);
  } else if (name == http::field::host) {
    request_.host.assign(value.data(), value.size());
  } else if (name == http::field::range) {
    request_.range.assign(value.data(), value.size());
  } else if (name == http::field::content_type) {
    request_.content_type.assign(value.data(), value.size());
  } else if (name == http::field::accept_encoding) {
    request_.accept_encoding.assign(value.data(), value.size());
  } else if (name == http::field::if_none_match) {
    request_.if_none_match.assign(value.data(), value.size());
  } else if (name == http::field::access_control_request_method) {
    request_.is_preflight = request_.method == Method::kOptions;
  } else if (name == http::field::access_control_request_headers) {
    if (is_header_list(text)) request_.requested_headers = text;
  } else if (name == http::field::unknown) {
    take_unknown_field({name_text.data(), name_text.size()}, text);
  }
}

/// Fields that Beast has no number for.
void RequestParser::take_unknown_field(std::string_view name, std::string_view value) {
  if (equals_ignoring_case(name, "api-key")) {
    request_.api_key = value;
    request_.has_api_key = true;
  } else if (equals_ignoring_case(name, "x-request-id")) {
    if (is_request_id(value)) request_.request_id = value;
  } else if (equals_ignoring_case(name, "x-tracing-id")) {
    if (request_.request_id.empty() && is_request_id(value)) request_.request_id = value;
  } else if (equals_ignoring_case(name, "traceparent")) {
    if (tracing::is_traceparent(value)) request_.traceparent = value;
  } else if (equals_ignoring_case(name, "tracestate")) {
    tracing::append_tracestate(request_.tracestate, value);
  } else if (equals_ignoring_case(name, "x-quiver-forwarded")) {
    request_.forwarded_by = value;
  } else if (equals_ignoring_case(name, "x-quiver-secret")) {
    request_.secret = value;
  }
}

void RequestParser::on_header_impl(ErrorCode& ec) {
  if (chooser_ != nullptr) chooser_->choose_body();
  if (!fits(declared_length_)) {
    ec = http::error::body_limit;
  } else if (has_transfer_encoding_ && !chunked()) {
    // The end of such a body is unknown, and what follows must not be taken for the next request
    // (RFC 9112, 6.3).
    ec = http::error::bad_transfer_encoding;
  }
}

void RequestParser::on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) {
  if (request_.sink) return;
  request_.body.reserve(std::min(declared_length_, kMaxReservedBytes) + kPaddingBytes);
}

std::size_t RequestParser::on_body_impl(StringView body, ErrorCode&) {
  request_.body.append(body.data(), body.size());
  return body.size();
}

void RequestParser::on_chunk_header_impl(std::uint64_t size, StringView, ErrorCode& ec) {
  if (!fits(size) || !fits(request_.body.size() + size)) ec = http::error::body_limit;
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, StringView body, ErrorCode&) {
  request_.body.append(body.data(), body.size());
  return body.size();
}

void RequestParser::on_finish_impl(ErrorCode&) { request_.keep_alive = keep_alive(); }

}  // namespace quiver::service
