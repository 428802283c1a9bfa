// Estimated vectors, against the same regression by hand.
#include "engine/query/joins/translate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "encoders/features/translation.h"
#include "engine/query/joins/join.h"
#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint32_t kOldDim = 5;
constexpr std::uint32_t kNewDim = 7;

/// Two segments; each point has an old vector, every third a new one too, a few are deleted.
struct ModelWorld {
  explicit ModelWorld(std::size_t n, std::size_t one_in = 3) {
    config.fields = {
        dense("old", kOldDim),
        dense("new", kNewDim),
        dense("guess", kNewDim),
        dense("narrow", kOldDim),
        {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    Random random(7);
    std::vector<Row> rows;
    for (std::size_t i = 0; i < n; ++i) {
      const DenseVector old_vector = random_floats(kOldDim, DType::kF32, random);
      Row row{PointId::number(i), Seq{i + 1}, "{}", {}};
      row.payload = R"({"even":)" + std::string(i % 2 == 0 ? "true" : "false") + "}";
      row.vectors.resize(config.fields.size());
      row.vectors[0] = to_stored(config.fields[0], old_vector).value();
      if (i % one_in == 0) {
        row.vectors[1] = to_stored(config.fields[1], renewed(old_vector)).value();
      }
      rows.push_back(std::move(row));
    }
    const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(n / 3);
    snapshot =
        snapshot_of({with_deleted(segment_of({rows.begin(), middle}, config.fields, 1), {2, 6}),
                     segment_of({middle, rows.end()}, config.fields, 2)});
  }
  static FieldSchema dense(const std::string& name, std::uint32_t dim) {
    return {name, FieldKind::kDense, dim, DType::kF32, Metric::kCosine, SparseModifier::kNone};
  }
  static DenseVector renewed(const DenseVector& x) {
    DenseVector out;
    for (std::uint32_t d = 0; d < kNewDim; ++d) {
      out.push_back(x[d % kOldDim] - 0.5F * x[(d + 2) % kOldDim]);
    }
    return out;
  }
  [[nodiscard]] SearchEnvironment environment() const { return {snapshot, config, cancel}; }
  [[nodiscard]] JoinRequest request(TranslateJoin kind) const {
    JoinRequest request;
    request.kind = std::move(kind);
    request.using_field = "old";
    return request;
  }

  CollectionConfig config;
  Cancel cancel;
  Snapshot snapshot{{}};
};

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0;
  double of_a = 0;
  double of_b = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    product += double{a[d]} * b[d];
    of_a += double{a[d]} * a[d];
    of_b += double{b[d]} * b[d];
  }
  return product / std::sqrt(of_a * of_b);
}

TEST(Translate, EstimatesTheMissingVectors) {
  const ModelWorld world(900);
  const auto request = world.request({"new"});
  JoinProgress progress;
  const auto table = run_join(world.environment(), request, progress);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(progress.n_done, progress.n_total);
  EXPECT_EQ(table->dim, kNewDim);
  std::vector<PointId> wanted;
  for (std::uint64_t i = 0; i < 900; ++i) {
    if (i % 3 != 0 && i != 2) wanted.push_back(PointId::number(i));
  }
  ASSERT_EQ(std::vector(table->ids.begin(), table->ids.end()), wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto place = world.snapshot.find(wanted[i]).value();
    const auto value = to_value(world.config.fields[0], place.segment->vector(0, place.row));
    const auto truth = ModelWorld::renewed(std::get<DenseVector>(value));
    const auto estimate = table->vectors.span().subspan(i * kNewDim, kNewDim);
    EXPECT_GT(cosine(estimate, truth), 0.97) << i;
  }
  ASSERT_TRUE(table->translation);
  EXPECT_EQ(table->translation->n_pairs + table->translation->n_judged, 299);  // one is deleted
  EXPECT_EQ(table->translation->n_judged, 59);
  EXPECT_GT(table->translation->recall, 0.8);
  EXPECT_GT(table->translation->r2, 0.9);
  EXPECT_NEAR(table->translation->weight, 1, 0.1);
}

