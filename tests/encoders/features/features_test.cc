#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/params.h"
#include "encoders/features/features_encoder.h"
#include "encoders/features/features_fit.h"
#include "encoders/transforms/random_bits.h"
#include "tests/encoders/support.h"
#include "tests/encoders/token_corpus.h"

namespace quiver::testing {
namespace {

using encoders::FeaturesEncoder;
using encoders::FeaturesFit;
using encoders::FeaturesParams;
using encoders::FitDocuments;
using encoders::RandomFeatures;
using encoders::TokenSet;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr unsigned kFeaturesSeed = 20240701;

std::vector<float> features_of(const RandomFeatures& features, const TokenSet& tokens) {
  std::vector<float> out(features.n_features());
  features.sum(tokens, out.data());
  return out;
}

/// The coordinates of a token under all rotations, from the definition.
std::vector<double> coordinates(const RandomFeatures& features, std::uint64_t seed,
                                const std::vector<float>& token) {
  std::vector<double> all;
  for (std::uint64_t number = 0; all.size() < features.n_features(); ++number) {
    const encoders::Rotation rotation(features.token_dim(), encoders::random_bits(seed, number));
    std::vector<float> turned(rotation.padded_dim());
    rotation.apply(token.data(), turned.data());
    all.insert(all.end(), turned.begin(), turned.end());
  }
  all.resize(features.n_features());
  return all;
}

std::vector<double> slow_features(const RandomFeatures& features, std::uint64_t seed,
                                  const std::vector<float>& token) {
  std::vector<double> z = coordinates(features, seed, token);
  const auto n = static_cast<double>(z.size());
  double mean = 0, variance = 0;
  for (const double value : z) mean += value / n;
  for (const double value : z) variance += (value - mean) * (value - mean) / n;
  for (double& value : z) {
    const double normal = (value - mean) / std::sqrt(variance);
    const double share = 0.5 * (1.0 + std::erf(normal / std::sqrt(2.0)));
    value = norm(token) * std::sqrt(2.0 / n) * normal * share;
  }
  return z;
}

TEST(RandomFeatures, AreThoseOfTheDefinition) {
  std::mt19937 random(kFeaturesSeed);
  for (const std::uint32_t dim : {2u, 3u, 31u, 64u, 100u, 128u, 300u}) {
    for (const std::uint32_t n : {64u, 96u, 256u, 1024u}) {
      const RandomFeatures features(dim, n, kFeaturesSeed + dim);
      const auto token = normal_vector(dim, random);
      const auto want = slow_features(features, kFeaturesSeed + dim, token);
      const auto got = features_of(features, {token.data(), 1});
      for (std::uint32_t i = 0; i < n; ++i) {
        ASSERT_NEAR(got[i], want[i], 3e-6 * norm(token)) << dim << " to " << n;
      }
    }
  }
}

TEST(RandomFeatures, AddUpOverTokensAndGrowWithTheirLength) {
  std::mt19937 random(kFeaturesSeed);
  const std::uint32_t dim = 24, n = 128;
  const RandomFeatures features(dim, n, kFeaturesSeed);
  auto tokens = normal_vector(dim * 3, random);
  std::vector<double> sum(n);
  for (std::size_t t = 0; t < 3; ++t) {
    const auto one = features_of(features, {tokens.data() + t * dim, 1});
    for (std::uint32_t i = 0; i < n; ++i) sum[i] += one[i];
  }
  const auto all = features_of(features, {tokens.data(), 3});
  for (std::uint32_t i = 0; i < n; ++i) EXPECT_NEAR(all[i], sum[i], 1e-5);

  for (float& value : tokens) value *= 2;
  const auto doubled = features_of(features, {tokens.data(), 3});
  for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(doubled[i], 2 * all[i]);
}

TEST(RandomFeatures, ZeroHasNoneAndExtremesAreFinite) {
  const RandomFeatures features(5, 64, kFeaturesSeed);
  const std::vector<float> zero(10);
  EXPECT_THAT(features_of(features, {zero.data(), 2}), Each(0.0f));
  EXPECT_THAT(features_of(features, {nullptr, 0}), Each(0.0f));
  for (const float value : {1e-44f, 1e-30f, 1e30f, 1e38f}) {
    const std::vector<float> token(5, value);
    const auto got = features_of(features, {token.data(), 1});
    EXPECT_THAT(got, Each(::testing::Truly([](float v) { return std::isfinite(v); })));
    EXPECT_GT(norm(got), 0.5 * value);
  }
}

TEST(RandomFeatures, SeedsDiffer) {
  const std::vector<float> token = {0.6f, 0.8f};
  EXPECT_NE(features_of(RandomFeatures(2, 64, 1), {token.data(), 1}),
            features_of(RandomFeatures(2, 64, 2), {token.data(), 1}));
}

/// The solution of `matrix` x = `right`, by Gauss's elimination; `matrix` is positive definite.
std::vector<double> solution(std::vector<std::vector<double>> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t r = i + 1; r < n; ++r) {
      const double factor = matrix[r][i] / matrix[i][i];
      for (std::size_t c = i; c < n; ++c) matrix[r][c] -= factor * matrix[i][c];
      right[r] -= factor * right[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t c = i + 1; c < n; ++c) right[i] -= matrix[i][c] * right[c];
    right[i] /= matrix[i][i];
  }
  return right;
}

/// The vectors that FeaturesFit promises, in f64; `sample` has unit length.
std::vector<double> slow_weights(const RandomFeatures& features, const std::vector<float>& sample,
                                 double ridge, const TokenSet& document) {
  const std::uint32_t dim = features.token_dim(), n = features.n_features();
  const std::size_t n_sample = sample.size() / dim;
  std::vector<std::vector<double>> squares(n, std::vector<double>(n));
  std::vector<double> right(n);
  for (std::size_t s = 0; s < n_sample; ++s) {
    const auto z = features_of(features, {&sample[s * dim], 1});
    double best = -HUGE_VAL;
    for (std::size_t p = 0; p < document.n; ++p) {
      best = std::max(
          best, dot(std::span(&sample[s * dim], dim), std::span(document.values + p * dim, dim)));
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      right[i] += z[i] * best;
      for (std::uint32_t j = 0; j < n; ++j) squares[i][j] += double{z[i]} * z[j];
    }
  }
  double mean = 0;
  for (std::uint32_t i = 0; i < n; ++i) mean += squares[i][i] / n;
  for (std::uint32_t i = 0; i < n; ++i) squares[i][i] += ridge * mean;
  return solution(std::move(squares), std::move(right));
}

double relative_error(std::span<const float> got, const std::vector<double>& want) {
  double error = 0;
  for (std::size_t i = 0; i < want.size(); ++i) error += (got[i] - want[i]) * (got[i] - want[i]);
  return std::sqrt(error) / norm(want);
}

/// Values that 8-bit codes hold exactly: plus or minus one number.
std::vector<float> signs(std::size_t n, float value, std::mt19937& random) {
  std::vector<float> values(n);
  for (float& v : values) v = random() % 2 == 0 ? value : -value;
  return values;
}

FeaturesParams with_ridge(double ridge) {
  FeaturesParams params;
  params.ridge = ridge;
  return params;
}

TEST(FeaturesFit, IsTheLeastSquaresSolution) {
  std::mt19937 random(kFeaturesSeed);
  for (const std::size_t n_sample : {1u, 40u, 300u, 1030u}) {  // fewer than features, and two parts
    for (const double ridge : {1e-4, 0.01}) {
      const RandomFeatures features(16, 96, kFeaturesSeed);
      const auto sample = signs(n_sample * 16, 0.25f, random);
      const auto document = signs(7 * 16, 0.5f, random);
      const auto fit = FeaturesFit::fit(features, with_ridge(ridge), {sample, {}}).value();
      std::vector<float> got(96);
      const TokenSet set{document.data(), 7};
      fit.solve({&set, 1}, got.data());
      EXPECT_LT(relative_error(got, slow_weights(features, sample, ridge, set)),
                2e-6 * 96 / ridge + 1e-4)  // the condition is at most about features / ridge
          << n_sample << " tokens, ridge " << ridge;
    }
  }
}

TEST(FeaturesFit, CodesCostLittle) {
  std::mt19937 random(kFeaturesSeed);
  const RandomFeatures features(20, 64, kFeaturesSeed);
  auto sample = normal_vector(500 * 20, random);
  const auto document = normal_vector(9 * 20, random);
  const auto fit = FeaturesFit::fit(features, with_ridge(0.01), {sample, {}}).value();
  for (std::size_t i = 0; i < sample.size(); i += 20) {
    const double length = norm(std::span(&sample[i], 20));
    for (std::size_t d = 0; d < 20; ++d) sample[i + d] = static_cast<float>(sample[i + d] / length);
  }
  std::vector<float> got(64);
  const TokenSet set{document.data(), 9};
  fit.solve({&set, 1}, got.data());
  EXPECT_LT(relative_error(got, slow_weights(features, sample, 0.01, set)), 0.015);
}

FeaturesEncoder encoder_of(const TokenCorpus& corpus, std::uint32_t n_features,
                           std::size_t n_sample, std::uint32_t n_dims = 0) {
  FeaturesParams params;
  params.n_features = n_features;
  params.n_dims = n_dims;
  const auto sample = corpus.sample(n_sample);
  const FitDocuments documents(corpus.documents());
  return FeaturesEncoder::fit(corpus.dim(), params, kFeaturesSeed, {sample, documents}).value();
}

std::vector<float> encoded(const FeaturesEncoder& encoder, std::span<const TokenSet> documents) {
  std::vector<float> out(documents.size() * encoder.dim());
  encoder.encode_documents(documents, out.data());
  return out;
}

TEST(FeaturesEncoder, DocumentsHaveTheSameBitsInAnyCompanyAndEveryTime) {
  const TokenCorpus corpus({.n_documents = 150, .n_queries = 1});
  const auto encoder = encoder_of(corpus, 96, 1500);  // more than a part, batches of 64
  const auto all = encoded(encoder, corpus.documents());
  for (std::size_t i : {0u, 1u, 63u, 64u, 100u, 149u}) {
    const auto one = encoded(encoder, corpus.documents().subspan(i, 1));
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + std::ptrdiff_t(i * 96))) << i;
  }
  EXPECT_EQ(encoded(encoder_of(corpus, 96, 1500), corpus.documents()), all);
}

