// An index of any type over a column, for tests: building, opening and searching it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "index/index.h"
#include "tests/index/support.h"

namespace quiver::index::testing {

inline void build_index(const IndexType& type, const FieldColumn& column, const KeyValues& values,
                        Directory& directory, Executor* executor, std::uint64_t seed,
                        const QuerySample* queries = nullptr) {
  const auto params = type.parse_build(values);
  ASSERT_TRUE(params) << params.error().to_string();
  const Cancel cancel;
  const auto built =
      type.build(column, *params, {executor, cancel, seed, nullptr, queries}, directory);
  ASSERT_TRUE(built) << built.error().to_string();
}

struct Found {
  std::vector<Hit> hits;
  WorkCounters work;
};

struct BuiltIndex {
  BuiltIndex(const IndexType& index_type, FieldColumn rows, const KeyValues& values,
             std::uint64_t seed, const QuerySample* queries = nullptr)
      : type(index_type), column(std::move(rows)) {
    build_index(type, column, values, *directory, nullptr, seed, queries);
    auto opened = type.open(*directory, column);
    EXPECT_TRUE(opened) << opened.error().to_string();
    if (opened) searcher = *std::move(opened);
  }

  /// Another searcher of the same files.
  [[nodiscard]] std::unique_ptr<Searcher> open_again() const {
    auto opened = type.open(*directory, column);
    EXPECT_TRUE(opened) << opened.error().to_string();
    return opened ? *std::move(opened) : nullptr;
  }

  [[nodiscard]] Found find(const PreparedQuery& query, const KeyValues& values,
                           const RowFilter& filter, std::size_t k,
                           Prefer prefer = Prefer::kAny) const {
    const auto params = type.parse_search(values);
    EXPECT_TRUE(params) << params.error().to_string();
    const Cancel cancel;
    TopK top(k);
    Found found;
    const auto result =
        searcher->search(query, *params, filter, {cancel, nullptr, prefer}, top, found.work);
    EXPECT_TRUE(result) << result.error().to_string();
    found.hits = top.take_sorted();
    return found;
  }
  /// The answer of brute force.
  [[nodiscard]] std::vector<Hit> exact(const PreparedQuery& query, const RowFilter& filter,
                                       std::size_t k) const {
    const Cancel cancel;
    TopK top(k);
    WorkCounters work;
    EXPECT_TRUE(FlatSearcher(column).search(query, {}, filter, {cancel, nullptr, {}}, top, work));
    return top.take_sorted();
  }

  const IndexType& type;
  FieldColumn column;
  std::unique_ptr<Directory> directory = make_memory_directory();
  std::unique_ptr<Searcher> searcher;
};

/// The share of the best rows that were found, ties at the end counted as found.
[[nodiscard]] inline double recall_of(const std::vector<Hit>& found,
                                      const std::vector<Hit>& truth) {
  if (truth.empty()) return 1;
  const double least = truth.back().score - std::abs(truth.back().score) * 1e-6;
  const auto n = std::count_if(found.begin(), found.end(),
                               [least](const Hit& hit) { return hit.score >= least; });
  return std::min(1.0, static_cast<double>(n) / static_cast<double>(truth.size()));
}

}  // namespace quiver::index::testing
