// MaxScore over windows of rows: the tokens whose bounds together do not reach the threshold are
// looked up only in rows that the other tokens found.
#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "base/views.h"
#include "kernels/kernels.h"
#include "payload/bm25/bm25.h"

namespace quiver::payload {
namespace {

constexpr std::uint32_t kWindow = TextKernels::kWindow;  ///< rows; their sums stay in the L1 cache
static_assert(TextKernels::kManyTimes == ColumnView::kManyTimes);
constexpr std::uint32_t kFirstWindow = 256;  ///< rows; kWindow is a multiple
/// Sums of n floats may be less than the score by this share, plus one rounding for each.
constexpr float kSlack = 1e-5F;
constexpr float kRounding = std::numeric_limits<float>::epsilon();
/// A window is sparse if postings were added to fewer rows than one in so many.
constexpr std::uint32_t kSparseWindow = 16;
/// Windows after which one more token is looked up, to see whether that is faster.
constexpr std::size_t kWindowsBetweenTries = 4;
/// Cost of looking up a row in the postings of a token, in postings that are added.
constexpr std::size_t kPostingsPerSeek = 16;
/// Cost of scoring a row by itself, likewise.
constexpr std::uint64_t kPostingsPerRow = 50;

/// The postings of one token, read from front to back.
struct Cursor {
  const std::uint32_t* rows = nullptr;
  const std::uint8_t* counts = nullptr;
  const std::uint32_t* lengths = nullptr;  ///< of all rows
  std::size_t begin = 0;                   ///< the first posting of the window
  std::size_t at = 0;
  std::size_t end = 0;
  TokenGain gain{};
  float bound = 0;  ///< no row gains more from the token

  float postings_per_row = 0;

  /// Moves to the first posting at or after `row`. Returns true if it is of that row. Begins where
  /// the posting is if rows are evenly spread, and doubles its steps from there.
  bool seek(std::uint32_t row) {
    if (at < end && rows[at] < row) at = first_after(row);
    return at != end && rows[at] == row;
  }

  /// Prefetches the postings where that of `row` is if rows are evenly spread.
  void prefetch(std::uint32_t row) const {
    if (at == end || rows[at] >= row) return;
    const std::size_t place = expected(row);
    prefetch_line(rows + place);
    prefetch_line(counts + place);
  }

 private:
  static constexpr std::size_t kFirstStep = 8;

  /// `rows[at] < row`.
  [[nodiscard]] std::size_t expected(std::uint32_t row) const {
    const auto step =
        static_cast<std::size_t>(static_cast<float>(row - rows[at]) * postings_per_row);
    return std::min(at + step, end - 1);
  }

