#include "engine/shard/state/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace quiver::engine {
namespace {

/// Segments as the policy sees them, with its plans carried out at once.
class Simulation {
 public:
  explicit Simulation(OptimizerConfig config) : config_(config) {}

  void add_sealed(std::uint64_t bytes, std::uint32_t n_rows) {
    segments_.push_back({next_++, true, false, n_rows, 0, bytes});
    n_rows_ += n_rows;
    settle();
  }
  void delete_rows(std::mt19937_64& random, std::uint32_t n) {
    while (n > 0 && !segments_.empty()) {
      auto& segment = segments_[random() % segments_.size()];
      const std::uint32_t now = std::min(n, std::max<std::uint32_t>(1, segment.n_live() / 10));
      segment.n_deleted += std::min(now, segment.n_live());
      n -= now;
      settle();
    }
  }
  void settle() {
    for (int i = 0; i < 1000; ++i) {
      const auto plan = plan_rewrite(segments_, config_);
      if (!plan) return;
      carry_out(*plan);
    }
    ADD_FAILURE() << "the policy never comes to rest";
  }
  [[nodiscard]] const std::vector<SegmentFacts>& segments() const { return segments_; }
  /// How often each row was rewritten on average.
  [[nodiscard]] double rewrites_per_row() const {
    return static_cast<double>(n_rewritten_) / static_cast<double>(n_rows_);
  }

 private:
  void carry_out(const RewritePlan& plan) {
    SegmentFacts output{next_++, true, false, 0, 0, 0};
    for (const std::uint64_t id : plan.segments) {
      const auto found = std::find_if(segments_.begin(), segments_.end(),
                                      [id](const SegmentFacts& s) { return s.id == id; });
      ASSERT_NE(found, segments_.end()) << "segment " << id << " is named twice or unknown";
      output.n_rows += found->n_live();
      output.bytes += found->bytes * found->n_live() / std::max(1U, found->n_rows);
      segments_.erase(found);
    }
    ASSERT_LE(output.n_rows, config_.max_segment_rows);
    n_rewritten_ += output.n_rows;
    if (output.n_rows != 0) segments_.push_back(output);
  }

  OptimizerConfig config_;
  std::vector<SegmentFacts> segments_;
  std::uint64_t next_ = 1;
  std::uint64_t n_rows_ = 0;
  std::uint64_t n_rewritten_ = 0;
};

SegmentFacts sealed(std::uint64_t id, std::uint32_t n_rows, std::uint32_t n_deleted,
                    std::uint64_t bytes = 10 << 20) {
  return {id, true, false, n_rows, n_deleted, bytes};
}

TEST(PlanSeal, OldestFrozenSegmentFirst) {
  std::vector<SegmentFacts> segments = {sealed(1, 10, 0),
                                        {2, false, true, 10, 0, 1},
                                        {3, false, false, 10, 0, 1},
                                        {4, false, false, 10, 0, 1}};
  const auto plan = plan_seal(segments);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->kind, JobKind::kSeal);
  EXPECT_EQ(plan->segments, std::vector<std::uint64_t>{3});
  segments.resize(2);
  EXPECT_FALSE(plan_seal(segments));
}

TEST(PlanRewrite, NothingToDo) {
  EXPECT_FALSE(plan_rewrite({}, {}));
  EXPECT_FALSE(plan_rewrite({sealed(1, 1000, 0)}, {}));
  EXPECT_FALSE(plan_rewrite({{1, false, false, 1000, 999, 1}}, {})) << "not sealed yet";
}

TEST(PlanRewrite, VacuumNeedsBothShareAndNumber) {
  OptimizerConfig config;
  config.deleted_threshold = 0.2;
  config.vacuum_min_rows = 1000;
  EXPECT_FALSE(plan_rewrite({sealed(1, 100000, 19999)}, config)) << "share too small";
  EXPECT_FALSE(plan_rewrite({sealed(1, 2000, 999)}, config)) << "too few rows";
  const auto plan = plan_rewrite({sealed(1, 500, 0), sealed(2, 100000, 20000)}, config);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->kind, JobKind::kVacuum);
  EXPECT_EQ(plan->segments, std::vector<std::uint64_t>{2});
}

