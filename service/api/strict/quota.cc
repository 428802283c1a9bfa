#include "service/api/strict/quota.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/io/file.h"
#include "base/observe/log.h"
#include "base/observe/machine.h"
#include "base/observe/memory.h"
#include "payload/json/document.h"

namespace quiver::service::api::strict {
namespace {

using payload::Object;
using payload::Value;

constexpr std::string_view kFileName = "quotas.json";
constexpr std::uint64_t kDefaultMarginPercent = 5;
constexpr auto kMaxReadingAge = std::chrono::milliseconds(500);

struct Percentage {
  std::string_view name;
  std::optional<std::uint64_t> QuotaConfig::*member;
  std::uint64_t min;
};
constexpr Percentage kPercentages[] = {
    {"max_resident_memory_percent", &QuotaConfig::max_resident_memory_percent, 1},
    {"max_disk_usage_percent", &QuotaConfig::max_disk_usage_percent, 1},
    {"release_margin_percent", &QuotaConfig::release_margin_percent, 0},
};

std::uint64_t percent(std::uint64_t used, std::uint64_t total) {
  constexpr double kPercent = 100;
  return static_cast<std::uint64_t>(static_cast<double>(used) / static_cast<double>(total) *
                                    kPercent);
}

Result<std::optional<std::uint64_t>> read_percentage(const Value& object, const Percentage& what) {
  const Value* value = object.find(what.name);
  if (value == nullptr || value->is_null()) return std::optional<std::uint64_t>();
  const auto number = value->as_unsigned();
  constexpr std::uint64_t kMax = 100;
  if (number && *number >= what.min && *number <= kMax) return number;
  return fail(Code::kInvalidArgument,
              fmt::format("{}: value {} invalid, must be from {} to {}", what.name,
                          payload::to_json(*value), what.min, kMax));
}

Result<QuotaConfig> read_file(const std::string& data_dir) {
  QV_TRY(const auto directory, open_real_directory(data_dir));
  if (!directory->exists(kFileName)) return QuotaConfig();
  QV_TRY(const auto bytes, directory->read_file(kFileName));
  return parse_quota(as_text(bytes));
}

/// What to say of a resource at `used` percent, refused from `limit` on.
std::string refusal(std::string_view what, std::string_view total, std::uint64_t used,
                    std::uint64_t limit, std::uint64_t release, std::string_view parameter) {
  const std::string state =
      used >= limit
          ? fmt::format("{} usage is at {}% of {}, exceeding the configured limit of {}%", what,
                        used, total, limit)
          : fmt::format(
                "{} usage is at {}% of {}; it reached the limit of {}% and must fall below "
                "{}% first",
                what, used, total, limit, release);
  return fmt::format("{}. Help: delete points or drop collections, or raise `{}` by PUT /quotas.",
                     state, parameter);
}

}  // namespace

std::string to_json(const QuotaConfig& config) {
  Object object = {{"enabled", Value(config.enabled)}};
  for (const auto& [name, member, min] : kPercentages) {
    if (config.*member) object.push_back({std::string(name), Value(*(config.*member))});
  }
  return payload::to_json(Value(std::move(object)));
}

Result<QuotaConfig> parse_quota(std::string_view json) {
  QV_TRY(const auto value, payload::parse_json(json));
  if (value.as_object() == nullptr) {
    return fail(Code::kInvalidArgument, "quotas: expected an object");
  }
  QuotaConfig config;
  if (const Value* enabled = value.find("enabled")) {
    if (enabled->as_bool() == nullptr) {
      return fail(Code::kInvalidArgument,
                  fmt::format("enabled: value {} invalid, must be true or false",
                              payload::to_json(*enabled)));
    }
    config.enabled = *enabled->as_bool();
  }
  for (const auto& what : kPercentages) {
    QV_TRY(config.*what.member, read_percentage(value, what));
  }
  return config;
}

std::optional<std::uint64_t> resident_memory_percent() {
  static const std::uint64_t ram_bytes = read_machine().ram_bytes;
  if (ram_bytes == 0) return std::nullopt;
  return percent(read_memory().resident_bytes, ram_bytes);
}

std::optional<std::uint64_t> disk_usage_percent(const std::string& path) {
  std::error_code error;
  const auto space = std::filesystem::space(path, error);
  if (path.empty() || error || space.capacity == 0) return std::nullopt;
  return percent(space.capacity - space.available, space.capacity);
}

Quota::Quota(std::string data_dir) : data_dir_(std::move(data_dir)) {
  if (data_dir_.empty()) return;
  const auto read = read_file(data_dir_);
  if (!read) {
    log_error("{}/{} cannot be read, so that no quota is in force: {}", data_dir_, kFileName,
              read.error().message());
    return;
  }
  config_ = *read;
  is_enabled_ = config_.enabled;
}

QuotaConfig Quota::config() const {
  MutexLock lock(mutex_);
  return config_;
}

Result<> Quota::set(const QuotaConfig& config) {
  MutexLock one_writer(write_mutex_);
  if (!data_dir_.empty()) {
    QV_TRY(const auto directory, open_real_directory(data_dir_));
    QV_TRY(directory->replace_file(kFileName, as_byte_span(to_json(config))));
  }
  MutexLock lock(mutex_);
  config_ = config;
  read_at_.reset();
  memory_.open();
  disk_.open();
  is_enabled_ = config.enabled;
  return {};
}

QuotaUsage Quota::usage() const {
  return {resident_memory_percent(), disk_usage_percent(data_dir_)};
}

std::pair<bool, bool> Quota::exceeded() const {
  MutexLock lock(mutex_);
  return {memory_.is_closed(), disk_.is_closed()};
}

Result<> Quota::check_growth(Clock::time_point now) {
  if (!is_enabled_.load(std::memory_order_relaxed)) return {};
  bool is_stale = false;
  {
    MutexLock lock(mutex_);
    is_stale = !read_at_ || now - *read_at_ >= kMaxReadingAge;
  }
  const auto fresh = is_stale ? usage() : QuotaUsage();
  MutexLock lock(mutex_);
  if (is_stale) {
    last_ = fresh;
    read_at_ = now;
  }
  QV_TRY(check_memory());
  return check_disk();
}

Result<> Quota::check_memory() {
  const auto limit = config_.max_resident_memory_percent;
  const auto used = last_.resident_memory_percent;
  const std::uint64_t margin = config_.release_margin_percent.value_or(kDefaultMarginPercent);
  if (!limit || !used || !memory_.is_closed_by(*used, *limit, margin)) return {};
  return fail(Code::kResourceExhausted, Subject::kMemory, {},
              refusal("Resident memory", "total memory", *used, *limit,
                      *limit > margin ? *limit - margin : 0, "max_resident_memory_percent"));
}

Result<> Quota::check_disk() {
  const auto limit = config_.max_disk_usage_percent;
  const auto used = last_.disk_usage_percent;
  const std::uint64_t margin = config_.release_margin_percent.value_or(kDefaultMarginPercent);
  if (!limit || !used || !disk_.is_closed_by(*used, *limit, margin)) return {};
  return fail(Code::kResourceExhausted, Subject::kDisk, {},
              refusal("Disk", "total capacity", *used, *limit,
                      *limit > margin ? *limit - margin : 0, "max_disk_usage_percent"));
}

}  // namespace quiver::service::api::strict
