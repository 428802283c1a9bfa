#include "app/doctor/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "kernels/kernels.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

namespace fs = std::filesystem;

constexpr double kGiB = 1024.0 * 1024 * 1024;
/// A busy server with a thousand collections: decision 0043 and base/io.
constexpr std::uint64_t kWantedOpenFiles = 65536;
/// Each file of a segment is a mapping; the kernel's default is enough for about 10,000 segments.
constexpr std::uint64_t kWantedMaps = 65530;
constexpr double kMinFreeShare = 0.1;
/// A synced update waits for one sync: a good SSD needs less than 1 ms, a disk about 10 ms.
constexpr double kSlowSyncMs = 5;
constexpr double kVerySlowSyncMs = 50;
/// No disk stores 4 KiB faster; a cache without power protection may.
constexpr double kUnlikelySyncMs = 0.01;
constexpr int kSyncs = 32;
constexpr auto kSyncPatience = std::chrono::seconds(5);

Diagnosis fine(std::string what, std::string found) {
  return {Health::kOk, std::move(what), std::move(found), ""};
}
Diagnosis warning(std::string what, std::string found, std::string change) {
  return {Health::kWarning, std::move(what), std::move(found), std::move(change)};
}
Diagnosis bad(std::string what, std::string found, std::string change) {
  return {Health::kBad, std::move(what), std::move(found), std::move(change)};
}

std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

