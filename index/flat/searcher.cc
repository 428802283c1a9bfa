#include "index/flat/searcher.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <vector>

#include "base/mutex.h"
#include "index/flat/scorer.h"

namespace quiver::index {
namespace {

/// Rows scored between two looks at the threshold and the clock.
constexpr std::uint32_t kBlockRows = 256;
/// Work that one block may be at most, so that cancellation is noticed within 50 us.
constexpr std::size_t kBlockBytes = 512 * 1024;
/// A piece of a scan that one thread takes; below two of them a scan stays on its thread.
constexpr std::size_t kPieceBytes = 4 * 1024 * 1024;

struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Everything that scanning a range of rows needs; `out` belongs to the scanning thread.
template <Scorer S>
class Scan {
 public:
  Scan(const S& scorer, const FilterView& filter, const Cancel& cancel)
      : scorer_(scorer), filter_(filter), cancel_(cancel) {
    const std::size_t rows = kBlockBytes / std::max<std::size_t>(1, scorer.bytes_per_row());
    block_rows_ =
        static_cast<std::uint32_t>(std::clamp<std::size_t>(rows / 64 * 64, 64, kBlockRows));
  }

  Result<> run(Range range, TopK& out, WorkCounters& work) const {
    for (std::uint32_t first = range.begin; first < range.end; first += block_rows_) {
      if (cancel_.poll()) return cancel_.check();
      const std::uint32_t n = std::min(block_rows_, range.end - first);
      const std::size_t n_scored =
          is_full(first, n) ? score_run(first, n, out) : score_allowed(first, n, out);
      work.n_rows_scored += n_scored;
      work.n_bytes += n_scored * scorer_.bytes_per_row();
    }
    return {};
  }

 private:
  /// True if every row of the block is allowed. Blocks start at multiples of 64.
  [[nodiscard]] bool is_full(std::uint32_t first, std::uint32_t n) const {
    if (filter_.bits() == nullptr) return true;
    const auto words = filter_.bits()->words();
    std::uint32_t row = first;
    for (; row + 64 <= first + n; row += 64) {
      if (words[row / 64] != ~std::uint64_t{0}) return false;
    }
    for (; row < first + n; ++row) {
      if (!filter_.bits()->test(row)) return false;
    }
    return true;
  }

  std::size_t score_run(std::uint32_t first, std::uint32_t n, TopK& out) const {
    std::array<float, kBlockRows> scores;
    scorer_.score_run(first, std::span(scores).first(n));
    offer(std::span(scores).first(n), out, [first](std::uint32_t i) { return first + i; });
    return n;
  }

  std::size_t score_allowed(std::uint32_t first, std::uint32_t n, TopK& out) const {
    std::array<std::uint32_t, kBlockRows> rows;
    std::uint32_t n_rows = 0;
    const auto words = filter_.bits()->words();
    for (std::uint32_t w = first / 64; w * 64 < first + n; ++w) {
      for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
        const auto row = w * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
        if (row < first + n) rows[n_rows++] = row;
      }
    }
    if (n_rows == 0) return 0;
    std::array<float, kBlockRows> scores;
    scorer_.score_rows(std::span(rows).first(n_rows), std::span(scores).first(n_rows));
    offer(std::span(scores).first(n_rows), out, [&rows](std::uint32_t i) { return rows[i]; });
    return n_rows;
  }

  template <class RowOf>
  static void offer(std::span<const float> scores, TopK& out, RowOf row_of) {
    std::array<std::uint32_t, kBlockRows> positions;
    const std::size_t n =
        kernels().topk.at_least(scores.data(), scores.size(), out.threshold(), positions.data());
    for (std::size_t i = 0; i < n; ++i) out.offer(scores[positions[i]], row_of(positions[i]));
  }

  const S& scorer_;
  const FilterView& filter_;
  const Cancel& cancel_;
  std::uint32_t block_rows_;
};

/// Pieces of whole blocks, each of about kPieceBytes.
std::vector<Range> cut(std::uint32_t n_rows, std::size_t bytes_per_row) {
  const std::size_t rows = std::max<std::size_t>(kBlockRows, kPieceBytes / bytes_per_row);
  const auto step =
      static_cast<std::uint32_t>(std::min<std::size_t>(rows / kBlockRows * kBlockRows, 1U << 30));
  std::vector<Range> pieces;
  for (std::uint32_t first = 0; first < n_rows; first += step) {
    pieces.push_back({first, std::min(n_rows, first + step)});
    if (n_rows - first <= step) break;
  }
  return pieces;
}

/// Where the threads of one search bring what they found.
class Gathered {
 public:
  Gathered(TopK& out, WorkCounters& work) : out_(out), work_(work) {}

