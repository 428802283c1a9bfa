// How a failed request is answered over HTTP: a status and a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/result.h"

namespace quiver::service {

struct ApiError {
  int status = 500;
  std::string text;

  ApiError(int http_status, std::string message) : status(http_status), text(std::move(message)) {}
  /// Maps the code to a status and puts the prefix of that code before the message.
  ApiError(const Error& error);  // NOLINT(google-explicit-constructor): errors pass upwards
};

/// A `Result` with an ApiError; other errors convert to it.
template <class T = void>
class [[nodiscard]] Decoded : public tl::expected<T, ApiError> {
 public:
  using tl::expected<T, ApiError>::expected;
};

}  // namespace quiver::service

namespace quiver {

/// Lets QV_TRY pass an ApiError on.
[[nodiscard]] inline tl::unexpected<service::ApiError> fail(service::ApiError error) {
  return tl::unexpected<service::ApiError>(std::move(error));
}

}  // namespace quiver

namespace quiver::service {

/// A position in a JSON body. Lives on the stack; costs nothing until it is printed. It points to
/// the path that it was made from, which must outlive it and so must have a name.
class Path {
 public:
  Path() = default;
  [[nodiscard]] Path member(std::string_view name) const& { return Path(this, name, kNone); }
  [[nodiscard]] Path item(std::size_t index) const& { return Path(this, {}, index); }
  Path member(std::string_view name) const&& = delete;
  Path item(std::size_t index) const&& = delete;
  /// "points[0].vector"; empty for the body itself.
  [[nodiscard]] std::string to_string() const;

 private:
  static constexpr auto kNone = static_cast<std::size_t>(-1);
  Path(const Path* parent, std::string_view name, std::size_t index)
      : parent_(parent), name_(name), index_(index) {}

  const Path* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = kNone;
};

/// 400 "Format error in JSON body: <path>: <text>".
[[nodiscard]] tl::unexpected<ApiError> format_error(const Path& path, std::string_view text);
/// 422 "Validation error in JSON body: [<path>: <text>]".
[[nodiscard]] tl::unexpected<ApiError> validation_error(const Path& path, std::string_view text);
/// 400 "Wrong input: <text>".
[[nodiscard]] tl::unexpected<ApiError> wrong_input(std::string_view text);
/// The error of one search of a batch: its text with " (in searches[3])", unless it names the
/// search already.
[[nodiscard]] ApiError in_search(std::size_t index, ApiError error);
/// 400 "Bad request: <text>".
[[nodiscard]] tl::unexpected<ApiError> bad_request(std::string_view text);

}  // namespace quiver::service
