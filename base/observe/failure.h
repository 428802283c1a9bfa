// What becomes of an exception where none may pass: an error, or the end of the process.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace quiver {

/// kResourceExhausted "out of memory"; takes none.
[[nodiscard]] Error out_of_memory() noexcept;
/// The exception that is being handled: `out_of_memory` for std::bad_alloc, else kInternal with its
/// text. For catch blocks.
[[nodiscard]] Error error_of_exception() noexcept;
/// Writes the exception that is being handled to the log. For catch blocks.
void log_exception(std::string_view where) noexcept;
/// Aborts after a line in the log that says so, and takes no memory. For catch blocks.
[[noreturn]] void end_process(std::string_view where) noexcept;

/// An exception that nobody catches ends the process with a line in the log. Once, at the start.
void end_process_on_uncaught() noexcept;

/// What `fn` returns, a Result; an exception that leaves it is its error.
template <std::invocable F>
[[nodiscard]] std::invoke_result_t<F> guarded(F&& fn) noexcept {
  try {
    return std::forward<F>(fn)();
  } catch (...) {
    return fail(error_of_exception());
  }
}

/// Runs `fn`; an exception that leaves it is logged.
template <std::invocable F>
void run_logged(std::string_view where, F&& fn) noexcept {
  try {
    std::forward<F>(fn)();
  } catch (...) {
    log_exception(where);
  }
}

/// What `fn` returns. For what would leave a state that cannot be gone on from if it was left half
/// way: an exception ends the process, and the next start recovers.
template <std::invocable F>
std::invoke_result_t<F> run_whole(std::string_view where, F&& fn) noexcept {
  try {
    return std::forward<F>(fn)();
  } catch (...) {
    end_process(where);
  }
}

}  // namespace quiver
