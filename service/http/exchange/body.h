// Bodies that are too large for memory: responses made piece by piece, requests consumed so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace quiver::service {

/// Makes the body of a response while it is sent. One thread at a time uses it. Destroyed once the
/// response is sent or given up.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Bytes of the whole body; nullopt: unknown, so the body is sent in chunks.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const = 0;
  /// Writes the next bytes to the beginning of `out` and returns their number; 0 at the end. Runs
  /// on a thread that may block. An error of the first call becomes the response; a later one
  /// ends the connection, so that the client sees an incomplete body.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<char> out) = 0;
};

/// Consumes the body of a request while it arrives. One thread at a time uses it. Destroyed after
/// the response, or when the request is given up; then the body may be incomplete.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Takes the next bytes. Runs on a thread that may block. An error becomes the response, and the
  /// connection ends.
  [[nodiscard]] virtual Result<> write(std::string_view bytes) = 0;
};

}  // namespace quiver::service
