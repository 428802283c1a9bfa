#include "base/observe/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

namespace quiver {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error",
                                                         "off"};
constexpr std::array<std::string_view, 2> kFormatNames = {"text", "json"};

constexpr const char* kTextPattern = "%Y-%m-%dT%H:%M:%S.%eZ %-7l [%t] %v";
constexpr const char* kJsonPattern =
    R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","thread":%t,"message":"%v"})";

std::atomic<LogLevel> current_level = LogLevel::kInfo;
std::atomic<LogFormat> current_format = LogFormat::kText;

void set_pattern(spdlog::logger& logger, LogFormat format) {
  logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(
      format == LogFormat::kJson ? kJsonPattern : kTextPattern, spdlog::pattern_time_type::utc));
}

/// Never destroyed, because threads may log until the very end.
spdlog::logger& logger() {
  static auto* const instance = [] {
    auto* made = new spdlog::logger("quiver", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::trace);  // `log_enabled` filters by level
    set_pattern(*made, LogFormat::kText);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

std::string escape(std::string_view message, LogFormat format) {
  std::string out;
  out.reserve(message.size());
  for (const char c : message) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (c == '\n') {
      out += "\\n";
    } else if (is_control) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      if (format == LogFormat::kJson && (c == '"' || c == '\\')) out += '\\';
      out += c;
    }
  }
  return out;
}

/// `message` with control characters and quotes replaced, so that it fits both formats unchanged.
std::array<char, 768> plain(std::string_view message) {
  std::array<char, 768> text{};
  const std::size_t n = std::min(message.size(), text.size() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    const char c = message[i];
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    text[i] = is_control ? ' ' : c == '"' || c == '\\' ? '\'' : c;
  }
  return text;
}

template <class Names>
Result<std::size_t> find_name(const Names& names, std::string_view what, std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  return fail(Code::kInvalidArgument, fmt::format("unknown log {} `{}`: wanted one of {}", what,
                                                  text, fmt::join(names, ", ")));
}

}  // namespace

void set_up_log(const LogOptions& options) {
  current_level = options.level;
  current_format = options.format;
  set_pattern(logger(), options.format);
}

Result<LogLevel> parse_log_level(std::string_view text) {
  QV_TRY(const std::size_t i, find_name(kLevelNames, "level", text));
  return static_cast<LogLevel>(i);
}

Result<LogFormat> parse_log_format(std::string_view text) {
  QV_TRY(const std::size_t i, find_name(kFormatNames, "format", text));
  return static_cast<LogFormat>(i);
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && level >= current_level.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view message) {
  if (!log_enabled(level)) return;
  const LogFormat format = current_format.load(std::memory_order_relaxed);
  logger().log(spdlog_level(level), escape(message, format));
}

void log_without_memory(std::string_view message) noexcept {
  if (!log_enabled(LogLevel::kError)) return;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  const bool is_json = current_format.load(std::memory_order_relaxed) == LogFormat::kJson;
  std::array<char, 1024> line{};
  const int n = std::snprintf(
      line.data(), line.size(),
      is_json ? R"({"time":"%04d-%02u-%02uT%02d:%02d:%02d.%03dZ","level":"error","thread":%d,)"
                R"("message":"%s"})"
                "\n"
              : "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ error   [%d] %s\n",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
      static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
      static_cast<int>(time.subseconds().count()), static_cast<int>(::gettid()),
      plain(message).data());
  if (n <= 0) return;
  const auto size = std::min(static_cast<std::size_t>(n), line.size() - 1);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), size);
}

}  // namespace quiver
