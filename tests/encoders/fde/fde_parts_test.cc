// The steps of fixed-dimensional encodings, each against its definition.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/hash.h"
#include "encoders/fde/buckets.h"
#include "encoders/fde/fde_encoder.h"
#include "encoders/fde/planes.h"
#include "encoders/fde/sketch.h"
#include "tests/encoders/set_support.h"

namespace quiver::testing {
namespace {

using encoders::fde::BalancedSketch;
using encoders::fde::Buckets;
using encoders::fde::CounterRandom;
using encoders::fde::HashPlanes;
using encoders::fde::Purpose;

constexpr unsigned kFdePartsSeed = 20240609;

std::vector<std::uint32_t> tokens_of(const Buckets& buckets, std::size_t bucket) {
  const std::uint32_t* first = buckets.ids() + buckets[bucket].first;
  return {first, first + buckets[bucket].n};
}

TEST(FdeBuckets, EmptyOnesHaveTheNearestTokenAndOfThoseTheFirst) {
  std::mt19937 random(kFdePartsSeed);
  Buckets buckets;
  for (std::size_t planes = 0; planes <= 8; ++planes) {
    for (std::size_t n = 1; n <= 60; ++n) {
      const std::size_t n_buckets = std::size_t{1} << planes;
      std::vector<std::uint16_t> codes(n);
      for (auto& code : codes) code = static_cast<std::uint16_t>(random() % n_buckets);
      buckets.assign(codes, n_buckets);
      buckets.fill();
      for (std::uint32_t b = 0; b < n_buckets; ++b) {
        std::vector<std::uint32_t> own;
        std::uint32_t nearest = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
          if (codes[i] == b) own.push_back(i);
          if (std::popcount(codes[i] ^ b) < std::popcount(codes[nearest] ^ b)) nearest = i;
        }
        if (own.empty()) own.push_back(nearest);
        ASSERT_EQ(tokens_of(buckets, b), own) << n << " tokens, " << planes << " planes";
      }
    }
  }
}

TEST(FdeBuckets, TokensBeyondSixteenBits) {
  std::vector<std::uint16_t> codes(70000, 0);
  codes.back() = 7;
  Buckets buckets;
  buckets.assign(codes, 8);
  EXPECT_EQ(buckets[0].n, 69999u);
  EXPECT_EQ(buckets[6].n, 0u);
  buckets.fill();
  EXPECT_EQ(tokens_of(buckets, 6), std::vector<std::uint32_t>{69999});
  EXPECT_EQ(tokens_of(buckets, 1), std::vector<std::uint32_t>{0});
}

TEST(FdeBuckets, WithoutTokensStayEmpty) {
  Buckets buckets;
  buckets.assign({}, 4);
  buckets.fill();
  for (std::size_t b = 0; b < 4; ++b) EXPECT_EQ(buckets[b].n, 0u);
}

/// Two unit vectors whose product is `cosine`.
std::pair<Tokens, Tokens> pair_of(double cosine, std::uint32_t dim, std::mt19937& random) {
  const Tokens both = unit_tokens(2, dim, random);
  const double common = product(both[0], both[1], dim);
  const double rest = std::sqrt((1 - cosine * cosine) / (1 - common * common));
  Tokens b{dim, {}};
  for (std::uint32_t d = 0; d < dim; ++d) {
    const double across = both[1][d] - common * both[0][d];
    b.values.push_back(static_cast<float>(cosine * both[0][d] + rest * across));
  }
  return {Tokens{dim, {both[0], both[0] + dim}}, b};
}

// Goemans and Williamson 1995: a random plane is between two vectors with probability angle / pi.
TEST(FdePlanes, SeparateByTheAngle) {
  std::mt19937 random(kFdePartsSeed);
  for (std::uint32_t dim : {3u, 16u, 128u}) {
    for (double cosine : {0.95, 0.5, 0.0, -0.7}) {
      const auto [a, b] = pair_of(cosine, dim, random);
      const std::uint32_t n = 2000;
      const HashPlanes planes(dim, n, 5, random());
      encoders::fde::TokenLines prepared;
      const Tokens both = joined(a, b);
      prepared.assign(both.set(), dim);
      std::vector<std::uint16_t> signs, codes(2);
      planes.hash(prepared, signs);
      double differing = 0;
      for (std::uint32_t r = 0; r < n; ++r) {
        planes.codes(signs, r, codes);
        differing += std::popcount(static_cast<unsigned>(codes[0] ^ codes[1]));
      }
      const double chance = std::acos(cosine) / std::acos(-1.0);
      const double deviation = std::sqrt(chance * (1 - chance) / (n * 5));
      EXPECT_NEAR(differing / (n * 5), chance, 4 * deviation + 0.003)
          << dim << " cosine " << cosine;
    }
  }
}

// A seed always gives the same encoder: a change of these numbers needs a new version.
TEST(FdePlanes, AreTheSameForGood) {
  const std::uint32_t dim = 20;
  Tokens tokens{dim, {}};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 20; ++j)
      tokens.values.push_back(static_cast<float>((i * 7 + j * 3) % 11 - 5));
  }
  encoders::fde::TokenLines prepared;
  prepared.assign(tokens.set(), dim);
  const HashPlanes planes(dim, 3, 10, 42);
  std::vector<std::uint16_t> signs, codes(4), all;
  planes.hash(prepared, signs);
  for (std::uint32_t r = 0; r < 3; ++r) {
    planes.codes(signs, r, codes);
    all.insert(all.end(), codes.begin(), codes.end());
  }
  EXPECT_EQ(
      all, (std::vector<std::uint16_t>{151, 248, 785, 231, 533, 328, 958, 49, 562, 969, 510, 546}));
}

