// One field out of a multipart/form-data body (RFC 7578) that arrives in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quiver::service {

/// The boundary that a content type names; nullopt if it is not multipart/form-data.
[[nodiscard]] std::optional<std::string> multipart_boundary(std::string_view content_type);

/// One thread. Holds a few kilobytes, however large the field is.
class MultipartReader {
 public:
  using Take = std::function<Result<>(std::string_view)>;

  /// Gives the contents of the first field called `field` to `take`.
  MultipartReader(const std::string& boundary, std::string field, Take take)
      : delimiter_("\r\n--" + boundary), field_(std::move(field)), take_(std::move(take)) {}

  /// kInvalidArgument if the body is malformed; or the error of `take`.
  Result<> write(std::string_view bytes);
  /// kInvalidArgument unless the whole field and the end of the body were there.
  [[nodiscard]] Result<> finish() const;

 private:
  enum class State : std::uint8_t { kBefore, kAfterDelimiter, kHeaders, kContent, kEnd };

  /// False if more bytes are needed.
  Result<bool> step();
  Result<bool> find_delimiter();
  Result<bool> after_delimiter();
  Result<bool> read_headers();
  Result<> pass_on(std::string_view content);

  const std::string delimiter_;
  const std::string field_;
  const Take take_;
  State state_ = State::kBefore;
  std::string buffer_ = "\r\n";  ///< as if a line ended before the first delimiter
  bool is_wanted_ = false;       ///< the part that is being read is the field
  bool is_found_ = false;
};

}  // namespace quiver::service