/// Recall of vectors of `encoder` over `corpus`.
double recall_of(const FeaturesEncoder& encoder, const TokenCorpus& corpus, std::size_t n) {
  const auto rows = encoded(encoder, corpus.documents());
  std::vector<float> queries(corpus.queries().size() * encoder.dim());
  for (std::size_t q = 0; q < corpus.queries().size(); ++q) {
    encoder.encode_query(corpus.queries()[q], &queries[q * encoder.dim()]);
  }
  return corpus.recall(rows, queries, n);
}

TEST(FeaturesEncoder, AQuarterOfTheDimensionsFindsNearlyAsMuch) {
  const TokenCorpus corpus({.n_documents = 500, .n_queries = 40});
  const double all = recall_of(encoder_of(corpus, 256, 1000), corpus, 50);
  const double quarter = recall_of(encoder_of(corpus, 256, 1000, 64), corpus, 50);
  EXPECT_GT(quarter, all - 0.06) << all;
}

TEST(FeaturesEncoder, AMapMakesTheQueriesOfTheFit) {
  const TokenCorpus corpus({.n_documents = 200, .n_queries = 1});
  const auto fitted = encoder_of(corpus, 128, 600, 32);
  EXPECT_EQ(fitted.dim(), 32);
  FeaturesParams params;
  params.n_features = 128;
  params.n_dims = 32;
  const auto alone =
      FeaturesEncoder::for_queries(corpus.dim(), params, kFeaturesSeed, fitted.map()).value();
  std::vector<float> a(32), b(32, 1.0f);
  fitted.encode_query(corpus.queries()[0], a.data());
  alone.encode_query(corpus.queries()[0], b.data());
  EXPECT_EQ(a, b);
}

