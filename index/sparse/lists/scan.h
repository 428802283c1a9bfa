// Two-phase scan: sums of impacts over lists, range by range, then scores of the best rows.
//
// Truncated, it reads the postings that add most to any score, as many as it is told to, and
// re-scores the best sums. Exact, it reads whole lists, whose sums bound scores from above, and
// re-scores every row whose bound reaches the k-th best score so far.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/threads/cancel.h"
#include "index/index.h"
#include "index/prepared_query.h"
#include "index/row_filter.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/rows/best_rows.h"
#include "index/sparse/rows/terms.h"
#include "index/topk.h"
#include "index/vector_column.h"

namespace quiver::index::sparse {

/// Keeps the `n` best, in no order.
void keep_best(std::vector<ScoredRow>& candidates, std::size_t n);

/// What is added to the sums of one range for each term, and from where on lists are read.
class ScanPlan {
 public:
  enum class Value : std::uint8_t { kMean, kUpper };

  struct Term {
    std::uint32_t term = 0;
    std::uint32_t first_level = 0;  ///< levels below are not read
    std::array<std::uint16_t, kLevels> adds{};
  };

  /// Terms without a positive weight are left out: they only lower scores.
  ScanPlan(const ImpactLists& lists, std::span<const QueryTerm> terms, Value value);
  /// Sums of 16 bits are not fine enough for more terms than this.
  static constexpr std::size_t kMaxTerms = 8192;

  /// Leaves out what adds least, so that about `n_postings` are read in all; at least one.
  void truncate(std::uint64_t n_postings);

  [[nodiscard]] std::span<const Term> terms() const { return terms_; }
  /// Whether a row may share a term with the query although nothing is added to its sum.
  [[nodiscard]] bool has_other_terms() const { return has_other_terms_; }
  /// Postings that are read.
  [[nodiscard]] std::uint64_t n_postings() const;
  /// Postings of all terms.
  [[nodiscard]] std::uint64_t n_postings_untruncated() const { return n_all_; }
  /// Of sums with Value::kUpper: no row with a lower sum has a score of `score` or better.
  [[nodiscard]] std::uint16_t bound_of(float score) const;

 private:
  [[nodiscard]] std::uint64_t n_postings_above(std::uint32_t least_add) const;

  const ImpactLists& lists_;
  std::vector<Term> terms_;
  bool has_other_terms_ = false;
  std::uint64_t n_all_ = 0;
  double units_ = 0;  ///< of a sum for a score of 1
};

/// The rows with the best sums: `n_wanted` of those that `filter` allows, or all that share a term
/// that is read. Rows are those of the lists plus `first_row`, as which `filter` knows them;
/// `first_row` is a multiple of 64. `out` is added to; the score is the sum.
[[nodiscard]] Result<> best_sums(const ImpactLists& lists, const ScanPlan& plan,
                                 const RowFilter& filter, std::uint32_t first_row,
                                 std::size_t n_wanted, const Cancel& cancel,
                                 std::vector<ScoredRow>& out, WorkCounters& work);

/// Offers every hit among the lists' rows. `plan`: whole lists, of upper ends.
[[nodiscard]] Result<> scan_exactly(const ImpactLists& lists, const ScanPlan& plan,
                                    const PreparedQuery& query, const SparseColumn& column,
                                    const RowFilter& filter, std::uint32_t first_row,
                                    const Cancel& cancel, TopK& out, WorkCounters& work);

/// Offers the rows' exact scores.
void score_exactly(const PreparedQuery& query, const SparseColumn& column,
                   std::span<const std::uint32_t> rows, TopK& out, WorkCounters& work);

}  // namespace quiver::index::sparse
