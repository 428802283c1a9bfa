// What tests of beam, files, graph, links, walk share.
#pragma once

#include <gtest/gtest.h>

#include "encoders/transforms/rotation.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {

inline constexpr std::uint64_t kSeed = 20261122;
inline constexpr const char* kFiles[] = {"links.qvx", "link-codes.qvx"};

inline KeyValues with_graph() { return {{"graph", "always"}, {"degree", std::int64_t{16}}}; }

/// Rows without clumps: the nearest lie in many lists.
inline FieldColumn scattered(const FieldSchema& schema, std::uint32_t n_rows, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<std::optional<PlainVector>> vectors(n_rows, PlainVector{});
  for (auto& vector : vectors) {
    for (std::uint32_t d = 0; d < schema.dim; ++d) vector->values.push_back(normal(random));
  }
  return make_column(schema, vectors);
}

/// The lists of a column, opened, and its rows as the graph sees them.
struct Rows {
  explicit Rows(FieldColumn rows) : column(std::move(rows)), index(column, {{"graph", "never"}}) {
    auto files =
        dense::open_lists(*index.directory, {column.schema, column.n_rows, column.n_present});
    EXPECT_TRUE(files) << files.error().to_string();
    lists.emplace(std::move(files->candidates));
    source.emplace(column, lists->transform());
  }
  [[nodiscard]] dense::Links links(Executor* executor = nullptr,
                                   gpu::Devices* devices = nullptr) const {
    const Cancel cancel;
    BuildContext context{executor, cancel, kSeed, nullptr};
    context.devices = devices;
    const auto found = dense::choose_links(*source, *lists, {.degree = 16}, context);
    EXPECT_TRUE(found) << found.error().to_string();
    return *found;
  }

  FieldColumn column;
  IvfIndex index;
  std::optional<dense::CandidateSearch> lists;
  std::optional<dense::RowSource> source;
};

}  // namespace quiver::index::testing
