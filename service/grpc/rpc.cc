#include "service/grpc/rpc.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "service/api/names.h"

namespace quiver::service::rpc {
namespace {

struct Mapping {
  int http_status;
  Code code;
};
constexpr std::array kCodes = {
    Mapping{400, Code::kInvalidArgument},  Mapping{401, Code::kUnauthenticated},
    Mapping{403, Code::kPermissionDenied}, Mapping{404, Code::kNotFound},
    Mapping{405, Code::kUnimplemented},    Mapping{408, Code::kDeadlineExceeded},
    Mapping{409, Code::kAlreadyExists},    Mapping{413, Code::kResourceExhausted},
    Mapping{422, Code::kInvalidArgument},  Mapping{429, Code::kResourceExhausted},
    Mapping{501, Code::kUnimplemented},    Mapping{503, Code::kUnavailable},
    Mapping{507, Code::kResourceExhausted}};
constexpr int kTooManyRequests = 429;

Code code_of(int http_status) {
  for (const auto& mapping : kCodes) {
    if (mapping.http_status == http_status) return mapping.code;
  }
  return Code::kInternal;
}

}  // namespace

Status status_of(const ApiError& error) {
  // A body is no JSON here.
  constexpr std::string_view kJsonBody = "in JSON body: ";
  Status status;
  status.code = static_cast<int>(code_of(error.status));
  status.text = error.text;
  if (const auto at = status.text.find(kJsonBody); at != std::string::npos) {
    status.text.replace(at, kJsonBody.size(), "in body: ");
  }
  status.is_too_early = error.status == kTooManyRequests;
  return status;
}

void Rpc::error_of_exception_or_code() noexcept {
  const Error failure = error_of_exception();
  Status status;
  status.code = static_cast<int>(failure.code());
  try {
    status = status_of(ApiError(failure));
  } catch (...) {
    // No memory for words.
  }
  error(std::move(status));
}

Decoded<> check_collection_length(std::string_view name) {
  const auto checked = api::check_name_length(name);
  if (checked) return {};
  const Path root;
  return validation_error(root.member("collection_name"), checked.error().message());
}

}  // namespace quiver::service::rpc