  void add(TopK& hits, const WorkCounters& work_done, Result<> result) QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    for (const Hit& hit : hits.take_sorted()) out_.offer(hit.score, hit.row);
    work_ += work_done;
    if (!result && status_) status_ = std::move(result);
  }
  /// The first failure, once all threads are done.
  [[nodiscard]] Result<> status() QV_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  Mutex mutex_;
  TopK& out_ QV_GUARDED_BY(mutex_);
  WorkCounters& work_ QV_GUARDED_BY(mutex_);
  Result<> status_ QV_GUARDED_BY(mutex_);
};

template <Scorer S>
Result<> search_in_parallel(const S& scorer, const std::vector<Range>& pieces,
                            const FilterView& filter, const SearchContext& context, TopK& out,
                            WorkCounters& work) {
  const Scan<S> scan(scorer, filter, context.cancel);
  std::atomic<float> own_floor = -std::numeric_limits<float>::infinity();
  std::atomic<float>* floor = out.shared_floor() != nullptr ? out.shared_floor() : &own_floor;
  Gathered gathered(out, work);
  context.executor->parallel_for(pieces.size(), [&](std::size_t i) {
    TopK hits(out.k(), out.ids(), floor);
    WorkCounters work_done;
    auto result = scan.run(pieces[i], hits, work_done);
    gathered.add(hits, work_done, std::move(result));
  });
  return gathered.status();
}

template <Scorer S>
Result<> search_rows(const S& scorer, const FilterView& filter, const SearchContext& context,
                     TopK& out, WorkCounters& work) {
  if (context.executor != nullptr) {
    const auto pieces = cut(filter.n_rows(), scorer.bytes_per_row());
    if (pieces.size() > 1) {
      return search_in_parallel(scorer, pieces, filter, context, out, work);
    }
  }
  return Scan<S>(scorer, filter, context.cancel).run({0, filter.n_rows()}, out, work);
}

template <class Visit>
auto with_scorer(const Query& query, const FieldColumn& column, Visit visit) {
  switch (column.schema.kind) {
    case FieldKind::kSparse:
      return visit(SparseScorer(query, column.sparse()));
    case FieldKind::kMulti:
      return visit(MultiScorer(query, column.multi()));
    case FieldKind::kDense:
      break;
  }
  return visit(DenseScorer(query, column.dense()));
}

}  // namespace

Result<> FlatSearcher::search(const Query& query, const AnyParams&, const FilterView& filter,
                              const SearchContext& context, TopK& out, WorkCounters& work) const {
  if (filter.n_rows() == 0 || out.k() == 0) return {};
  return with_scorer(query, column_, [&](const auto& scorer) {
    return search_rows(scorer, filter, context, out, work);
  });
}

std::optional<float> score_row(const Query& query, const FieldColumn& column, std::uint32_t row) {
  if (column.present[row] == 0) return std::nullopt;
  float score = 0;
  with_scorer(query, column, [&](const auto& scorer) { scorer.score_run(row, {&score, 1}); });
  if (std::isnan(score)) return std::nullopt;
  return score;
}

Result<> count_terms(const SparseColumn& column, const FilterView& filter,
                     std::span<const std::uint32_t> terms, std::span<std::uint64_t> counts,
                     const Cancel& cancel) {
  for (std::uint32_t row = 0; row < filter.n_rows(); ++row) {
    if (row % 64 == 0 && cancel.poll()) return cancel.check();
    if (!filter.allows(row)) continue;
    const auto indices = column.row(row).indices;
    auto from = indices.begin();
    for (std::size_t t = 0; t < terms.size() && from != indices.end(); ++t) {
      from = std::lower_bound(from, indices.end(), terms[t]);
      if (from != indices.end() && *from == terms[t]) ++counts[t];
    }
  }
  return {};
}

}  // namespace quiver::index
