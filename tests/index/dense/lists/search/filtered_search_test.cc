// Recall of the IVF index on real rows: with default parameters as recorded, and no lower under
// filters, wherever the rows lie that they allow.
#include <gtest/gtest.h>

#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {
namespace {

constexpr std::size_t kHits = 10;

/// The sample, an index over it, and for each query all rows, nearest first.
class IvfSample : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    index_ = new IvfIndex(sample_column());
    queries_ = new std::vector<PreparedQuery>(sample_queries(index_->column.schema));
    queries_->erase(queries_->begin() + kQueries, queries_->end());
    for (const PreparedQuery& query : *queries_) {
      order_.emplace_back();
      for (const Hit& hit : index_->exact(query, RowFilter::all(n_rows()), n_rows())) {
        order_.back().push_back(hit.row);
      }
    }
  }
  static void TearDownTestSuite() {
    delete index_;
    delete queries_;
    order_.clear();
  }
  static std::uint32_t n_rows() { return index_->column.n_rows; }

  /// Of all queries, with `filter_of` each.
  template <class FilterOf>
  static double recall(const KeyValues& values, FilterOf filter_of) {
    double sum = 0;
    for (std::size_t i = 0; i < queries_->size(); ++i) {
      const Bitset allowed = filter_of(i);
      const RowFilter filter = RowFilter::of(allowed);
      const PreparedQuery& query = (*queries_)[i];
      const auto truth = index_->exact(query, filter, kHits);
      const Found found = index_->find(query, values, filter, kHits);
      EXPECT_EQ(found.hits.size(), truth.size());
      for (const Hit& hit : found.hits) EXPECT_TRUE(allowed.test(hit.row));
      sum += recall_of(found.hits, truth);
      n_lists_ += found.work.n_lists;
    }
    return sum / static_cast<double>(queries_->size());
  }
  static double unfiltered_recall() {
    return recall({}, [](std::size_t) { return Bitset(n_rows(), true); });
  }
  /// About `share` of all rows: half of those in twice as large a part of the order, if there is
  /// one.
  static Bitset part_of(std::size_t query, double share, bool is_near, Random& random) {
    Bitset allowed(n_rows());
    const std::size_t n = static_cast<std::size_t>(std::min(1.0, 2 * share) * n_rows());
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = is_near ? i : n_rows() - 1 - i;
      if (random() % 2 == 0) allowed.set(order_[query][at]);
    }
    return allowed;
  }

  static constexpr std::size_t kQueries = 100;
  static inline IvfIndex* index_ = nullptr;
  static inline std::vector<PreparedQuery>* queries_ = nullptr;
  static inline std::vector<std::vector<std::uint32_t>> order_;
  static inline std::uint64_t n_lists_ = 0;
};

constexpr double kShares[] = {0.97, 0.5, 0.1, 0.01, 0.001};

/// Filters that allow most rows: at random, but not the nearest rows, or but every other of these.
TEST_F(IvfSample, LooseFiltersLoseNothing) {
  const double unfiltered = unfiltered_recall();
  Random random(kIvfSeed);
  for (const double share : {0.999, 0.95, 0.8, 0.55}) {
    const auto n_denied = static_cast<std::size_t>((1 - share) * n_rows());
    const double at_random =
        recall({}, [&](std::size_t) { return random_rows(n_rows(), share, random); });
    EXPECT_GE(at_random, unfiltered - 0.01) << share;
    for (const std::size_t step : {1, 2}) {
      const double without_near = recall({}, [&](std::size_t query) {
        Bitset allowed(n_rows(), true);
        for (std::size_t i = 0; i < n_denied; ++i) {
          allowed.reset(order_[query][(i * step) % n_rows()]);
        }
        return allowed;
      });
      EXPECT_GE(without_near, unfiltered - (step == 1 ? 0.08 : 0.04)) << share << " step " << step;
    }
  }
}

/// Both sides: what is lost is a fault, and what is won should be known.
TEST_F(IvfSample, DefaultsHaveTheRecordedRecall) {
  n_lists_ = 0;
  EXPECT_NEAR(unfiltered_recall(), 0.994, 0.006);
  const double n_lists = static_cast<double>(n_lists_) / kQueries;
  EXPECT_GT(n_lists, 1);
  EXPECT_LT(n_lists, 0.5 * 4 * std::sqrt(3000.0)) << "half of all lists";
}

TEST_F(IvfSample, RandomFiltersLoseNothing) {
  Random random(kIvfSeed);
  const double least = unfiltered_recall() - 0.01;
  for (const double share : kShares) {
    EXPECT_GE(recall({}, [&](std::size_t) { return random_rows(n_rows(), share, random); }), least)
        << share;
  }
}

TEST_F(IvfSample, FiltersOfNearRowsLoseNothing) {
  Random random(kIvfSeed);
  const double least = unfiltered_recall() - 0.01;
  for (const double share : kShares) {
    EXPECT_GE(recall({}, [&](std::size_t i) { return part_of(i, share, true, random); }), least)
        << share;
  }
}

TEST_F(IvfSample, FiltersOfFarRowsLoseNothing) {
  Random random(kIvfSeed);
  const double least = unfiltered_recall() - 0.01;
  for (const double share : kShares) {
    EXPECT_GE(recall({}, [&](std::size_t i) { return part_of(i, share, false, random); }), least)
        << share;
  }
}

/// All but the best rows, as when a user pages by excluding what was seen: many rows are then about
/// as far as the best of them.
TEST_F(IvfSample, FiltersWithoutTheNearestRowsLoseLittle) {
  const double least = unfiltered_recall();
  for (const std::size_t n : {10, 100, 500}) {
    const auto all_but = [&](std::size_t i) {
      Bitset allowed(n_rows(), true);
      for (std::size_t at = 0; at < n; ++at) allowed.reset(order_[i][at]);
      return allowed;
    };
    EXPECT_GE(recall({}, all_but), least - (n == 10 ? 0.01 : 0.05)) << n;
  }
}

TEST_F(IvfSample, AGivenNumberOfListsIsFilteredAsWell) {
  Random random(kIvfSeed);
  for (const std::int64_t nprobe : {3, 10, 40}) {
    const KeyValues values = {{"nprobe", nprobe}};
    const double least = recall(values, [&](std::size_t) { return Bitset(n_rows(), true); }) - 0.02;
    for (const double share : {0.97, 0.5}) {
      EXPECT_GE(recall(values, [&](std::size_t) { return random_rows(n_rows(), share, random); }),
                least)
          << nprobe << " lists, " << share;
    }
  }
}

/// A filter that allows nearly all rows takes about the work of none.
TEST_F(IvfSample, AFewDeletedRowsTakeLittleMoreWork) {
  Random random(kIvfSeed);
  n_lists_ = 0;
  unfiltered_recall();
  const auto without = n_lists_;
  n_lists_ = 0;
  recall({}, [&](std::size_t) { return random_rows(n_rows(), 0.99, random); });
  EXPECT_LT(static_cast<double>(n_lists_), 3.0 * static_cast<double>(without));
}

}  // namespace
}  // namespace quiver::index::testing
