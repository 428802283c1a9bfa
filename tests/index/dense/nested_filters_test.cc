// What searches with nested filters cost, by the estimates from counts that choose among ways to
// search. They are no times, so they are the same on every machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/searcher_support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint32_t kNestedRows = 40'000;
constexpr std::array kNestedShares{0.8, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001};
constexpr std::size_t kNestedCount = kNestedShares.size();

/// Rows of `[0, 1)`: a filter of share `s` allows those below `s`, so filters are nested.
std::vector<double> random_places(Random& random) {
  std::vector<double> places(kNestedRows);
  for (double& place : places) place = std::uniform_real_distribution<>()(random);
  return places;
}

Bitset allowed_below(const std::vector<double>& places, double share) {
  Bitset rows(places.size());
  for (std::size_t row = 0; row < places.size(); ++row) {
    if (places[row] < share) rows.set(row);
  }
  return rows;
}

TEST(NestedFilters, TheStricterOneIsNotMuchDearer) {
  SCOPED_TRACE("seed " + std::to_string(kIvfSeed));
  Random random(kIvfSeed);
  const auto schema = dense_schema(64);
  Clumps clumps(schema, 300, random);
  const IvfIndex index(clumps.column(kNestedRows));
  const auto of_rows = random_places(random);
  std::vector<Bitset> allowed;
  for (const double share : kNestedShares) allowed.push_back(allowed_below(of_rows, share));
  std::array<double, kNestedCount> estimates{};
  std::array<double, kNestedCount> recalls{};
  constexpr int kQueries = 40;
  const auto params = ivf_type().parse_search({});
  for (int i = 0; i < kQueries; ++i) {
    const PreparedQuery query = clumps.query();
    for (std::size_t s = 0; s < kNestedCount; ++s) {
      const auto filter = RowFilter::of(allowed[s]);
      const Cancel cancel;
      std::vector<WayReport> ways;
      SearchContext context{cancel};
      context.ways = &ways;
      TopK best(10);
      WorkCounters work;
      ASSERT_TRUE(index.searcher->search(query, *params, filter, context, best, work));
      ASSERT_FALSE(ways.empty());
      double estimate = ways.front().estimated_us;
      for (const auto& way : ways) estimate = std::min(estimate, way.estimated_us);
      estimates[s] += estimate;
      recalls[s] += recall_of(best.take_sorted(), index.exact(query, filter, 10)) / kQueries;
    }
  }
  for (std::size_t s = 0; s < kNestedCount; ++s) {
    EXPECT_GE(recalls[s], 0.9) << kNestedShares[s];
    if (s == 0) continue;
    // Between .8 and .1 of the rows more lists are wanted for as many hits; then exact scores win.
    EXPECT_LE(estimates[s], 1.4 * estimates[s - 1]) << kNestedShares[s];
    EXPECT_LE(estimates[s], 2.2 * estimates[0]) << kNestedShares[s];
    if (kNestedShares[s] < 0.1) {
      EXPECT_LE(estimates[s], estimates[s - 1]) << kNestedShares[s];
    }
  }
}

}  // namespace
}  // namespace quiver::index::testing
