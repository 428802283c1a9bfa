// What tests of block_params, blocking, blocks_build, pruning, summaries, top_components share.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/top_components.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse::testing {

/// Columns and what is derived from them before blocks are made.
struct Rows {
  explicit Rows(const std::vector<PlainVector>& vectors)
      : column(column_of(vectors)),
        n_rows(static_cast<std::uint32_t>(vectors.size())),
        terms(TermMap::of(column, 0, n_rows)),
        coded(column, n_rows, terms, 15) {}
  SparseColumn column;
  std::uint32_t n_rows;
  TermMap terms;
  CodedRows coded;
};

}  // namespace quiver::index::sparse::testing
