// Scan of all rows: blocks of allowed rows are scored for one query or a tile, compared with each
// query's threshold and offered. One thread or several.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "index/index.h"
#include "kernels/kernels.h"

namespace quiver::index {

/// Largest number of rows scored between two checks of thresholds and clock.
inline constexpr std::uint32_t kBlockRows = 256;
/// Largest number of queries that share a pass over the rows.
inline constexpr std::size_t kTileQueries = 8;

/// Scores of a block; those of query j start at `[j * kBlockRows]`.
using BlockScores = std::array<float, kTileQueries * kBlockRows>;

/// Scores rows for `n_queries()` <= kTileQueries queries. NaN marks a row that is no hit.
template <class S>
concept TileScorer = requires(const S& s, std::uint32_t first, std::uint32_t n,
                              std::span<const std::uint32_t> rows, BlockScores& out) {
  { s.n_queries() } -> std::convertible_to<std::size_t>;
  s.score_run(first, n, out);  // rows first, first + 1, …; n <= kBlockRows
  s.score_rows(rows, out);     // rows ascend, at most kBlockRows
  s.bytes_per_row();           // mean bytes, for the work counters
  s.cost_per_row();            // bytes that one query reads in that time, for block sizes
};

struct ScanRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Largest `cost_per_row` sum of a block: keeps polls of `cancel` within 50 us.
inline constexpr std::size_t kBlockBytes = 512 * 1024;

/// Rows of a block. A power of two, so that a block is whole words of the filter or within one
/// word.
template <TileScorer S>
std::uint32_t rows_of_block(const S& scorer) {
  const std::size_t rows = kBlockBytes / std::max<std::size_t>(1, scorer.cost_per_row());
  return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::size_t>(rows, 1, kBlockRows)));
}

/// Scan of a range of rows. `results`, one heap for each query, belong to the scanning thread.
template <TileScorer S>
class Scan {
 public:
  Scan(const S& scorer, const RowFilter& filter, const Cancel& cancel)
      : scorer_(scorer), filter_(filter), cancel_(cancel), block_rows_(rows_of_block(scorer)) {}

  Result<> run(ScanRange range, std::span<TopK* const> results, WorkCounters& work) const {
    for (std::uint32_t first = range.begin; first < range.end; first += block_rows_) {
      if (cancel_.poll()) return cancel_.check();
      const std::uint32_t n = std::min(block_rows_, range.end - first);
      const std::size_t n_scored =
          is_full(first, n) ? score_run(first, n, results) : score_allowed(first, n, results);
      work.n_rows_scored += n_scored * results.size();
      work.n_bytes += n_scored * scorer_.bytes_per_row();
    }
    return {};
  }

  /// Scan of a list of allowed rows.
  Result<> run_listed(std::span<const std::uint32_t> rows, std::span<TopK* const> results,
                      WorkCounters& work) const {
    for (std::size_t first = 0; first < rows.size(); first += block_rows_) {
      if (cancel_.poll()) return cancel_.check();
      const auto block =
          rows.subspan(first, std::min<std::size_t>(block_rows_, rows.size() - first));
      score_rows(block, results);
      work.n_rows_scored += block.size() * results.size();
      work.n_bytes += block.size() * scorer_.bytes_per_row();
    }
    return {};
  }

 private:
  /// True if the filter allows all rows of the block.
  [[nodiscard]] bool is_full(std::uint32_t first, std::uint32_t n) const {
    const std::uint64_t* words = filter_.words();
    if (words == nullptr) return true;
    std::uint32_t row = first;
    for (; row + 64 <= first + n; row += 64) {
      if (words[row / 64] != ~std::uint64_t{0}) return false;
    }
    for (; row < first + n; ++row) {
      if ((words[row / 64] >> (row % 64) & 1) == 0) return false;
    }
    return true;
  }

  std::size_t score_run(std::uint32_t first, std::uint32_t n,
                        std::span<TopK* const> results) const {
    BlockScores scores;
    scorer_.score_run(first, n, scores);
    offer(scores, n, results, [first](std::uint32_t i) { return first + i; });
    return n;
  }

