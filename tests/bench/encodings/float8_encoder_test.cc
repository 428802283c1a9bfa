#include "bench/encodings/float8_encoder.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/encoders/codes/support.h"

namespace quiver::testing {
namespace {

using encodings::Float8;
using encodings::make_float8_encoder;

constexpr unsigned kFloat8EncoderSeed = 20240605;

struct FormatError {
  Float8 format;
  double error;  ///< root mean square of errors of products of unit vectors, of 100 dimensions
};

TEST(Float8Encoder, ScoresAreNearTheExactOnes) {
  std::mt19937 random(kFloat8EncoderSeed);
  for (std::uint32_t dim : {100u, 129u}) {
    const auto rows = unit_rows(1100, dim, random);
    const auto queries = unit_rows(5, dim, random);
    for (Similarity similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
      for (const auto& [format, error] :
           {FormatError{Float8::kE4m3, 6e-3}, {Float8::kE5m2, 1.2e-2}}) {
        const auto encoder = make_float8_encoder(similarity, dim, format, 256);
        const double allowed = error * (similarity == Similarity::kDot ? 1 : 2);
        EXPECT_LT(mean_error(*encoder, rows, queries), allowed)
            << "dim " << dim << " seed " << kFloat8EncoderSeed;
        EXPECT_EQ(encoder->block_bytes(), dim);
        EXPECT_EQ(encoder->block_rows(), 1);
      }
    }
  }
}

}  // namespace
}  // namespace quiver::testing
