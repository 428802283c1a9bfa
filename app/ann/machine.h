// What the machine is and how it does at the moment.
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

namespace quiver::app {

/// How fast one thread is right now, by the wall clock: time that others take from the core counts.
struct Calibration {
  double read_gb_per_s = 0;  ///< reading memory that no cache holds
  double clock_ghz = 0;      ///< by a chain of dependent multiplications and additions
};

/// Owns the memory that it reads. One thread.
class Calibrator {
 public:
  /// 0: four times the last cache, at least 128 MiB.
  explicit Calibrator(std::size_t bytes);
  /// The median of a few short rounds; about 0.1 s.
  [[nodiscard]] Calibration measure() const;

 private:
  std::vector<std::uint64_t> memory_;
};

/// The median of a run's calibrations.
[[nodiscard]] Calibration typical(std::span<const Calibration> calibrations);
/// Whether one of the two values is more than 3 % off.
[[nodiscard]] bool deviates(const Calibration& found, const Calibration& typical);

/// As member `name` of the object that is being written.
void write_calibration(service::json::Writer& json, std::string_view name,
                       const Calibration& calibration);

/// "AMD EPYC 9R14"; "unknown" if the system does not say.
[[nodiscard]] std::string cpu_name();
/// On which this process may run.
[[nodiscard]] std::size_t n_usable_cpus();
/// CPU time of this process, all threads.
[[nodiscard]] double process_cpu_seconds();
/// CPU time of the calling thread.
[[nodiscard]] double thread_cpu_seconds();

/// The most memory that the process holds at once, above what it holds when this is made.
class PeakMemory {
 public:
  PeakMemory();
  /// nullopt where the kernel does not let us start counting anew.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const;

 private:
  std::optional<std::uint64_t> before_;
};

}  // namespace quiver::app
