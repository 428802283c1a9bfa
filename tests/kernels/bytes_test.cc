#include <cstdlib>

#include "tests/kernels/forms.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240506;
constexpr std::size_t kRows = 11;

using BytesTest = KernelTest;
QV_EVERY_LEVEL(BytesTest);

/// Values in a heap block of exactly their size.
template <class Value>
std::unique_ptr<Value[]> random_bytes(std::size_t n, std::mt19937& random) {
  std::unique_ptr<Value[]> values(new Value[n]);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<Value>(random());
  return values;
}

enum class Term { kDot, kL2, kL1 };

/// Score by definition, of a row and a query less `offset`.
template <class Query>
std::int64_t slow(Term term, const Query* query, int offset, const StoredRows& rows, std::size_t i,
                  std::uint32_t dim) {
  std::int64_t sum = 0;
  for (std::uint32_t d = 0; d < dim; ++d) {
    const auto q = static_cast<std::int64_t>(query[d]) - offset;
    const auto r = static_cast<std::int64_t>(rows.at(i, d));
    sum += term == Term::kDot ? q * r : term == Term::kL2 ? (q - r) * (q - r) : std::abs(q - r);
  }
  return sum;
}

template <class Query, class Score>
void check(const RowKernels<Query, Score>& kernel, Term term, RowType type, int offset) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim = 0; dim <= 300; ++dim) {
    const auto query = random_bytes<Query>(dim, random);
    const StoredRows rows(5, dim, type, dim % 5, dim % 7, random);
    for (std::size_t i = 0; i < 5; ++i) {
      ASSERT_EQ(std::int64_t{kernel.one(query.get(), dim, rows.row(i))},
                slow(term, query.get(), offset, rows, i, dim))
          << "dim " << dim << " seed " << kSeed;
    }
    Score many[5];
    kernel.many(query.get(), dim, rows.data(), rows.stride(), 5, many);
    for (std::size_t i = 0; i < 5; ++i) {
      ASSERT_EQ(std::int64_t{many[i]}, slow(term, query.get(), offset, rows, i, dim));
    }
  }
  for (std::uint32_t dim : {0, 1, 15, 16, 17, 63, 64, 65, 128, 200, 384}) {
    const auto queries = random_bytes<Query>(11 * (dim + 3), random);
    const StoredRows rows(kRows, dim, type, dim % 3, dim % 4, random);
    check_rows(kernel, queries.get(), dim, rows, kRows, random);
    for (std::size_t n : {0, 1, 2, 3, 4, 5, 7, 8, 11}) {
      check_tile(kernel, {queries.get(), dim + 3, n}, dim, rows, kRows, random);
    }
  }
}

TEST_P(BytesTest, U8Dot) { check(k().bytes.u8[0], Term::kDot, RowType::kU8, 0); }
TEST_P(BytesTest, U8L2) { check(k().bytes.u8[1], Term::kL2, RowType::kU8, 0); }
TEST_P(BytesTest, U8L1) { check(k().bytes.u8[2], Term::kL1, RowType::kU8, 0); }
TEST_P(BytesTest, U8DotI8) { check(k().bytes.u8_dot_i8, Term::kDot, RowType::kU8, 0); }
TEST_P(BytesTest, I8DotIsThatOfThePreparedQuery) {
  check(k().bytes.i8_dot, Term::kDot, RowType::kI8, 0);
}
TEST_P(BytesTest, I8L2) { check(k().bytes.i8_l2, Term::kL2, RowType::kI8, 128); }
TEST_P(BytesTest, I8L1) { check(k().bytes.i8_l1, Term::kL1, RowType::kI8, 128); }

template <class Query, class Score>
void check_extremes(const RowKernels<Query, Score>& kernel, Term term, RowType type, int offset) {
  std::mt19937 random(kSeed);
  constexpr std::uint32_t kMaxDim = 65536;  // no sum may overflow
  for (std::uint32_t dim : {1U, 64U, 67U, kMaxDim}) {
    StoredRows rows(1, dim, type, 0, 0, random);
    std::vector<Query> query(dim);
    for (int row_value : {0, 1, 127, 128, 255}) {
      for (std::uint32_t d = 0; d < dim; ++d) {
        rows.set_u8(0, d, static_cast<std::uint8_t>(row_value));
      }
      for (int query_value : {0, 1, 127, 128, 255}) {
        std::fill(query.begin(), query.end(), static_cast<Query>(query_value));
        ASSERT_EQ(std::int64_t{kernel.one(query.data(), dim, rows.row(0))},
                  slow(term, query.data(), offset, rows, 0, dim))
            << "dim " << dim << ", row " << row_value << ", query " << query_value;
      }
    }
  }
}

TEST_P(BytesTest, ExtremeValuesInTheLongestRows) {
  check_extremes(k().bytes.u8[0], Term::kDot, RowType::kU8, 0);
  check_extremes(k().bytes.u8[1], Term::kL2, RowType::kU8, 0);
  check_extremes(k().bytes.u8[2], Term::kL1, RowType::kU8, 0);
  check_extremes(k().bytes.u8_dot_i8, Term::kDot, RowType::kU8, 0);
  check_extremes(k().bytes.i8_dot, Term::kDot, RowType::kI8, 0);
  check_extremes(k().bytes.i8_l2, Term::kL2, RowType::kI8, 128);
  check_extremes(k().bytes.i8_l1, Term::kL1, RowType::kI8, 128);
}

/// The corrections that a format applies to `i8_dot` and `u8_dot_i8`.
TEST_P(BytesTest, TheDotProductOfI8ByEitherCorrection) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {1, 63, 100, 768}) {
    const auto query = random_bytes<std::int8_t>(dim, random);
    const StoredRows rows(1, dim, RowType::kI8, 0, 0, random);
    std::vector<std::uint8_t> raised_query(dim);
    std::vector<std::byte> raised_row(dim);
    int sum_of_row = 0;
    int sum_of_query = 0;
    for (std::uint32_t d = 0; d < dim; ++d) {
      raised_query[d] = static_cast<std::uint8_t>(query[d] + 128);
      raised_row[d] = static_cast<std::byte>(static_cast<int>(rows.at(0, d)) + 128);
      sum_of_row += static_cast<int>(rows.at(0, d));
      sum_of_query += query[d];
    }
    const auto want = slow(Term::kDot, query.get(), 0, rows, 0, dim);
    EXPECT_EQ(k().bytes.i8_dot.one(raised_query.data(), dim, rows.row(0)) - 128 * sum_of_row, want);
    EXPECT_EQ(k().bytes.u8_dot_i8.one(query.get(), dim, raised_row.data()) - 128 * sum_of_query,
              want);
  }
}

}  // namespace
}  // namespace quiver::testing