TEST(Translate, TheSamePointsGiveTheSameEstimates) {
  const ModelWorld world(600);
  JoinProgress progress;
  const TranslateJoin kind{"new", 120, 40};
  const auto one = run_join(world.environment(), world.request(kind), progress);
  const auto two = run_join(world.environment(), world.request(kind), progress);
  ASSERT_TRUE(one && two);
  EXPECT_TRUE(std::ranges::equal(one->vectors.span(), two->vectors.span()));
  EXPECT_EQ(one->translation->n_pairs, 100);
  EXPECT_EQ(one->translation->n_judged, 20);
}

/// Where old vectors say nothing of new ones, scores of estimates count for less.
TEST(Translate, ScoresOfBadEstimatesAreLowered) {
  ModelWorld world(900);
  std::vector<Row> rows;
  Random random(8);
  for (std::uint64_t i = 0; i < 900; ++i) {
    Row row{PointId::number(i), Seq{i + 1}, "{}", {}};
    row.vectors.resize(world.config.fields.size());
    for (const std::size_t field : {0, 1}) {
      if (field == 1 && i % 3 != 0) continue;
      const auto& schema = world.config.fields[field];
      row.vectors[field] =
          to_stored(schema, random_floats(schema.dim, DType::kF32, random)).value();
    }
    rows.push_back(std::move(row));
  }
  world.snapshot = snapshot_of({segment_of(rows, world.config.fields, 1)});
  JoinProgress progress;
  const auto table = run_join(world.environment(), world.request({"new"}), progress);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_LT(table->translation->weight, 0.8);
  EXPECT_LT(table->translation->r2, 0.2);
}

TEST(Translate, AFilterTakesAPartOfThePoints) {
  const ModelWorld world(600);
  auto request = world.request({"new"});
  request.filter.emplace();
  request.filter->must.emplace_back(
      payload::FieldCondition{"even", payload::MatchValue{payload::MatchScalar(true)}});
  JoinProgress progress;
  const auto table = run_join(world.environment(), request, progress);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->ids.size(), 199);  // even, not of three, and not point 2
}

TEST(Translate, NothingIsLeftToEstimate) {
  const ModelWorld world(300, 1);
  JoinProgress progress;
  const auto table = run_join(world.environment(), world.request({"new"}), progress);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_TRUE(table->ids.empty());
  EXPECT_EQ(progress.n_done, progress.n_total);
}

TEST(Translate, TheFewestPairsAreAllLearnedFrom) {
  const ModelWorld world(303);
  JoinProgress progress;
  const auto table = run_join(world.environment(), world.request({"new"}), progress);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->translation->n_pairs, 100);
  EXPECT_EQ(table->translation->n_judged, 0);
}

TEST(Translate, RefusesTooFewPairs) {
  const ModelWorld world(270);
  JoinProgress progress;
  const auto refused = run_join(world.environment(), world.request({"new"}), progress);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.error().message(),
            "89 points have vectors of both `old` and `new`, wanted at least 100");
}

TEST(Translate, ChecksItsFields) {
  const ModelWorld world(300);
  const auto error_of = [&](const std::string& from, const std::string& to,
                            const std::string& into) -> std::string {
    auto request = world.request({to});
    request.using_field = from;
    request.into = into;
    const auto checked = check_join(world.environment(), request);
    return checked ? "" : checked.error().message();
  };
  EXPECT_EQ(error_of("old", "new", ""), "");
  EXPECT_EQ(error_of("old", "new", "guess"), "");
  EXPECT_NE(error_of("old", "none", "").find("none"), std::string::npos);
  EXPECT_EQ(error_of("old", "old", ""), "`using` and `to` are both vector `old`");
  EXPECT_EQ(error_of("old", "new", "new"),
            "`into` is vector `new`: estimates want a field of their own");
  EXPECT_EQ(error_of("old", "new", "narrow"),
            "vectors of 7 dimensions do not go into the dense field `narrow` of 5");
  EXPECT_NE(error_of("old", "words", "").find("from a dense field to another"), std::string::npos);
  EXPECT_NE(error_of("words", "new", "").find("from a dense field to another"), std::string::npos);
}

TEST(Translate, StopsWhenItIsCancelled) {
  const ModelWorld world(600);
  world.cancel.cancel();
  JoinProgress progress;
  const auto stopped = run_join(world.environment(), world.request({"new"}), progress);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