TEST(FeaturesEncoder, QueriesNeedNoSample) {
  const TokenCorpus corpus({.n_documents = 20, .n_queries = 1});
  const auto fitted = encoder_of(corpus, 96, 100);
  FeaturesParams params;
  params.n_features = 96;
  const auto alone = FeaturesEncoder::for_queries(corpus.dim(), params, kFeaturesSeed).value();
  std::vector<float> a(96), b(96, 1.0f);
  fitted.encode_query(corpus.queries()[0], a.data());
  alone.encode_query(corpus.queries()[0], b.data());
  EXPECT_EQ(a, b);
  EXPECT_EQ(alone.dim(), 96);
  EXPECT_EQ(alone.token_dim(), corpus.dim());
}

/// The sum of the tokens, for documents scaled to unit length: the simplest first stage.
std::vector<float> mean_of(const TokenSet& set, std::uint32_t dim) {
  std::vector<float> sum(dim);
  for (std::size_t i = 0; i < set.n * dim; ++i) sum[i % dim] += set.values[i];
  const double length = norm(sum);
  for (float& value : sum) value = static_cast<float>(value / length);
  return sum;
}

TEST(FeaturesEncoder, FindsTheBestDocumentsByMaxSim) {
  const TokenCorpus corpus({.n_documents = 500, .n_queries = 40});
  double last = 0;
  for (const std::uint32_t n_features : {64u, 256u}) {
    const auto encoder = encoder_of(corpus, n_features, 1000);
    const auto rows = encoded(encoder, corpus.documents());
    std::vector<float> queries(corpus.queries().size() * n_features);
    for (std::size_t q = 0; q < corpus.queries().size(); ++q) {
      encoder.encode_query(corpus.queries()[q], &queries[q * n_features]);
    }
    const double recall = corpus.recall(rows, queries, 50);
    EXPECT_GT(recall, last);
    last = recall;
  }
  std::vector<float> rows, queries;
  for (const auto& document : corpus.documents()) {
    const auto mean = mean_of(document, corpus.dim());
    rows.insert(rows.end(), mean.begin(), mean.end());
  }
  for (const auto& query : corpus.queries()) {
    const auto mean = mean_of(query, corpus.dim());
    queries.insert(queries.end(), mean.begin(), mean.end());
  }
  const double of_means = corpus.recall(rows, queries, 50);
  EXPECT_GT(last, of_means + 0.05) << of_means;
  EXPECT_GT(last, 0.77);
}

