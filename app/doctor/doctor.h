// `quiver doctor`: what of this machine makes a server slow or unsafe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/doctor/options.h"
#include "base/result.h"

namespace quiver::app {

enum class Health : std::uint8_t {
  kOk,
  kWarning,  ///< slower than it could be, or a limit that large data meets
  kBad,      ///< data may be lost, or a server may not start
};
/// "ok", "warn", "bad".
[[nodiscard]] std::string_view to_string(Health health);

struct Diagnosis {
  Health health = Health::kOk;
  std::string what;    ///< "huge pages"
  std::string found;   ///< "never"
  std::string change;  ///< what to do; empty if it is ok
};

// Judgements of single values, without a look at the machine.
[[nodiscard]] Diagnosis judge_cpu(std::string_view level, std::string_view available);
/// `setting`: of /sys/kernel/mm/transparent_hugepage/enabled, "always [madvise] never".
[[nodiscard]] Diagnosis judge_huge_pages(std::string_view setting);
[[nodiscard]] Diagnosis judge_open_files(std::uint64_t hard_limit);
[[nodiscard]] Diagnosis judge_map_count(std::uint64_t limit);
/// `limit_bytes`: of the control group; nullopt: none.
[[nodiscard]] Diagnosis judge_memory(std::uint64_t total_bytes,
                                     std::optional<std::uint64_t> limit_bytes,
                                     std::uint64_t swap_bytes);
[[nodiscard]] Diagnosis judge_disk_space(std::uint64_t free_bytes, std::uint64_t total_bytes);
/// `is_memory`: a file system in memory. Times in milliseconds.
[[nodiscard]] Diagnosis judge_sync(double median_ms, double longest_ms, bool is_memory);
[[nodiscard]] Diagnosis judge_clock(std::string_view source, bool is_synchronised);

/// Looks at the machine. Takes 32 syncs of the disk, at most 5 s.
[[nodiscard]] std::vector<Diagnosis> diagnose(const DoctorOptions& options);

[[nodiscard]] std::string diagnoses_text(const std::vector<Diagnosis>& diagnoses);
[[nodiscard]] std::string diagnoses_json(const std::vector<Diagnosis>& diagnoses);
/// Prints a line for each. Returns the exit status.
[[nodiscard]] Result<int> run_doctor(const DoctorOptions& options);

}  // namespace quiver::app
