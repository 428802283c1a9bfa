#include "bench/common/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/clock.h"
#include "bench/common/statistics.h"

namespace quiver::bench {
namespace {

constexpr std::size_t kRounds = 5;
constexpr std::size_t kMinReadBytes = std::size_t{128} << 20;
constexpr std::uint64_t kChainLinks = 4'000'000;
/// Latency of a 64-bit multiplication (3 cycles) and an addition (1) on x86-64 cores since 2015.
constexpr double kCyclesPerLink = 4;
constexpr double kTolerance = 0.03;

volatile std::uint64_t g_sink;

std::uint64_t read_all(std::span<const std::uint64_t> memory) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= memory.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += memory[i + lane];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t lane : sums) sum += lane;
  return sum;
}

double read_gb_per_s(std::span<const std::uint64_t> memory) {
  const Stopwatch watch;
  g_sink = read_all(memory);
  return static_cast<double>(memory.size_bytes()) * 1e-9 / watch.seconds();
}

double clock_ghz() {
  const Stopwatch watch;
  std::uint64_t x = g_sink;
  for (std::uint64_t i = 0; i < kChainLinks; ++i)
    x = x * 6364136223846793005U + 1442695040888963407U;
  g_sink = x;
  return static_cast<double>(kChainLinks) * kCyclesPerLink * 1e-9 / watch.seconds();
}

double seconds_of(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Reads a line "KEY: 123 kB" of /proc/self/status; returns bytes.
std::optional<std::uint64_t> status_bytes(std::string_view key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10) * 1024;
  }
  return std::nullopt;
}

}  // namespace

Calibrator::Calibrator(std::size_t bytes) {
  if (bytes == 0) {
    const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    bytes = std::max(kMinReadBytes, 4 * static_cast<std::size_t>(std::max(cache, 0L)));
  }
  memory_.assign(bytes / sizeof(std::uint64_t), 1);
}

Calibration Calibrator::measure() const {
  std::vector<double> reads;
  std::vector<double> clocks;
  for (std::size_t round = 0; round < kRounds; ++round) {
    reads.push_back(read_gb_per_s(memory_));
    clocks.push_back(clock_ghz());
  }
  return {median(reads), median(clocks)};
}

Calibration typical(std::span<const Calibration> calibrations) {
  std::vector<double> reads;
  std::vector<double> clocks;
  for (const auto& calibration : calibrations) {
    reads.push_back(calibration.read_gb_per_s);
    clocks.push_back(calibration.clock_ghz);
  }
  return {median(reads), median(clocks)};
}

bool deviates(const Calibration& found, const Calibration& typical) {
  const auto off = [](double value, double wanted) {
    return std::abs(value - wanted) > kTolerance * wanted;
  };
  return off(found.read_gb_per_s, typical.read_gb_per_s) || off(found.clock_ghz, typical.clock_ghz);
}

void write_calibration(service::json::Writer& json, std::string_view name,
                       const Calibration& calibration) {
  const auto digits = [](double value) { return std::round(value * 1000) / 1000; };
  json.key(name);
  json.begin_object();
  json.member("read_gb_per_s", digits(calibration.read_gb_per_s));
  json.member("clock_ghz", digits(calibration.clock_ghz));
  json.end_object();
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::size_t n_usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  return static_cast<std::size_t>(CPU_COUNT(&set));
}

double process_cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double thread_cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

PeakMemory::PeakMemory() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;  // proc(5): resets the peak
  if (file) before_ = status_bytes("VmRSS");
}

std::optional<std::uint64_t> PeakMemory::bytes() const {
  const auto peak = status_bytes("VmHWM");
  if (!before_ || !peak) return std::nullopt;
  return *peak - std::min(*peak, *before_);
}

}  // namespace quiver::bench
