#include "base/result.h"

#include <fmt/format.h>

namespace quiver {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "cancelled";
    case Code::kUnknown:
      return "unknown";
    case Code::kInvalidArgument:
      return "invalid_argument";
    case Code::kDeadlineExceeded:
      return "deadline_exceeded";
    case Code::kNotFound:
      return "not_found";
    case Code::kAlreadyExists:
      return "already_exists";
    case Code::kPermissionDenied:
      return "permission_denied";
    case Code::kResourceExhausted:
      return "resource_exhausted";
    case Code::kFailedPrecondition:
      return "failed_precondition";
    case Code::kAborted:
      return "aborted";
    case Code::kOutOfRange:
      return "out_of_range";
    case Code::kUnimplemented:
      return "unimplemented";
    case Code::kInternal:
      return "internal";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kDataLoss:
      return "data_loss";
    case Code::kUnauthenticated:
      return "unauthenticated";
  }
  return "unknown";
}

Error Error::with_context(std::string_view where) const {
  Detail detail = *detail_;
  const std::string text = fmt::format(" ({})", where);
  detail.message += text;
  detail.context += text;
  return Error(std::move(detail));
}

std::string Error::to_string() const {
  return fmt::format("{}: {}", quiver::to_string(code()), message());
}

}  // namespace quiver
