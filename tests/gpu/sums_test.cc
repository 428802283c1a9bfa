// The rows that a device names have the largest sums of impacts.
#include <gtest/gtest.h>

#include "gpu/sum_job.h"
#include "tests/gpu/sums_support.h"

namespace quiver::gpu::testing {
namespace {

std::vector<SumQuery> asked_of(const std::vector<RandomSumQuery>& queries,
                               const TestMasks& masks = {}) {
  std::vector<SumQuery> asked;
  for (const auto& query : queries) asked.push_back(query.asked(masks.pointer_of(asked.size())));
  return asked;
}

/// Asks until the runs are there.
SummedRows add(Devices& devices, Slot& slot, const RandomRuns& runs,
               const std::vector<RandomSumQuery>& queries, const TestMasks& masks) {
  const Cancel cancel;
  const auto asked = asked_of(queries, masks);
  auto found = devices.add_impacts(slot, runs.runs, asked, cancel);
  devices.wait_for_loading();
  if (!slot.is_on_device()) return SummedRows(queries.size());
  found = devices.add_impacts(slot, runs.runs, asked, cancel);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? *std::move(found) : SummedRows(queries.size());
}

TEST(Sums, TheLargestAreNamed) {
  const auto devices = open_emulated();
  Random random(101);
  for (const std::uint32_t n_rows : {1U, 63U, 16'384U, 16'385U, 40'000U}) {
    SCOPED_TRACE(::testing::Message() << n_rows << " rows");
    const RandomRuns runs(n_rows, {0, 1, 31, 32, 33, 300, 5000, 20'000}, random);
    std::vector<RandomSumQuery> queries;
    for (const std::uint32_t n_terms : {1U, 3U, 8U}) {
      for (const std::uint64_t k : {1U, 50U, 3000U}) {
        queries.emplace_back(runs, n_terms, 8191, k, random);
      }
    }
    for (const auto& masks : various_masks(n_rows, random)) {
      Slot slot;
      const auto found = add(*devices, slot, runs, queries, masks);
      for (std::size_t i = 0; i < queries.size(); ++i) {
        if (found[i]) {
          expect_largest(*found[i], runs, queries[i].asked(), masks.bits_of(i));
        } else {
          EXPECT_GT(n_reaching(runs, queries[i].asked(), masks.bits_of(i)), queries[i].k + 1024);
        }
      }
    }
  }
}

TEST(Sums, TooManyEqualOnesAndTooManyWantedAreLeftToTheCaller) {
  const auto devices = open_emulated();
  Random random(102);
  const RandomRuns runs(20'000, {16'384}, random);
  std::vector<RandomSumQuery> queries;
  queries.emplace_back(runs, 1, 1, 10, random);  // each posting adds 1
  queries.back().terms[0].first_level = 0;
  queries.emplace_back(runs, 1, 1, 5000, random);
  Slot slot;
  const auto found = add(*devices, slot, runs, queries, {});
  EXPECT_FALSE(found[0]);
  EXPECT_FALSE(found[1]);
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kUncertain), 1U);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kHits), 1U);
}

TEST(Sums, JobsAreBoundedByWhatTheyRead) {
  Random random(104);
  const RandomRuns runs(1000, {100}, random);
  const RandomSumQuery query(runs, 1, 10, 5, random);
  const auto of_postings = [&](std::uint64_t n) { return SumQuery{query.terms, n, 5}; };
  const std::vector<SumQuery> asked = {of_postings(9'000'000'000), of_postings(1000),
                                       of_postings(21'000'000'000)};
  EXPECT_FALSE(SumJob::is_too_large(runs.runs, asked[0]));
  EXPECT_TRUE(SumJob::is_too_large(runs.runs, asked[2]));
  EXPECT_EQ(SumJob::n_together(runs.runs, asked, std::vector<std::size_t>{0, 1, 0, 0}), 3U);
  EXPECT_EQ(SumJob::n_together(runs.runs, asked, std::vector<std::size_t>(300, 1)), 256U);
}

TEST(Sums, FewPostingsStayOnTheCpu) {
  Random random(103);
  const RandomRuns runs(1000, {100}, random);
  Options options;
  options.devices = "emulated";
  options.min_bytes = 3'000'000;
  const auto devices = Devices::open(options);
  ASSERT_TRUE(devices);
  RandomSumQuery query(runs, 1, 10, 5, random);
  const std::vector<SumQuery> one = {query.asked()};  // 1,000,000 postings, as it says
  const std::vector<SumQuery> two = {query.asked(), query.asked()};
  const Cancel cancel;
  Slot slot;
  EXPECT_FALSE((*devices)->add_impacts(slot, runs.runs, one, cancel).value()[0]);
  (*devices)->wait_for_loading();
  EXPECT_FALSE(slot.is_on_device());
  static_cast<void>((*devices)->add_impacts(slot, runs.runs, two, cancel));
  (*devices)->wait_for_loading();
  EXPECT_TRUE(slot.is_on_device());
}

}  // namespace
}  // namespace quiver::gpu::testing
