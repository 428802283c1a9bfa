// Exact searches of rows and of documents of tokens, searches of lists of codes and of postings,
// and builds of graphs, with a device beside those of the CPU: the same hits bit for bit, and the
// time. Prints one JSON object a line; exit status 1 if a hit differs, 2 if there is no device.
//
//   gpu_check DEVICES MODULE N_ROWS [ROWS QUERIES]
//
// DEVICES as in `gpu.devices` ("emulated" needs no device), MODULE as in `gpu.module` ("" finds
// it), N_ROWS: rows of the timed searches. With files of vectors (dataset/vectors.h): their first
// N_ROWS rows under Dot in place of random ones, or sparse ones in place of generated ones.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "bench/gpu_check/steps.h"
#include "dataset/vectors.h"
#include "kernels/kernels.h"

namespace quiver::bench {
namespace {

Result<Values> read_values(const std::string& path, std::size_t n_rows) {
  QV_TRY(auto set, dataset::load_vectors(path, FieldKind::kDense));
  Values values{set.shape.dim, std::move(set.batch.values)};
  values.values.resize(std::min(values.values.size(), n_rows * values.dim));
  return values;
}

/// A set of three files (dataset/vectors.h).
bool is_sparse(const std::string& path) {
  return std::filesystem::exists(path + ".indptr.npy") ||
         std::filesystem::exists(path + ".indptr.npy.zst");
}

/// Steps over made-up vectors.
std::size_t time_made_up(gpu::Devices& devices, std::size_t n_rows) {
  std::size_t different = 0;
  std::mt19937 random(kSeed);
  for (const std::size_t dim : {128, 768}) {
    const auto rows = random_values(n_rows, dim, random);
    const auto queries = random_values(256, dim, random);
    for (const std::size_t n_queries : {1, 8, 64, 256}) {
      different += time_rows(devices, rows, queries, n_queries, 10);
    }
    if (dim == 768) different += time_filters(devices, rows, queries);
  }
  different += time_lists(devices, n_rows);
  different += time_builds(devices, std::min<std::size_t>(n_rows, 100'000));
  different += time_sums(devices, n_rows / 4);
  // 25 GB of tokens for a million documents would take too long to make.
  different += time_documents(devices, n_rows / 10);
  return different;
}

Result<std::size_t> time_files(gpu::Devices& devices, std::size_t n_rows, const std::string& rows,
                               const std::string& queries) {
  if (is_sparse(rows)) {
    QV_TRY(const auto documents, dataset::load_vectors(rows, FieldKind::kSparse));
    QV_TRY(const auto asked, dataset::load_vectors(queries, FieldKind::kSparse));
    const std::size_t n = std::min(n_rows, documents.batch.n_rows);
    return time_sums(devices, column_of(documents.batch, n), asked.batch);
  }
  QV_TRY(const auto values, read_values(rows, n_rows));
  QV_TRY(const auto asked, read_values(queries, n_rows));
  std::size_t different = 0;
  for (const std::size_t k : {1, 10, 100}) different += count_scored(devices, values, asked, k);
  for (const std::size_t n : {1, 64}) different += time_rows(devices, values, asked, n, 10);
  return different;
}

Result<std::size_t> run(gpu::Devices& devices, std::size_t n_rows,
                        const std::vector<std::string>& files) {
  const std::size_t different = check_rows(devices) + check_documents(devices) +
                                check_lists(devices) + check_sums(devices) + check_filters(devices);
  if (files.empty()) return different + time_made_up(devices, n_rows);
  QV_TRY(const auto of_files, time_files(devices, n_rows, files[0], files[1]));
  return different + of_files;
}

int main_of(const std::vector<std::string>& arguments) {
  if (arguments.size() != 3 && arguments.size() != 5) {
    std::fprintf(stderr, "usage: gpu_check DEVICES MODULE N_ROWS [ROWS QUERIES]\n");
    return EXIT_FAILURE;
  }
  gpu::Options options;
  options.devices = arguments[0];
  options.module = arguments[1];
  options.min_bytes = 0;
  const auto devices = gpu::Devices::open(options);
  if (!devices || !(*devices)->is_useful()) {
    const auto reason = devices ? (*devices)->report().reason : devices.error().message();
    std::fprintf(stderr, "gpu_check: %s\n", reason.c_str());
    return 2;
  }
  const auto report = (*devices)->report();
  fmt::print(
      R"({{"step": "device", "name": "{}", "module": "{}", "memory_bytes": {}, "cpu": "{}"}})"
      "\n",
      report.devices[0].name, report.build, report.devices[0].memory_bytes, kernels().name);
  const std::vector<std::string> files(arguments.begin() + 3, arguments.end());
  const auto different = run(**devices, std::stoul(arguments[2]), files);
  if (!different) {
    std::fprintf(stderr, "gpu_check: %s\n", different.error().to_string().c_str());
    return EXIT_FAILURE;
  }
  return *different == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

void print_equality(const std::string& step, std::size_t n_shapes, std::uint64_t n_queries,
                    std::size_t different) {
  fmt::print(R"({{"step": "{}", "seed": {}, "shapes": {}, "device_queries": {}, "different": {}}})"
             "\n",
             step, kSeed, n_shapes, n_queries, different);
  std::fflush(stdout);
}

}  // namespace quiver::bench

int main(int argc, char** argv) {
  return quiver::bench::main_of(std::vector<std::string>(argv + 1, argv + argc));
}