SegmentFacts indexed(std::uint64_t id, std::uint64_t mebibytes) {
  auto facts = sealed(id, static_cast<std::uint32_t>(mebibytes * 1000), 0, mebibytes << 20);
  facts.gains_merged = true;
  return facts;
}

TEST(PlanIdleMerge, SegmentsWithIndexesBecomeOne) {
  const auto ids = [](const std::vector<SegmentFacts>& segments, OptimizerConfig config = {}) {
    const auto plan = plan_idle_merge(segments, config);
    return plan ? plan->segments : std::vector<std::uint64_t>();
  };
  using Ids = std::vector<std::uint64_t>;
  EXPECT_EQ(ids({}), Ids());
  EXPECT_EQ(ids({indexed(1, 64)}), Ids());
  EXPECT_EQ(ids({indexed(1, 64), indexed(2, 64), indexed(3, 26)}), (Ids{3, 1, 2}));
  EXPECT_EQ(ids({sealed(1, 1000, 0), sealed(2, 1000, 0)}), Ids())
      << "without indexes nothing is won";
  EXPECT_EQ(ids({indexed(1, 64), sealed(2, 1000, 0), indexed(3, 64)}), (Ids{1, 3}));
  EXPECT_EQ(ids({indexed(1, 1000), indexed(2, 120)}), Ids()) << "mostly one that is large already";
  EXPECT_EQ(ids({indexed(1, 1000), indexed(2, 125)}), (Ids{2, 1}));
  EXPECT_EQ(ids({indexed(1, 1000), indexed(2, 30), indexed(3, 30)}), (Ids{2, 3}));
  EXPECT_EQ(ids({indexed(1, 3000), indexed(2, 3000)}), Ids()) << "too much at once";
  OptimizerConfig config;
  config.idle_segments = 2;
  EXPECT_EQ(ids({indexed(1, 64), indexed(2, 64), indexed(3, 26)}, config), (Ids{3, 1}));
  EXPECT_EQ(ids({indexed(1, 64), indexed(2, 64)}, config), Ids());
  config.idle_segments = 1;
  config.max_segment_rows = 100'000;
  EXPECT_EQ(ids({indexed(1, 64), indexed(2, 64)}, config), Ids());
}

TEST(PlanIdleMerge, RowsAreWrittenAFewTimes) {
  std::vector<SegmentFacts> segments;
  std::uint64_t written = 0;
  for (std::uint64_t id = 1; id <= 500; ++id) {
    segments.push_back(indexed(2 * id, 5));
    while (const auto plan = plan_idle_merge(segments, {})) {
      std::uint64_t mebibytes = 0;
      std::erase_if(segments, [&](const SegmentFacts& segment) {
        const auto& inputs = plan->segments;
        if (std::find(inputs.begin(), inputs.end(), segment.id) == inputs.end()) return false;
        mebibytes += segment.bytes >> 20;
        return true;
      });
      written += mebibytes;
      segments.push_back(indexed(1000 + written, mebibytes));
    }
    EXPECT_LE(segments.size(), 6U);
  }
  EXPECT_LT(written, 500 * 5 * 16);
}

TEST(PlanRewrite, DeadSegmentsGoAtOnce) {
  const auto plan = plan_rewrite({sealed(1, 500, 0), sealed(2, 5, 5)}, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->segments, std::vector<std::uint64_t>{2});
}

TEST(PlanRewrite, BusySegmentsAreLeftAlone) {
  auto busy = sealed(1, 100000, 99999);
  busy.busy = true;
  EXPECT_FALSE(plan_rewrite({busy}, {}));
  std::vector<SegmentFacts> many;
  for (std::uint64_t id = 1; id <= 30; ++id) {
    many.push_back(sealed(id, 10, 0));
    many.back().busy = id % 2 == 0;
  }
  const auto plan = plan_rewrite(many, {});
  ASSERT_TRUE(plan);
  for (const std::uint64_t id : plan->segments) EXPECT_EQ(id % 2, 1U);
}

