#include <gtest/gtest.h>

#include <vector>

#include "index/multi/stages/stage.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

TEST(Stage, NamesAreReadAsTheyAreWritten) {
  for (const auto kind :
       {multi::StageKind::kMean, multi::StageKind::kFde, multi::StageKind::kFeatures}) {
    EXPECT_EQ(multi::parse_stage(to_string(kind)), kind);
  }
  EXPECT_FALSE(multi::parse_stage("median"));
}

TEST(Stage, DefaultsAreFilledIn) {
  const multi::FieldShape shape{128, 30, 100'000};
  multi::MultiBuildParams params;
  const auto mean = stage_facts(multi::StageKind::kMean, params, shape, 1);
  EXPECT_EQ(mean.dim, 128U);
  params.repetitions = 5;
  params.planes = 3;
  params.projection = 16;
  const auto fde = stage_facts(multi::StageKind::kFde, params, shape, 1);
  EXPECT_EQ(fde.dim, 5U * 8 * 16);
  const auto features = stage_facts(multi::StageKind::kFeatures, params, shape, 1);
  EXPECT_EQ(features.n_features, 2048U);
  EXPECT_EQ(features.dim, 512U);
  for (const auto& facts : {mean, fde, features}) {
    EXPECT_TRUE(are_possible(facts, 128));
    EXPECT_FALSE(are_possible(facts, 64));
  }
}

TEST(Stage, ScannedBitsFallWithTheDimension) {
  multi::MultiBuildParams params;
  EXPECT_EQ(multi::scanned_bits(params, 128), 4U);
  EXPECT_EQ(multi::scanned_bits(params, 1024), 2U);
  EXPECT_EQ(multi::scanned_bits(params, 2048), 1U);
  params.bits = 8;
  EXPECT_EQ(multi::scanned_bits(params, 2048), 8U);
}

TEST(Stage, TheEncoderOfQueriesIsThatOfTheStage) {
  Random random(33);
  Words words(32, random);
  const FieldColumn column = words.column(multi_schema(32), some_sizes(300, 8, random));
  const Cancel cancel;
  multi::MultiBuildParams params;
  params.features = 128;
  for (const auto kind :
       {multi::StageKind::kMean, multi::StageKind::kFde, multi::StageKind::kFeatures}) {
    const auto facts = stage_facts(kind, params, {32, 4, 300}, 1);
    const auto stage = make_stage(facts, column, {}, cancel);
    ASSERT_TRUE(stage) << stage.error().to_string();
    const auto reopened = query_encoder(facts, stage->map);
    ASSERT_TRUE(reopened) << reopened.error().to_string();
    const PlainVector query = words.tokens(5);
    std::vector<float> wanted(facts.dim);
    std::vector<float> found(facts.dim);
    stage->encoder->encode_query({query.values.data(), 5}, wanted.data());
    (*reopened)->encode_query({query.values.data(), 5}, found.data());
    for (std::size_t d = 0; d < found.size(); ++d) EXPECT_NEAR(found[d], wanted[d], 2e-2);
  }
}

}  // namespace
}  // namespace quiver::index::testing
