// Queries that are asked together, with devices and by the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "base/bitset.h"
#include "bench/gpu_check/columns.h"
#include "gpu/devices.h"
#include "index/index.h"

namespace quiver::bench {

inline constexpr std::uint32_t kSeed = 17;
inline constexpr int kRounds = 5;

struct Answer {
  std::vector<std::vector<index::Hit>> hits;  ///< of each query
  index::WorkCounters work;
  double ms = 0;
};

/// Queries over one column.
struct Batch {
  std::shared_ptr<const index::Searcher> searcher;
  std::uint32_t n_rows = 0;
  std::vector<index::PreparedQuery> queries;
  std::size_t k = 10;
  index::AnyParams params = {};
  index::Prefer prefer = index::Prefer::kAny;
  Executor* executor = nullptr;  ///< threads that help; nullptr: none
  std::vector<Bitset> allowed =
      {};  ///< query i has filter i modulo their number; empty: no filters

  /// `devices`: nullptr for the CPU alone.
  [[nodiscard]] Answer ask(gpu::Devices* devices) const;
  /// Gives the queries `n` filters, which allow the share `allows` of the rows each.
  void filter(std::size_t n, double allows, std::mt19937& random);
};

/// Exact searches.
[[nodiscard]] Batch exact_batch(const index::FieldColumn& column, const Values& queries,
                                std::size_t n_queries, std::size_t k);
/// Exact searches of documents: `queries` has tokens, `n_tokens` of each query.
[[nodiscard]] Batch exact_documents(const index::FieldColumn& column, const Values& queries,
                                    std::size_t n_queries, std::size_t n_tokens, std::size_t k);
/// An index of type `name` over the column, in memory. Aborts if it cannot be built.
[[nodiscard]] std::shared_ptr<const index::Searcher> index_over(const index::FieldColumn& column,
                                                                const std::string& name,
                                                                const KeyValues& values);

/// Of the queries that both have, those whose hits differ in a bit.
[[nodiscard]] std::size_t n_different(const Answer& a, const Answer& b);
/// Asks twice, once all that is wanted is on a device.
[[nodiscard]] std::size_t n_different_twice(const Batch& batch, gpu::Devices& devices);
[[nodiscard]] double percentile(std::vector<double> values, double share);

/// Rounds of a search whose rows are on a device.
struct Timed {
  std::vector<double> times;  ///< ms
  index::WorkCounters work;   ///< of a round
  std::size_t different = 0;  ///< answers
  double busy_ms = 0;         ///< of a device, a round
  std::uint64_t n_jobs = 0;   ///< in all
  std::uint64_t n_device_queries = 0;

  [[nodiscard]] double median() const { return percentile(times, 0.5); }
  [[nodiscard]] double spread() const { return percentile(times, 0.9) - percentile(times, 0.1); }
};
[[nodiscard]] Timed time_rounds(const Batch& batch, gpu::Devices& devices, const Answer& wanted);

[[nodiscard]] inline std::uint64_t n_device_queries(const gpu::Devices& devices) {
  return devices.report().devices[0].n_queries;
}

}  // namespace quiver::bench
