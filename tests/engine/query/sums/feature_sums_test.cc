// Sums against adding up the features of each point, one by one.
#include "engine/query/sums/feature_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/query/support.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

using ::testing::HasSubstr;

PrivateSumRequest request_of(const std::string& field, PrivateKernel kernel) {
  PrivateSumRequest request;
  request.using_field = field;
  request.features.kernel = kernel;
  request.features.bandwidth = 3;
  request.features.n_features = 64;
  request.cost = PrivacyAmount::of(1, 1e-6);
  return request;
}

/// Slow and obvious: each live point with the vector, by itself.
FeatureSums reference_sums(const SearchEnvironment& environment, const std::string& field_name,
                           const PrivateFeatures& features) {
  const std::size_t field = environment.config.field(field_name).value();
  const FeatureMap map(features);
  FeatureSums sums{std::vector<std::int64_t>(map.n_features()), 0};
  for (const Segment* segment : environment.snapshot.segments()) {
    for (std::uint32_t row = 0; row < segment->n_rows(); ++row) {
      const auto stored = segment->vector(field, row);
      if (!segment->is_live(row) || !is_present(stored)) continue;
      auto value = std::get<DenseVector>(to_value(environment.config.fields[field], stored));
      std::vector<float> row_features(map.n_features());
      map.apply(value.data(), 1, row_features.data());
      add_on_grid(row_features, sums.sums);
      ++sums.n_points;
    }
  }
  return sums;
}

FeatureSums found_sums(const SearchEnvironment& environment, const PrivateSumRequest& request) {
  const auto features = check_features(environment.config, request).value();
  return sum_features(environment, request, features).value();
}

TEST(PrivateFeatureSums, AreThoseOfEachPointByItself) {
  Random random(9);
  CollectionConfig config;
  config.fields = mixed_fields();
  const auto rows = random_rows(3000, config.fields, random);
  const auto middle = rows.begin() + 1300;
  const auto snapshot =
      snapshot_of({with_deleted(segment_of({rows.begin(), middle}, config.fields, 1), {2, 5, 700}),
                   with_deleted(segment_of({middle, rows.end()}, config.fields, 2), {0, 7})});
  Cancel cancel;
  Executor executor(3, "sums");
  for (const std::string field : {"", "half", "bytes"}) {
    for (const auto kernel : {PrivateKernel::kGaussian, PrivateKernel::kCosine}) {
      const auto request = request_of(field, kernel);
      const auto features = check_features(config, request);
      if (!features) {
        EXPECT_EQ(field, "bytes") << "Euclid has no cosine";
        continue;
      }
      const SearchEnvironment alone{snapshot, config, cancel};
      const SearchEnvironment together{snapshot, config, cancel, &executor};
      const auto wanted = reference_sums(alone, field, *features);
      EXPECT_GT(wanted.n_points, 2000U);
      for (const auto& environment : {alone, together}) {
        const auto found = found_sums(environment, request);
        EXPECT_EQ(found.n_points, wanted.n_points);
        EXPECT_EQ(found.sums, wanted.sums);
      }
    }
  }
}

TEST(PrivateFeatureSums, TakeTheFieldsWordForLengths) {
  const NumbersWorld world;
  const auto dot = check_features(world.config, request_of("dot", PrivateKernel::kCosine)).value();
  EXPECT_TRUE(dot.is_normalised);
  EXPECT_EQ(dot.n_features, 1U);
  const auto sums = found_sums(world.environment(), request_of("dot", PrivateKernel::kCosine));
  EXPECT_EQ(sums.n_points, 8U) << "point 9 has no vector";
  EXPECT_NEAR(static_cast<double>(sums.sums[0]) / kGridOfFeatures, 8, 1e-4);
  const auto far = check_features(world.config, request_of("far", PrivateKernel::kGaussian));
  EXPECT_FALSE(far.value().is_normalised);
}

TEST(PrivateFeatureSums, FiltersChoosePoints) {
  const NumbersWorld world;
  auto request = request_of("far", PrivateKernel::kGaussian);
  request.filter.emplace();
  request.filter->must = {payload::HasId{{PointId::number(3), PointId::number(9)}}};
  const auto features = check_features(world.config, request).value();
  const auto found = sum_features(world.environment(), request, features).value();
  EXPECT_EQ(found.n_points, 1U);
  const FeatureMap map(features);
  std::vector<float> vector = {3};
  std::vector<float> row(map.n_features());
  map.apply(vector.data(), 1, row.data());
  std::vector<std::int64_t> wanted(row.size());
  add_on_grid(row, wanted);
  EXPECT_EQ(found.sums, wanted);
}

std::string refusal_of(const CollectionConfig& config, const PrivateSumRequest& request) {
  const auto found = check_features(config, request);
  return found ? "" : found.error().to_string();
}

TEST(PrivateFeatureSums, SayWhatTheyWant) {
  const NumbersWorld world;
  using enum PrivateKernel;
  EXPECT_THAT(refusal_of(world.config, request_of("words", kGaussian)),
              HasSubstr("`words` is a sparse vector; private sums are of dense vectors"));
  EXPECT_THAT(refusal_of(world.config, request_of("tokens", kGaussian)), HasSubstr("dense"));
  EXPECT_THAT(refusal_of(world.config, request_of("nowhere", kGaussian)), HasSubstr("nowhere"));
  EXPECT_THAT(refusal_of(world.config, request_of("far", kCosine)),
              HasSubstr("`far` is compared by Euclid, whose lengths count"));
  auto config = world.config;
  config.fields[0].metric = Metric::kManhattan;
  EXPECT_THAT(refusal_of(config, request_of("dot", kGaussian)), HasSubstr("under Manhattan"));
  config = world.config;
  config.fields[0].dim = 4096;
  auto large = request_of("dot", kGaussian);
  large.features.n_features = 65'536;
  EXPECT_THAT(refusal_of(config, large),
              HasSubstr("65536 features of 4096 dimensions are too many: at most 16384"));
  config = world.config;
  config.sharding = ShardingMethod::kCustom;
  EXPECT_THAT(refusal_of(config, request_of("dot", kGaussian)), HasSubstr("shard keys"));
}

TEST(PrivateFeatureSums, RefuseAFieldThatWasReplaced) {
  const NumbersWorld world;
  const auto request = request_of("far", PrivateKernel::kGaussian);
  auto features = check_features(world.config, request).value();
  features.dim = 2;
  EXPECT_EQ(sum_features(world.environment(), request, features).error().code(),
            Code::kUnavailable);
}

TEST(PrivateFeatureSums, Stop) {
  const NumbersWorld world;
  world.cancel.cancel();
  const auto request = request_of("far", PrivateKernel::kGaussian);
  const auto features = check_features(world.config, request).value();
  EXPECT_EQ(sum_features(world.environment(), request, features).error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