  std::size_t score_allowed(std::uint32_t first, std::uint32_t n,
                            std::span<TopK* const> results) const {
    std::array<std::uint32_t, kBlockRows> rows;
    std::uint32_t n_rows = 0;
    const std::uint64_t* words = filter_.words();
    for (std::uint32_t w = first / 64; w * 64 < first + n; ++w) {
      for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
        const auto row = w * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
        if (row >= first && row < first + n) rows[n_rows++] = row;
      }
    }
    if (n_rows != 0) score_rows(std::span(rows).first(n_rows), results);
    return n_rows;
  }

  void score_rows(std::span<const std::uint32_t> rows, std::span<TopK* const> results) const {
    BlockScores scores;
    scorer_.score_rows(rows, scores);
    offer(scores, rows.size(), results, [rows](std::uint32_t i) { return rows[i]; });
  }

  template <class RowOf>
  static void offer(const BlockScores& scores, std::size_t n_rows, std::span<TopK* const> results,
                    RowOf row_of) {
    std::array<std::uint32_t, kBlockRows> positions;
    for (std::size_t j = 0; j < results.size(); ++j) {
      const float* of_query = scores.data() + j * kBlockRows;
      const std::size_t n =
          kernels().topk.at_least(of_query, n_rows, results[j]->threshold(), positions.data());
      for (std::size_t i = 0; i < n; ++i) {
        results[j]->offer(of_query[positions[i]], row_of(positions[i]));
      }
    }
  }

  const S& scorer_;
  const RowFilter& filter_;
  const Cancel& cancel_;
  std::uint32_t block_rows_;
};

/// One thread's task.
inline constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
/// Cuts rows into pieces of whole blocks, about `kPieceBytes` each. With a single piece the scan
/// stays on its thread.
[[nodiscard]] std::vector<ScanRange> cut_into_pieces(std::uint32_t n_rows,
                                                     std::size_t bytes_per_row);

/// Hits of one piece: a heap for each query, with the floor that the threads share.
class PieceHits {
 public:
  PieceHits(std::span<TopK* const> results, std::span<std::atomic<float>> own_floors);
  [[nodiscard]] std::span<TopK* const> results() const { return pointers_; }
  [[nodiscard]] std::vector<TopK>& heaps() { return heaps_; }

 private:
  std::vector<TopK> heaps_;
  std::vector<TopK*> pointers_;
};

/// Collects hits and counters from the threads of one search.
class Gathered {
 public:
  Gathered(std::span<TopK* const> results, WorkCounters& work) : results_(results), work_(work) {}

  void add(PieceHits& hits, const WorkCounters& work_done, Result<> result) QV_EXCLUDES(mutex_);
  /// The first error; call it when all threads are done.
  [[nodiscard]] Result<> status() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  std::span<TopK* const> results_ QV_GUARDED_BY(mutex_);
  WorkCounters& work_ QV_GUARDED_BY(mutex_);
  Result<> status_ QV_GUARDED_BY(mutex_);
};

template <TileScorer S>
Result<> scan_in_parallel(const S& scorer, const std::vector<ScanRange>& pieces,
                          const RowFilter& filter, const SearchContext& context,
                          std::span<TopK* const> results, WorkCounters& work) {
  const Scan<S> scan(scorer, filter, context.cancel);
  std::vector<std::atomic<float>> floors(results.size());
  for (auto& floor : floors) floor = -std::numeric_limits<float>::infinity();
  Gathered gathered(results, work);
  context.executor->parallel_for(pieces.size(), [&](std::size_t i) {
    PieceHits hits(results, floors);
    WorkCounters work_done;
    auto result = scan.run(pieces[i], hits.results(), work_done);
    gathered.add(hits, work_done, std::move(result));
  });
  return gathered.status();
}

/// Offers the allowed rows to `results`, one heap for each query of `scorer`.
template <TileScorer S>
Result<> scan_rows(const S& scorer, const RowFilter& filter, const SearchContext& context,
                   std::span<TopK* const> results, WorkCounters& work) {
  const Scan<S> scan(scorer, filter, context.cancel);
  const bool is_short =
      filter.is_listed() && filter.listed().size() * scorer.bytes_per_row() <= kPieceBytes;
  if (is_short) return scan.run_listed(filter.listed(), results, work);
  if (context.executor != nullptr) {
    const auto pieces = cut_into_pieces(filter.n_rows(), scorer.bytes_per_row());
    if (pieces.size() > 1) return scan_in_parallel(scorer, pieces, filter, context, results, work);
  }
  return scan.run({0, filter.n_rows()}, results, work);
}

}  // namespace quiver::index