  /// `rows[at] < row`.
  [[nodiscard]] std::size_t first_after(std::uint32_t row) const {
    std::size_t low = at;  // rows[low] < row
    std::size_t high = expected(row);
    std::size_t step = kFirstStep;
    if (rows[high] < row) {
      low = high;
      high = std::min(low + step, end);
      while (high < end && rows[high] < row) {
        low = high;
        step *= 2;
        high = std::min(low + step, end);
      }
    } else {
      while (high - low > step && rows[high - step] >= row) {
        high -= step;
        step *= 2;
      }
      low = std::max(low, high - std::min(high, step));
    }
    return first_between(row, low + 1, high);
  }
  /// The first place in [first, last) with a row at or after `row`; `last` if there is none.
  [[nodiscard]] std::size_t first_between(std::uint32_t row, std::size_t first,
                                          std::size_t last) const {
    std::size_t n = last - first;
    while (n > 0) {
      const std::size_t half = (n + 1) / 2;
      first += rows[first + half - 1] < row ? half : 0;
      n -= half;
    }
    return first;
  }
};

float gain_of(const TokenGain& gain, std::uint8_t count, std::uint32_t length) {
  if (count == ColumnView::kManyTimes) return gain.weight;
  const float tf = count;
  return gain.weight * tf / (tf + gain.at_length_0 + gain.per_token * static_cast<float>(length));
}

/// The most that some posting of [from, to) gains; numbers of the token's own postings.
float largest_gain(const ColumnView& column, const TokenRows& token, const TokenGain& gain,
                   std::uint64_t from, std::uint64_t to) {
  std::array<std::uint32_t, ColumnView::kPostingsPerBlock> lengths{};
  float largest = 0;
  while (from < to) {
    const std::size_t n = std::min<std::uint64_t>(to - from, lengths.size());
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t row = token.rows[from + i];
      lengths[i] = row < column.n_rows ? column.text_lengths[row] : 0;
    }
    largest = std::max(
        largest, kernels().texts.largest_gain(token.counts.data() + from, lengths.data(), n, gain));
    from += n;
  }
  return largest;
}

/// The most that a row can gain from the token: the most of each block of postings. Blocks that the
/// term shares with its neighbours count if they are few of many; else its own postings there do.
float bound_of(const ColumnView& column, const TokenRows& token, const TokenGain& gain) {
  constexpr std::uint64_t kBlock = ColumnView::kPostingsPerBlock;
  constexpr std::uint64_t kManyBlocks = 4;
  if (!column.sealed) return largest_gain(column, token, gain, 0, token.size()) * (1 + kSlack);
  const std::uint64_t first = token.first_posting;
  const std::uint64_t end = first + token.size();
  const bool has_many = token.size() >= kManyBlocks * kBlock;
  const std::uint64_t first_block = has_many ? first / kBlock : (first + kBlock - 1) / kBlock;
  const std::uint64_t end_block = has_many ? (end + kBlock - 1) / kBlock : end / kBlock;
  if (first_block >= end_block) {
    return largest_gain(column, token, gain, 0, token.size()) * (1 + kSlack);
  }
  float bound = kernels().texts.largest_gain(column.block_counts.data() + first_block,
                                             column.block_lengths.data() + first_block,
                                             end_block - first_block, gain);
  if (!has_many) {
    bound = std::max({bound, largest_gain(column, token, gain, 0, first_block * kBlock - first),
                      largest_gain(column, token, gain, end_block * kBlock - first, token.size())});
  }
  return bound * (1 + kSlack);
}

/// True if a row may hold the token so often that its count is not kept: of a sealed column, also
/// for a row of another term in a block that the term shares.
bool has_many_times(const ColumnView& column, const TokenRows& token) {
  constexpr std::uint64_t kBlock = ColumnView::kPostingsPerBlock;
  std::span<const std::uint8_t> counts = token.counts;
  if (column.sealed) {
    const std::uint64_t first = token.first_posting / kBlock;
    const std::uint64_t end = (token.first_posting + token.size() + kBlock - 1) / kBlock;
    counts = part_of(column.block_counts.span(), first, end);
  }
  return std::find(counts.begin(), counts.end(), ColumnView::kManyTimes) != counts.end();
}

/// Memory that a thread keeps from one search to the next.
struct Scratch {
  std::vector<float> sums = std::vector<float>(kWindow, 0.0F);  ///< of a window; zeros between
  std::vector<std::uint32_t> found = std::vector<std::uint32_t>(kWindow);
};

/// Lends it. An exception may leave sums behind, so the memory is kept only if there was none.
class LentScratch {
 public:
  LentScratch() : scratch_(kept() ? std::move(kept()) : std::make_unique<Scratch>()) {}
  [[nodiscard]] Scratch& operator*() const { return *scratch_; }
  void give_back() { kept() = std::move(scratch_); }

 private:
  static std::unique_ptr<Scratch>& kept() {
    thread_local std::unique_ptr<Scratch> of_thread;
    return of_thread;
  }
  std::unique_ptr<Scratch> scratch_;
};

class WindowSearch {
 public:
  /// `scratch` is borrowed, and has its zeros again after `run` returned.
  WindowSearch(std::span<const ScoredTexts> keys, const Bitset* within, RowSink& sink,
               Scratch& scratch)
      : keys_(keys),
        within_(within),
        sink_(sink),
        n_rows_(keys.front().occurrences.column().n_rows),
        sums_(scratch.sums),
        found_(scratch.found) {
    for (const auto& key : keys) add_cursors(key);
    std::sort(cursors_.begin(), cursors_.end(),
              [](const Cursor& a, const Cursor& b) { return a.bound < b.bound; });
    bounds_.push_back(0);
    for (const auto& cursor : cursors_) bounds_.push_back(bounds_.back() + cursor.bound);
    kept_share_ = 1 - kSlack - kRounding * static_cast<float>(cursors_.size());
    wanted_ = sink.threshold() * kept_share_;
  }

