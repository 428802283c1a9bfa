#include <gtest/gtest.h>

#include <set>

#include "encoders/transforms/rotation.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/graph/graph_support.h"
#include "tests/index/device_support.h"

namespace quiver::index::testing {
namespace {

TEST(GraphLinks, AreDistinctOtherRowsAndTheNearestIsOne) {
  Random random(kSeed);
  Clumps clumps(dense_schema(32, Metric::kEuclid), 10, random);
  const Rows rows(clumps.column(1500, 0.9));
  const auto links = rows.links();
  ASSERT_EQ(links.rows.size(), std::size_t{rows.source->n()} * 16);
  int n_nearest = 0;
  for (std::uint32_t i = 0; i < rows.source->n(); ++i) {
    const auto of_row = links.of(i);
    const std::set<std::uint32_t> distinct(of_row.begin(), of_row.end());
    EXPECT_EQ(distinct.size(), 16U) << "row " << i;
    EXPECT_FALSE(distinct.contains(i)) << "row " << i << " links to itself";
    EXPECT_LT(*distinct.rbegin(), rows.source->n());
    if (i % 50 != 0) continue;
    std::vector<float> vector(32);
    rows.source->read_stored(i, vector.data());
    const PreparedQuery query = PreparedQuery::dense(rows.column.schema, vector);
    const Bitset present = present_rows(rows.column);
    const auto best = rows.index.exact(query, RowFilter::of(present), 2);
    n_nearest += distinct.contains(rows.source->numbers()[best[1].row]) ? 1 : 0;
  }
  EXPECT_GE(n_nearest, 26) << "of " << (rows.source->n() + 49) / 50;
}

TEST(GraphLinks, FewRowsLinkToAllOthers) {
  Random random(kSeed);
  Clumps clumps(dense_schema(8), 2, random);
  for (const std::uint32_t n : {1U, 2U, 9U}) {
    const auto links = Rows(clumps.column(n)).links();
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto of_row = links.of(i);
      const auto n_links =
          std::count_if(of_row.begin(), of_row.end(), [](auto to) { return to != dense::kNoLink; });
      EXPECT_EQ(n_links, n - 1);
    }
  }
}

/// Rows that equal each other do not keep a walk among themselves.
TEST(GraphLinks, EqualRowsAreLinkedToOthers) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kEuclid);
  std::normal_distribution<float> normal;
  std::vector<std::optional<PlainVector>> vectors(3000, PlainVector{});
  for (std::size_t row = 0; row < vectors.size(); ++row) {
    const bool is_middle = row % 10 == 3;  // 300 rows in the middle of all others
    for (std::uint32_t d = 0; d < 32; ++d) {
      vectors[row]->values.push_back(is_middle ? 0.01F : normal(random));
    }
  }
  const Rows rows(make_column(schema, vectors));
  const auto links = rows.links();
  const auto is_equal = [](std::uint32_t row) { return row % 10 == 3; };
  const auto leads_on = [&](std::uint32_t row) {
    return !is_equal(row) || std::ranges::any_of(links.of(row), [&](std::uint32_t to) {
      return to != dense::kNoLink && !is_equal(to);
    });
  };
  for (std::uint32_t row = 3; row < 3000; row += 10) {
    EXPECT_TRUE(leads_on(row) || std::ranges::any_of(links.of(row), leads_on)) << "row " << row;
  }
}

TEST(GraphLinks, SomeRowLinksToEachRow) {
  Random random(kSeed);
  const Rows rows(scattered(dense_schema(32, Metric::kEuclid), 2000, random));
  const auto links = rows.links();
  const std::set<std::uint32_t> targets(links.rows.begin(), links.rows.end());
  EXPECT_EQ(targets.size(), 2000U);
}

/// With a device, whatever fails on it, and however late the lists are there.
TEST(GraphLinks, AreTheSameWithADevice) {
  Random random(kSeed);
  Clumps clumps(dense_schema(24, Metric::kEuclid), 10, random);
  const Rows rows(clumps.column(4000, 0.95, 0.05));
  const auto wanted = rows.links();
  Executor executor(3, "test");
  for (const std::string name :
       {"emulated", "emulated:lost@30", "emulated:not@25", "emulated:no_memory@10"}) {
    const auto devices = open_emulated(name);
    ASSERT_NE(devices, nullptr);
    for (Executor* helper : {static_cast<Executor*>(nullptr), &executor}) {
      EXPECT_EQ(rows.links(helper, devices.get()).rows, wanted.rows) << name;
    }
    const auto is_asked = [&] { return devices->report().devices[0].n_queries >= 256; };
    for (int i = 0; i < 20 && name == "emulated" && !is_asked(); ++i) {
      EXPECT_EQ(rows.links(nullptr, devices.get()).rows, wanted.rows);
    }
    EXPECT_TRUE(is_asked() || name != "emulated");
  }
}

TEST(GraphLinks, DevicesHelpBuildsOnlyIfTheyMay) {
  Random random(kSeed);
  Clumps clumps(dense_schema(24), 10, random);
  const Rows rows(clumps.column(1000));
  gpu::Options options;
  options.devices = "emulated";
  options.min_bytes = 0;
  options.do_help_builds = false;
  const auto devices = gpu::Devices::open(options).value();
  EXPECT_EQ(rows.links(nullptr, devices.get()).rows, rows.links().rows);
  devices->wait_for_loading();
  EXPECT_EQ(devices->report().devices[0].n_parts, 0U);
}

TEST(GraphLinks, ABuildThatIsCancelledStops) {
  Random random(kSeed);
  const Rows rows(scattered(dense_schema(32), 1000, random));
  Cancel cancel;
  cancel.cancel();
  const auto found =
      dense::choose_links(*rows.source, *rows.lists, {}, {nullptr, cancel, kSeed, nullptr});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::testing