// One sampled token, equal tokens, tokens without length, values that no code can tell from zero.
TEST(FeaturesEncoder, DegenerateInputsGiveFiniteVectors) {
  std::mt19937 random(kFeaturesSeed);
  const std::uint32_t dim = 6;
  std::vector<std::vector<float>> samples = {
      normal_vector(dim, random), std::vector<float>(10 * dim, 1.0f),
      std::vector<float>(10 * dim, 0.0f), std::vector<float>(2 * dim, 1e-42f)};
  const std::vector<std::vector<float>> sets = {
      std::vector<float>(dim, 0.0f), std::vector<float>(4 * dim, 1.0f),
      std::vector<float>(dim, 1e-42f), std::vector<float>(dim, 1e30f)};
  for (const auto& sample : samples) {
    FeaturesParams params;
    params.n_features = 64;
    const auto encoder = FeaturesEncoder::fit(dim, params, kFeaturesSeed, {sample, {}}).value();
    for (const auto& set : sets) {
      const TokenSet tokens{set.data(), set.size() / dim};
      for (const float value : encoded(encoder, {&tokens, 1})) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

TEST(FeaturesEncoder, RefusesWhatCannotBeFitted) {
  const RandomFeatures features(4, 64, kFeaturesSeed);
  EXPECT_THAT(FeaturesFit::fit(features, {}, {}).error().message(), HasSubstr("0 values"));
  const std::vector<float> seven(7);
  EXPECT_THAT(FeaturesFit::fit(features, {}, {seven, {}}).error().message(), HasSubstr("7 values"));
  std::vector<float> infinite(8);
  infinite[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(FeaturesFit::fit(features, {}, {infinite, {}}).error().message(),
              HasSubstr("not finite"));
  FeaturesParams params;
  params.n_features = 100;
  EXPECT_THAT(FeaturesEncoder::for_queries(4, params, 1).error().message(), HasSubstr("of 32"));
  params.n_features = 64;
  params.n_dims = 32;
  EXPECT_THAT(FeaturesEncoder::for_queries(4, params, 1).error().message(),
              HasSubstr("a map of 0 values, wanted 2048"));
  const std::vector<float> zeros(8);
  EXPECT_THAT(FeaturesFit::fit(features, params, {zeros, {}}).error().message(),
              HasSubstr("0 documents do not tell the best 32 dimensions"));
  EXPECT_FALSE(parse_params<FeaturesParams>({{"features", std::int64_t{32}}}).has_value());
}

TEST(SampleNumbers, AreDifferentAscendingAndEven) {
  using encoders::sample_numbers;
  EXPECT_THAT(sample_numbers(3, 5, kFeaturesSeed), ElementsAre(0, 1, 2));
  EXPECT_THAT(sample_numbers(0, 5, kFeaturesSeed), ElementsAre());
  EXPECT_NE(sample_numbers(1000, 10, 1), sample_numbers(1000, 10, 2));
  std::vector<int> counts(20);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto numbers = sample_numbers(20, 5, seed);
    ASSERT_EQ(numbers.size(), 5);
    ASSERT_TRUE(std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal()) ==
                numbers.end());
    for (const auto number : numbers) ++counts[number];
  }
  for (const int count : counts) EXPECT_NEAR(count, 500, 5 * std::sqrt(500 * 0.75));
}

}  // namespace
}  // namespace quiver::testing
