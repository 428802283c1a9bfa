// The steps of gpu_check: each compares answers with devices and by the CPU, prints a line, and
// returns the number of those that differ.
#pragma once

#include <cstddef>
#include <string>

#include "bench/gpu_check/batch.h"
#include "bench/gpu_check/columns.h"

namespace quiver::bench {

/// Prints what a comparison of many shapes found.
void print_equality(const std::string& step, std::size_t n_shapes, std::uint64_t n_queries,
                    std::size_t different);

/// Dense rows, shapes at the edges of tiles; documents of tokens; lists of codes of all widths;
/// sums of postings, of all sizes of ranges; batches of several filters over all of these.
[[nodiscard]] std::size_t check_rows(gpu::Devices& devices);
[[nodiscard]] std::size_t check_documents(gpu::Devices& devices);
[[nodiscard]] std::size_t check_lists(gpu::Devices& devices);
[[nodiscard]] std::size_t check_sums(gpu::Devices& devices);
[[nodiscard]] std::size_t check_filters(gpu::Devices& devices);

/// Times exact searches of `n_queries` at once.
[[nodiscard]] std::size_t time_rows(gpu::Devices& devices, const Values& rows,
                                    const Values& queries, std::size_t n_queries, std::size_t k);
/// Numbers of rows scored exactly, query by query.
[[nodiscard]] std::size_t count_scored(gpu::Devices& devices, const Values& rows,
                                       const Values& queries, std::size_t k);
/// The same searches under one filter, under 64 and under as many as there are queries.
[[nodiscard]] std::size_t time_filters(gpu::Devices& devices, const Values& rows,
                                       const Values& queries);
/// Times searches of lists, by all threads on both sides.
[[nodiscard]] std::size_t time_lists(gpu::Devices& devices, std::size_t n_rows);
/// Times exact MaxSim of queries of 32 tokens with documents of about 100, of 128 dimensions.
[[nodiscard]] std::size_t time_documents(gpu::Devices& devices, std::size_t n_documents);
/// Times sparse searches by all threads on both sides.
[[nodiscard]] std::size_t time_sums(gpu::Devices& devices, std::size_t n_documents);
[[nodiscard]] std::size_t time_sums(gpu::Devices& devices, const index::FieldColumn& column,
                                    const SparseRows& queries);
/// Builds an index with a graph, which takes minutes for a million rows; differing files count.
[[nodiscard]] std::size_t time_builds(gpu::Devices& devices, std::size_t n_rows);

}  // namespace quiver::bench
