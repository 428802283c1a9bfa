#include "index/sparse/rows/terms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/index/support.h"

namespace quiver::index::sparse {
namespace {

using quiver::index::testing::PlainVector;
using quiver::index::testing::Random;

constexpr std::uint64_t kTermsSeed = 122;

/// Rows with components below `dim` and values of both signs, some of them zero.
FieldColumn signed_column(std::uint32_t n_rows, std::uint32_t dim, Random& random) {
  const FieldSchema field{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  std::vector<std::optional<PlainVector>> rows;
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    std::set<std::uint32_t> indices;
    while (indices.size() < row % 9) indices.insert(static_cast<std::uint32_t>(random() % dim));
    PlainVector vector;
    vector.indices.assign(indices.begin(), indices.end());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      vector.values.push_back(static_cast<float>(static_cast<int>(random() % 7) - 3));
    }
    rows.emplace_back(std::move(vector));
  }
  return quiver::index::testing::make_column(field, rows);
}

/// Keys of rows `[first, first + n)`, as a set has them.
std::set<TermMap::Key> keys_by_definition(const SparseColumn& column, std::uint32_t first,
                                          std::uint32_t n) {
  std::set<TermMap::Key> keys;
  for (std::uint32_t row = first; row < first + n; ++row) {
    const SparseView view = column.row(row);
    for (std::size_t i = 0; i < view.indices.size(); ++i) {
      keys.insert(std::uint64_t{view.indices[i]} * 2 + (view.values[i] < 0 ? 1 : 0));
    }
  }
  return keys;
}

TEST(TermMap, NumbersKeysInTheirOrder) {
  SCOPED_TRACE("seed " + std::to_string(kTermsSeed));
  Random random(kTermsSeed);
  for (const std::uint32_t dim : {30U, 1U << 20, 4'294'967'295U}) {  // by table, marked, sorted
    SCOPED_TRACE("components below " + std::to_string(dim));
    const auto column = signed_column(80, dim, random);
    const std::pair<std::uint32_t, std::uint32_t> ranges[] = {{0, 80}, {20, 30}, {79, 1}, {5, 0}};
    for (const auto& [first, n] : ranges) {
      const auto keys = keys_by_definition(column.sparse(), first, n);
      const TermMap terms = TermMap::of(column.sparse(), first, n);
      ASSERT_EQ(std::vector(terms.keys().begin(), terms.keys().end()),
                std::vector(keys.begin(), keys.end()));
      ASSERT_EQ(terms.size(), keys.size());
      std::uint32_t number = 0;
      for (const TermMap::Key key : keys) {
        EXPECT_EQ(terms.find(key), number);
        EXPECT_EQ(terms.at(key), number++);
        EXPECT_EQ(terms.find(key ^ 1).has_value(), keys.contains(key ^ 1));
      }
      EXPECT_FALSE(terms.find(~TermMap::Key{0}));
      EXPECT_LE(terms.at(~TermMap::Key{0}), terms.size()) << "any number, but one";
    }
  }
}

TEST(TermMap, ZeroIsNotNegative) {
  EXPECT_EQ(TermMap::key_of(5, 1), 10U);
  EXPECT_EQ(TermMap::key_of(5, 0), 10U);
  EXPECT_EQ(TermMap::key_of(5, -0.0F), 10U);
  EXPECT_EQ(TermMap::key_of(5, -1), 11U);
  EXPECT_EQ(TermMap::key_of(~0U, -1), (std::uint64_t{1} << 33) - 1);
}

/// The product of a query with a row is that of its terms with the row's magnitudes.
TEST(TermMap, QueriesWeighNegativeTermsTheOtherWay) {
  SCOPED_TRACE("seed " + std::to_string(kTermsSeed));
  Random random(kTermsSeed);
  const auto column = signed_column(60, 25, random);
  const TermMap terms = TermMap::of(column.sparse(), 0, 60);
  PlainVector query;
  for (std::uint32_t index = 0; index < 40; index += 1 + index % 3) {  // some occur nowhere
    query.indices.push_back(index);
    query.values.push_back(static_cast<float>(static_cast<int>(random() % 9) - 4));
  }
  const auto weights = terms.terms_of({query.indices, query.values});
  for (std::size_t i = 1; i < weights.size(); ++i) {
    EXPECT_LT(weights[i - 1].term, weights[i].term);
  }
  std::map<std::uint32_t, float> weight_of;
  for (const QueryTerm& term : weights) weight_of[term.term] = term.weight;
  for (std::uint32_t row = 0; row < 60; ++row) {
    const SparseView view = column.sparse().row(row);
    float sum = 0;
    for (std::size_t i = 0; i < view.indices.size(); ++i) {
      const auto term = terms.at(TermMap::key_of(view.indices[i], view.values[i]));
      if (weight_of.contains(term)) sum += weight_of[term] * std::abs(view.values[i]);
    }
    const auto wanted = quiver::index::testing::exact_sparse(query, view);
    EXPECT_EQ(sum, wanted ? wanted->score : 0) << "row " << row;
  }
  EXPECT_TRUE(terms.terms_of({}).empty());
  EXPECT_TRUE(TermMap().terms_of({query.indices, query.values}).empty());
}

}  // namespace
}  // namespace quiver::index::sparse
