// Exact search against arithmetic in double, for every kind of field, filter and thread count.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "index/exact/searcher.h"
#include "tests/index/exact/exact_support.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

class Flat : public ::testing::TestWithParam<FieldSchema> {
 protected:
  [[nodiscard]] FieldSchema schema(std::uint32_t dim) const {
    FieldSchema schema = GetParam();
    if (schema.kind != FieldKind::kSparse) schema.dim = dim;
    return schema;
  }
};

TEST_P(Flat, ScoresAreThoseOfDoubleArithmetic) {
  Random random(31);
  for (const std::uint32_t dim : {1, 2, 3, 15, 16, 17, 64, 100, 385}) {
    SCOPED_TRACE("dim " + std::to_string(dim));
    const auto column = random_column(schema(dim), {.n_rows = 60, .present_share = 0.9}, random);
    for (int i = 0; i < 3; ++i) {
      const auto vector = random_vector(column.schema, {}, random);
      const PreparedQuery query = make_query(column.schema, vector);
      for (std::uint32_t row = 0; row < column.n_rows; ++row) {
        const auto got = score_row(query, column, row);
        const auto wanted = exact_score(vector, column, row);
        ASSERT_EQ(got.has_value(), wanted.has_value()) << "row " << row;
        if (got) {
          EXPECT_NEAR(*got, wanted->score, wanted->tolerance) << "row " << row;
        }
      }
    }
  }
}

TEST_P(Flat, FindsTheBestOfTheAllowedRows) {
  for (const std::uint64_t seed : {32, 33}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    for (const std::uint32_t n : {1, 63, 64, 65, 255, 256, 257, 1000}) {
      const auto column = random_column(
          schema(9), {.n_rows = n, .present_share = 0.9, .duplicate_share = 0.2}, random);
      const PreparedQuery query =
          make_query(column.schema, random_vector(column.schema, {}, random));
      for (Bitset& filter : some_filters(n, random)) {
        filter &= present_rows(column);
        for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{n} + 5}) {
          SCOPED_TRACE("n " + std::to_string(n) + " k " + std::to_string(k));
          WorkCounters work;
          const auto hits = search(column, query, RowFilter::of(filter), TopK(k), nullptr, &work);
          expect_same_hits(hits, expected_hits(query, column, filter, k));
          EXPECT_EQ(work.n_rows_scored, filter.count());
        }
      }
    }
  }
}

TEST_P(Flat, EqualScoresAreOrderedById) {
  Random random(34);
  const auto column = random_column(
      schema(2), {.n_rows = 700, .duplicate_share = 0.5, .small_integers = true}, random);
  std::vector<PointId> ids;
  for (std::uint64_t i = 0; i < column.n_rows; ++i) {
    ids.push_back(i % 3 == 0 ? PointId::uuid(random(), random()) : PointId::number(random()));
  }
  const auto vector = random_vector(column.schema, {.small_integers = true}, random);
  const PreparedQuery query = make_query(column.schema, vector);
  const Bitset all(column.n_rows, true);
  for (const std::size_t k : {1, 5, 50, 699}) {
    const auto hits = search(column, query, RowFilter::all(column.n_rows), TopK(k, ids));
    expect_same_hits(hits, expected_hits(query, column, all, k, ids));
  }
}

/// Small integers are exact in f32, so here the score is known to the bit.
TEST_P(Flat, SmallIntegersAreExact) {
  if (GetParam().metric == Metric::kCosine) GTEST_SKIP() << "unit vectors are not integers";
  if (is_code(GetParam().dtype)) GTEST_SKIP() << "codes do not hold integers";
  Random random(35);
  const auto column = random_column(schema(21), {.n_rows = 300, .small_integers = true}, random);
  const auto vector = random_vector(column.schema, {.small_integers = true}, random);
  const PreparedQuery query = make_query(column.schema, vector);
  for (std::uint32_t row = 0; row < column.n_rows; ++row) {
    const auto got = score_row(query, column, row);
    const auto wanted = exact_score(vector, column, row);
    ASSERT_EQ(got.has_value(), wanted.has_value());
    if (got) {
      EXPECT_EQ(*got, wanted->score) << "row " << row;
    }
  }
}

