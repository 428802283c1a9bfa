#include "base/observe/request_log.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>

#include "base/clock.h"
#include "base/observe/log.h"

namespace quiver {
namespace {

constexpr std::int64_t kWarningIntervalMs = 60'000;
constexpr double kMsPerSecond = 1000;

std::atomic<bool> is_request_log_on = false;
std::atomic<int> request_file = -1;
std::atomic<double> slow_from_ms = 0;
std::atomic<std::int64_t> last_warning_ms = 0;

bool is_slow(const RequestFacts& facts, double slow_ms) {
  return slow_ms > 0 && facts.seconds * kMsPerSecond >= slow_ms;
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
}

/// Nothing if `value` is empty.
void append_member(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out += fmt::format(",\"{}\":\"", name);
  append_escaped(out, value);
  out += '"';
}

std::string time_text(std::int64_t ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

void warn_of_lost_line(std::int64_t now_ms, int error) {
  std::int64_t last = last_warning_ms;
  if (now_ms - last < kWarningIntervalMs) return;
  if (!last_warning_ms.compare_exchange_strong(last, now_ms)) return;
  log_warning("lines of the request log are lost: {}", std::generic_category().message(error));
}

void write_line(std::string_view line, std::int64_t now_ms) {
  const ssize_t n = ::write(request_file, line.data(), line.size());
  if (n != static_cast<ssize_t>(line.size())) warn_of_lost_line(now_ms, n < 0 ? errno : ENOSPC);
}

void warn_of_slow(const RequestFacts& facts) {
  log_warning("slow request: {}{}{} collection `{}`: {} after {:.1f} ms (id {}, trace {}, from {})",
              facts.method, facts.method.empty() ? "" : " ", facts.endpoint, facts.collection,
              facts.status, facts.seconds * kMsPerSecond, facts.request_id, facts.trace_id,
              facts.remote);
}

}  // namespace

Result<> set_up_request_log(const RequestLogOptions& options) {
  int opened = -1;
  if (!options.file.empty()) {
    opened = ::open(options.file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (opened < 0) {
      return fail(Code::kUnavailable,
                  fmt::format("cannot open the request log `{}`: {}", options.file,
                              std::generic_category().message(errno)));
    }
  }
  const int before = request_file.exchange(opened);
  if (before >= 0) ::close(before);
  slow_from_ms = options.slow_ms;
  is_request_log_on = opened >= 0 || options.slow_ms > 0;
  return {};
}

bool logs_requests() noexcept { return is_request_log_on.load(std::memory_order_relaxed); }

void log_request(const RequestFacts& facts) noexcept {
  if (!logs_requests()) return;
  try {
    const double slow_ms = slow_from_ms;
    const std::int64_t now_ms = unix_time_ms();
    if (request_file >= 0) write_line(request_line(now_ms, facts, slow_ms), now_ms);
    if (is_slow(facts, slow_ms)) warn_of_slow(facts);
  } catch (...) {
    log_without_memory("no memory for a line of the request log");
  }
}

std::string request_line(std::int64_t now_ms, const RequestFacts& facts, double slow_ms) {
  std::string line = fmt::format("{{\"time\":\"{}\"", time_text(now_ms));
  append_member(line, "transport", facts.transport);
  append_member(line, "method", facts.method);
  append_member(line, "endpoint", facts.endpoint);
  append_member(line, "collection", facts.collection);
  line += fmt::format(",\"status\":{},\"ms\":{:.3f},\"answer_bytes\":{}", facts.status,
                      facts.seconds * kMsPerSecond, facts.answer_bytes);
  append_member(line, "request_id", facts.request_id);
  append_member(line, "trace_id", facts.trace_id);
  append_member(line, "remote", facts.remote);
  if (is_slow(facts, slow_ms)) line += ",\"slow\":true";
  return line + "}\n";
}

}  // namespace quiver
