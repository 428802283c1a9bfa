// The log of the process: one line per event on standard error, as text or as JSON.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace quiver {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat : std::uint8_t { kText, kJson };

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
};

/// Call at start, before other threads log. The default is level info, as text.
void set_up_log(const LogOptions& options);
/// Accepts "debug", "info", "warning", "error" and "off".
[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view text);
/// Accepts "text" and "json".
[[nodiscard]] Result<LogFormat> parse_log_format(std::string_view text);

/// Thread-safe. Control characters of `message` are escaped, so that one event is one line.
void log(LogLevel level, std::string_view message);
[[nodiscard]] bool log_enabled(LogLevel level);
/// Logs an error without allocating, for use when memory has run out. Long messages are cut.
void log_without_memory(std::string_view message) noexcept;

/// log_info("opened `{}` in {:.3f} s", name, seconds): formats only if the level is enabled.
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::kDebug)) return;
  log(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::kInfo)) return;
  log(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::kWarning)) return;
  log(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  if (!log_enabled(LogLevel::kError)) return;
  log(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace quiver
