// Metrics that Linux keeps for this process: getrusage(2), proc(5).

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include "base/observe/held_memory.h"
#include "base/observe/memory_budget.h"
#include "base/observe/metrics.h"

namespace quiver {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The fields of /proc/self/stat used here, with their numbers in proc(5), which count from 1.
struct ProcStat {
  double n_threads = 0;       ///< field 20
  double start_seconds = 0;   ///< since boot
  double virtual_bytes = 0;   ///< field 23
  double resident_bytes = 0;  ///< field 24
};

std::optional<ProcStat> read_stat() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // Field 2 is the name in parentheses, which may itself hold spaces and parentheses.
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  ProcStat stat;
  std::string word;
  for (int number = 3; number <= 24 && rest >> word; ++number) {
    if (number == 20) stat.n_threads = std::stod(word);
    if (number == 22) {
      stat.start_seconds = std::stod(word) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
    if (number == 23) stat.virtual_bytes = std::stod(word);
    if (number == 24) {
      stat.resident_bytes = std::stod(word) * static_cast<double>(::sysconf(_SC_PAGESIZE));
    }
  }
  return stat;
}

/// Unix time of the boot; 0 if unknown.
double boot_time() {
  std::ifstream file("/proc/stat");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return 0;
}

double n_open_files() {
  std::error_code error;
  const std::filesystem::directory_iterator entries("/proc/self/fd", error);
  if (error) return 0;
  return static_cast<double>(std::distance(begin(entries), end(entries))) -
         1;  // excludes the descriptor of this listing
}

double max_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

void add_memory(MetricsText& text) {
  const auto state = process_memory().state();
  const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    text.sample(name, help, MetricType::kGauge, {}, static_cast<double>(value));
  };
  gauge("memory_limit_bytes", "Private memory that the process may hold, memory.limit_mb",
        state.limit_bytes);
  gauge("memory_private_bytes", "Private memory of the process, without pages of mapped files",
        state.private_bytes);
  gauge("memory_promised_bytes", "Memory that running jobs may take, some of which they hold",
        state.promised_bytes);
  gauge("memory_held_bytes", "Copies of index files in huge pages, part of the private memory",
        held_memory().n_bytes());
  text.sample("memory_refusals_total", "Requests refused because there was no memory for them",
              MetricType::kCounter, {}, static_cast<double>(state.n_refused));
}

}  // namespace

void collect_process_metrics(MetricsText& text) {
  add_memory(text);
  const auto gauge = [&](std::string_view name, std::string_view help, double value) {
    text.sample(name, help, MetricType::kGauge, {}, value);
  };
  text.sample("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
              MetricType::kCounter, {}, cpu_seconds());
  gauge("process_open_fds", "Number of open file descriptors.", n_open_files());
  gauge("process_max_fds", "Maximum number of open file descriptors.", max_open_files());
  const auto stat = read_stat();
  if (!stat) return;
  gauge("process_resident_memory_bytes", "Resident memory size in bytes.", stat->resident_bytes);
  gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", stat->virtual_bytes);
  gauge("process_threads", "Number of OS threads in the process.", stat->n_threads);
  gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
        boot_time() + stat->start_seconds);
}

}  // namespace quiver
