// Scan of posting lists in two phases: sums of impacts, range by range, then scores of the best
// rows.
//
// Truncated: reads the given number of postings, those that add most to any score, and re-scores
// the best sums. Exact: reads whole lists, whose sums are upper bounds of scores, and re-scores
// every row whose bound reaches the k-th best score so far.
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

/// Keeps the `n` best, unordered.
void keep_best(std::vector<ScoredRow>& candidates, std::size_t n);

/// For each term of a query: the integer added per level, and the first level that is read.
class ScanPlan {
 public:
  enum class Value : std::uint8_t { kMean, kUpper };

  struct Term {
    std::uint32_t term = 0;
    std::uint32_t first_level = 0;  ///< lower levels are not read
    std::array<std::uint16_t, kLevels> adds{};
  };

  /// Leaves out terms without a positive weight: they only lower scores.
  ScanPlan(const ImpactLists& lists, std::span<const QueryTerm> terms, Value value);
  /// The same plan for a copy of its lists.
  ScanPlan(const ImpactLists& copy, const ScanPlan& plan)
      : lists_(copy),
        terms_(plan.terms_),
        has_other_terms_(plan.has_other_terms_),
        n_all_(plan.n_all_),
        units_(plan.units_) {}
  /// Largest number of query terms: sums have 16 bits.
  static constexpr std::size_t kMaxTerms = 8192;

  /// Leaves out the levels that add least, so that about `n_postings` are read; at least one.
  void truncate(std::uint64_t n_postings);

  [[nodiscard]] std::span<const Term> terms() const { return terms_; }
  /// True if a row may share a term with the query although its sum is 0.
  [[nodiscard]] bool has_other_terms() const { return has_other_terms_; }
  /// Number of postings that are read.
  [[nodiscard]] std::uint64_t n_postings() const;
  /// Number of postings of all terms.
  [[nodiscard]] std::uint64_t n_postings_untruncated() const { return n_all_; }
  /// With Value::kUpper: no row with a sum below this has a score >= `score`.
  [[nodiscard]] std::uint16_t bound_of(float score) const;

 private:
  [[nodiscard]] std::uint64_t n_postings_above(std::uint32_t least_add) const;

  const ImpactLists& lists_;
  std::vector<Term> terms_;
  bool has_other_terms_ = false;
  std::uint64_t n_all_ = 0;
  double units_ = 0;  ///< sum that corresponds to a score of 1
};

/// Appends to `out` the allowed rows with the best sums: `n_wanted`, or fewer if fewer share a term
/// that is read. Scores are the sums. Row r of the lists is row `first_row` + r of `filter` and
/// `out`; `first_row` is a multiple of 64.
[[nodiscard]] Result<> best_sums(const ImpactLists& lists, const ScanPlan& plan,
                                 const RowFilter& filter, std::uint32_t first_row,
                                 std::size_t n_wanted, const Cancel& cancel,
                                 std::vector<ScoredRow>& out, WorkCounters& work);

/// Offers every hit among the lists' rows. `plan`: of whole lists, with Value::kUpper.
[[nodiscard]] Result<> scan_exactly(const ImpactLists& lists, const ScanPlan& plan,
                                    const PreparedQuery& query, const SparseColumn& column,
                                    const RowFilter& filter, std::uint32_t first_row,
                                    const Cancel& cancel, TopK& out, WorkCounters& work);

/// Offers the exact scores of `rows`.
void score_exactly(const PreparedQuery& query, const SparseColumn& column,
                   std::span<const std::uint32_t> rows, TopK& out, WorkCounters& work);

}  // namespace quiver::index::sparse
