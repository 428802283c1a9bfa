// Promises of all encoders, and the distance of their scores from the exact ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "encoders/codes/bit_encoders.h"
#include "encoders/codes/code_block.h"
#include "encoders/codes/value_encoders.h"
#include "tests/encoders/codes/support.h"

namespace quiver::testing {
namespace {

using namespace encoders;
using ::testing::HasSubstr;

constexpr unsigned kSeed = 20240605;

struct Named {
  std::string name;
  EncoderPtr encoder;
  double error;  ///< root mean square of errors of products of unit vectors, of 100 dimensions
};

std::vector<Named> all_encoders(Similarity similarity, std::uint32_t dim,
                                const std::vector<float>& sample) {
  const float limit = limit_of(sample, 0);
  std::vector<Named> all;
  const auto add = [&](std::string name, EncoderPtr encoder, double error) {
    all.push_back({std::move(name), std::move(encoder), error});
  };
  add("f32", make_float_encoder(similarity, dim, RowType::kF32), 1e-6);
  add("f16", make_float_encoder(similarity, dim, RowType::kF16), 1e-4);
  add("bf16", make_float_encoder(similarity, dim, RowType::kBf16), 5e-4);
  add("byte", make_byte_encoder(similarity, dim, limit), 2e-3);
  add("byte, own scale", make_byte_encoder(similarity, dim, 0), 2e-3);
  add("step 4", make_step_encoder(similarity, dim, 4, limit), 0.02);
  add("step 4, own scale", make_step_encoder(similarity, dim, 4, 0), 0.02);
  for (std::uint32_t bits : {1u, 2u, 4u, 8u}) {
    add(fmt::format("rabitq {}", bits), make_rabitq_encoder(similarity, dim, bits, 1),
        0.15 / (1u << (bits - 1)) + 3e-3);
  }
  add("product", train_product_encoder(similarity, dim, sample, 1).value(), 0.06);
  return all;
}

TEST(Encoders, ScoresAreNearTheExactOnes) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {100u, 129u}) {
    const auto rows = unit_rows(1100, dim, random);
    const auto queries = unit_rows(5, dim, random);
    for (Similarity similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
      for (const Named& named : all_encoders(similarity, dim, rows)) {
        const double error = mean_error(*named.encoder, rows, queries);
        const double allowed = named.error * (similarity == Similarity::kDot ? 1 : 2);
        EXPECT_LT(error, allowed) << named.name << " dim " << dim << " seed " << kSeed;
        EXPECT_GT(error, allowed / 1000) << named.name;
      }
    }
  }
}

TEST(Encoders, AnyDimensionAndOddVectors) {
  std::mt19937 random(kSeed);
  for (std::uint32_t dim : {1u, 2u, 3u, 31u, 33u, 65u, 1000u}) {
    auto rows = normal_vector(std::size_t{20} * dim, random);
    std::fill_n(rows.begin(), dim, 0.0f);              // a zero vector
    std::fill_n(rows.begin() + 2 * dim, dim, 1e-40f);  // next to nothing
    std::fill_n(rows.begin() + dim, dim, 0.25f);       // a constant one
    const auto query = normal_vector(dim, random);
    for (Similarity similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
      for (const Named& named : all_encoders(similarity, dim, rows)) {
        const auto scores = scores_of(*named.encoder, rows, query.data());
        const double wanted = exact(similarity, query.data(), rows.data(), dim);
        const double tolerance = 0.02 * (1 + norm(query) * norm(query));
        EXPECT_NEAR(scores[0], wanted, tolerance) << named.name << " dim " << dim;
        EXPECT_EQ(scores_of(*named.encoder, rows, query.data()), scores) << named.name;
      }
    }
  }
}

TEST(Encoders, BytesOfABlock) {
  const auto per_row = [](const Encoder& e) { return e.block_bytes() * 1.0 / e.block_rows(); };
  const Similarity dot = Similarity::kDot;
  EXPECT_EQ(per_row(*make_float_encoder(dot, 384, RowType::kF16)), 768);
  EXPECT_EQ(per_row(*make_byte_encoder(dot, 384, 1)), 384);
  EXPECT_EQ(per_row(*make_byte_encoder(dot, 384, 0)), 388);
  EXPECT_EQ(per_row(*make_byte_encoder(Similarity::kNegL2Squared, 384, 0)), 392);
  EXPECT_EQ(per_row(*make_rabitq_encoder(dot, 384, 1, 0)), 56);
  EXPECT_EQ(per_row(*make_step_encoder(dot, 384, 4, 0)), 200);
}

// Bits of dimensions 32 line + 0, 1, ... of row r in dword r of a line, highest bits first.
TEST(Encoders, BlocksHavePlanesOfBits) {
  std::mt19937 random(kSeed);
  CodeBlocks shape;
  shape.n_lines = 3;
  shape.n_bits = 5;
  std::vector<std::byte> block(shape.block_bytes());
  std::vector<std::vector<std::uint8_t>> rows(16, std::vector<std::uint8_t>(96));
  for (std::size_t r = 0; r < 16; ++r) {
    for (std::uint8_t& code : rows[r]) code = static_cast<std::uint8_t>(random() % 32);
    put_codes(shape, rows[r], r, block.data());
    put_factors(shape, {static_cast<float>(r), -static_cast<float>(r)}, r, block.data());
  }
  for (std::size_t r = 0; r < 16; ++r) {
    for (std::size_t d = 0; d < 96; ++d) {
      unsigned code = 0;
      for (std::size_t plane = 0; plane < 5; ++plane) {
        const std::byte byte = block[(plane * 3 + d / 32) * 64 + r * 4 + d % 32 / 8];
        code = code * 2 + (std::to_integer<unsigned>(byte) >> (d % 8) & 1);
      }
      ASSERT_EQ(code, rows[r][d]) << "row " << r << " dimension " << d;
    }
    float factors[2];
    std::memcpy(&factors[0], block.data() + 15 * 64 + r * 4, 4);
    std::memcpy(&factors[1], block.data() + 16 * 64 + r * 4, 4);
    EXPECT_EQ(factors[0], static_cast<float>(r));
    EXPECT_EQ(factors[1], -static_cast<float>(r));
  }
}

TEST(Encoders, LimitLeavesOutAShare) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 1.0f * i : -1.0f * i;
  EXPECT_EQ(limit_of(values, 0), 999);
  EXPECT_EQ(limit_of(values, 0.01), 989);
}

TEST(Encoders, ProductQuantizationRefusesWhatIsNoSample) {
  const auto refused = [](std::uint32_t dim, const std::vector<float>& sample) {
    return train_product_encoder(Similarity::kDot, dim, sample, 1).error().message();
  };
  EXPECT_THAT(refused(4, std::vector<float>(60)), HasSubstr("wanted 16 rows"));
  EXPECT_THAT(refused(0, std::vector<float>(60)), HasSubstr("0 dimensions"));
  EXPECT_THAT(refused(1, std::vector<float>(60, std::numeric_limits<float>::quiet_NaN())),
              HasSubstr("not finite"));
}

}  // namespace
}  // namespace quiver::testing
