// The machine: its CPU, its speed at the moment, CPU time and memory of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/json/writer.h"

namespace quiver::bench {

/// Speed of one thread by the wall clock, so time that other processes take from the core shows.
struct Calibration {
  double read_gb_per_s = 0;  ///< rate of reading memory beyond the caches
  double clock_ghz = 0;      ///< from a chain of dependent multiplications and additions
};

/// Owns the memory it reads. Use from one thread.
class Calibrator {
 public:
  /// `bytes` of memory to read; 0: four times the last-level cache, at least 128 MiB.
  explicit Calibrator(std::size_t bytes);
  /// Returns the median of a few short rounds; takes about 0.1 s.
  [[nodiscard]] Calibration measure() const;

 private:
  std::vector<std::uint64_t> memory_;
};

/// Returns the median, value by value.
[[nodiscard]] Calibration typical(std::span<const Calibration> calibrations);
/// True if either value differs by more than 3 %.
[[nodiscard]] bool deviates(const Calibration& found, const Calibration& typical);

/// Writes member `name` of the open JSON object.
void write_calibration(service::json::Writer& json, std::string_view name,
                       const Calibration& calibration);

/// "AMD EPYC 9R14"; "unknown" if the system does not say.
[[nodiscard]] std::string cpu_name();
/// Number of CPUs this process may run on.
[[nodiscard]] std::size_t n_usable_cpus();
/// CPU time of this process, all threads.
[[nodiscard]] double process_cpu_seconds();
/// CPU time of the calling thread.
[[nodiscard]] double thread_cpu_seconds();

/// Peak resident memory of the process, above that at construction.
class PeakMemory {
 public:
  PeakMemory();
  /// nullopt where the kernel does not let us reset the peak.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const;

 private:
  std::optional<std::uint64_t> before_;
};

}  // namespace quiver::bench
