#include "service/peer/peer_error.h"

#include "payload/json/document.h"
#include "service/client/server_connection.h"
#include "service/json/writer.h"

namespace quiver::service {
namespace {

Code code_of_status(int status) {
  switch (status) {
    case 403:
      return Code::kPermissionDenied;
    case 413:
      return Code::kResourceExhausted;
    case 503:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

}  // namespace

std::string peer_error_json(const Error& error) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  out.member("code", static_cast<std::uint64_t>(error.code()));
  out.member("message", std::string_view(error.message()));
  out.end_object();
  return text;
}

Error peer_error(int status, std::string_view body) {
  constexpr auto kLastCode = static_cast<std::uint64_t>(Code::kUnauthenticated);
  const auto value = payload::parse_json(body);
  const auto code = value ? value->find_unsigned("code") : std::nullopt;
  const payload::Value* message = value ? value->find("message") : nullptr;
  const std::string* text = message == nullptr ? nullptr : message->as_string();
  if (!code || *code == 0 || *code > kLastCode || text == nullptr) {
    return {code_of_status(status), client::error_text({status, std::string(body), {}})};
  }
  return {static_cast<Code>(*code), *text};
}

}  // namespace quiver::service
