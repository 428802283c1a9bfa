#include "encoders/transforms/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

using encoders::Reduction;
using ::testing::HasSubstr;

constexpr unsigned kReductionSeed = 20261128;
constexpr std::uint32_t kFullDim = 150;

/// Rows around a mean of length 3, nearly all of whose variance lies in 40 directions.
class NearlyFlat {
 public:
  explicit NearlyFlat(std::mt19937& random, float noise = 0.05F)
      : random_(random), mixing_(normal_vector(kFullDim * kRank, random)), noise_(noise) {
    mean_ = normal_vector(kFullDim, random);
    const double length = norm(mean_);
    for (float& value : mean_) value *= static_cast<float>(3 / length);
  }
  [[nodiscard]] std::vector<float> row() {
    const auto z = normal_vector(kRank, random_);
    auto row = normal_vector(kFullDim, random_);
    for (std::uint32_t d = 0; d < kFullDim; ++d) {
      double value = mean_[d] + noise_ * row[d];
      for (std::uint32_t e = 0; e < kRank; ++e) value += mixing_[d * kRank + e] * z[e] / 10;
      row[d] = static_cast<float>(value);
    }
    return row;
  }
  [[nodiscard]] std::vector<float> rows(std::size_t n) {
    std::vector<float> rows;
    for (std::size_t i = 0; i < n; ++i) {
      const auto next = row();
      rows.insert(rows.end(), next.begin(), next.end());
    }
    return rows;
  }

 private:
  static constexpr std::uint32_t kRank = 40;
  std::mt19937& random_;
  std::vector<float> mixing_;
  std::vector<float> mean_;
  float noise_;
};

std::vector<float> as_row(const Reduction& reduction, const std::vector<float>& in) {
  std::vector<float> out(reduction.n_out());
  reduction.apply_to_row(in.data(), out.data());
  return out;
}

struct ReducedQuery {
  std::vector<float> values;
  float lost = 0;
};

ReducedQuery as_query(const Reduction& reduction, const std::vector<float>& in) {
  ReducedQuery query{std::vector<float>(reduction.n_out())};
  query.lost = reduction.apply_to_query(in.data(), query.values.data());
  return query;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

TEST(Reduction, KeepsProductsUpToWhatItSays) {
  std::mt19937 random(kReductionSeed);
  NearlyFlat rows(random);
  const auto reduction =
      Reduction::train_pca(rows.rows(1000), kFullDim, Similarity::kDot, {}, 7).value();
  EXPECT_EQ(reduction.n_out(), 64U);
  EXPECT_GT(reduction.facts().kept_share, 0.95F);
  double squares = 0;
  double said = 0;
  constexpr int kPairs = 400;
  for (int i = 0; i < kPairs; ++i) {
    const auto x = rows.row();
    const auto q = rows.row();
    const auto reduced = as_query(reduction, q);
    const double error = dot(reduced.values, as_row(reduction, x)) - dot(q, x);
    squares += error * error / kPairs;
    said += reduced.lost * dot(x, x) / kPairs;
  }
  // Twice the usual error is allowed for, and bytes add a little.
  EXPECT_LT(std::sqrt(squares), 1.5 * std::sqrt(said));
  EXPECT_GT(std::sqrt(squares), 0.2 * std::sqrt(said));
}

TEST(Reduction, KeepsDistancesThoughRowsLoseDifferentLengths) {
  std::mt19937 random(kReductionSeed);
  NearlyFlat rows(random);
  const auto sample = rows.rows(1000);
  const auto reduction =
      Reduction::train_pca(sample, kFullDim, Similarity::kNegL2Squared, {}, 7).value();
  for (int i = 0; i < 100; ++i) {
    auto x = rows.row();
    const auto noise = normal_vector(kFullDim, random);
    const float share = i % 2 == 0 ? 0 : 0.3F;
    for (std::uint32_t d = 0; d < kFullDim; ++d) x[d] += share * noise[d];
    const auto q = rows.row();
    const double exact = distance(q, x);
    const double found = distance(as_query(reduction, q).values, as_row(reduction, x));
    EXPECT_NEAR(found, exact, 0.15 * exact) << "share " << share;
    EXPECT_NEAR(
        reduction.lost_square(x.data()),
        distance(x, std::vector<float>(kFullDim)) -
            [&] {
              const auto out = as_row(reduction, x);
              return dot(out, out) - reduction.lost_square(x.data());
            }(),
        1e-3 * dot(x, x));
  }
}

/// The mean is among the directions: a long mean that all rows share costs nothing.
TEST(Reduction, TheMeanIsKept) {
  std::mt19937 random(kReductionSeed);
  NearlyFlat rows(random);
  auto sample = rows.rows(600);
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] += 100;
  const auto reduction = Reduction::train_pca(sample, kFullDim, Similarity::kDot, {}, 7).value();
  const std::vector<float> row(sample.begin(), sample.begin() + kFullDim);
  EXPECT_LT(reduction.lost_square(row.data()), 1e-4 * dot(row, row));
}

