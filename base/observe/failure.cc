#include "base/observe/failure.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/observe/log.h"
#include "base/observe/log_limit.h"

namespace quiver {
namespace {

constexpr const char* kEnd =
    "; the process ends here, because its state is incomplete; the next start recovers "
    "acknowledged updates";
/// Allocated at start, before memory can run out.
const Error kOutOfMemory(Code::kResourceExhausted, Subject::kMemory, "", "out of memory");

Error error_of(const std::exception& exception) noexcept {
  try {
    return {Code::kInternal, exception.what()};
  } catch (...) {
    return kOutOfMemory;
  }
}

/// Calls `fn` with the text of the exception being handled.
template <class F>
void with_text_of_exception(F fn) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    fn("out of memory");
  } catch (const std::exception& exception) {
    fn(exception.what());
  } catch (...) {
    fn("an exception other than std::exception");
  }
}

/// A line formatted without allocating; a long one is cut.
struct Line {
  std::array<char, 512> text{};
  std::size_t n = 0;

  [[nodiscard]] std::string_view view() const { return {text.data(), n}; }
};

Line make_line(std::string_view where, const char* what, const char* end) noexcept {
  Line line;
  const int n = std::snprintf(line.text.data(), line.text.size(), "%.*s: %s%s",
                              static_cast<int>(where.size()), where.data(), what, end);
  if (n > 0) line.n = std::min<std::size_t>(n, line.text.size() - 1);
  return line;
}

void log_line(std::string_view where, const char* what, const char* end) noexcept {
  log_without_memory(make_line(where, what, end).view());
}

}  // namespace

Error out_of_memory() noexcept { return kOutOfMemory; }

Error error_of_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception& exception) {
    return error_of(exception);
  } catch (...) {
    try {
      return {Code::kInternal, "an exception other than std::exception"};
    } catch (...) {
      return kOutOfMemory;
    }
  }
}

void log_exception(std::string_view where) noexcept {
  static LogLimit limit;  // a timer may throw the same exception at every tick
  with_text_of_exception([&](const char* what) {
    const auto n_left_out = limit.pass(make_line(where, what, "").view());
    if (!n_left_out) return;
    try {
      log_error("{}: {}{}", where, what, left_out_text(*n_left_out));
    } catch (...) {
      log_line(where, what, "");
    }
  });
}

void end_process_on_uncaught() noexcept {
  std::set_terminate([] {
    if (std::current_exception() != nullptr) end_process("an uncaught exception");
    log_line("std::terminate was called", "perhaps out of memory", kEnd);
    std::abort();
  });
}

void end_process(std::string_view where) noexcept {
  with_text_of_exception([&](const char* what) { log_line(where, what, kEnd); });
  std::abort();
}

}  // namespace quiver