TEST(PlanRewrite, MergesNeverMakeTooLargeASegment) {
  OptimizerConfig config;
  config.max_segment_rows = 1000;
  std::vector<SegmentFacts> full;
  for (std::uint64_t id = 1; id <= 30; ++id) full.push_back(sealed(id, 600, 0));
  EXPECT_FALSE(plan_rewrite(full, config)) << "no two fit together";
  full.push_back(sealed(31, 400, 0, 5 << 20));
  const auto plan = plan_rewrite(full, config);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->segments.size(), 2U);
}

/// A million points of 384 f32 and some payload, sealed at 64 MB.
TEST(PlanRewrite, LoadOfAMillionPointsEndsWithFewSegments) {
  const OptimizerConfig config;
  Simulation simulation(config);
  constexpr std::uint64_t kPointBytes = 384 * 4 + 200;
  const auto rows_per_seal = static_cast<std::uint32_t>(config.seal_bytes / kPointBytes);
  for (std::uint32_t n = 0; n < 1'000'000; n += rows_per_seal) {
    const auto rows = std::min(rows_per_seal, 1'000'000 - n);
    simulation.add_sealed(rows * kPointBytes, rows);
    EXPECT_LE(simulation.segments().size(), 12U);
  }
  EXPECT_LE(simulation.segments().size(), 8U);
  EXPECT_LE(simulation.rewrites_per_row(), 3.0);
}

/// A bulk load writes segments of its chunks' size, and they stay as they are.
TEST(PlanRewrite, LargeSegmentsAreMergedOnlyWhenThereAreTooMany) {
  const OptimizerConfig config;
  std::vector<SegmentFacts> segments;
  for (std::uint64_t id = 1; id <= config.max_segments; ++id) {
    segments.push_back(sealed(id, 170'000, 0, 256 << 20));
    EXPECT_FALSE(plan_rewrite(segments, config)) << id << " segments";
  }
  segments.push_back(sealed(100, 170'000, 0, 256 << 20));
  const auto plan = plan_rewrite(segments, config);
  ASSERT_TRUE(plan);
  EXPECT_GE(plan->segments.size(), 4U) << "many at once, so that each is rewritten seldom";
}

TEST(PlanRewrite, RandomLoadsComeToRestWithFewSegments) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Simulation simulation({});
    for (int i = 0; i < 300; ++i) {
      const auto rows = static_cast<std::uint32_t>(1 + random() % 60000);
      simulation.add_sealed(rows * 1000ULL, rows);
      if (random() % 4 == 0) simulation.delete_rows(random, rows / 2);
    }
    EXPECT_LE(simulation.segments().size(), 8U);
    EXPECT_LE(simulation.rewrites_per_row(), 12.0);
  }
}

TEST(PlanIndex, LargestThatLacksItsIndex) {
  EXPECT_FALSE(plan_index({}));
  std::vector<SegmentFacts> segments = {sealed(1, 10, 0, 100), sealed(2, 10, 0, 300),
                                        sealed(3, 10, 0, 200), sealed(4, 10, 0, 900),
                                        sealed(5, 10, 0, 800)};
  EXPECT_FALSE(plan_index(segments)) << "none lacks one";
  for (auto& segment : segments) segment.lacks_index = segment.id != 4;
  segments[4].busy = true;
  EXPECT_EQ(plan_index(segments), 2U);
  segments[1].sealed = false;
  EXPECT_EQ(plan_index(segments), 3U);
}

TEST(PlanIndex, OneThatIsMissingGoesBeforeOneToBeBuiltAnew) {
  std::vector<SegmentFacts> segments = {sealed(1, 10, 0, 100), sealed(2, 10, 0, 300),
                                        sealed(3, 10, 0, 900)};
  segments[1].has_drifted = segments[2].has_drifted = true;
  EXPECT_EQ(plan_index(segments), 3U);
  segments[0].lacks_index = true;
  EXPECT_EQ(plan_index(segments), 1U);
}

}  // namespace
}  // namespace quiver::engine
