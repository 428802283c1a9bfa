// What the parts of gpu_check share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/devices.h"
#include "index/index.h"

namespace quiver::bench {

inline constexpr std::uint32_t kSeed = 17;
inline constexpr int kRounds = 5;

/// An index of type `name` over the column, in memory. Aborts if it cannot be built.
[[nodiscard]] std::unique_ptr<index::Searcher> index_over(const index::FieldColumn& column,
                                                          const std::string& name,
                                                          const KeyValues& values);

[[nodiscard]] inline std::uint64_t n_device_queries(const gpu::Devices& devices) {
  return devices.report().devices[0].n_queries;
}
/// Prints what a comparison found.
void print_equality(const std::string& step, std::size_t n_shapes, std::uint64_t n_queries,
                    std::size_t different);
[[nodiscard]] double percentile(std::vector<double> values, double share);

/// Sparse searches with a device beside those of the CPU; each returns the number of answers that
/// differ. Generated documents, exact and truncated, of all sizes of ranges:
[[nodiscard]] std::size_t check_sums(gpu::Devices& devices);
/// Times searches over `n_documents` generated ones by all threads on both sides.
[[nodiscard]] std::size_t time_sums(gpu::Devices& devices, std::size_t n_documents);
/// The same over files of sparse vectors (dataset/vectors.h).
[[nodiscard]] Result<std::size_t> time_sums(gpu::Devices& devices, std::size_t n_documents,
                                            const std::string& rows, const std::string& queries);

/// Builds an index with a graph over the column, which takes minutes for a million rows; returns
/// the number of files that differ.
[[nodiscard]] std::size_t time_builds(gpu::Devices& devices, const index::FieldColumn& column);

}  // namespace quiver::bench