  Result<> run(const Cancel& cancel) {
    // The first windows are small: until there is a threshold, every row is a candidate.
    std::uint32_t n = kFirstWindow;
    for (std::uint32_t first = 0; first < n_rows_; first += n, n = std::min(kWindow, first)) {
      QV_TRY(cancel.check());
      while (n_optional_ < cursors_.size() && bounds_[n_optional_ + 1] < wanted_) ++n_optional_;
      if (n_optional_ == cursors_.size()) break;
      search_window(first, std::min(n, n_rows_ - first));
    }
    offer_kept();
    return {};
  }

 private:
  void add_cursors(const ScoredTexts& key) {
    const ColumnView& column = key.occurrences.column();
    for (std::size_t i = 0; i < key.occurrences.n_tokens(); ++i) {
      const TokenRows& token = key.occurrences.token(i);
      if (token.rows.empty()) continue;
      has_many_times_ = has_many_times_ || has_many_times(column, token);
      const TokenGain gain{static_cast<float>(key.bm25.weight(i)),
                           static_cast<float>(key.bm25.at_length_0()),
                           static_cast<float>(key.bm25.per_token())};
      cursors_.push_back({.rows = token.rows.data(),
                          .counts = token.counts.data(),
                          .lengths = column.text_lengths.data(),
                          .end = token.size(),
                          .gain = gain,
                          .bound = bound_of(column, token, gain),
                          .postings_per_row = static_cast<float>(token.size()) /
                                              static_cast<float>(std::max(1U, n_rows_))});
    }
  }

  void search_window(std::uint32_t first, std::uint32_t n) {
    n_sought_ = n_sought_first(n);
    std::size_t n_added = 0;
    for (std::size_t i = n_sought_; i < cursors_.size(); ++i) {
      if (i < n_optional_) cursors_[i].seek(first);
      n_added += add_window(cursors_[i], first, n);
    }
    n_added_first_ = n_sought_;
    if (n_added == 0) return;
    const bool is_sparse = n_added < n / kSparseWindow;
    std::size_t n_found = is_sparse ? find_among_postings(first) : find_among_all(n);
    // Where many rows may reach the threshold, all postings of a token are added faster than those
    // rows are looked up.
    while (n_sought_ > 0 && n_found * kPostingsPerSeek > postings_in(cursors_[n_sought_ - 1], n)) {
      Cursor& cursor = cursors_[--n_sought_];
      cursor.seek(first);
      add_window(cursor, first, n);
      n_found = keep_found(n_found);
    }
    prefetch_found(first, n_found);
    for (std::size_t i = 0; i < n_found; ++i) check_row(first + found_[i], sums_[found_[i]]);
    if (is_sparse && n_sought_ == n_added_first_) return clear_added(first);
    std::fill_n(sums_.begin(), n, 0.0F);
  }

  /// The number of tokens that are looked up in the window, unless too many rows are found: as many
  /// as in the last window. Every few windows one more, because the threshold rises.
  std::size_t n_sought_first(std::uint32_t n) {
    if (n < kWindow || n_windows_++ % kWindowsBetweenTries == 0) ++n_sought_;
    return std::min(n_sought_, n_optional_);
  }

