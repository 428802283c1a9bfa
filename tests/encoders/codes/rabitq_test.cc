#include "encoders/codes/rabitq.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "encoders/transforms/rotation.h"
#include "tests/encoders/support.h"

namespace quiver::testing {
namespace {

using encoders::rabitq_encode;
using encoders::RabitqFactors;

constexpr unsigned kRabitqSeed = 20240603;

struct Encoded {
  RabitqFactors factors;
  std::vector<double> y;
};

Encoded encoded(const std::vector<float>& r, std::uint32_t bits) {
  std::vector<std::uint8_t> codes(r.size());
  Encoded result;
  result.factors = rabitq_encode(r, bits, codes.data());
  for (std::uint8_t u : codes) {
    EXPECT_LT(u, 1u << bits);
    result.y.push_back(u - ((1u << bits) - 1) / 2.0);
  }
  return result;
}

/// The largest cosine of any grid point: all crossings of the multiple, as in the paper.
double best_cosine(const std::vector<float>& r, std::uint32_t bits) {
  const int half = 1 << (bits - 1);
  std::vector<std::pair<double, std::size_t>> crossings;
  double dot_sum = 0, squares = 0;
  for (std::size_t d = 0; d < r.size(); ++d) {
    for (int level = 1; level < half && r[d] != 0; ++level) {
      crossings.emplace_back(level / std::abs(double{r[d]}), d);
    }
    dot_sum += 0.5 * std::abs(double{r[d]});
    squares += 0.25;
  }
  std::sort(crossings.begin(), crossings.end());
  std::vector<double> y(r.size(), 0.5);
  double best = dot_sum / std::sqrt(squares);
  for (const auto& [multiple, d] : crossings) {
    dot_sum += std::abs(double{r[d]});
    squares += 2 * y[d] + 1;
    y[d] += 1;
    best = std::max(best, dot_sum / std::sqrt(squares));
  }
  return best / norm(r);
}

TEST(Rabitq, FactorsAreThoseOfTheCodes) {
  std::mt19937 random(kRabitqSeed);
  for (std::size_t dim : {1u, 2u, 7u, 16u, 33u, 64u, 100u, 384u, 1000u, 4096u}) {
    for (std::uint32_t bits = 1; bits <= 8; ++bits) {
      const auto r = normal_vector(dim, random);
      const Encoded e = encoded(r, bits);
      const double scale = norm(r) * norm(e.y);
      EXPECT_NEAR(e.factors.norm_squared, dot(r, r), 1e-6 * dot(r, r));
      EXPECT_NEAR(e.factors.dot, dot(r, e.y), 1e-5 * scale) << dim << " " << bits;
      EXPECT_NEAR(e.factors.code_norm_squared, dot(e.y, e.y), 1e-5 * dot(e.y, e.y));
    }
  }
}

// Vectors like those after a rotation, with a value far out, and with all but one value zero.
TEST(Rabitq, AngleIsNearlyTheSmallestPossible) {
  std::mt19937 random(kRabitqSeed);
  for (std::size_t dim : {64u, 96u, 384u}) {
    for (std::uint32_t bits = 1; bits <= 8; ++bits) {
      for (int i = 0; i < 30; ++i) {
        auto r = normal_vector(dim, random);
        if (i % 3 == 1) r[0] *= 10;
        if (i % 3 == 2) std::fill(r.begin() + 1, r.end(), 0.0f);
        const double best = best_cosine(r, bits);
        const double got = encoded(r, bits).factors.cosine();
        EXPECT_LE(got, best + 1e-6);
        EXPECT_LT(1 - got, (bits <= 4 ? 1.15 : 1.8) * (1 - best) + 1e-6)
            << "dim " << dim << " bits " << bits << " vector " << i << " seed " << kRabitqSeed;
      }
    }
  }
}

TEST(Rabitq, OneBitIsTheSign) {
  const std::vector<float> r = {3.0f, -0.1f, 0.0f, -7.0f, 2e-30f};
  EXPECT_EQ(encoded(r, 1).y, (std::vector<double>{0.5, -0.5, 0.5, -0.5, 0.5}));
}

TEST(Rabitq, ZeroVectorsEstimateZero) {
  for (std::uint32_t bits = 1; bits <= 8; ++bits) {
    for (float value : {0.0f, -0.0f, 1e-36f, -1e-45f}) {
      const RabitqFactors factors = encoded(std::vector<float>(100, value), bits).factors;
      EXPECT_EQ(factors.scale(), 0.0f);
      EXPECT_EQ(factors.deviation(100), 0.0f);
    }
    EXPECT_GT(encoded(std::vector<float>(100, 2e-35f), bits).factors.scale(), 0.0f);
  }
}

TEST(Rabitq, LengthChangesTheScaleOnly) {
  std::mt19937 random(kRabitqSeed);
  const auto r = normal_vector(200, random);
  for (std::uint32_t bits = 1; bits <= 8; ++bits) {
    const Encoded wanted = encoded(r, bits);
    for (float length : {0x1p-100f, 0x1p-20f, 0x1p20f, 0x1p100f}) {
      auto longer = r;
      for (float& value : longer) value *= length;
      const Encoded got = encoded(longer, bits);
      EXPECT_EQ(got.y, wanted.y);
      EXPECT_FLOAT_EQ(got.factors.scale(), wanted.factors.scale() * length);
      EXPECT_FLOAT_EQ(got.factors.deviation(200), wanted.factors.deviation(200) * length);
    }
  }
}

/// Errors of many random rotations of one pair of vectors, by bits.
struct Errors {
  double mean = 0;
  double root_mean_square = 0;
  double beyond_19 = 0, beyond_3 = 0;  ///< shares beyond 1.9 and 3 deviations
};

Errors errors_of(std::uint32_t dim, std::uint32_t bits, double cosine, std::size_t n) {
  std::mt19937 random(kRabitqSeed);
  auto r = normal_vector(dim, random);
  auto q = normal_vector(dim, random);
  for (std::uint32_t d = 0; d < dim; ++d) {
    q[d] = static_cast<float>(cosine * r[d] + std::sqrt(1 - cosine * cosine) * q[d]);
  }
  Errors errors;
  for (std::size_t i = 0; i < n; ++i) {
    const encoders::Rotation rotation(dim, kRabitqSeed + i);
    std::vector<float> rr(rotation.padded_dim()), rq(rotation.padded_dim());
    rotation.apply(r.data(), rr.data());
    rotation.apply(q.data(), rq.data());
    const Encoded e = encoded(rr, bits);
    const double error = e.factors.scale() * dot(rq, e.y) - dot(q, r);
    const double deviations =
        std::abs(error) / (norm(q) * e.factors.deviation(rotation.padded_dim()));
    errors.mean += error / static_cast<double>(n);
    errors.root_mean_square += error * error / static_cast<double>(n);
    errors.beyond_19 += deviations > 1.9 ? 1.0 / static_cast<double>(n) : 0;
    errors.beyond_3 += deviations > 3 ? 1.0 / static_cast<double>(n) : 0;
  }
  errors.root_mean_square = std::sqrt(errors.root_mean_square);
  return errors;
}

TEST(Rabitq, EstimatesAreUnbiasedAndWithinTheirBounds) {
  const std::size_t n = 3000;
  for (std::uint32_t dim : {64u, 100u, 384u}) {
    for (double cosine : {0.0, 0.5, 0.95}) {
      for (std::uint32_t bits : {1u, 2u, 4u, 8u}) {
        const Errors errors = errors_of(dim, bits, cosine, n);
        const std::string what =
            fmt::format("dim {} cosine {} bits {} seed {}", dim, cosine, bits, kRabitqSeed);
        EXPECT_LT(std::abs(errors.mean), 4 * errors.root_mean_square / std::sqrt(n)) << what;
        EXPECT_LT(errors.beyond_19, 0.07) << what;
        EXPECT_LT(errors.beyond_3, 0.01) << what;
      }
    }
  }
}

TEST(Rabitq, EachBitHalvesTheError) {
  double last = errors_of(256, 1, 0.3, 1000).root_mean_square;
  for (std::uint32_t bits = 2; bits <= 8; ++bits) {
    const double now = errors_of(256, bits, 0.3, 1000).root_mean_square;
    EXPECT_LT(now, (bits == 2 ? 0.65 : 0.6) * last) << "bits " << bits;
    EXPECT_GT(now, 0.4 * last) << "bits " << bits;
    last = now;
  }
}

}  // namespace
}  // namespace quiver::testing
