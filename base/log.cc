#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
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

/// Never destroyed: threads may log until the very end.
spdlog::logger& logger() {
  static auto* const instance = [] {
    auto* made = new spdlog::logger("quiver", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_level(spdlog::level::trace);  // `log_enabled` decides
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

}  // namespace quiver