std::vector<float> sketched(const BalancedSketch& sketch, const std::vector<float>& in) {
  std::vector<float> out(sketch.out_dim(), 0.0f);
  const std::uint32_t place = 0;
  const float factor = 1;
  sketch.add_rows(in.data(), {&place, &factor, 1, out.data()});
  return out;
}

TEST(FdeSketch, IsTheSameForGood) {
  std::vector<float> in(64);
  for (std::size_t i = 0; i < 64; ++i) in[i] = static_cast<float>(i + 1);
  EXPECT_EQ(sketched(BalancedSketch(4, 4, {42, Purpose::kBlockSketch, 1}), in),
            (std::vector<float>{-83, -159, 130, -200}));
}

// Sums, lengths and factors have one order on every instruction level.
TEST(FdeEncoder, VectorsAreTheSameForGood) {
  Tokens tokens{50, std::vector<float>(70 * 50)};
  for (std::size_t i = 0; i < tokens.values.size(); ++i) {
    tokens.values[i] = static_cast<float>(encoders::random_unit(kFdePartsSeed, i) - 0.5);
  }
  const auto hash_of = [&](const encoders::FdeParams& params) {
    const auto encoder = encoders::FdeEncoder::make(50, params).value();
    auto both = document_vector(*encoder, tokens);
    const auto query = query_vector(*encoder, tokens);
    both.insert(both.end(), query.begin(), query.end());
    return hash_bytes(std::as_bytes(std::span(both)));
  };
  EXPECT_EQ(hash_of({}), 16493175961621999081u);
  EXPECT_EQ(hash_of({.planes = 6, .projected_dim = 0, .final_dim = 320}), 17841169198502910782u);
}

/// Each coordinate goes to one place, and the coordinates of a group to all places.
TEST(FdeSketch, IsBalanced) {
  for (std::uint32_t out_dim : {1u, 2u, 4u, 8u, 16u, 48u}) {
    const BalancedSketch sketch(7, out_dim, {kFdePartsSeed, Purpose::kBlockSketch, 0});
    std::vector<int> group_of_place(out_dim, -1);
    for (std::uint32_t i = 0; i < 112; ++i) {
      std::vector<float> in(112, 0.0f);
      in[i] = 3;
      const auto out = sketched(sketch, in);
      int n_places = 0;
      for (std::uint32_t j = 0; j < out_dim; ++j) {
        if (out[j] == 0) continue;
        ++n_places;
        EXPECT_EQ(std::abs(out[j]), 3);
        EXPECT_NE(group_of_place[j], static_cast<int>(i / out_dim)) << out_dim;
        group_of_place[j] = static_cast<int>(i / out_dim);
      }
      EXPECT_EQ(n_places, 1);
    }
  }
}

/// Variance of <sketch x, sketch y>: coordinates of different groups meet with probability
/// 1 / out_dim.
double variance_of(const std::vector<float>& x, const std::vector<float>& y, std::size_t out_dim) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (i / out_dim == j / out_dim) continue;
      sum += double{x[i]} * x[i] * y[j] * y[j] + double{x[i]} * y[i] * x[j] * y[j];
    }
  }
  return sum / static_cast<double>(out_dim);
}

TEST(FdeSketch, KeepsProductsOnTheAverage) {
  std::mt19937 random(kFdePartsSeed);
  for (std::uint32_t out_dim : {2u, 8u, 16u, 32u, 80u}) {
    const auto [a, b] = pair_of(0.6, 320, random);
    const int n = 2000;
    double mean = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const BalancedSketch sketch(
          20, out_dim, {kFdePartsSeed, Purpose::kFinalSketch, static_cast<std::uint64_t>(i)});
      const double error = dot(sketched(sketch, a.values), sketched(sketch, b.values)) - 0.6;
      mean += error / n;
      squares += error * error / n;
    }
    const double variance = variance_of(a.values, b.values, out_dim);
    EXPECT_LT(std::abs(mean), 4 * std::sqrt(variance / n)) << out_dim;
    EXPECT_NEAR(squares, variance, 0.1 * variance) << out_dim;
    EXPECT_LE(variance, 1.36 / out_dim);
  }
}

}  // namespace
}  // namespace quiver::testing
