#include "index/sparse/lists/range_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/index/sparse/lists/lists_support.h"

namespace quiver::index::sparse {
namespace {

using quiver::index::testing::PlainVector;
using quiver::index::testing::Random;
using testing::impact_column;
using testing::kImpactSeed;
using testing::postings_of;

TEST(RangeBuilder, LargestValuesAreThoseOfTheRange) {
  SCOPED_TRACE("seed " + std::to_string(kImpactSeed));
  Random random(kImpactSeed);
  const auto column = impact_column(300, 40, random);
  const TermMap terms = TermMap::of(column.sparse(), 0, 300);
  const std::pair<std::uint32_t, std::uint32_t> ranges[] = {{0, 300}, {100, 50}, {299, 1}, {7, 0}};
  for (const auto& [first, n] : ranges) {
    const auto maxima = largest_values(column.sparse(), first, n, terms);
    ASSERT_EQ(maxima.size(), terms.size());
    for (std::uint32_t term = 0; term < terms.size(); ++term) {
      float wanted = 0;
      for (const auto& [row, value] : postings_of(column.sparse(), first, n, terms.keys()[term])) {
        wanted = std::max(wanted, value);
      }
      EXPECT_EQ(maxima[term], wanted);
    }
  }
}

TEST(RangeBuilder, LevelsAscendToOneAroundTheirMeans) {
  SCOPED_TRACE("seed " + std::to_string(kImpactSeed));
  Random random(kImpactSeed);
  const auto column = impact_column(500, 30, random);
  const TermMap terms = TermMap::of(column.sparse(), 0, 500);
  const auto maxima = largest_values(column.sparse(), 0, 500, terms);
  for (const std::uint32_t n : {500U, 1U, 0U}) {
    const LevelTable levels = fit_levels(column.sparse(), 0, n, terms, maxima);
    EXPECT_EQ(levels.upper.back(), 1);
    for (std::size_t l = 0; l < kLevels; ++l) {
      const float lower = l == 0 ? 0 : levels.upper[l - 1];
      EXPECT_GT(levels.mean[l], lower) << "level " << l;
      EXPECT_LE(levels.mean[l], levels.upper[l]) << "level " << l;
      EXPECT_EQ(levels.level_of(levels.upper[l]), l) << "an end is of its level";
      EXPECT_EQ(levels.level_of(levels.mean[l]), l);
    }
    EXPECT_EQ(levels.level_of(0), 0U);
    EXPECT_EQ(levels.level_of(1), kLevels - 1);
  }
}

TEST(RangeBuilder, RunsHoldEachPostingOnceAtItsLevel) {
  SCOPED_TRACE("seed " + std::to_string(kImpactSeed));
  Random random(kImpactSeed);
  const auto column = impact_column(400, 25, random);
  const TermMap terms = TermMap::of(column.sparse(), 0, 400);
  const auto maxima = largest_values(column.sparse(), 0, 400, terms);
  const LevelTable levels = fit_levels(column.sparse(), 0, 400, terms, maxima);
  const RangeBuilder builder(column.sparse(), terms, maxima, levels);
  const std::pair<std::uint32_t, std::uint32_t> ranges[] = {{0, 400}, {200, 17}, {399, 1}, {9, 0}};
  for (const auto& [first, n] : ranges) {
    SCOPED_TRACE("rows from " + std::to_string(first) + ", " + std::to_string(n));
    const RangeRuns runs = builder.build(first, n);
    ASSERT_EQ(runs.places.size(), terms.size());
    EXPECT_EQ(runs.runs.size() % kLevels, 0U);
    for (std::uint32_t term = 0; term < terms.size(); ++term) {
      const auto postings = postings_of(column.sparse(), first, n, terms.keys()[term]);
      if (postings.empty()) {
        EXPECT_EQ(runs.places[term], RangeRuns::kNone);
        continue;
      }
      const ImpactRun run{runs.runs.data() + std::size_t{runs.places[term]} * kLevels};
      ASSERT_EQ(run.n_from[0], postings.size());
      std::size_t at = 0;
      for (std::size_t level = kLevels; level-- > 0;) {
        std::vector<std::uint16_t> wanted;
        for (const auto& [row, value] : postings) {
          if (levels.level_of(value / maxima[term]) == level) {
            wanted.push_back(static_cast<std::uint16_t>(row));
          }
        }
        const std::size_t end = run.n_from[level];
        ASSERT_EQ(end, at + wanted.size()) << "level " << level;
        EXPECT_EQ(std::vector<std::uint16_t>(run.rows() + at, run.rows() + end), wanted);
        at = end;
      }
    }
  }
}

TEST(RangeBuilder, TermsOfZerosAreOfTheLowestLevel) {
  const FieldSchema field{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
  const auto column = quiver::index::testing::make_column(
      field, {PlainVector{{0}, {3}}, PlainVector{{0, 5}, {3, 4}}});
  const TermMap terms = TermMap::of(column.sparse(), 0, 2);
  const auto maxima = largest_values(column.sparse(), 0, 2, terms);
  EXPECT_EQ(maxima, (std::vector<float>{0, 5}));
  const LevelTable levels = fit_levels(column.sparse(), 0, 2, terms, maxima);
  const RangeRuns runs = RangeBuilder(column.sparse(), terms, maxima, levels).build(0, 2);
  const ImpactRun zeros{runs.runs.data() + std::size_t{runs.places[0]} * kLevels};
  EXPECT_EQ(zeros.n_from[0], 2);
  EXPECT_EQ(zeros.n_from[1], 0);
}

}  // namespace
}  // namespace quiver::index::sparse
