// Turns an exception into an error or into the end of the process, where none may pass.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace quiver {

/// kResourceExhausted "out of memory". Allocates nothing.
[[nodiscard]] Error out_of_memory() noexcept;
/// Converts the exception being handled: `out_of_memory` for std::bad_alloc, else kInternal with
/// its text. For catch blocks.
[[nodiscard]] Error error_of_exception() noexcept;
/// Logs the exception being handled. For catch blocks.
void log_exception(std::string_view where) noexcept;
/// Logs a line and aborts, without allocating. For catch blocks.
[[noreturn]] void end_process(std::string_view where) noexcept;

/// Makes an uncaught exception log a line before the process ends. Call once, at start.
void end_process_on_uncaught() noexcept;

/// Returns the Result of `fn`; an exception from `fn` becomes its error.
template <std::invocable F>
[[nodiscard]] std::invoke_result_t<F> guarded(F&& fn) noexcept {
  try {
    return std::forward<F>(fn)();
  } catch (...) {
    return fail(error_of_exception());
  }
}

/// Runs `fn` and logs an exception from it.
template <std::invocable F>
void run_logged(std::string_view where, F&& fn) noexcept {
  try {
    std::forward<F>(fn)();
  } catch (...) {
    log_exception(where);
  }
}

/// Returns the result of `fn`, which must not stop half-way: an exception ends the process, and the
/// next start recovers.
template <std::invocable F>
std::invoke_result_t<F> run_whole(std::string_view where, F&& fn) noexcept {
  try {
    return std::forward<F>(fn)();
  } catch (...) {
    end_process(where);
  }
}

}  // namespace quiver
