// Limits of the whole server on memory and disk, which its operator sets while it runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"

namespace quiver::service::api::strict {

/// Percentages, 1 to 100; nullopt: no limit.
struct QuotaConfig {
  bool enabled = false;
  std::optional<std::uint64_t> max_resident_memory_percent;
  std::optional<std::uint64_t> max_disk_usage_percent;
  /// Percentage points below a limit at which writes are taken again; 5 by default.
  std::optional<std::uint64_t> release_margin_percent;
  bool operator==(const QuotaConfig&) const = default;
};
/// Without members that are not set.
[[nodiscard]] std::string to_json(const QuotaConfig& config);
/// kInvalidArgument for another type or a number out of range, naming the member.
[[nodiscard]] Result<QuotaConfig> parse_quota(std::string_view json);

/// nullopt: it cannot be read.
struct QuotaUsage {
  std::optional<std::uint64_t> resident_memory_percent;
  std::optional<std::uint64_t> disk_usage_percent;
};
/// Of this process, in percent of what it may use.
[[nodiscard]] std::optional<std::uint64_t> resident_memory_percent();
/// Of the file system that holds `path`.
[[nodiscard]] std::optional<std::uint64_t> disk_usage_percent(const std::string& path);

/// Whether a resource is refused: from its limit on, until it falls below limit less margin.
class Gate {
 public:
  [[nodiscard]] bool is_closed_by(std::uint64_t used, std::uint64_t limit, std::uint64_t margin) {
    const std::uint64_t release = limit > margin ? limit - margin : 0;
    is_closed_ = used >= (is_closed_ ? release : limit);
    return is_closed_;
  }
  [[nodiscard]] bool is_closed() const { return is_closed_; }
  void open() { is_closed_ = false; }

 private:
  bool is_closed_ = false;
};

/// Kept in `quotas.json` of the data directory. Thread-safe.
class Quota {
 public:
  using Clock = std::chrono::steady_clock;

  /// Reads the file. A damaged one is logged, and nothing is limited. `data_dir` empty: nothing is
  /// kept.
  explicit Quota(std::string data_dir);

  [[nodiscard]] QuotaConfig config() const QV_EXCLUDES(mutex_);
  /// Durable on return.
  Result<> set(const QuotaConfig& config) QV_EXCLUDES(mutex_);
  [[nodiscard]] QuotaUsage usage() const;
  /// Which resources are refused now: memory, disk.
  [[nodiscard]] std::pair<bool, bool> exceeded() const QV_EXCLUDES(mutex_);

  /// kResourceExhausted about memory or disk if a change that adds data is not taken. One load if
  /// there is no quota; readings are at most half a second old.
  [[nodiscard]] Result<> check_growth(Clock::time_point now) QV_EXCLUDES(mutex_);

 private:
  [[nodiscard]] Result<> check_memory() QV_REQUIRES(mutex_);
  [[nodiscard]] Result<> check_disk() QV_REQUIRES(mutex_);

  const std::string data_dir_;
  std::atomic<bool> is_enabled_ = false;
  mutable Mutex mutex_;
  Mutex write_mutex_;
  QuotaConfig config_ QV_GUARDED_BY(mutex_);
  QuotaUsage last_ QV_GUARDED_BY(mutex_);
  std::optional<Clock::time_point> read_at_ QV_GUARDED_BY(mutex_);
  Gate memory_ QV_GUARDED_BY(mutex_);
  Gate disk_ QV_GUARDED_BY(mutex_);
};

}  // namespace quiver::service::api::strict
