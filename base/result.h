// Success, or an error with a code and a message. Codes have gRPC's numbers, so a transport maps
// them by a cast.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace quiver {

enum class Code : std::int32_t {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,  ///< the request is wrong in any state
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,   ///< a queue or the disk is full; the text says which
  kFailedPrecondition = 9,  ///< the request does not fit the present state
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,  ///< may succeed later: overload, closing, not yet open
  kDataLoss = 15,     ///< bytes on disk are damaged
  kUnauthenticated = 16,
};

[[nodiscard]] std::string_view to_string(Code code);

/// The thing that an error is about. Transports have words of their own for these.
enum class Subject : std::uint8_t {
  kNone,
  kCollection,
  kAlias,
  kVectorField,
  kDisk,    ///< kResourceExhausted: no space left
  kMemory,  ///< kResourceExhausted: none left
};

/// A failure. It is one shared pointer, so copies are cheap and success costs nothing. Immutable.
class Error {
 public:
  Error(Code code, std::string message)
      : Error(code, Subject::kNone, std::string(), std::move(message)) {}
  /// `name`: of the subject, "" if it has none.
  Error(Code code, Subject subject, std::string name, std::string message)
      : detail_(std::make_shared<const Detail>(
            Detail{code, subject, std::move(name), std::move(message), {}})) {}

  [[nodiscard]] Code code() const { return detail_->code; }
  [[nodiscard]] const std::string& message() const { return detail_->message; }
  [[nodiscard]] Subject subject() const { return detail_->subject; }
  [[nodiscard]] const std::string& subject_name() const { return detail_->name; }
  /// Text that `with_context` appended to the message, "" if none.
  [[nodiscard]] const std::string& context() const { return detail_->context; }
  /// The same error, with " (<where>)" appended to its message.
  [[nodiscard]] Error with_context(std::string_view where) const;
  /// "not_found: collection `x` does not exist": for logs and tests.
  [[nodiscard]] std::string to_string() const;

 private:
  struct Detail {
    Code code;
    Subject subject;
    std::string name;
    std::string message;
    std::string context;
  };
  explicit Error(Detail detail) : detail_(std::make_shared<const Detail>(std::move(detail))) {}

  std::shared_ptr<const Detail> detail_;
};

/// The value or the error of a fallible function. It derives from tl::expected, because an alias
/// would not warn about an ignored result.
template <class T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

[[nodiscard]] inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}

[[nodiscard]] inline tl::unexpected<Error> fail(Code code, Subject subject, std::string_view name,
                                                std::string message) {
  return tl::unexpected<Error>(Error(code, subject, std::string(name), std::move(message)));
}

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

#define QV_CONCAT_INNER(a, b) a##b
#define QV_CONCAT(a, b) QV_CONCAT_INNER(a, b)

#define QV_TRY_VOID(expression)                                   \
  do {                                                            \
    if (auto qv_result = (expression); !qv_result) [[unlikely]] { \
      return ::quiver::fail(std::move(qv_result).error());        \
    }                                                             \
  } while (false)

#define QV_TRY_ASSIGN_INNER(name, declaration, ...) \
  auto name = (__VA_ARGS__);                        \
  if (!name) [[unlikely]]                           \
    return ::quiver::fail(std::move(name).error()); \
  declaration = *std::move(name)

/// QV_TRY(expression) or QV_TRY(auto value, expression): on failure returns the error to the
/// caller.
#define QV_TRY_SELECT(_1, _2, _3, _4, _5, _6, name, ...) name
#define QV_TRY_ASSIGN(declaration, ...) \
  QV_TRY_ASSIGN_INNER(QV_CONCAT(qv_try_, __COUNTER__), declaration, __VA_ARGS__)
#define QV_TRY(...)                                                                      \
  QV_TRY_SELECT(__VA_ARGS__, QV_TRY_ASSIGN, QV_TRY_ASSIGN, QV_TRY_ASSIGN, QV_TRY_ASSIGN, \
                QV_TRY_ASSIGN, QV_TRY_VOID, )                                            \
  (__VA_ARGS__)

}  // namespace quiver
