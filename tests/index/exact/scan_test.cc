#include "index/exact/scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/threads/executor.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kScanSeed = 62;

/// Scores from a table, `[queries][rows]`; NaN where a row is no hit.
struct TableScorer {
  std::vector<std::vector<float>> scores;
  std::size_t n_row_bytes = 1;
  std::size_t row_cost = 1;

  TableScorer(std::size_t n_queries, std::uint32_t n_rows, Random& random)
      : scores(n_queries, std::vector<float>(n_rows)) {
    for (auto& of_query : scores) {
      for (float& score : of_query) {
        score = random() % 10 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                   : static_cast<float>(random() % 100);
      }
    }
  }
  [[nodiscard]] std::size_t n_queries() const { return scores.size(); }
  void score_run(std::uint32_t first, std::uint32_t n, BlockScores& out) const {
    for (std::size_t q = 0; q < scores.size(); ++q) {
      for (std::uint32_t i = 0; i < n; ++i) out[q * kBlockRows + i] = scores[q][first + i];
    }
  }
  void score_rows(std::span<const std::uint32_t> rows, BlockScores& out) const {
    for (std::size_t q = 0; q < scores.size(); ++q) {
      for (std::size_t i = 0; i < rows.size(); ++i) out[q * kBlockRows + i] = scores[q][rows[i]];
    }
  }
  [[nodiscard]] std::size_t bytes_per_row() const { return n_row_bytes; }
  [[nodiscard]] std::size_t cost_per_row() const { return row_cost; }
};
static_assert(TileScorer<TableScorer>);

/// The hits of each query, by a scan.
std::vector<std::vector<Hit>> scanned(const TableScorer& scorer, const RowFilter& filter,
                                      std::size_t k, Executor* executor, WorkCounters& work) {
  std::vector<TopK> heaps(scorer.n_queries(), TopK(k));
  std::vector<TopK*> results;
  for (auto& heap : heaps) results.push_back(&heap);
  const Cancel cancel;
  EXPECT_TRUE(scan_rows(scorer, filter, {cancel, executor}, results, work));
  std::vector<std::vector<Hit>> hits;
  for (auto& heap : heaps) hits.push_back(heap.take_sorted());
  return hits;
}

TEST(Scan, OffersTheAllowedRowsOfEachQuery) {
  SCOPED_TRACE("seed " + std::to_string(kScanSeed));
  Random random(kScanSeed);
  Executor executor(3, "test");
  for (const std::uint32_t n : {1U, 64U, 255U, 256U, 257U, 1000U}) {
    for (const std::size_t n_queries : {std::size_t{1}, std::size_t{3}, kTileQueries}) {
      TableScorer scorer(n_queries, n, random);
      const std::size_t costs[] = {1, kBlockBytes / 100, kBlockBytes, 2 * kBlockBytes};
      scorer.row_cost = costs[random() % 4];
      scorer.n_row_bytes = 16 * 1024;  // pieces of one block, so that threads share the rows
      for (const Bitset& allowed : some_filters(n, random)) {
        SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(allowed.count()) + " allowed");
        for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
          WorkCounters work;
          const auto hits = scanned(scorer, RowFilter::of(allowed), 7, helper, work);
          for (std::size_t q = 0; q < n_queries; ++q) {
            TopK wanted(7);
            allowed.for_each([&](std::size_t row) {
              wanted.offer(scorer.scores[q][row], static_cast<std::uint32_t>(row));
            });
            expect_same_hits(hits[q], wanted.take_sorted());
          }
          EXPECT_EQ(work.n_rows_scored, allowed.count() * n_queries);
          EXPECT_EQ(work.n_bytes, allowed.count() * scorer.n_row_bytes) << "read once";
        }
      }
    }
  }
}

TEST(Scan, StopsWhenCancelledOnAnyNumberOfThreads) {
  Random random(kScanSeed);
  TableScorer scorer(1, 2000, random);
  scorer.n_row_bytes = 16 * 1024;
  Executor executor(2, "test");
  const Cancel cancel;
  cancel.cancel();
  for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
    TopK heap(5);
    TopK* const results[] = {&heap};
    WorkCounters work;
    const auto done = scan_rows(scorer, RowFilter::all(2000), {cancel, helper}, results, work);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::kCancelled);
    EXPECT_EQ(work.n_rows_scored, 0U);
  }
}

TEST(Scan, BlocksAreOfAPowerOfTwoRowsWithinTheirBytes) {
  Random random(kScanSeed);
  TableScorer scorer(1, 1, random);
  for (const std::size_t cost : {std::size_t{0}, std::size_t{1}, std::size_t{2048},
                                 std::size_t{2049}, std::size_t{100'000}, kBlockBytes * 3}) {
    scorer.row_cost = cost;
    const std::uint32_t rows = rows_of_block(scorer);
    EXPECT_EQ(rows & (rows - 1), 0U) << "cost " << cost;
    EXPECT_GE(rows, 1U);
    EXPECT_LE(rows, kBlockRows);
    if (rows > 1) {
      EXPECT_LE(rows * cost, kBlockBytes);
    }
    if (rows < kBlockRows) {
      EXPECT_GT(2 * rows * cost, kBlockBytes) << "no larger block fits";
    }
  }
}

TEST(Scan, PiecesAreWholeBlocksThatCoverAllRows) {
  EXPECT_TRUE(cut_into_pieces(0, 100).empty());
  for (const std::uint32_t n : {1U, 255U, 256U, 257U, 100'000U, ~0U}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 30}) {
      if (n == ~0U && bytes > 1) continue;
      SCOPED_TRACE(std::to_string(n) + " rows of " + std::to_string(bytes));
      std::uint32_t next = 0;
      const auto pieces = cut_into_pieces(n, bytes);
      for (const ScanRange& piece : pieces) {
        ASSERT_EQ(piece.begin, next);
        ASSERT_GT(piece.end, piece.begin);
        ASSERT_EQ(piece.begin % kBlockRows, 0U);
        const std::size_t rows = piece.end - piece.begin;
        ASSERT_TRUE(rows <= kBlockRows || rows * bytes <= 4 << 20);
        next = piece.end;
      }
      EXPECT_EQ(next, n);
    }
  }
}

/// Rows that cost so much that a block holds few of them, or one.

TEST(FlatBlocks, FewRowsOfLongDocuments) {
  constexpr std::uint32_t kRows = 70;
  const FieldSchema field{"", FieldKind::kMulti, 64, DType::kF32, Metric::kDot, {}};
  for (const std::uint32_t max_tokens : {60U, 800U, 5000U}) {
    SCOPED_TRACE("tokens " + std::to_string(max_tokens) + ", seed 61");
    Random random(61);
    const auto column = random_column(
        field, {.n_rows = kRows, .present_share = 0.9, .max_tokens = max_tokens}, random);
    const PreparedQuery query = make_query(field, random_vector(field, {.max_tokens = 3}, random));
    for (Bitset& filter : some_filters(kRows, random)) {
      filter &= present_rows(column);
      TopK top(20);
      WorkCounters work;
      const Cancel cancel;
      const auto done =
          FlatSearcher(column).search(query, {}, RowFilter::of(filter), {cancel}, top, work);
      ASSERT_TRUE(done) << done.error().to_string();
      expect_same_hits(top.take_sorted(), expected_hits(query, column, filter, 20));
      EXPECT_EQ(work.n_rows_scored, filter.count());
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
