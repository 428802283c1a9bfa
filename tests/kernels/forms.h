// The forms of a row kernel against its one-to-one form: the same bits.
#pragma once

#include <cstring>
#include <vector>

#include "tests/kernels/support.h"

namespace quiver::testing {

template <class Score>
void expect_same_bits(const Score* got, const Score* want, std::size_t n, const char* form,
                      std::uint32_t dim) {
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(std::memcmp(got + i, want + i, sizeof(Score)), 0)
        << form << ", row " << i << " of " << n << ", dim " << dim << ": " << got[i]
        << ", one to one " << want[i];
  }
}

/// Every run of `n_rows` rows, and random lists of their numbers.
template <class Query, class Score>
void check_rows(const RowKernels<Query, Score>& kernel, const Query* query, std::uint32_t dim,
                const StoredRows& rows, std::size_t n_rows, std::mt19937& random) {
  std::vector<Score> all;
  for (std::size_t i = 0; i < n_rows; ++i) all.push_back(kernel.one(query, dim, rows.row(i)));
  for (std::size_t first = 0; first < n_rows; ++first) {
    for (std::size_t n = 0; first + n <= n_rows; ++n) {
      std::vector<Score> got(n);
      kernel.many(query, dim, rows.row(first), rows.stride(), n, got.data());
      expect_same_bits(got.data(), all.data() + first, n, "many", dim);
    }
  }
  for (std::size_t n = 0; n <= 2 * n_rows; ++n) {
    std::vector<std::uint32_t> ids(n);
    std::vector<Score> want(n);
    for (std::size_t i = 0; i < n; ++i) {
      want[i] = all[ids[i] = static_cast<std::uint32_t>(random() % n_rows)];
    }
    std::vector<Score> got(n);
    kernel.gather(query, dim, rows.data(), rows.stride(), ids.data(), n, got.data());
    expect_same_bits(got.data(), want.data(), n, "gather", dim);
  }
}

/// Tiles of every number of rows, in order and by number; nothing beyond the scores is written.
template <class Query, class Score>
void check_tile(const RowKernels<Query, Score>& kernel, const QueryTile<Query>& queries,
                std::uint32_t dim, const StoredRows& rows, std::size_t n_rows,
                std::mt19937& random) {
  for (std::size_t n = 0; n <= n_rows; ++n) {
    std::vector<std::uint32_t> ids(n);
    for (std::uint32_t& id : ids) id = static_cast<std::uint32_t>(random() % n_rows);
    std::vector<Score> want(queries.n * (n + 1), Score(77));
    std::vector<Score> want_gathered = want;
    std::vector<Score> got = want;
    std::vector<Score> gathered = want;
    for (std::size_t j = 0; j < queries.n; ++j) {
      const Query* query = queries.first + j * queries.stride;
      for (std::size_t i = 0; i < n; ++i) {
        want[j * (n + 1) + i] = kernel.one(query, dim, rows.row(i));
        want_gathered[j * (n + 1) + i] = kernel.one(query, dim, rows.row(ids[i]));
      }
    }
    kernel.tile(queries, dim, rows.data(), rows.stride(), n, {got.data(), n + 1});
    kernel.tile_gather(queries, dim, rows.data(), rows.stride(), ids.data(), n,
                       {gathered.data(), n + 1});
    expect_same_bits(got.data(), want.data(), got.size(), "tile", dim);
    expect_same_bits(gathered.data(), want_gathered.data(), got.size(), "gathered tile", dim);
  }
}

}  // namespace quiver::testing
