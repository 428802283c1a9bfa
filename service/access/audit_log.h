// Who asked for what, and whether it was allowed: one JSON object per line, one file per day.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/observe/log_limit.h"
#include "base/result.h"
#include "service/access/access.h"

namespace quiver::service::access {

struct AuditOptions {
  bool enabled = false;
  std::string dir;                  ///< created if missing
  std::uint32_t max_log_files = 7;  ///< older files are deleted; 0: none are
};

enum class Outcome : std::uint8_t { kOk, kDenied, kFailed };

/// Views into the request.
struct AuditEvent {
  std::string_view transport;   ///< "rest" or "grpc"
  std::string_view verb;        ///< method and pattern of the path, or the name of the gRPC method
  std::string_view collection;  ///< as the caller wrote it; "": none
  Outcome outcome = Outcome::kOk;
  int status = 0;  ///< of HTTP, or of gRPC
  std::string_view request_id;
  std::string_view trace_id;
  std::string_view remote;  ///< address of the caller
};

/// The files are `audit-YYYY-MM-DD.jsonl`, by days in UTC. Each line is written at once, so a crash
/// of the process loses none. Thread-safe.
class AuditLog {
 public:
  /// kUnavailable, with the reason, if the directory or today's file cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<AuditLog>> open(AuditOptions options);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// A line that cannot be written is lost, and the server's log says so.
  void write(const Principal& caller, const AuditEvent& event) noexcept;
  /// The files so far, the newest first.
  [[nodiscard]] Result<std::vector<std::string>> files() const;
  /// As `write`, at another time: milliseconds since the epoch.
  void write_at(std::int64_t now_ms, const Principal& caller, const AuditEvent& event) noexcept;

 private:
  explicit AuditLog(AuditOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Result<> open_file(std::int64_t day) QV_REQUIRES(mutex_);
  [[nodiscard]] Result<> append(std::int64_t day, std::string_view line) QV_EXCLUDES(mutex_);
  [[nodiscard]] Result<> append_bytes(std::string_view bytes) QV_REQUIRES(mutex_);
  void take_back(std::size_t n_bytes) QV_REQUIRES(mutex_);
  void delete_old_files() const;

  const AuditOptions options_;
  LogLimit repeated_;
  Mutex mutex_;
  int file_ QV_GUARDED_BY(mutex_) = -1;
  bool ends_within_line_ QV_GUARDED_BY(mutex_) = false;  ///< half a line is at the end of `file_`
  std::int64_t day_ QV_GUARDED_BY(mutex_) = -1;          ///< of `file_`, since the epoch
};

/// A moment as lines have it, `2026-11-24T17:05:00.250Z`; later ones have larger texts.
[[nodiscard]] std::string audit_time(std::int64_t ms);
/// The line of an event, with its end.
[[nodiscard]] std::string audit_line(std::int64_t now_ms, const Principal& caller,
                                     const AuditEvent& event);

}  // namespace quiver::service::access
