// QV_CHECK asserts in release builds too: it prints the failed expression and aborts.
#pragma once

namespace quiver {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace quiver

#define QV_CHECK(expression)                            \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::quiver::check_failed(#expression, __FILE__, __LINE__))