TEST(Reduction, RandomProjectionsKeepProductsOnAverage) {
  std::mt19937 random(kReductionSeed);
  NearlyFlat rows(random);
  const auto x = rows.row();
  const auto q = rows.row();
  double mean = 0;
  double squares = 0;
  constexpr int kMaps = 200;
  for (int seed = 0; seed < kMaps; ++seed) {
    const auto map = Reduction::random(kFullDim, 64, static_cast<std::uint64_t>(seed));
    const double found = dot(as_query(map, q).values, as_row(map, x));
    mean += found / kMaps;
    squares += (found - dot(q, x)) * (found - dot(q, x)) / kMaps;
  }
  const double usual = std::sqrt(as_query(Reduction::random(kFullDim, 64, 1), q).lost * dot(x, x));
  EXPECT_NEAR(mean, dot(q, x), 4 * usual / std::sqrt(kMaps));
  EXPECT_NEAR(std::sqrt(squares), usual, usual);
}

TEST(Reduction, QueriesTakeBytesAndRowsDoNot) {
  std::mt19937 random(kReductionSeed);
  NearlyFlat rows(random);
  const auto reduction =
      Reduction::train_pca(rows.rows(600), kFullDim, Similarity::kDot, {96}, 7).value();
  EXPECT_EQ(reduction.n_out(), 96U);
  for (int i = 0; i < 50; ++i) {
    const auto x = rows.row();
    const double gap = distance(as_query(reduction, x).values, as_row(reduction, x));
    EXPECT_LT(std::sqrt(gap), 0.02 * norm(x));
  }
  const std::vector<float> zero(kFullDim);
  EXPECT_EQ(norm(as_row(reduction, zero)), 0);
  EXPECT_EQ(norm(as_query(reduction, zero).values), 0);
}

TEST(Reduction, TheSameSampleAndSeedGiveTheSameBits) {
  std::mt19937 random(kReductionSeed);
  NearlyFlat rows(random);
  const auto sample = rows.rows(500);
  const auto make = [&](std::uint64_t seed) {
    return Reduction::train_pca(sample, kFullDim, Similarity::kDot, {}, seed).value();
  };
  EXPECT_TRUE(make(3) == make(3));
  EXPECT_FALSE(make(3) == make(4));
  EXPECT_FALSE(make(3) == Reduction::random(kFullDim, 64, 3));
  const auto a = make(3);
  const auto again = Reduction::of(a.facts(), a.matrix(), a.tail()).value();
  EXPECT_TRUE(a == again);
  const auto x = rows.row();
  EXPECT_EQ(as_query(a, x).values, as_query(again, x).values);
}

TEST(Reduction, HugeAndEqualRowsStayFinite) {
  std::vector<float> huge(200 * std::size_t{kFullDim}, 1e17F);
  for (std::size_t i = 0; i < huge.size(); i += 7) huge[i] = -1e17F;
  const auto of_huge =
      Reduction::train_pca(huge, kFullDim, Similarity::kNegL2Squared, {64}, 1).value();
  const std::vector<float> row(huge.begin(), huge.begin() + kFullDim);
  for (const float value : as_row(of_huge, row)) EXPECT_TRUE(std::isfinite(value));
  const std::vector<float> equal(200 * std::size_t{kFullDim}, 2.0F);
  const auto of_equal = Reduction::train_pca(equal, kFullDim, Similarity::kDot, {}, 1).value();
  EXPECT_EQ(of_equal.n_out(), 64U);
  const std::vector<float> one(kFullDim, 2.0F);
  EXPECT_NEAR(norm(as_row(of_equal, one)), norm(one), 1e-3);
}

TEST(Reduction, RefusesWhatItCannotReduce) {
  std::mt19937 random(kReductionSeed);
  const auto noise = normal_vector(std::size_t{300} * kFullDim, random);
  const auto error_of = [&](const encoders::ReductionPlan& plan) {
    return Reduction::train_pca(noise, kFullDim, Similarity::kDot, plan, 1).error().message();
  };
  EXPECT_THAT(error_of({0, 0.999}), HasSubstr("150 dimensions cannot be reduced to 192"));
  EXPECT_THAT(error_of({33}), HasSubstr("multiple of 32"));
  EXPECT_THAT(error_of({32}), HasSubstr("from 64"));
  auto bad = noise;
  bad[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(Reduction::train_pca(bad, kFullDim, Similarity::kDot, {64}, 1).error().message(),
              HasSubstr("not finite"));
}

TEST(Reduction, RefusesDamagedParts) {
  const auto map = Reduction::random(kFullDim, 64, 1);
  const auto is_refused = [&](Reduction::Facts facts, std::size_t n_matrix, std::size_t n_tail) {
    const auto made = Reduction::of(facts, map.matrix().first(n_matrix), map.tail().first(n_tail));
    return !made && made.error().code() == Code::kDataLoss;
  };
  const std::size_t n = map.matrix().size();
  EXPECT_FALSE(is_refused(map.facts(), n, 64));
  EXPECT_TRUE(is_refused(map.facts(), n - 1, 64));
  EXPECT_TRUE(is_refused(map.facts(), n, 63));
  auto facts = map.facts();
  facts.kind = static_cast<Reduction::Kind>(9);
  EXPECT_TRUE(is_refused(facts, n, 64));
  facts = map.facts();
  facts.lost_share = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(is_refused(facts, n, 64));
  facts = map.facts();
  facts.n_out = 4096;
  EXPECT_TRUE(is_refused(facts, n, 64));
}

}  // namespace
}  // namespace quiver::testing