TEST_P(Flat, ManyThreadsGiveTheBitsOfOne) {
  Random random(36);
  // Above two pieces of 4 MiB, so that the scan is really cut.
  const std::uint32_t n = GetParam().kind == FieldKind::kMulti ? 9000 : 40000;
  const std::uint32_t dim = GetParam().dtype == DType::kF32 ? 70 : 140;
  const auto column = random_column(
      schema(GetParam().dtype == DType::kU8 ? 300 : dim),
      {.n_rows = n, .duplicate_share = 0.9, .sparse_dim = 2000, .max_nonzero = 120}, random);
  Executor executor(4, "test");
  Bitset half(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (random() % 2 == 0) half.set(i);
  }
  for (int i = 0; i < 3; ++i) {
    const PreparedQuery query = make_query(column.schema, random_vector(column.schema, {}, random));
    for (const auto& filter : {RowFilter::all(n), RowFilter::of(half)}) {
      WorkCounters serial_work;
      WorkCounters parallel_work;
      const auto serial = search(column, query, filter, TopK(100), nullptr, &serial_work);
      const auto parallel = search(column, query, filter, TopK(100), &executor, &parallel_work);
      expect_same_hits(parallel, serial);
      EXPECT_EQ(parallel_work.n_rows_scored, serial_work.n_rows_scored);
    }
  }
}

TEST_P(Flat, SameBitsInWhateverSegmentARowStands) {
  Random random(37);
  std::vector<std::optional<PlainVector>> vectors;
  const FieldSchema field = schema(33);
  for (int i = 0; i < 400; ++i) vectors.emplace_back(random_vector(field, {}, random));
  const auto whole = make_column(field, vectors);
  std::vector<std::optional<PlainVector>> reversed(vectors.rbegin(), vectors.rend());
  const auto other = make_column(field, reversed);
  const PreparedQuery query = make_query(field, random_vector(field, {}, random));
  const auto one = search(whole, query, RowFilter::all(400), TopK(400));
  for (const Hit& hit : one) {
    const auto there = score_row(query, other, 399 - hit.row);
    ASSERT_TRUE(there.has_value());
    EXPECT_EQ(std::memcmp(&*there, &hit.score, sizeof(float)), 0) << "row " << hit.row;
  }
}

TEST_P(Flat, SharedFloorOnlyDropsWhatCannotMatter) {
  Random random(38);
  const auto column = random_column(schema(8), {.n_rows = 500}, random);
  const PreparedQuery query = make_query(column.schema, random_vector(column.schema, {}, random));
  const auto all = search(column, query, RowFilter::all(500), TopK(500));
  ASSERT_GT(all.size(), 60U);
  std::atomic<float> floor = all[30].score;
  const auto hits = search(column, query, RowFilter::all(500), TopK(500, {}, &floor));
  ASSERT_GE(hits.size(), 31U);
  EXPECT_EQ(hits.back().score, all[30].score);
  for (std::size_t i = 0; i < 31; ++i) EXPECT_EQ(hits[i].row, all[i].row);
}

TEST_P(Flat, CancelledSearchSaysSo) {
  Random random(39);
  const auto column = random_column(schema(8), {.n_rows = 1000}, random);
  const PreparedQuery query = make_query(column.schema, random_vector(column.schema, {}, random));
  const FlatSearcher searcher(column);
  Executor executor(2, "test");
  for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
    const Cancel cancelled;
    cancelled.cancel();
    TopK top(5);
    WorkCounters work;
    const auto result =
        searcher.search(query, {}, RowFilter::all(1000), {cancelled, helper}, top, work);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::kCancelled);
    const Cancel expired(Deadline::after(std::chrono::nanoseconds(0)));
    const auto late =
        searcher.search(query, {}, RowFilter::all(1000), {expired, helper}, top, work);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), Code::kDeadlineExceeded);
  }
}

INSTANTIATE_TEST_SUITE_P(Fields, Flat, ::testing::ValuesIn(all_schemas(8)),
                         [](const auto& field) { return describe(field.param); });

/// A long scan stops soon after it is told to.
TEST(FlatDense, StopsSoonAfterCancel) {
  const FieldSchema field{"", FieldKind::kDense, 512, DType::kF32, Metric::kDot, {}};
  const auto column =
      make_column(field, std::vector<std::optional<PlainVector>>(
                             60000, PlainVector{std::vector<float>(512, 1.0F), {}}));
  const PreparedQuery query = make_query(field, {std::vector<float>(512, 1.0F), {}});
  const FlatSearcher searcher(column);
  const Cancel cancel;
  std::thread watcher([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancel.cancel();
  });
  Result<> result;
  while (result) {  // one scan may be over before it is cancelled
    TopK top(10);
    WorkCounters work;
    result = searcher.search(query, {}, RowFilter::all(60000), {cancel, nullptr}, top, work);
  }
  watcher.join();
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

TEST(FlatType, RefusesParametersByName) {
  const IndexType* flat = find_index_type("flat");
  ASSERT_NE(flat, nullptr);
  EXPECT_TRUE(flat->parse_build({}));
  EXPECT_TRUE(flat->parse_search({}));
  const auto result = flat->parse_search({{"ef", std::int64_t{100}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kInvalidArgument);
  EXPECT_NE(result.error().message().find("ef"), std::string::npos);
}

}  // namespace
}  // namespace quiver::index::testing
