#include "engine/model/recall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/model/config.h"

namespace quiver::engine {
namespace {

RecallTable table_of(std::vector<RecallCell> cells) {
  RecallTable table;
  table.field = "dense";
  table.n_queries = 499;
  table.n_points = 1000;
  table.n_indexed = 1000;
  table.cells = std::move(cells);
  return table;
}

RecallCell cell_of(std::uint64_t k, Ppm selectivity, std::uint64_t first_effort) {
  return {k,
          selectivity,
          {{first_effort, 800'000, 500'000},
           {2 * first_effort, 952'000, 700'000},
           {4 * first_effort, 990'000, 900'000},
           {8 * first_effort, 1'000'000, 1'000'000}}};
}

TEST(RecallChoice, TakesTheLeastEffortThatKeepsThePromise) {
  const RecallTable table = table_of({cell_of(10, 1'000'000, 16)});
  const auto effort_for = [&](double target) {
    return choose_effort(&table, {target, {}}, 10, 1, {1000, 1000}).effort;
  };
  EXPECT_EQ(effort_for(0.5), 16U);
  EXPECT_EQ(effort_for(0.9), 32U);
  EXPECT_EQ(effort_for(0.95), 32U) << "(499 * .048 + 1) / 500 = .0499";
  EXPECT_EQ(effort_for(0.951), 64U);
  EXPECT_EQ(effort_for(0.99), 128U) << "the next query may be worse than the mean";
  EXPECT_TRUE(choose_effort(&table, {0.999, {}}, 10, 1, {1000, 1000}).is_exact)
      << "499 queries cannot tell so much";
  EXPECT_EQ(choose_effort(&table, {{}, 0.7}, 10, 1, {1000, 1000}).effort, 32U);
  EXPECT_EQ(choose_effort(&table, {0.5, 0.95}, 10, 1, {1000, 1000}).effort, 128U);
  EXPECT_DOUBLE_EQ(choose_effort(&table, {0.9, {}}, 10, 1, {1000, 1000}).estimate, 0.952);
}

TEST(RecallChoice, AnEffortCountsOnlyIfAllGreaterOnesDo) {
  RecallTable table = table_of({cell_of(10, 1'000'000, 16)});
  table.cells[0].points[2].recall = 700'000;
  EXPECT_EQ(choose_effort(&table, {0.9, {}}, 10, 1, {1000, 1000}).effort, 128U);
}

TEST(RecallChoice, TheCellsAroundTheQueryDecide) {
  const RecallTable table = table_of({cell_of(10, 1'000'000, 16), cell_of(100, 1'000'000, 20),
                                      cell_of(10, 100'000, 40), cell_of(100, 100'000, 50)});
  const auto effort_of = [&](std::uint64_t k, double selectivity) {
    return choose_effort(&table, {0.9, {}}, k, selectivity, {1000, 1000}).effort;
  };
  EXPECT_EQ(effort_of(1, 1), 32U);
  EXPECT_EQ(effort_of(10, 1), 32U);
  EXPECT_EQ(effort_of(11, 1), 40U);
  EXPECT_EQ(effort_of(10, 0.5), 80U) << "the harder of the cells on both sides";
  EXPECT_EQ(effort_of(10, 0.1), 80U);
  EXPECT_EQ(effort_of(10, 0.001), 80U);
  EXPECT_TRUE(choose_effort(&table, {0.9, {}}, 101, 1, {1000, 1000}).is_exact) << "never measured";
}

TEST(RecallChoice, WhatIsUnknownIsExact) {
  const RecallTable table = table_of({cell_of(10, 1'000'000, 16)});
  EXPECT_TRUE(choose_effort(nullptr, {0.5, {}}, 10, 1, {1000, 1000}).is_exact);
  EXPECT_FALSE(choose_effort(&table, {0.5, {}}, 10, 1, {2000, 2000}).is_exact);
  EXPECT_TRUE(choose_effort(&table, {0.5, {}}, 10, 1, {2001, 2001}).is_exact)
      << "the points have changed";
  EXPECT_TRUE(choose_effort(&table, {0.5, {}}, 10, 1, {499, 499}).is_exact);
  EXPECT_TRUE(choose_effort(&table, {1.0, {}}, 10, 1, {1000, 1000}).is_exact);
}

/// Segments without an index are searched exactly: an index lowers the recall.
TEST(RecallChoice, IndexesBuiltSinceCountForMoreLoss) {
  RecallTable table = table_of({cell_of(10, 1'000'000, 16)});
  table.n_indexed = 0;
  EXPECT_TRUE(choose_effort(&table, {0.5, {}}, 10, 1, {1000, 1}).is_exact)
      << "no loss was measured";
  EXPECT_FALSE(is_current(table, {1000, 1}));
  EXPECT_TRUE(is_current(table, {1000, 0}));
  table.n_indexed = 600;
  EXPECT_EQ(choose_effort(&table, {0.9, {}}, 10, 1, {1000, 600}).effort, 32U);
  EXPECT_EQ(choose_effort(&table, {0.95, {}}, 10, 1, {1000, 600}).effort, 32U);
  const auto choice = choose_effort(&table, {0.95, {}}, 10, 1, {1000, 750});
  EXPECT_TRUE(choose_effort(&table, {0.5, {}}, 10, 1, {1000, 751}).is_exact) << "too many more";
  EXPECT_EQ(choose_effort(&table, {{}, 0.89}, 10, 1, {1000, 600}).effort, 64U);
  EXPECT_EQ(choose_effort(&table, {{}, 0.89}, 10, 1, {1000, 750}).effort, 128U);
  EXPECT_EQ(choice.effort, 64U);
  EXPECT_NEAR(choice.estimate, 0.9875, 1e-9) << "a quarter more is lost";
  EXPECT_EQ(choose_effort(&table, {0.95, {}}, 10, 1, {2000, 1200}).effort, 32U) << "the same share";
  EXPECT_EQ(choose_effort(&table, {0.95, {}}, 10, 1, {1000, 100}).effort, 32U);
}

TEST(RecallChoice, SyntheticQueriesCountForLess) {
  RecallTable table = table_of({cell_of(10, 1'000'000, 16)});
  table.source = RecallSource::kSynthetic;
  const auto choice = choose_effort(&table, {0.9, {}}, 10, 1, {1000, 1000});
  EXPECT_EQ(choice.effort, 32U);
  EXPECT_NEAR(choice.estimate, 0.904, 1e-9);
  EXPECT_EQ(choose_effort(&table, {0.95, {}}, 10, 1, {1000, 1000}).effort, 64U);
  const auto of_one_hit = choose_effort(&table, {0.9, {}}, 1, 1, {1000, 1000});
  EXPECT_EQ(of_one_hit.effort, 64U);
  EXPECT_NEAR(of_one_hit.estimate, 0.96, 1e-9);
}

/// In many worlds of queries with known loss by effort, the mean recall of new queries keeps the
/// promise: the expectation over worlds is at least the target.
TEST(RecallChoice, ThePromiseHoldsInExpectation) {
  constexpr std::size_t kQueries = 60;
  constexpr double kTarget = 0.9;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform;
  // A query of difficulty u misses a share of max(0, u - effort / 100).
  const auto recall_of = [](double difficulty, std::uint64_t effort) {
    return 1 - std::max(0.0, difficulty - static_cast<double>(effort) / 100);
  };
  double sum = 0;
  constexpr int kWorlds = 400;
  for (int world = 0; world < kWorlds; ++world) {
    std::vector<double> difficulties(kQueries);
    for (double& difficulty : difficulties) difficulty = uniform(random);
    RecallCell cell{10, 1'000'000, {}};
    for (std::uint64_t effort = 5; effort <= 100; effort += 5) {
      double total = 0;
      for (const double difficulty : difficulties) total += recall_of(difficulty, effort);
      cell.points.push_back({effort, static_cast<Ppm>(total / kQueries * kPpm), 0});
    }
    RecallTable table = table_of({cell});
    table.n_queries = kQueries;
    const auto choice = choose_effort(&table, {kTarget, {}}, 10, 1, {1000, 1000});
    ASSERT_FALSE(choice.is_exact);
    for (int i = 0; i < 50; ++i) sum += recall_of(uniform(random), choice.effort) / 50;
  }
  EXPECT_GE(sum / kWorlds, kTarget);
  EXPECT_LE(sum / kWorlds, kTarget + 0.05) << "no more effort than is needed";
}

TEST(RecallTables, AreKeptWithTheConfiguration) {
  CollectionConfig config;
  ASSERT_TRUE(add_field(config, {.name = "dense", .dim = 4}));
  config.client_settings = "{}";
  RecallTable table = table_of({cell_of(10, 1'000'000, 16), cell_of(100, 20'000, 50)});
  table.source = RecallSource::kSynthetic;
  table.measured_at_ms = 1'790'000'000'123;
  table.n_indexed = 600;
  set_recall(config, table);
  set_recall(config, table);
  ASSERT_EQ(config.recall.size(), 1U);
  const auto read = parse_config(to_json(config));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->recall, config.recall);
  table.field = "gone";
  set_recall(config, table);
  EXPECT_EQ(find_recall(config, "gone"), nullptr);
  ASSERT_NE(find_recall(config, "dense"), nullptr);
  drop_field(config, "dense");
  EXPECT_TRUE(config.recall.empty());
}

}  // namespace
}  // namespace quiver::engine
