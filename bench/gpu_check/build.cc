// Builds of graphs with a device beside those of the CPU: the same files, and the time.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/io/file.h"
#include "bench/gpu_check/steps.h"
#include "index/index.h"

namespace quiver::bench {
namespace {

struct Built {
  std::unique_ptr<Directory> directory = make_memory_directory();
  double ms = 0;
};

Built built(const index::FieldColumn& column, gpu::Devices* devices) {
  const auto& type = *index::find_index_type("ivf");
  const auto params = type.parse_build({{"graph", std::string("always")}});
  const Cancel cancel;
  Executor executor(0, "build");
  index::BuildContext context{&executor, cancel, kSeed, nullptr};
  context.devices = devices;
  Built result;
  const auto start = std::chrono::steady_clock::now();
  if (!params || !type.build(column, *params, context, *result.directory)) std::abort();
  const auto end = std::chrono::steady_clock::now();
  result.ms = std::chrono::duration<double, std::milli>(end - start).count();
  return result;
}

/// Files that are not the same in both.
std::size_t n_different(const Directory& a, const Directory& b) {
  const auto names = a.list();
  if (!names) std::abort();
  std::size_t different = 0;
  for (const DirectoryEntry& entry : *names) {
    const auto of_a = a.read_file(entry.name);
    const auto of_b = b.read_file(entry.name);
    different += of_a && of_b && *of_a == *of_b ? 0 : 1;
  }
  return different;
}

}  // namespace

std::size_t time_builds(gpu::Devices& devices, std::size_t n_rows) {
  constexpr std::size_t kDim = 384;
  std::mt19937 random(kSeed);
  const auto rows = clumps(n_rows, kDim, n_rows / 1000 + 1, random);
  const auto column = column_of(rows, n_rows, DType::kF32, Metric::kDot);
  const Built by_cpu = built(column, nullptr);
  const std::uint64_t before = n_device_queries(devices);
  const Built by_device = built(column, &devices);
  const std::size_t different = n_different(*by_cpu.directory, *by_device.directory);
  fmt::print(
      R"({{"step": "build", "rows": {}, "dim": {}, "cpu_ms": {:.0f}, "device_ms": {:.0f}, "device_queries": {}, "different": {}}})"
      "\n",
      column.n_rows, column.schema.dim, by_cpu.ms, by_device.ms, n_device_queries(devices) - before,
      different);
  std::fflush(stdout);
  return different;
}

}  // namespace quiver::bench
