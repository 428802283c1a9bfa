#include "index/multi/stages/stage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

using multi::MultiBuildParams;
using multi::StageFacts;
using multi::StageKind;

constexpr StageKind kStageKinds[] = {StageKind::kMean, StageKind::kFde, StageKind::kFeatures};
constexpr multi::FieldShape kShape{16, 12, 3000};

TEST(Stage, NamesAreReadAsTheyAreWritten) {
  for (const StageKind kind : kStageKinds) {
    const auto parsed = multi::parse_stage(to_string(kind));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, kind);
  }
  for (const char* name : {"", "Mean", "auto", "unknown"}) {
    const auto parsed = multi::parse_stage(name);
    ASSERT_FALSE(parsed) << name;
    EXPECT_EQ(parsed.error().code(), Code::kInvalidArgument);
    EXPECT_NE(parsed.error().message().find("mean, fde or features"), std::string::npos);
  }
}

TEST(Stage, FactsAreTheParametersWithWhatTheyLeaveOpen) {
  const auto mean = stage_facts(StageKind::kMean, {}, kShape, 5);
  EXPECT_EQ(mean.dim, 16U);
  EXPECT_EQ(mean.seed, 5U);
  MultiBuildParams params;
  params.repetitions = 3;
  params.planes = 2;
  params.projection = 8;
  const auto fde = stage_facts(StageKind::kFde, params, kShape, 5);
  EXPECT_EQ(fde.dim, 3U * 4 * 8);
  params.projection = 100;  // more than tokens have: not projected
  EXPECT_EQ(stage_facts(StageKind::kFde, params, kShape, 5).dim, 3U * 4 * 16);
  params.final_dim = 48;
  EXPECT_EQ(stage_facts(StageKind::kFde, params, kShape, 5).dim, 48U);
  params.features = 256;
  EXPECT_EQ(stage_facts(StageKind::kFeatures, params, kShape, 5).n_features, 256U);
  EXPECT_EQ(stage_facts(StageKind::kFeatures, params, kShape, 5).dim, 64U);
  EXPECT_EQ(stage_facts(StageKind::kFeatures, params, {16, 12, 100}, 5).dim, 256U)
      << "too few documents to choose dimensions";
  EXPECT_LT(stage_facts(StageKind::kFeatures, {}, {16, 12, 500}, 5).n_features,
            stage_facts(StageKind::kFeatures, {}, {16, 12, 100'000}, 5).n_features);
}

TEST(Stage, LongerVectorsAreScannedInFewerBits) {
  EXPECT_EQ(multi::scanned_bits({}, 128), 4U);
  EXPECT_EQ(multi::scanned_bits({}, 129), 2U);
  EXPECT_EQ(multi::scanned_bits({}, 1024), 2U);
  EXPECT_EQ(multi::scanned_bits({}, 1025), 1U);
  MultiBuildParams params;
  params.bits = 3;
  EXPECT_EQ(multi::scanned_bits(params, 4096), 3U);
}

TEST(Stage, FactsOfOtherTokensAndVersionsAreImpossible) {
  for (const StageKind kind : kStageKinds) {
    SCOPED_TRACE(std::string(to_string(kind)));
    const StageFacts good = stage_facts(kind, {}, kShape, 5);
    EXPECT_TRUE(are_possible(good, 16));
    EXPECT_FALSE(are_possible(good, 17));
    StageFacts bad = good;
    ++bad.version;
    EXPECT_FALSE(are_possible(bad, 16));
    bad = good;
    bad.kind = static_cast<StageKind>(7);
    EXPECT_FALSE(are_possible(bad, 16));
    EXPECT_FALSE(multi::query_encoder(bad, {}));
  }
  StageFacts large = stage_facts(StageKind::kFeatures, {}, kShape, 5);
  large.n_features = 1 << 20;
  EXPECT_FALSE(are_possible(large, 16));
  large = stage_facts(StageKind::kFeatures, {}, kShape, 5);
  large.dim = large.n_features + 32;
  EXPECT_FALSE(are_possible(large, 16));
}

/// What is kept of a stage encodes queries as the stage does.
TEST(Stage, QueriesAreEncodedFromFactsAndMap) {
  SCOPED_TRACE("seed " + std::to_string(kMultiSeed));
  Random random(kMultiSeed);
  Words words(16, random);
  const auto column = words.column(multi_schema(16), some_sizes(700, 8, random));
  const Cancel cancel;
  MultiBuildParams params;
  params.features = 128;
  for (const StageKind kind : kStageKinds) {
    SCOPED_TRACE(std::string(to_string(kind)));
    const auto facts = stage_facts(kind, params, {16, 4, 700}, kMultiSeed);
    const auto stage = make_stage(facts, column, {}, cancel);
    ASSERT_TRUE(stage) << stage.error().to_string();
    EXPECT_EQ(stage->encoder->dim(), facts.dim);
    EXPECT_EQ(stage->map.size(), kind == StageKind::kFeatures ? facts.dim * 128 : 0U);
    const auto encoder = multi::query_encoder(facts, stage->map);
    ASSERT_TRUE(encoder) << encoder.error().to_string();
    const auto query = words.tokens(5).values;
    std::vector<float> by_stage(facts.dim);
    std::vector<float> by_facts(facts.dim);
    stage->encoder->encode_query({query.data(), 5}, by_stage.data());
    (*encoder)->encode_query({query.data(), 5}, by_facts.data());
    EXPECT_EQ(by_stage, by_facts);
  }
  const auto facts = stage_facts(StageKind::kFeatures, params, {16, 4, 700}, kMultiSeed);
  EXPECT_FALSE(multi::query_encoder(facts, std::vector<std::uint16_t>(7))) << "another map";
}

TEST(Stage, AFitThatIsCancelledIsAnError) {
  Random random(kMultiSeed);
  const auto column = Words(16, random).column(multi_schema(16), some_sizes(50, 8, random));
  const Cancel cancel;
  cancel.cancel();
  const auto facts = stage_facts(StageKind::kFeatures, {}, {16, 4, 50}, 1);
  const auto stage = make_stage(facts, column, {}, cancel);
  ASSERT_FALSE(stage);
  EXPECT_EQ(stage.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::testing
