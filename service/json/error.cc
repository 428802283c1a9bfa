#include "service/json/error.h"

#include <fmt/format.h>

#include <utility>

#include "service/api/names.h"

namespace quiver::service {
namespace {

struct Mapping {
  int status;
  std::string_view prefix;
};

Mapping mapping(const Error& error) {
  switch (error.code()) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
      return {400, "Wrong input: "};
    case Code::kFailedPrecondition:
      return {400, "Bad request: "};
    case Code::kNotFound:
      return {404, "Not found: "};
    case Code::kAlreadyExists:
      return {409, "Wrong input: "};
    case Code::kUnauthenticated:
      return {401, ""};
    case Code::kPermissionDenied:
      return {403, "Forbidden: "};
    case Code::kDeadlineExceeded:
    case Code::kCancelled:
      return {408, "Timeout: "};
    case Code::kResourceExhausted:
      if (error.subject() == Subject::kDisk) return {507, "Insufficient storage: "};
      if (error.subject() == Subject::kMemory) return {507, "Insufficient memory: "};
      return {429, "Rate limiting exceeded: "};
    case Code::kUnavailable:
    case Code::kDataLoss:
      return {503, "Shard temporarily unavailable: "};
    default:
      return {500, "Service internal error: "};
  }
}

/// Qdrant's words, which its clients compare; without the error's context.
std::string subject_text(const Error& error) {
  const bool is_missing = error.code() == Code::kNotFound;
  const std::string& name = error.subject_name();
  switch (error.subject()) {
    case Subject::kCollection:
      return fmt::format("Collection `{}` {}!", name,
                         is_missing ? "doesn't exist" : "already exists");
    case Subject::kAlias:
      if (error.code() == Code::kInvalidArgument) {
        return fmt::format(
            "Can't create collection with name {}. Alias with the same name already exists", name);
      }
      return fmt::format("Alias {} {}!", name, is_missing ? "does not exists" : "already exists");
    case Subject::kVectorField:
      return fmt::format("Not existing vector name error: {}", name);
    default:
      return {};
  }
}

std::string wire_text(const Error& error) {
  std::string text = subject_text(error);
  return text.empty() ? error.message() : std::move(text) + error.context();
}

std::string at(const Path& path, std::string_view text) {
  const std::string where = path.to_string();
  return where.empty() ? std::string(text) : fmt::format("{}: {}", where, text);
}

}  // namespace

ApiError::ApiError(const Error& error) : status(mapping(error).status) {
  text = fmt::format("{}{}", mapping(error).prefix, wire_text(error));
}

std::string Path::to_string() const {
  std::string text = parent_ == nullptr ? std::string() : parent_->to_string();
  if (index_ != kNone) {
    text += fmt::format("[{}]", index_);
  } else if (!name_.empty()) {
    if (!text.empty()) text += '.';
    text += name_;
  }
  return text;
}

tl::unexpected<ApiError> format_error(const Path& path, std::string_view text) {
  return fail(ApiError(400, fmt::format("Format error in JSON body: {}", at(path, text))));
}

tl::unexpected<ApiError> validation_error(const Path& path, std::string_view text) {
  return fail(ApiError(422, fmt::format("Validation error in JSON body: [{}]", at(path, text))));
}

tl::unexpected<ApiError> wrong_input(std::string_view text) {
  return fail(ApiError(400, fmt::format("Wrong input: {}", text)));
}

ApiError in_search(std::size_t index, ApiError error) {
  error.text = api::in_search(index, std::move(error.text));
  return error;
}

tl::unexpected<ApiError> bad_request(std::string_view text) {
  return fail(ApiError(400, fmt::format("Bad request: {}", text)));
}

}  // namespace quiver::service
