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

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// The limit in a file of a control group; "max" stands for none.
std::uint64_t limit_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : kNoLimit;
}

/// The smallest limit from the group `path` ("/a/b") up to `root`.
std::uint64_t smallest_limit(const std::filesystem::path& root, const std::filesystem::path& path,
                             const char* file) {
  std::uint64_t limit = limit_in(root / file);
  std::filesystem::path group = root;
  for (const auto& part : path.relative_path()) {
    group /= part;
    limit = std::min(limit, limit_in(group / file));
  }
  return limit;
}

std::uint64_t ram_bytes() {
  const auto n_pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return std::min(n_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)),
                  control_group_memory());
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

std::uint64_t control_group_memory(const std::string& membership, const std::string& root) {
  constexpr std::string_view kVersion2 = "0::";
  constexpr std::string_view kVersion1 = ":memory:";
  // A container may show its own group as the root, whatever the path says.
  std::uint64_t limit =
      std::min(limit_in(root + "/memory.max"), limit_in(root + "/memory/memory.limit_in_bytes"));
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kVersion2)) {
      const auto group = line.substr(kVersion2.size());
      limit = std::min(limit, smallest_limit(root, group, "memory.max"));
    } else if (const auto at = line.find(kVersion1); at != std::string::npos) {
      const auto group = line.substr(at + kVersion1.size());
      limit = std::min(limit, smallest_limit(root + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

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
