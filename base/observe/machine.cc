#include "base/observe/machine.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <thread>

namespace quiver {
namespace {

/// The value of a line `name=value` of os-release(5), without quotes.
std::string value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != '=') return {};
  std::string value(line.substr(name.size() + 1));
  std::erase(value, '"');
  return value;
}

void read_distribution(MachineFacts& facts) {
  std::ifstream file("/etc/os-release");
  std::string line;
  while (std::getline(file, line)) {
    if (auto id = value_of(line, "ID"); !id.empty()) facts.distribution = std::move(id);
    if (auto version = value_of(line, "VERSION_ID"); !version.empty()) {
      facts.distribution_version = std::move(version);
    }
  }
}

/// Limit of the control group (version 2), in bytes; the maximum of u64 if there is none.
std::uint64_t memory_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t ram_bytes() {
  const auto n_pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return std::min(n_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), memory_limit());
}

void add_if(std::string& flags, bool has_it, std::string_view name) {
  if (!has_it) return;
  if (!flags.empty()) flags += ',';
  flags += name;
}

std::string cpu_flags() {
  std::string flags;
#ifdef __x86_64__
  __builtin_cpu_init();
  add_if(flags, __builtin_cpu_supports("sse2") != 0, "sse2");
  add_if(flags, __builtin_cpu_supports("avx") != 0, "avx");
  add_if(flags, __builtin_cpu_supports("avx2") != 0, "avx2");
  add_if(flags, __builtin_cpu_supports("fma") != 0, "fma");
  add_if(flags, __builtin_cpu_supports("avx512f") != 0, "avx512f");
  add_if(flags, __builtin_cpu_supports("avx512vl") != 0, "avx512vl");
  add_if(flags, __builtin_cpu_supports("avx512vpopcntdq") != 0, "avx512vpopcntdq");
#endif
  return flags;
}

}  // namespace

MachineFacts read_machine() {
  MachineFacts facts;
  read_distribution(facts);
  std::error_code error;
  facts.in_container = std::filesystem::exists("/.dockerenv", error);
  facts.n_cores = std::thread::hardware_concurrency();
  facts.ram_bytes = ram_bytes();
  facts.cpu_flags = cpu_flags();
  return facts;
}

}  // namespace quiver