  // Both write the rows of the window that may reach the threshold to `found_`, ascending, and
  // return their number.
  std::size_t find_among_all(std::uint32_t n) {
    return kernels().topk.at_least(sums_.data(), n, least_sum(), found_.data());
  }
  std::size_t find_among_postings(std::uint32_t first) {
    std::array<std::uint64_t, kWindow / 64> is_found{};
    const float least = least_sum();
    for_each_added(first, [&](std::uint32_t at) {
      is_found[at / 64] |= std::uint64_t{sums_[at] >= least} << at % 64;
    });
    std::size_t n_found = 0;
    for (std::uint32_t word = 0; word < is_found.size(); ++word) {
      for (std::uint64_t rest = is_found[word]; rest != 0; rest &= rest - 1) {
        found_[n_found++] = word * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
      }
    }
    return n_found;
  }
  /// Keeps those of `found_` that may still reach it.
  std::size_t keep_found(std::size_t n_found) {
    const float least = least_sum();
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n_found; ++i) {
      found_[n_left] = found_[i];
      n_left += sums_[found_[i]] >= least ? 1 : 0;
    }
    return n_left;
  }

  /// Prefetches where the strongest token that is looked up may have the rows.
  void prefetch_found(std::uint32_t first, std::size_t n_found) const {
    if (n_sought_ == 0) return;
    const Cursor& cursor = cursors_[n_sought_ - 1];
    for (std::size_t i = 0; i < n_found; ++i) cursor.prefetch(first + found_[i]);
  }

  void clear_added(std::uint32_t first) {
    for_each_added(first, [&](std::uint32_t at) { sums_[at] = 0; });
  }
  /// Calls `visit` with the place in the window of each posting that was added.
  template <class Visit>
  void for_each_added(std::uint32_t first, Visit visit) const {
    for (std::size_t i = n_added_first_; i < cursors_.size(); ++i) {
      const Cursor& cursor = cursors_[i];
      for (std::size_t at = cursor.begin; at < cursor.at; ++at) {
        visit((cursor.rows[at] - first) % kWindow);
      }
    }
  }

  /// What a row must have by now to reach the threshold.
  [[nodiscard]] float least_sum() const {
    constexpr float kNothing = std::numeric_limits<float>::min();
    return std::max(kNothing, wanted_ - bounds_[n_sought_]);
  }

  /// Expected number of postings in a window of `n` rows.
  [[nodiscard]] std::size_t postings_in(const Cursor& cursor, std::uint32_t n) const {
    return cursor.end * n / n_rows_;
  }

  /// Adds what the rows of the window gain from the token. Returns the number of these rows.
  std::size_t add_window(Cursor& cursor, std::uint32_t first, std::uint32_t n) {
    cursor.begin = cursor.at;
    if (cursor.at == cursor.end || cursor.rows[cursor.at] - first >= n) return 0;
    cursor.at += kernels().texts.add_gains(cursor.rows + cursor.at, cursor.counts + cursor.at,
                                           cursor.end - cursor.at, first, first + n, cursor.lengths,
                                           cursor.gain, sums_.data());
    prefetch_next(cursor, n);
    return cursor.at - cursor.begin;
  }

  /// Prefetches what the next window reads of the token. A window reads too little of each token
  /// for the processor to foresee it.
  void prefetch_next(const Cursor& cursor, std::uint32_t n) const {
    const std::size_t n_next = std::min(cursor.end - cursor.at, postings_in(cursor, n));
    prefetch_bytes(cursor.rows + cursor.at, n_next * sizeof(*cursor.rows));
    prefetch_bytes(cursor.counts + cursor.at, n_next * sizeof(*cursor.counts));
  }

  /// Looks up the optional tokens, those that gain most first, as long as the row may reach the
  /// threshold.
  void check_row(std::uint32_t row, float sum) {
    if (within_ != nullptr && !within_->test(row)) return;
    for (std::size_t i = n_sought_; i > 0; --i) {
      if (sum + bounds_[i] < wanted_) return;
      Cursor& cursor = cursors_[i - 1];
      if (!cursor.seek(row)) continue;
      sum += gain_of(cursor.gain, cursor.counts[cursor.at], cursor.lengths[row]);
    }
    if (sum >= wanted_) keep(row, sum);
  }

