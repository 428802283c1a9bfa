// What tests of candidate_search, searcher share.
#pragma once

#include <gtest/gtest.h>

#include "index/dense/params.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/documented.h"

namespace quiver::index::testing {

class IvfSearch : public ::testing::TestWithParam<FieldSchema> {
 protected:
  [[nodiscard]] FieldSchema schema(std::uint32_t dim) const {
    FieldSchema schema = GetParam();
    schema.dim = dim;
    return schema;
  }
};

/// Rows that the index may find and a caller may want: present, some deleted, some filtered out.
inline std::vector<Bitset> filters_over(const FieldColumn& column, Random& random) {
  std::vector<Bitset> filters;
  for (const double share : {1.0, 0.97, 0.5, 0.2}) {
    filters.push_back(random_rows(column.n_rows, share, random));
    filters.back() &= present_rows(column);
  }
  return filters;
}

}  // namespace quiver::index::testing
