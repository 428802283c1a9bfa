#include "service/access/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/observe/log.h"
#include "base/utf8.h"
#include "payload/json/escape.h"

namespace quiver::service::access {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kSecondsPerDay = 24 * 60 * 60;
constexpr std::string_view kPrefix = "audit-";
constexpr std::string_view kSuffix = ".jsonl";

std::tm utc(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  return parts;
}

std::string file_name(std::int64_t day) {
  const std::tm date = utc(day * kSecondsPerDay);
  return fmt::format("{}{:04}-{:02}-{:02}{}", kPrefix, date.tm_year + 1900, date.tm_mon + 1,
                     date.tm_mday, kSuffix);
}

std::string_view to_string(Outcome outcome) {
  constexpr std::string_view kNames[] = {"ok", "denied", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

void append_member(std::string& line, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  line += fmt::format(",\"{}\":", name);
  if (is_utf8(value)) {
    payload::append_string(line, value);
  } else {
    payload::append_string(line, to_utf8(value));
  }
}

/// As a process leaves it that was killed, or a disk that was full.
bool has_unfinished_line(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() <= 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(Code::kUnavailable,
              fmt::format("cannot write the audit log {}: {}", path, std::strerror(error)));
}

}  // namespace

std::string audit_time(std::int64_t ms) {
  const std::tm t = utc(ms / kMsPerSecond);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, ms % kMsPerSecond);
}

std::string audit_line(std::int64_t now_ms, const Principal& caller, const AuditEvent& event) {
  std::string line = fmt::format("{{\"time\":\"{}\"", audit_time(now_ms));
  append_member(line, "transport", event.transport);
  append_member(line, "verb", event.verb);
  append_member(line, "collection", event.collection);
  append_member(line, "caller", to_string(caller.kind()));
  append_member(line, "subject", caller.subject());
  append_member(line, "outcome", to_string(event.outcome));
  line += fmt::format(",\"status\":{}", event.status);
  append_member(line, "request_id", event.request_id);
  append_member(line, "trace_id", event.trace_id);
  append_member(line, "remote", event.remote);
  line += "}\n";
  return line;
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(AuditOptions options) {
  std::error_code error;
  fs::create_directories(options.dir, error);
  if (error) return cannot_write(options.dir, error.value());
  std::unique_ptr<AuditLog> log(new AuditLog(std::move(options)));
  QV_TRY(log->append(unix_time_ms() / kMsPerSecond / kSecondsPerDay, ""));
  return log;
}

AuditLog::~AuditLog() {
  MutexLock lock(mutex_);
  if (file_ >= 0) ::close(file_);
}

void AuditLog::write(const Principal& caller, const AuditEvent& event) noexcept {
  write_at(unix_time_ms(), caller, event);
}

void AuditLog::write_at(std::int64_t now_ms, const Principal& caller,
                        const AuditEvent& event) noexcept {
  try {
    const std::int64_t day = now_ms / kMsPerSecond / kSecondsPerDay;
    const auto written = append(day, audit_line(now_ms, caller, event));
    if (!written) repeated_.log(LogLevel::kError, "audit", written.error().message());
  } catch (...) {
    log_error("cannot write the audit log: no memory");
  }
}

Result<> AuditLog::append(std::int64_t day, std::string_view line) {
  MutexLock lock(mutex_);
  if (day != day_ || file_ < 0) QV_TRY(open_file(day));
  if (ends_within_line_ && !line.empty()) QV_TRY(append_bytes("\n"));
  ends_within_line_ = false;
  return append_bytes(line);
}

/// What was written of a line before the disk was full is taken back, or else ends with a line end
/// before the next event.
Result<> AuditLog::append_bytes(std::string_view bytes) {
  std::size_t n_written = 0;
  while (n_written < bytes.size()) {
    const ssize_t n = ::write(file_, bytes.data() + n_written, bytes.size() - n_written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      if (n_written > 0) take_back(n_written);
      return cannot_write(options_.dir, error);
    }
    n_written += static_cast<std::size_t>(n);
  }
  return {};
}

void AuditLog::take_back(std::size_t n_bytes) {
  const off_t end = ::lseek(file_, 0, SEEK_END);
  const auto n = static_cast<off_t>(n_bytes);
  ends_within_line_ = end < n || ::ftruncate(file_, end - n) != 0;
}

Result<> AuditLog::open_file(std::int64_t day) {
  if (file_ >= 0) ::close(file_);
  const std::string path = options_.dir + "/" + file_name(day);
  constexpr int kOwnerOnly = 0600;
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kOwnerOnly);
  if (file_ < 0) return cannot_write(path, errno);
  day_ = day;
  ends_within_line_ = has_unfinished_line(path);
  delete_old_files();
  return {};
}

/// Names sort as their dates.
Result<std::vector<std::string>> AuditLog::files() const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(options_.dir, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name.size() == file_name(0).size() && name.starts_with(kPrefix) &&
        name.ends_with(kSuffix)) {
      names.push_back(std::move(name));
    }
  }
  if (error) {
    return fail(Code::kUnavailable,
                fmt::format("cannot list the audit log {}: {}", options_.dir, error.message()));
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  for (auto& name : names) name = options_.dir + "/" + name;
  return names;
}

void AuditLog::delete_old_files() const {
  if (options_.max_log_files == 0) return;
  const auto paths = files();
  if (!paths) return log_warning("audit: {}", paths.error().message());
  std::error_code error;
  for (std::size_t i = options_.max_log_files; i < paths->size(); ++i) {
    fs::remove((*paths)[i], error);
    if (error) log_warning("audit: cannot delete {}: {}", (*paths)[i], error.message());
  }
}

}  // namespace quiver::service::access
