// Random runs of postings, and what the CPU says of their sums.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu/devices.h"
#include "tests/gpu/support.h"

namespace quiver::gpu::testing {

inline constexpr std::uint32_t kRunLevels = 16;

/// A row of a term, and its level.
struct Posting {
  std::uint32_t row = 0;
  std::uint32_t level = 0;
};

struct RandomRuns {
  ImpactRuns runs;
  std::vector<std::vector<Posting>> postings;  ///< of each term

  /// `n_each`: postings of a term and range, at most.
  RandomRuns(std::uint32_t n_rows, const std::vector<std::uint32_t>& n_each, Random& random) {
    runs.n_rows = n_rows;
    std::vector<std::uint16_t> values(kRunLevels, 0);  // the empty run
    std::vector<std::uint32_t> places;
    for (const std::uint32_t most : n_each) {
      auto& of_term = postings.emplace_back();
      for (std::uint32_t first = 0; first < n_rows; first += QV_RANGE_ROWS) {
        std::vector<std::uint32_t> rows(std::min(QV_RANGE_ROWS, n_rows - first));
        std::iota(rows.begin(), rows.end(), 0U);
        std::shuffle(rows.begin(), rows.end(), random);
        rows.resize(std::min<std::size_t>(rows.size(), most));
        std::vector<Posting> run;
        const std::uint32_t n_levels = 1 + random() % kRunLevels;
        for (const std::uint32_t row : rows) {
          run.push_back({row, static_cast<std::uint32_t>(random()) % n_levels});
        }
        std::ranges::sort(run, [](const Posting& a, const Posting& b) {
          return a.level != b.level ? a.level > b.level : a.row < b.row;
        });
        places.push_back(static_cast<std::uint32_t>(values.size() / kRunLevels));
        for (std::uint32_t level = 0; level < kRunLevels; ++level) {
          values.push_back(static_cast<std::uint16_t>(std::ranges::count_if(
              run, [level](const Posting& posting) { return posting.level >= level; })));
        }
        for (const auto& [row, level] : run) {
          values.push_back(static_cast<std::uint16_t>(row));
          of_term.push_back({first + row, level});
        }
        values.resize((values.size() + kRunLevels - 1) / kRunLevels * kRunLevels, 0xFFFF);
      }
    }
    runs.runs = SharedSpan<std::uint16_t>::of(std::move(values));
    runs.places = SharedSpan<std::uint32_t>::of(std::move(places));
  }

  /// The sums of all rows.
  [[nodiscard]] std::vector<std::uint32_t> sums_of(const SumQuery& query) const {
    std::vector<std::uint32_t> sums(runs.n_rows, 0);
    for (const qv_sum_term& term : query.terms) {
      for (const auto& [row, level] : postings[term.term]) {
        if (level >= term.first_level) sums[row] += term.adds[level];
      }
    }
    return sums;
  }
};

struct RandomSumQuery {
  std::vector<qv_sum_term> terms;
  std::uint64_t k = 1;

  /// `largest`: what a posting adds at most.
  RandomSumQuery(const RandomRuns& runs, std::uint32_t n_terms, std::uint32_t largest,
                 std::uint64_t wanted, Random& random)
      : k(wanted) {
    std::vector<std::uint32_t> order(runs.postings.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    for (std::uint32_t i = 0; i < std::min<std::size_t>(n_terms, order.size()); ++i) {
      qv_sum_term term = {
          order[i], static_cast<std::uint32_t>(random() % 3 == 0 ? random() % 16 : 0), {}};
      for (std::uint16_t& add : term.adds) {
        add = static_cast<std::uint16_t>(1 + random() % largest);
      }
      terms.push_back(term);
    }
  }
  [[nodiscard]] SumQuery asked(const std::uint64_t* allowed = nullptr) const {
    return {terms, 1'000'000, k, allowed};
  }
};

/// Allowed rows that reach the k-th largest sum.
inline std::size_t n_reaching(const RandomRuns& runs, const SumQuery& query,
                              const std::vector<std::uint64_t>& allowed) {
  const auto sums = runs.sums_of(query);
  std::vector<std::uint32_t> sorted;
  for (std::uint32_t row = 0; row < sums.size(); ++row) {
    if (is_set(allowed, row) && sums[row] > 0) sorted.push_back(sums[row]);
  }
  std::ranges::sort(sorted, std::greater<>());
  if (sorted.size() < query.k) return sorted.size();
  return static_cast<std::size_t>(
      std::ranges::count_if(sorted, [&](std::uint32_t sum) { return sum >= sorted[query.k - 1]; }));
}

/// Fails unless `found` are the allowed rows with the `k` largest sums and those with the last sum.
inline void expect_largest(const std::vector<SummedRow>& found, const RandomRuns& runs,
                           const SumQuery& query, const std::vector<std::uint64_t>& allowed) {
  auto sums = runs.sums_of(query);
  std::vector<std::uint32_t> sorted;
  for (std::uint32_t row = 0; row < sums.size(); ++row) {
    if (!is_set(allowed, row)) sums[row] = 0;
    if (sums[row] > 0) sorted.push_back(sums[row]);
  }
  std::ranges::sort(sorted, std::greater<>());
  const std::uint32_t bar = sorted.size() < query.k ? 1 : sorted[query.k - 1];
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;
  for (std::uint32_t row = 0; row < sums.size(); ++row) {
    if (sums[row] >= bar) wanted.emplace_back(row, sums[row]);
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> got;
  for (const auto& [row, sum] : found) got.emplace_back(row, sum);
  EXPECT_EQ(got, wanted);
}

}  // namespace quiver::gpu::testing
