// Reading of decimal text.
#pragma once

#include <cstddef>

namespace quiver {

struct DecimalsRead {
  std::size_t n = 0;          ///< decimals read
  const char* end = nullptr;  ///< end of the last one
};

/// Exact.
struct DecimalKernels {
  /// Largest number of digits behind the point.
  static constexpr unsigned kMaxFraction = 23;
  /// Bytes that must follow a point for its decimal to be read.
  static constexpr std::ptrdiff_t kReadAfterPoint = 25;
  /// Bytes before the text that may be read.
  static constexpr std::ptrdiff_t kReadBefore = 16;

  /// Reads decimals such as `-0.0123`, starting at `text`. Each becomes the float nearest to its
  /// nearest double. The form: one digit, or two of which the first is not 0; a point; digits; no
  /// exponent. A comma and at most one space separate two decimals.
  ///
  /// Stops behind a decimal without a comma, or after `room` decimals. Also stops before anything
  /// of another form, and before a decimal whose first sixteen digits do not determine the float.
  ///
  /// The `kReadBefore` bytes before `text` are readable; the last of them is not part of a number.
  /// Nothing is read from `end` on. All `room` floats of `out` may be written.
  DecimalsRead (*read)(const char* text, const char* end, float* out, std::size_t room);
};

}  // namespace quiver
