// MaxScore over windows of rows: the tokens whose bounds together do not reach the threshold are
// looked up only in rows that the other tokens found.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "payload/bm25/bm25.h"

namespace quiver::payload {
namespace {

constexpr std::uint32_t kWindow = 4096;  ///< rows; their sums stay in the L1 cache
/// Sums of floats may be less than the score by this share.
constexpr float kSlack = 1e-5F;
/// Cost of looking up a row in the postings of a token, in postings that are added.
constexpr std::size_t kPostingsPerSeek = 8;
/// Cost of scoring a row by itself, likewise.
constexpr std::uint64_t kPostingsPerRow = 50;

/// The postings of one token, read from front to back.
struct Cursor {
  std::size_t token = 0;
  const std::uint32_t* rows = nullptr;
  const std::uint8_t* counts = nullptr;
  std::size_t begin = 0;  ///< the first posting of the window
  std::size_t at = 0;
  std::size_t end = 0;
  float weight = 0;
  float bound = 0;  ///< no row gains more from the token

  /// Moves to the first posting at or after `row`. Returns true if it is of that row.
  bool seek(std::uint32_t row) {
    std::size_t step = 1;
    while (at + step < end && rows[at + step] < row) {
      at += step;
      step *= 2;
    }
    at = first_from(row, at, std::min(end, at + step));
    return at != end && rows[at] == row;
  }
  /// The posting of `row` among those of the window that were read; `end` if there is none.
  [[nodiscard]] std::size_t find_in_window(std::uint32_t row) const {
    const std::size_t found = first_from(row, begin, at);
    return found != at && rows[found] == row ? found : end;
  }

 private:
  [[nodiscard]] std::size_t first_from(std::uint32_t row, std::size_t first,
                                       std::size_t last) const {
    return static_cast<std::size_t>(std::lower_bound(rows + first, rows + last, row) - rows);
  }
};

class WindowSearch {
 public:
  WindowSearch(const Occurrences& occurrences, const Bm25& bm25, const Bitset* within,
               RowSink& sink)
      : occurrences_(occurrences),
        bm25_(bm25),
        within_(within),
        sink_(sink),
        lengths_(occurrences.column().text_lengths.data()),
        at_length_0_(static_cast<float>(bm25.at_length_0())),
        per_token_(static_cast<float>(bm25.per_token())),
        sums_(kWindow, 0.0F),
        found_(kWindow),
        counts_(occurrences.n_tokens()) {
    for (std::size_t i = 0; i < occurrences.n_tokens(); ++i) add_cursor(i);
    std::sort(cursors_.begin(), cursors_.end(),
              [](const Cursor& a, const Cursor& b) { return a.bound < b.bound; });
    bounds_.push_back(0);
    for (const auto& cursor : cursors_) bounds_.push_back(bounds_.back() + cursor.bound);
  }

  Result<> run(const Cancel& cancel) {
    const std::uint32_t n_rows = occurrences_.column().n_rows;
    for (std::uint32_t first = 0; first < n_rows; first += kWindow) {
      QV_TRY(cancel.check());
      wanted_ = sink_.threshold() * (1 - kSlack);
      while (n_optional_ < cursors_.size() && bounds_[n_optional_ + 1] < wanted_) ++n_optional_;
      if (n_optional_ == cursors_.size()) break;
      search_window(first, std::min(kWindow, n_rows - first));
    }
    return {};
  }

 private:
  void add_cursor(std::size_t i) {
    const TokenRows& token = occurrences_.token(i);
    if (token.rows.empty()) return;
    cursors_.push_back({.token = i,
                        .rows = token.rows.data(),
                        .counts = token.counts.data(),
                        .end = token.size(),
                        .weight = static_cast<float>(bm25_.weight(i)),
                        .bound = bound_of(i)});
  }

  [[nodiscard]] float gain(float weight, float tf, std::uint32_t length) const {
    return weight * tf / (tf + at_length_0_ + per_token_ * static_cast<float>(length));
  }