  /// Keeps the rows with the largest sums, and those whose sums are too near to tell. A sum is too
  /// large if the row holds a token very often, so the threshold is then made of exact scores.
  void keep(std::uint32_t row, float sum) {
    kept_.push_back({sum, row});
    best_sums_.push(has_many_times_ ? score_row(keys_, row) : sum);
    if (best_sums_.size() > sink_.limit()) best_sums_.pop();
    if (best_sums_.size() < sink_.limit()) return;
    wanted_ = std::max(wanted_, best_sums_.top() * kept_share_ * kept_share_);
  }

  void offer_kept() {
    std::erase_if(kept_, [&](const Kept& kept) { return kept.sum < wanted_; });
    prefetch_kept();
    for (const auto& [sum, row] : kept_) {
      const float score = score_row(keys_, row);
      if (score > 0 && score >= sink_.threshold()) sink_.offer(row, score);
    }
  }

  /// Prefetches what exact scores read: where the tokens of the rows are, then the tokens.
  void prefetch_kept() const {
    constexpr std::size_t kMaxBytes = 1024;
    for (const auto& key : keys_) {
      const ColumnView& column = key.occurrences.column();
      for (const auto& kept : kept_) prefetch_line(column.offsets.data() + kept.row);
      for (const auto& kept : kept_) {
        const auto terms = column.row_terms(kept.row);
        prefetch_bytes(terms.data(), std::min(terms.size_bytes(), kMaxBytes));
      }
    }
  }

  const std::span<const ScoredTexts> keys_;
  const Bitset* within_;
  RowSink& sink_;
  const std::uint32_t n_rows_;
  float kept_share_ = 1;               ///< 1 less what sums may miss
  std::vector<float>& sums_;           ///< of the rows of a window; zeros between windows
  std::vector<std::uint32_t>& found_;  ///< rows of the window whose sums are large enough
  std::vector<Cursor> cursors_;        ///< by bound, ascending
  std::vector<float> bounds_;          ///< `bounds_[i]`: sum of the bounds of the first `i` cursors
  std::size_t n_optional_ = 0;  ///< the first cursors, which cannot reach the threshold together
  std::size_t n_sought_ = 0;    ///< of these, the first ones, not added to the sums of the window
  std::size_t n_added_first_ = 0;  ///< the first token whose postings were added at once
  std::size_t n_windows_ = 0;
  bool has_many_times_ = false;  ///< sums may be more than the score
  struct Kept {
    float sum;
    std::uint32_t row;
  };
  std::vector<Kept> kept_;
  std::priority_queue<float, std::vector<float>, std::greater<>> best_sums_;  ///< `limit` of them
  float wanted_;  ///< the threshold, less what sums may miss
};

/// Scores each row of `within` by itself.
Result<> score_rows(std::span<const ScoredTexts> keys, const Bitset& within, RowSink& sink,
                    const Cancel& cancel) {
  constexpr std::size_t kRowsBetweenChecks = 1024;
  Result<> result;
  std::size_t n = 0;
  within.for_each([&](std::size_t i) {
    if (!result) return;
    if (n++ % kRowsBetweenChecks == 0) result = cancel.check();
    const auto row = static_cast<std::uint32_t>(i);
    const float score = score_row(keys, row);
    if (score > 0 && score >= sink.threshold()) sink.offer(row, score);
  });
  return result;
}

}  // namespace

Result<> search_texts(std::span<const ScoredTexts> keys, const Bitset* within, RowSink& sink,
                      const Cancel& cancel) {
  std::uint64_t n_postings = 0;
  for (const auto& key : keys) {
    for (std::size_t i = 0; i < key.occurrences.n_tokens(); ++i) {
      n_postings += key.occurrences.token(i).size();
    }
  }
  if (n_postings == 0) return {};
  if (within != nullptr && within->count() * kPostingsPerRow < n_postings) {
    return score_rows(keys, *within, sink, cancel);
  }
  LentScratch scratch;
  auto result = WindowSearch(keys, within, sink, *scratch).run(cancel);
  scratch.give_back();
  return result;
}

}  // namespace quiver::payload