std::optional<std::uint64_t> number_in(const std::string& path) {
  const std::string text = first_line(path);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A line of /proc/meminfo, in bytes.
std::uint64_t memory_fact(std::string_view name) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (file >> word >> kib) {
    if (word == std::string(name) + ":") return kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

std::optional<std::uint64_t> control_group_limit() {
  if (const auto limit = number_in("/sys/fs/cgroup/memory.max")) return limit;
  const auto old = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;
  return old && *old < kNoLimit ? old : std::nullopt;
}

/// The directory, or the next one above it that is there.
std::string existing_directory(const std::string& wanted) {
  std::error_code error;
  fs::path path = fs::absolute(wanted, error);
  while (!fs::is_directory(path, error) && path != path.root_path()) path = path.parent_path();
  return path.string();
}

/// Milliseconds of each sync; empty if nothing can be written.
std::vector<double> time_syncs(const std::string& directory) {
  const std::string path = fmt::format("{}/.quiver-doctor-{}", directory, ::getpid());
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return {};
  const std::array<char, 4096> page{};
  std::vector<double> times;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kSyncs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (start - begin > kSyncPatience) break;
    if (::write(file, page.data(), page.size()) < 0 || ::fdatasync(file) != 0) break;
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  ::close(file);
  ::unlink(path.c_str());
  std::sort(times.begin(), times.end());
  return times;
}

void look_at_disk(const std::string& data_dir, std::vector<Diagnosis>& found) {
  const std::string directory = existing_directory(data_dir);
  struct statfs facts {};
  if (::statfs(directory.c_str(), &facts) != 0) {
    found.push_back(bad("disk", directory + " cannot be looked at", "name a data directory"));
    return;
  }
  const auto block = static_cast<std::uint64_t>(facts.f_bsize);
  found.push_back(judge_disk_space(facts.f_bavail * block, facts.f_blocks * block));
  const auto times = time_syncs(directory);
  if (times.empty()) {
    found.push_back(bad("disk sync", directory + " cannot be written",
                        "give the server's user the right to write there"));
    return;
  }
  const bool is_memory = facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC;
  found.push_back(judge_sync(times[times.size() / 2], times.back(), is_memory));
}

bool is_clock_synchronised() {
  timex state{};
  const int result = ::adjtimex(&state);
  return result >= 0 && result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

std::uint64_t hard_limit(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return 0;
  return limit.rlim_max == RLIM_INFINITY ? std::numeric_limits<std::uint64_t>::max()
                                         : std::uint64_t{limit.rlim_max};
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kWarning:
      return "warn";
    case Health::kBad:
      return "bad";
  }
  return "bad";
}

Diagnosis judge_cpu(std::string_view level, std::string_view available) {
  const std::string found = fmt::format("{} of{}", level, available);
  if (level == "generic") {
    return warning("cpu", found, "use a CPU with AVX2: searches are several times faster");
  }
  if (available.find("avx512") != std::string_view::npos && level != "avx512") {
    return warning("cpu", found, "unset QUIVER_SIMD: the CPU has AVX-512");
  }
  return fine("cpu", found);
}

Diagnosis judge_huge_pages(std::string_view setting) {
  const auto begin = setting.find('[');
  const auto end = setting.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return warning("huge pages", "unknown", "searches that miss the cache are slower without");
  }
  const std::string chosen(setting.substr(begin + 1, end - begin - 1));
  if (chosen != "never") return fine("huge pages", chosen);
  return warning("huge pages", chosen,
                 "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
}

Diagnosis judge_open_files(std::uint64_t hard) {
  const std::string found = hard == std::numeric_limits<std::uint64_t>::max()
                                ? std::string("unlimited")
                                : fmt::format("{} at most", hard);
  if (hard >= kWantedOpenFiles) return fine("open files", found);
  return warning("open files", found,
                 fmt::format("raise the hard limit to {} (LimitNOFILE= in the unit, ulimit -Hn): "
                             "each busy shard has up to 192 files open",
                             kWantedOpenFiles));
}

Diagnosis judge_map_count(std::uint64_t limit) {
  const std::string found = fmt::format("{} at most", limit);
  if (limit >= kWantedMaps) return fine("mappings", found);
  return warning("mappings", found,
                 "sysctl vm.max_map_count=262144: each file of a segment is one");
}

Diagnosis judge_memory(std::uint64_t total_bytes, std::optional<std::uint64_t> limit_bytes,
                       std::uint64_t swap_bytes) {
  std::string found = fmt::format("{:.1f} GiB", static_cast<double>(total_bytes) / kGiB);
  if (limit_bytes && *limit_bytes < total_bytes) {
    found += fmt::format(", {:.1f} GiB for this control group",
                         static_cast<double>(*limit_bytes) / kGiB);
  }
  if (swap_bytes == 0) return fine("memory", found + ", no swap");
  return warning(
      "memory", found + fmt::format(", {:.1f} GiB of swap", static_cast<double>(swap_bytes) / kGiB),
      "swapoff -a, or vm.swappiness=1: vectors that are swapped out make searches slow");
}

Diagnosis judge_disk_space(std::uint64_t free_bytes, std::uint64_t total_bytes) {
  const std::string found =
      fmt::format("{:.1f} of {:.1f} GiB free", static_cast<double>(free_bytes) / kGiB,
                  static_cast<double>(total_bytes) / kGiB);
  if (free_bytes == 0) return bad("disk space", found, "make space: updates are refused with 507");
  if (static_cast<double>(free_bytes) >= kMinFreeShare * static_cast<double>(total_bytes)) {
    return fine("disk space", found);
  }
  return warning("disk space", found, "make space: merging segments needs room for a second copy");
}

Diagnosis judge_sync(double median_ms, double longest_ms, bool is_memory) {
  const std::string found =
      fmt::format("{:.3f} ms for 4 KiB (longest {:.3f} ms)", median_ms, longest_ms);
  if (is_memory) {
    return bad("disk sync", found, "the data directory is in memory: a restart loses it all");
  }
  if (median_ms < kUnlikelySyncMs) {
    return warning("disk sync", found,
                   "no disk is that fast: see that its cache, or the virtual machine's, keeps data "
                   "without power");
  }
  if (median_ms > kVerySlowSyncMs) {
    return warning("disk sync", found,
                   "use a local SSD: each acknowledged update waits for a sync");
  }
  if (median_ms > kSlowSyncMs) {
    return warning("disk sync", found, "use an SSD, or send larger batches from more clients");
  }
  return fine("disk sync", found);
}

Diagnosis judge_clock(std::string_view source, bool is_synchronised) {
  const std::string found = fmt::format("{}, {}", source.empty() ? "unknown" : source,
                                        is_synchronised ? "synchronised" : "not synchronised");
  constexpr std::string_view kFast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
                                        "arch_sys_counter"};
  if (!source.empty() && std::ranges::find(kFast, source) == std::end(kFast)) {
    return warning(
        "clock", found,
        "boot with clocksource=tsc if the CPU's is stable: each request reads the clock");
  }
  if (!is_synchronised) {
    return warning("clock", found,
                   "run chrony or systemd-timesyncd: expiry, tokens and clusters need the time");
  }
  return fine("clock", found);
}

std::vector<Diagnosis> diagnose(const DoctorOptions& options) {
  std::string levels;
  for (const KernelTable* table : available()) (levels += ' ') += table->name;
  std::vector<Diagnosis> found;
  found.push_back(judge_cpu(kernels().name, levels));
  found.push_back(
      judge_memory(memory_fact("MemTotal"), control_group_limit(), memory_fact("SwapTotal")));
  found.push_back(judge_huge_pages(first_line("/sys/kernel/mm/transparent_hugepage/enabled")));
  found.push_back(judge_open_files(hard_limit(RLIMIT_NOFILE)));
  found.push_back(judge_map_count(number_in("/proc/sys/vm/max_map_count").value_or(kWantedMaps)));
  look_at_disk(options.data_dir, found);
  found.push_back(
      judge_clock(first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
                  is_clock_synchronised()));
  return found;
}

std::string diagnoses_text(const std::vector<Diagnosis>& diagnoses) {
  std::string text;
  for (const auto& one : diagnoses) {
    text += fmt::format("{:<5} {:<11} {}", to_string(one.health), one.what, one.found);
    text += one.change.empty() ? "\n" : fmt::format(": {}\n", one.change);
  }
  return text;
}

std::string diagnoses_json(const std::vector<Diagnosis>& diagnoses) {
  std::string text;
  service::json::Writer json(text);
  json.begin_object();
  json.key("checks");
  json.begin_array();
  for (const auto& one : diagnoses) {
    json.begin_object();
    json.member("health", to_string(one.health));
    json.member("what", std::string_view(one.what));
    json.member("found", std::string_view(one.found));
    json.member("change", std::string_view(one.change));
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

Result<int> run_doctor(const DoctorOptions& options) {
  const auto diagnoses = diagnose(options);
  const std::string text = options.json ? diagnoses_json(diagnoses) : diagnoses_text(diagnoses);
  std::fputs(text.c_str(), stdout);
  const bool is_bad = std::ranges::any_of(
      diagnoses, [](const Diagnosis& one) { return one.health == Health::kBad; });
  return is_bad ? 1 : 0;
}

}  // namespace quiver::app