  /// The most that a row can gain from the token.
  [[nodiscard]] float bound_of(std::size_t i) const {
    const TokenRows& token = occurrences_.token(i);
    const auto weight = static_cast<float>(bm25_.weight(i));
    const auto of_posting = [&](std::size_t at) {
      return token.counts[at] == ColumnView::kManyTimes
                 ? weight
                 : gain(weight, token.counts[at], lengths_[token.rows[at]]);
    };
    const ColumnView& column = occurrences_.column();
    // Whole blocks have bounds of their own. A block is shared with the neighbours of the term.
    const std::uint64_t first = token.first_posting;
    const std::uint64_t end = first + token.size();
    constexpr std::uint64_t kBlock = ColumnView::kPostingsPerBlock;
    const std::uint64_t first_block = column.sealed ? (first + kBlock - 1) / kBlock : 0;
    const std::uint64_t end_block = column.sealed ? end / kBlock : 0;
    float bound = 0;
    if (first_block >= end_block) {
      for (std::size_t at = 0; at < token.size(); ++at) bound = std::max(bound, of_posting(at));
      return bound * (1 + kSlack);
    }
    for (std::uint64_t at = first; at < first_block * kBlock; ++at) {
      bound = std::max(bound, of_posting(at - first));
    }
    for (std::uint64_t block = first_block; block < end_block; ++block) {
      const std::uint8_t count = column.block_counts[block];
      bound = std::max(bound, count == ColumnView::kManyTimes
                                  ? weight
                                  : gain(weight, count, column.block_lengths[block]));
    }
    for (std::uint64_t at = end_block * kBlock; at < end; ++at) {
      bound = std::max(bound, of_posting(at - first));
    }
    return bound * (1 + kSlack);
  }

  void search_window(std::uint32_t first, std::uint32_t n) {
    bool has_any = false;
    for (std::size_t i = n_optional_; i < cursors_.size(); ++i) {
      has_any = add_window(cursors_[i], first, n) || has_any;
    }
    if (!has_any) return;
    n_sought_ = n_optional_;
    std::size_t n_found = kernels().topk.at_least(sums_.data(), n, least_sum(), found_.data());
    // Where many rows may reach the threshold, all postings of a token are added faster than those
    // rows are looked up.
    while (n_sought_ > 0 && n_found * kPostingsPerSeek > postings_in(cursors_[n_sought_ - 1], n)) {
      Cursor& cursor = cursors_[--n_sought_];
      cursor.seek(first);
      add_window(cursor, first, n);
      const float least = least_sum();
      std::size_t n_left = 0;
      for (std::size_t i = 0; i < n_found; ++i) {
        found_[n_left] = found_[i];
        n_left += sums_[found_[i]] >= least ? 1 : 0;
      }
      n_found = n_left;
    }
    for (std::size_t i = 0; i < n_found; ++i) check_row(first + found_[i], sums_[found_[i]]);
    std::fill_n(sums_.begin(), n, 0.0F);
  }

  /// What a row must have by now to reach the threshold.
  [[nodiscard]] float least_sum() const {
    constexpr float kNothing = std::numeric_limits<float>::min();
    return std::max(kNothing, wanted_ - bounds_[n_sought_]);
  }

  /// Expected number of postings in a window of `n` rows.
  [[nodiscard]] std::size_t postings_in(const Cursor& cursor, std::uint32_t n) const {
    return cursor.end * n / occurrences_.column().n_rows;
  }

  /// Adds what the rows of the window gain from the token. Returns false if there is none.
  bool add_window(Cursor& cursor, std::uint32_t first, std::uint32_t n) {
    const std::uint32_t end_row = first + n;
    cursor.begin = cursor.at;
    std::size_t at = cursor.begin;
    for (; at < cursor.end && cursor.rows[at] < end_row; ++at) {
      const std::uint32_t row = cursor.rows[at];
      const std::uint8_t count = cursor.counts[at];
      const float tf = count == ColumnView::kManyTimes ? 1e9F : count;
      // Rows of a damaged file are in no order: the remainder stays in bounds.
      sums_[(row - first) % kWindow] += gain(cursor.weight, tf, lengths_[row]);
    }
    cursor.at = at;
    return at != cursor.begin;
  }

