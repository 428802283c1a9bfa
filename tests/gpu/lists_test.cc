// The codes that a device names are the best of the lists, with the bits of the CPU's estimates;
// its products are those of integers.
#include <gtest/gtest.h>

#include "gpu/list_job.h"
#include "gpu/product_job.h"
#include "tests/gpu/lists_support.h"

namespace quiver::gpu::testing {
namespace {

std::vector<ListQuery> asked_of(const std::vector<RandomListQuery>& queries) {
  std::vector<ListQuery> asked;
  for (const auto& query : queries) asked.push_back(query.asked());
  return asked;
}

/// Asks until the lists are there.
BestCodes scan(Devices& devices, Slot& slot, const CodeLists& lists,
               const std::vector<RandomListQuery>& queries) {
  const Cancel cancel;
  const auto asked = asked_of(queries);
  auto found = devices.scan_lists(slot, lists, asked, cancel);
  devices.wait_for_loading();
  if (!slot.is_on_device()) return BestCodes(queries.size());
  found = devices.scan_lists(slot, lists, asked, cancel);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? *std::move(found) : BestCodes(queries.size());
}

TEST(Lists, TheBestCodesAreThoseOfTheCpu) {
  const auto devices = open_emulated();
  Random random(81);
  for (std::uint32_t n_bits = 1; n_bits <= 8; ++n_bits) {
    for (const std::uint32_t n_lines : {1U, 3U, 4U, 7U}) {
      SCOPED_TRACE(::testing::Message() << n_bits << " bits, " << n_lines << " lines");
      const auto lists = random_lists(9, 5, n_lines, n_bits, false, random);
      std::vector<RandomListQuery> queries;
      for (const std::uint32_t n_visits : {0U, 1U, 3U, 9U}) {
        for (const std::uint64_t k : {1U, 20U, 500U}) {
          queries.emplace_back(lists, n_visits, k, random);
        }
      }
      Slot slot;
      const auto found = scan(*devices, slot, lists, queries);
      for (std::size_t i = 0; i < queries.size(); ++i) {
        ASSERT_TRUE(found[i]) << i;
        expect_best(*found[i], lists, queries[i].asked());
      }
    }
  }
}

TEST(Lists, TooManyEqualCodesAndTooManyWantedAreLeftToTheCaller) {
  const auto devices = open_emulated();
  Random random(82);
  const auto lists = random_lists(400, 9, 2, 1, true, random);
  std::vector<RandomListQuery> queries;
  queries.emplace_back(lists, 400, 10, random);
  queries.emplace_back(lists, 3, 10, random);
  queries.emplace_back(lists, 3, 5000, random);
  for (auto& query : queries) {
    for (auto& visit : query.visits) visit.base = 1;
  }
  Slot slot;
  const auto found = scan(*devices, slot, lists, queries);
  EXPECT_FALSE(found[0]);
  ASSERT_TRUE(found[1]);
  expect_best(*found[1], lists, queries[1].asked());
  EXPECT_FALSE(found[2]);
  EXPECT_EQ(n_fallbacks(*devices, Fallback::kUncertain), 1U);
  EXPECT_GE(n_fallbacks(*devices, Fallback::kHits), 1U);
}

/// Estimates that are no numbers, as a file that is damaged while it is in use may give.
TEST(Lists, CodesWithoutAnEstimateAreNotNamed) {
  const auto devices = open_emulated();
  Random random(83);
  auto lists = random_lists(4, 3, 2, 1, false, random);
  std::vector<std::byte> bytes(lists.bytes.begin(), lists.bytes.end());
  const std::uint32_t not_a_number = 0x7FC00000;
  const std::size_t block_bytes = lists.blocks.block_bytes();
  for (std::size_t b = 0; b < lists.blocks.n; ++b) {
    std::memcpy(bytes.data() + (b + 1) * block_bytes - 128, &not_a_number, sizeof not_a_number);
  }
  lists.bytes = SharedBytes::of(std::move(bytes));
  lists.blocks.first = lists.bytes.data();
  std::vector<RandomListQuery> queries;
  queries.emplace_back(lists, 4, 1000, random);
  Slot slot;
  const auto found = scan(*devices, slot, lists, queries);
  ASSERT_TRUE(found[0]);
  EXPECT_EQ(found[0]->scores.size(), lists.blocks.n * 15);
  for (const std::uint32_t position : found[0]->positions) EXPECT_NE(position % 16, 0U);
}

TEST(Lists, JobsAreBoundedByTheirEstimates) {
  Random random(84);
  const auto lists = random_lists(3, 9, 1, 1, false, random);
  CodeLists large = lists;
  large.first_blocks =
      SharedSpan<std::uint32_t>::of(std::vector<std::uint32_t>{0, 100'000, 624'288, 1'300'000});
  std::vector<RandomListQuery> queries;
  queries.emplace_back(lists, 3, 10, random);
  queries[0].visits = {{0, 0}};
  queries.push_back(queries[0]);
  queries[1].visits = {{1, 0}};
  queries.push_back(queries[0]);
  queries[2].visits = {{0, 0}, {1, 0}};
  const auto asked = asked_of(queries);
  EXPECT_FALSE(ListJob::is_too_large(large, asked[1]));
  EXPECT_TRUE(ListJob::is_too_large(large, asked[2]));
  // 1.6 million estimates each; with the second query too many.
  EXPECT_EQ(ListJob::n_together(large, asked, std::vector<std::size_t>{0, 0, 0, 0, 0, 0}), 5U);
  EXPECT_EQ(ListJob::n_together(large, asked, std::vector<std::size_t>{0, 1, 0}), 1U);
  EXPECT_EQ(ListJob::n_together(lists, asked, std::vector<std::size_t>(300, 0)), 256U);
}

TEST(Lists, FewBytesStayOnTheCpu) {
  const auto devices = open_emulated();
  Random random(85);
  const auto lists = random_lists(5, 4, 2, 1, false, random);
  std::vector<RandomListQuery> queries;
  queries.emplace_back(lists, 5, 10, random);
  Options options;
  options.devices = "emulated";
  options.min_bytes = lists.blocks.n * lists.blocks.block_bytes() + 1;
  const auto strict = Devices::open(options);
  ASSERT_TRUE(strict);
  Slot slot;
  const Cancel cancel;
  const auto asked = asked_of(queries);
  EXPECT_FALSE((*strict)->scan_lists(slot, lists, asked, cancel).value()[0]);
  (*strict)->wait_for_loading();
  EXPECT_FALSE(slot.is_on_device());
  // Two queries together read enough.
  const std::vector<ListQuery> twice = {asked[0], asked[0]};
  static_cast<void>((*strict)->scan_lists(slot, lists, twice, cancel));
  (*strict)->wait_for_loading();
  EXPECT_TRUE(slot.is_on_device());
}

TEST(Products, AreThoseOfIntegers) {
  const auto devices = open_emulated();
  Random random(86);
  for (const std::uint32_t n_bits : {8U, 4U}) {
    for (const std::uint32_t dim : {32U, 96U, 384U, 1568U}) {
      SCOPED_TRACE(::testing::Message() << n_bits << " bits, " << dim << " dimensions");
      const auto codes = random_bytes(60, dim, n_bits, random);
      std::vector<RandomProductQuery> queries;
      for (const std::uint32_t n : {0U, 1U, 9U, 300U}) queries.emplace_back(codes, n, random);
      std::vector<ProductQuery> asked;
      for (const auto& query : queries) asked.push_back(query.asked());
      Slot slot;
      const Cancel cancel;
      static_cast<void>(devices->multiply(slot, codes, asked, cancel));
      devices->wait_for_loading();
      const auto products = devices->multiply(slot, codes, asked, cancel).value();
      for (std::size_t i = 0; i < queries.size(); ++i) {
        ASSERT_TRUE(products[i]) << i;
        EXPECT_EQ(*products[i], multiply_on_cpu(codes, asked[i]));
      }
    }
  }
}

/// Each call fails in turn in each way: the caller does what a device did not, and memory is given
/// back.
TEST(Lists, EveryFaultLeavesTheWorkToTheCaller) {
  Random random(87);
  const auto lists = random_lists(6, 4, 2, 2, false, random);
  const auto codes = random_bytes(40, 64, 8, random);
  std::vector<RandomListQuery> queries;
  for (int i = 0; i < 3; ++i) queries.emplace_back(lists, 4, 10, random);
  const RandomProductQuery product(codes, 20, random);
  const std::vector<ProductQuery> asked = {product.asked()};
  const std::size_t n_objects = emulated::n_objects();
  for (const std::string status : {"not", "no_memory", "lost", "hang"}) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(status + "@" + std::to_string(n));
      Options options;
      options.devices = "emulated:" + status + "@" + std::to_string(n);
      options.min_bytes = 0;
      options.job_time = std::chrono::milliseconds(30);
      const auto devices = Devices::open(options);
      if (!devices) continue;  // it failed while it was opened
      Slot of_lists;
      Slot of_codes;
      const Cancel cancel;
      for (int round = 0; round < 2; ++round) {
        const auto found = (*devices)->scan_lists(of_lists, lists, asked_of(queries), cancel);
        ASSERT_TRUE(found);
        for (std::size_t i = 0; i < queries.size(); ++i) {
          if ((*found)[i]) expect_best(*(*found)[i], lists, queries[i].asked());
        }
        const auto products = (*devices)->multiply(of_codes, codes, asked, cancel);
        ASSERT_TRUE(products);
        if ((*products)[0]) EXPECT_EQ(*(*products)[0], multiply_on_cpu(codes, asked[0]));
        (*devices)->wait_for_loading();
      }
      const auto report = (*devices)->report();
      const bool is_over = status == "hang" ? report.devices[0].n_done == 2
                                            : emulated::n_calls() < static_cast<std::uint64_t>(n);
      if (is_over) break;
    }
    if (status == "not" || status == "no_memory") EXPECT_EQ(emulated::n_objects(), n_objects);
  }
}

}  // namespace
}  // namespace quiver::gpu::testing
