// What tests of dense_scorer, registry, scorer, searcher share.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "index/exact/searcher.h"
#include "tests/index/support.h"

namespace quiver::index::testing {

inline std::vector<Hit> search(const FieldColumn& column, const PreparedQuery& query,
                               const RowFilter& filter, TopK top, Executor* executor = nullptr,
                               WorkCounters* work = nullptr) {
  const FlatSearcher searcher(column);
  const Cancel cancel;
  WorkCounters unused;
  const auto result =
      searcher.search(query, {}, filter, {cancel, executor}, top, work != nullptr ? *work : unused);
  EXPECT_TRUE(result) << result.error().to_string();
  return top.take_sorted();
}

}  // namespace quiver::index::testing