  /// Looks up the optional tokens, those that gain most first, as long as the row may reach the
  /// threshold.
  void check_row(std::uint32_t row, float sum) {
    if (within_ != nullptr && !within_->test(row)) return;
    for (std::size_t i = n_sought_; i > 0; --i) {
      if (sum + bounds_[i] < wanted_) return;
      Cursor& cursor = cursors_[i - 1];
      counts_[cursor.token] = 0;
      if (!cursor.seek(row)) continue;
      counts_[cursor.token] = count_of(cursor, cursor.at, row);
      sum += gain(cursor.weight, static_cast<float>(counts_[cursor.token]), lengths_[row]);
    }
    if (sum >= wanted_) offer(row);
  }

  void offer(std::uint32_t row) {
    for (std::size_t i = n_sought_; i < cursors_.size(); ++i) {
      const Cursor& cursor = cursors_[i];
      const std::size_t at = cursor.find_in_window(row);
      counts_[cursor.token] = at == cursor.end ? 0 : count_of(cursor, at, row);
    }
    const float score = bm25_.score(counts_, lengths_[row]);
    if (score <= 0 || score < sink_.threshold()) return;
    sink_.offer(row, score);
    wanted_ = sink_.threshold() * (1 - kSlack);
  }

  [[nodiscard]] std::uint32_t count_of(const Cursor& cursor, std::size_t at,
                                       std::uint32_t row) const {
    const std::uint8_t count = cursor.counts[at];
    return count < ColumnView::kManyTimes ? count : occurrences_.count(cursor.token, row);
  }

  const Occurrences& occurrences_;
  const Bm25& bm25_;
  const Bitset* within_;
  RowSink& sink_;
  const std::uint32_t* lengths_;
  const float at_length_0_;
  const float per_token_;
  std::vector<float> sums_;            ///< of the rows of a window
  std::vector<std::uint32_t> found_;   ///< rows of the window whose sums are large enough
  std::vector<std::uint32_t> counts_;  ///< of each token in the row that is being checked
  std::vector<Cursor> cursors_;        ///< by bound, ascending
  std::vector<float> bounds_;          ///< `bounds_[i]`: sum of the bounds of the first `i` cursors
  std::size_t n_optional_ = 0;  ///< the first cursors, which cannot reach the threshold together
  std::size_t n_sought_ = 0;    ///< of these, the first ones, not added to the sums of the window
  float wanted_ = 0;            ///< the threshold, less what sums may miss
};

/// Scores each row of `within` by itself.
Result<> score_rows(const Occurrences& occurrences, const Bm25& bm25, const Bitset& within,
                    RowSink& sink, const Cancel& cancel) {
  constexpr std::size_t kRowsBetweenChecks = 1024;
  Result<> result;
  std::size_t n = 0;
  within.for_each([&](std::size_t i) {
    if (!result) return;
    if (n++ % kRowsBetweenChecks == 0) result = cancel.check();
    const auto row = static_cast<std::uint32_t>(i);
    const float score = bm25.score(occurrences, row);
    if (score > 0 && score >= sink.threshold()) sink.offer(row, score);
  });
  return result;
}

}  // namespace

Result<> search_texts(const Occurrences& occurrences, const Bm25& bm25, const Bitset* within,
                      RowSink& sink, const Cancel& cancel) {
  std::uint64_t n_postings = 0;
  for (std::size_t i = 0; i < occurrences.n_tokens(); ++i)
    n_postings += occurrences.token(i).size();
  if (n_postings == 0) return {};
  if (within != nullptr && within->count() * kPostingsPerRow < n_postings) {
    return score_rows(occurrences, bm25, *within, sink, cancel);
  }
  return WindowSearch(occurrences, bm25, within, sink).run(cancel);
}

}  // namespace quiver::payload
