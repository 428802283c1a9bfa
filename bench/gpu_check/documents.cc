#include <fmt/format.h>

#include <cstdio>

#include "bench/gpu_check/steps.h"

namespace quiver::bench {

std::size_t check_documents(gpu::Devices& devices) {
  std::mt19937 random(kSeed);
  std::size_t n = 0;
  std::size_t different = 0;
  const std::uint64_t before = n_device_queries(devices);
  for (const std::size_t dim : {3, 32, 33, 96, 128, 768}) {
    for (const std::size_t n_documents : {1, 63, 65, 700}) {
      for (const std::size_t n_tokens : {1, 8, 9, 32, 65, 130}) {
        for (const std::size_t n_queries : {1, 5}) {
          const auto column = documents_of(n_documents, 20, dim, random);
          const auto tokens = random_values(n_queries * n_tokens, dim, random);
          different +=
              n_different_twice(exact_documents(column, tokens, n_queries, n_tokens, 10), devices);
          ++n;
        }
      }
    }
  }
  print_equality("documents_equality", n, n_device_queries(devices) - before, different);
  return different;
}

std::size_t time_documents(gpu::Devices& devices, std::size_t n_documents) {
  constexpr std::size_t kDim = 128;
  constexpr std::size_t kQueryTokens = 32;
  std::mt19937 random(kSeed);
  constexpr std::size_t kOnCpu = 8;  // the CPU needs seconds for each
  const auto column = documents_of(n_documents, 100, kDim, random);
  const auto queries = random_values(64 * kQueryTokens, kDim, random);
  const auto cpu = exact_documents(column, queries, kOnCpu, kQueryTokens, 10).ask(nullptr);
  std::size_t different = 0;
  for (const std::size_t n_queries : {std::size_t{1}, kOnCpu, std::size_t{64}}) {
    const Timed timed =
        time_rounds(exact_documents(column, queries, n_queries, kQueryTokens, 10), devices, cpu);
    different += timed.different;
    fmt::print(
        R"({{"step": "documents", "documents": {}, "tokens": {}, "dim": {}, "queries": {}, "query_tokens": {}, "k": 10, "cpu_ms_a_query": {:.3f}, "device_ms": {:.3f}, "spread_ms": {:.3f}, "scored_exactly": {:.1f}, "different": {}}})"
        "\n",
        n_documents, column.multi().tokens.rows().n_rows, kDim, n_queries, kQueryTokens,
        cpu.ms / kOnCpu, timed.median(), timed.spread(),
        static_cast<double>(timed.work.n_rows_scored) / static_cast<double>(n_queries),
        timed.different);
    std::fflush(stdout);
  }
  return different;
}

}  // namespace quiver::bench
