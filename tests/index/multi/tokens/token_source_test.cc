#include "index/multi/tokens/token_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "index/stored_rows.h"
#include "tests/index/support.h"

namespace quiver::index::multi {
namespace {

using namespace quiver::index::testing;

constexpr std::uint64_t kTokenSourceSeed = 112;

/// A column whose row i has `sizes[i]` tokens; 0 is an absent row.
FieldColumn column_of_sizes(const FieldSchema& field, const std::vector<std::size_t>& sizes,
                            Random& random) {
  std::vector<std::optional<PlainVector>> rows;
  for (const std::size_t n : sizes) {
    rows.emplace_back();
    if (n == 0) continue;
    rows.back() = PlainVector{std::vector<float>(n * field.dim), {}};
    for (float& value : rows.back()->values) value = random_value(field.dtype, false, random);
  }
  return make_column(field, rows);
}

TEST(TokenSource, ReadsStoredTokensAsFloats) {
  SCOPED_TRACE("seed " + std::to_string(kTokenSourceSeed));
  Random random(kTokenSourceSeed);
  for (const FieldSchema& field : all_schemas(11)) {
    if (field.kind != FieldKind::kMulti) continue;
    SCOPED_TRACE(describe(field));
    const auto column = column_of_sizes(field, {2, 0, 1, 3}, random);
    const TokenSource tokens(column);
    EXPECT_EQ(tokens.dim(), 11U);
    EXPECT_EQ(tokens.n_tokens(), 6U);
    EXPECT_EQ(tokens.tokens_per_row(), 2) << "of three rows that have any";
    std::vector<float> values(11);
    for (std::uint32_t row = 0; row < 4; ++row) {
      const MatrixView stored = column.multi().row(row);
      ASSERT_EQ(tokens.n_tokens(row), stored.n_rows);
      for (std::size_t t = 0; t < stored.n_rows; ++t) {
        tokens.read(tokens.offsets()[row] + t, values.data());
        double squares = 0;
        for (std::uint32_t d = 0; d < 11; ++d) squares += std::pow(stored_value(stored, t, d), 2);
        const bool is_scaled = is_scaled_to_compare(field);
        const double scale = is_scaled ? 1 / std::sqrt(squares) : 1;
        for (std::uint32_t d = 0; d < 11; ++d) {
          EXPECT_NEAR(values[d], stored_value(stored, t, d) * scale, is_scaled ? 1e-6 : 0);
        }
      }
    }
  }
}

TEST(TokenSource, OfNoRowsAndOfDamagedOffsets) {
  Random random(kTokenSourceSeed);
  const FieldSchema field{"", FieldKind::kMulti, 4, DType::kF32, Metric::kDot, {}};
  const auto empty = column_of_sizes(field, {}, random);
  EXPECT_EQ(TokenSource(empty).n_tokens(), 0U);
  EXPECT_EQ(TokenSource(empty).tokens_per_row(), 0);
  auto column = column_of_sizes(field, {2, 1, 2}, random);
  column.values = MultiColumn{SharedSpan<std::uint64_t>::of({0, 3, 2, 5}), column.multi().tokens};
  const TokenSource damaged(column);  // read while the mapped file changes
  EXPECT_EQ(damaged.n_tokens(0), 3U);
  EXPECT_EQ(damaged.n_tokens(1), 0U);
  EXPECT_EQ(damaged.n_tokens(2), 2U);
}

TEST(TokenSets, AreTheTokensOfTheRowsThatWereAskedFor) {
  Random random(kTokenSourceSeed);
  const FieldSchema field{"", FieldKind::kMulti, 3, DType::kF16, Metric::kDot, {}};
  const auto column = column_of_sizes(field, {2, 5, 0, 1}, random);
  const TokenSource tokens(column);
  const std::vector<std::uint32_t> rows = {3, 0, 2};
  const TokenSets sets(tokens, rows);
  ASSERT_EQ(sets.sets().size(), 3U);
  std::vector<float> token(3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(sets.sets()[i].n, tokens.n_tokens(rows[i]));
    for (std::size_t t = 0; t < sets.sets()[i].n; ++t) {
      tokens.read(tokens.offsets()[rows[i]] + t, token.data());
      for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(sets.sets()[i].values[t * 3 + d], token[d]);
    }
  }
  EXPECT_TRUE(TokenSets(tokens, {}).sets().empty());
}

TEST(TokenSource, RowsAreTakenAsManyAtATimeAsFit) {
  Random random(kTokenSourceSeed);
  const FieldSchema field{"", FieldKind::kMulti, 1, DType::kU8, Metric::kDot, {}};
  const auto column = column_of_sizes(field, {2, 3, 9, 1, 1}, random);
  const TokenSource tokens(column);
  const std::vector<std::uint32_t> rows = {0, 1, 2, 3, 4};
  EXPECT_EQ(first_rows(tokens, rows, 5).size(), 2U) << "exactly as many";
  EXPECT_EQ(first_rows(tokens, rows, 4).size(), 1U);
  EXPECT_EQ(first_rows(tokens, std::span(rows).subspan(2), 4).size(), 1U) << "at least one row";
  EXPECT_EQ(first_rows(tokens, rows, 1000).size(), 5U);
  EXPECT_TRUE(first_rows(tokens, {}, 5).empty());
  std::vector<std::uint32_t> visited;
  for_some_rows(tokens, rows, [&](std::span<const std::uint32_t> some) {
    visited.insert(visited.end(), some.begin(), some.end());
  });
  EXPECT_EQ(visited, rows);
}

}  // namespace
}  // namespace quiver::index::multi
