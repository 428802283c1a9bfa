// Promises of fixed-dimensional encodings, for any planes and projections.
#include "encoders/fde/fde_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <thread>

#include "tests/encoders/set_support.h"

namespace quiver::testing {
namespace {

using encoders::FdeEncoder;
using encoders::FdeParams;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr unsigned kFdeSeed = 20240608;

std::unique_ptr<FdeEncoder> made(std::uint32_t dim, const FdeParams& params) {
  return FdeEncoder::make(dim, params).value();
}

/// Blocks are means of whole tokens, as in the paper.
FdeParams plain() { return {.repetitions = 6, .planes = 3, .projected_dim = 0, .renormalize = 0}; }

/// Every kind of block, for tokens of 40 dimensions.
std::vector<FdeParams> shapes() {
  std::vector<FdeParams> all;
  for (std::uint32_t planes : {0u, 1u, 5u, 7u}) {
    for (std::uint32_t projected : {0u, 1u, 8u, 16u, 32u}) {
      for (std::uint32_t final_dim : {0u, 16u}) {
        FdeParams params{.repetitions = 3, .planes = planes, .projected_dim = projected};
        params.final_dim = final_dim < (3u << planes) * std::max(projected, 1u) ? final_dim : 0;
        all.push_back(params);
      }
    }
  }
  return all;
}

/// The codes of tokens in each repetition, `[repetitions, n]`.
std::vector<std::vector<std::uint16_t>> codes_of(const Tokens& tokens, const FdeParams& params) {
  encoders::fde::TokenLines prepared;
  prepared.assign(tokens.set(), tokens.dim);
  const encoders::fde::HashPlanes planes(tokens.dim, params.repetitions, params.planes,
                                         params.seed);
  std::vector<std::uint16_t> signs;
  planes.hash(prepared, signs);
  std::vector<std::vector<std::uint16_t>> codes(params.repetitions);
  for (std::uint32_t r = 0; r < params.repetitions; ++r) {
    codes[r].resize(tokens.n());
    planes.codes(signs, r, codes[r]);
  }
  return codes;
}

/// Tokens at random lengths, two of them zero.
Tokens odd_tokens(std::size_t n, std::uint32_t dim, std::mt19937& random) {
  Tokens tokens = unit_tokens(n, dim, random);
  for (std::size_t i = 0; i < tokens.values.size(); ++i) {
    tokens.values[i] *= static_cast<float>(1 + i / dim % 3);
    if (n > 4 && (i / dim == 1 || i / dim == 3)) tokens.values[i] = 0;
  }
  return tokens;
}

Tokens without_zeros(const Tokens& tokens) {
  Tokens out{tokens.dim, {}};
  for (std::size_t i = 0; i < tokens.n(); ++i) {
    if (product(tokens[i], tokens[i], tokens.dim) == 0) continue;
    out.values.insert(out.values.end(), tokens[i], tokens[i] + tokens.dim);
  }
  return out;
}

/// Tokens of a bucket, or the nearest one.
std::vector<std::size_t> members(const std::vector<std::uint16_t>& codes, unsigned bucket,
                                 bool filled) {
  std::vector<std::size_t> found;
  std::size_t nearest = 0;
  const auto distance = [&](std::size_t i) { return std::popcount(codes[i] ^ bucket); };
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == bucket) found.push_back(i);
    if (distance(i) < distance(nearest)) nearest = i;
  }
  if (found.empty() && filled && !codes.empty()) found.push_back(nearest);
  return found;
}

/// The block of one bucket by the definition, not projected.
std::vector<double> slow_block(const Tokens& tokens, const std::vector<std::size_t>& members,
                               double renormalize) {
  std::vector<double> block(tokens.dim, 0.0);
  if (members.empty()) return block;
  double mean_length = 0;
  for (std::size_t i : members) {
    for (std::uint32_t d = 0; d < tokens.dim; ++d) block[d] += tokens[i][d];
    mean_length += std::sqrt(product(tokens[i], tokens[i], tokens.dim));
  }
  for (double& value : block) value /= static_cast<double>(members.size());
  mean_length /= static_cast<double>(members.size());
  const double ratio = std::max(norm(block) / mean_length, 0.05);
  for (double& value : block) value /= std::pow(ratio, renormalize);
  return block;
}

std::vector<float> slow_document(const Tokens& all, const FdeParams& params) {
  const Tokens tokens = without_zeros(all);
  const auto codes = codes_of(tokens, params);
  std::vector<float> out;
  for (std::uint32_t r = 0; r < params.repetitions; ++r) {
    for (unsigned b = 0; b < 1u << params.planes; ++b) {
      const auto block = slow_block(tokens, members(codes[r], b, params.fill), params.renormalize);
      out.insert(out.end(), block.begin(), block.end());
    }
  }
  return out;
}

TEST(Fde, IsWhatTheDefinitionSays) {
  std::mt19937 random(kFdeSeed);
  for (std::size_t n : {1u, 2u, 7u, 30u, 200u}) {
    const Tokens tokens = odd_tokens(n, 40, random);
    for (std::uint32_t planes : {0u, 2u, 6u}) {
      for (double renormalize : {0.0, 0.5, 1.0}) {
        for (bool fill : {false, true}) {
          FdeParams params = plain();
          params.planes = planes;
          params.renormalize = renormalize;
          params.fill = fill;
          EXPECT_LT(
              difference(document_vector(*made(40, params), tokens), slow_document(tokens, params)),
              2e-6)
              << n << " tokens, " << planes << " planes, " << renormalize << " seed " << kFdeSeed;
        }
      }
    }
  }
}

// The projection of a block is that of the whole block: it is linear.
TEST(Fde, ProjectedBlocksAreSketches) {
  std::mt19937 random(kFdeSeed);
  const Tokens tokens = odd_tokens(25, 40, random);
  for (std::uint32_t projected : {1u, 2u, 4u, 8u, 16u, 32u}) {
    FdeParams params = plain();
    params.renormalize = 0.75;
    const auto blocks = slow_document(tokens, params);
    params.projected_dim = projected;
    std::vector<float> wanted;
    for (std::uint32_t block = 0; block < 6 * 8; ++block) {
      const encoders::fde::BalancedSketch sketch(
          3, projected, {params.seed, encoders::fde::Purpose::kBlockSketch, block / 8});
      std::vector<float> in(48, 0.0f), out(projected, 0.0f);
      std::copy_n(blocks.begin() + block * 40, 40, in.begin());
      const std::uint32_t place = 0;
      const float factor = 1;
      sketch.add_rows(in.data(), {&place, &factor, 1, out.data()});
      wanted.insert(wanted.end(), out.begin(), out.end());
    }
    EXPECT_LT(difference(document_vector(*made(40, params), tokens), wanted), 2e-6) << projected;
  }
}

TEST(Fde, QueriesAreAdditive) {
  std::mt19937 random(kFdeSeed);
  for (const FdeParams& params : shapes()) {
    const auto encoder = made(40, params);
    const Tokens a = odd_tokens(9, 40, random), b = odd_tokens(1000, 40, random);
    auto sum = query_vector(*encoder, a);
    const auto other = query_vector(*encoder, b);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
    EXPECT_LT(difference(query_vector(*encoder, joined(a, b)), sum), 1e-5);
  }
}

TEST(Fde, ScalesWithTokens) {
  std::mt19937 random(kFdeSeed);
  const Tokens tokens = odd_tokens(30, 40, random);
  for (const FdeParams& params : shapes()) {
    const auto encoder = made(40, params);
    const auto document = document_vector(*encoder, tokens);
    const auto query = query_vector(*encoder, tokens);
    for (float factor : {0.25f, 1024.0f}) {
      auto wanted = document;
      for (float& value : wanted) value *= factor;
      EXPECT_EQ(document_vector(*encoder, scaled(tokens, factor)), wanted);
      wanted = query;
      for (float& value : wanted) value *= factor;
      EXPECT_EQ(query_vector(*encoder, scaled(tokens, factor)), wanted);
    }
  }
}

TEST(Fde, OrderOfTokensDoesNotMatter) {
  std::mt19937 random(kFdeSeed);
  const Tokens tokens = odd_tokens(30, 40, random);
  for (FdeParams params : shapes()) {
    const auto encoder = made(40, params);
    EXPECT_LT(difference(query_vector(*encoder, reversed(tokens)), query_vector(*encoder, tokens)),
              1e-5);
    params.fill = false;
    const auto unfilled = made(40, params);
    EXPECT_LT(difference(document_vector(*unfilled, reversed(tokens)),
                         document_vector(*unfilled, tokens)),
              1e-5);
  }
}

TEST(Fde, RepeatedTokensCountOnceInDocumentsAndTwiceInQueries) {
  std::mt19937 random(kFdeSeed);
  const Tokens tokens = odd_tokens(30, 40, random);
  for (const FdeParams& params : shapes()) {
    const auto encoder = made(40, params);
    const Tokens twice = joined(tokens, tokens);
    EXPECT_LT(difference(document_vector(*encoder, twice), document_vector(*encoder, tokens)),
              1e-5);
    EXPECT_LT(
        difference(query_vector(*encoder, twice), query_vector(*encoder, scaled(tokens, 2.0f))),
        1e-5);
  }
}

TEST(Fde, BlocksOfARepetitionSumUpToTheTokens) {
  std::mt19937 random(kFdeSeed);
  const Tokens tokens = unit_tokens(50, 24, random);
  FdeParams params = plain();
  params.fill = false;
  const auto encoder = made(24, params);
  const auto codes = codes_of(tokens, params);
  const auto query = query_vector(*encoder, tokens);
  const auto document = document_vector(*encoder, tokens);
  for (std::uint32_t r = 0; r < params.repetitions; ++r) {
    for (std::uint32_t d = 0; d < 24; ++d) {
      double of_query = 0, of_document = 0, wanted = 0;
      for (std::size_t i = 0; i < tokens.n(); ++i) wanted += tokens[i][d];
      for (std::uint32_t b = 0; b < 8; ++b) {
        of_query += query[(r * 8 + b) * 24 + d];
        of_document += static_cast<double>(std::count(codes[r].begin(), codes[r].end(), b)) *
                       document[(r * 8 + b) * 24 + d];
      }
      EXPECT_NEAR(of_query, wanted, 1e-5);
      EXPECT_NEAR(of_document, wanted, 1e-5);
    }
  }
}

TEST(Fde, OneTokenIsExact) {
  std::mt19937 random(kFdeSeed);
  const Tokens document = unit_tokens(1, 24, random);
  const Tokens query = unit_tokens(12, 24, random);
  for (std::uint32_t planes : {0u, 3u, 8u}) {
    for (double renormalize : {0.0, 1.0}) {
      FdeParams params = plain();
      params.planes = planes;
      params.renormalize = renormalize;
      const auto encoder = made(24, params);
      const auto vector = document_vector(*encoder, document);
      EXPECT_NEAR(dot(query_vector(*encoder, query), vector), 6 * max_sim(query, document), 1e-5);
      EXPECT_NEAR(dot(query_vector(*encoder, document), vector), 6, 1e-5);

      params.fill = false;  // only its own buckets count
      const auto codes = codes_of(document, params);
      const auto of_query = codes_of(query, params);
      double wanted = 0;
      for (std::uint32_t r = 0; r < 6; ++r) {
        for (std::size_t q = 0; q < query.n(); ++q) {
          if (of_query[r][q] == codes[r][0]) wanted += product(query[q], document[0], 24);
        }
      }
      const auto unfilled = made(24, params);
      EXPECT_NEAR(dot(query_vector(*unfilled, query), document_vector(*unfilled, document)), wanted,
                  1e-5);
    }
  }
}

TEST(Fde, WithoutPlanesAVectorIsTheMean) {
  std::mt19937 random(kFdeSeed);
  const Tokens document = unit_tokens(9, 24, random), query = unit_tokens(4, 24, random);
  FdeParams params = plain();
  params.planes = 0;
  const auto encoder = made(24, params);
  double wanted = 0;
  for (std::size_t q = 0; q < 4; ++q) {
    for (std::size_t p = 0; p < 9; ++p) wanted += 6 * product(query[q], document[p], 24) / 9;
  }
  EXPECT_NEAR(dot(query_vector(*encoder, query), document_vector(*encoder, document)), wanted,
              1e-5);
}

TEST(Fde, ScoresOfMeansAreAtMostMaxSim) {
  std::mt19937 random(kFdeSeed);
  for (int round = 0; round < 300; ++round) {
    FdeParams params = plain();
    params.planes = static_cast<std::uint32_t>(round % 9);
    params.seed = static_cast<std::uint64_t>(round);
    const auto encoder = made(16, params);
    const Tokens query = unit_tokens(1 + random() % 20, 16, random);
    const Tokens document = unit_tokens(1 + random() % 60, 16, random);
    const double score = dot(query_vector(*encoder, query), document_vector(*encoder, document));
    EXPECT_LE(score, 6 * max_sim(query, document) + 1e-4) << "round " << round;
  }
}

TEST(Fde, BlocksThatNoTokenTouchesAreZero) {
  std::mt19937 random(kFdeSeed);
  FdeParams params{.repetitions = 5, .planes = 6};
  const Tokens query = unit_tokens(7, 32, random);
  const auto vector = query_vector(*made(32, params), query);
  const auto codes = codes_of(query, params);
  for (std::uint32_t r = 0; r < 5; ++r) {
    for (std::uint32_t b = 0; b < 64; ++b) {
      const auto first = vector.begin() + (r * 64 + b) * 16;
      if (std::count(codes[r].begin(), codes[r].end(), b) != 0) continue;
      EXPECT_THAT(std::vector<float>(first, first + 16), Each(0.0f));
    }
  }
}

TEST(Fde, SetsOfAnySize) {
  std::mt19937 random(kFdeSeed);
  for (const FdeParams& params : shapes()) {
    const auto encoder = made(40, params);
    const Tokens zeros{40, std::vector<float>(80, 0.0f)};
    EXPECT_THAT(document_vector(*encoder, zeros), Each(0.0f));
    EXPECT_THAT(document_vector(*encoder, Tokens{40, {}}), Each(0.0f));
    EXPECT_THAT(query_vector(*encoder, Tokens{40, {}}), Each(0.0f));
  }
  const Tokens many = unit_tokens(70000, 5, random);
  FdeParams params = plain();
  params.repetitions = 2;
  EXPECT_LT(difference(document_vector(*made(5, params), many), slow_document(many, params)), 1e-4);
}

TEST(Fde, EncodesAlikeInAnyCompanyAndOnAnyThread) {
  std::mt19937 random(kFdeSeed);
  std::vector<Tokens> documents;
  std::vector<encoders::TokenSet> sets;
  for (std::size_t n : {3u, 100u, 1u, 40u}) documents.push_back(odd_tokens(n, 40, random));
  for (const Tokens& document : documents) sets.push_back(document.set());
  for (const FdeParams& params : shapes()) {
    const auto encoder = made(40, params);
    std::vector<float> together(4 * encoder->dim()), apart;
    std::thread([&] { encoder->encode_documents(sets, together.data()); }).join();
    for (const Tokens& document : documents) {
      const auto vector = document_vector(*made(40, params), document);
      apart.insert(apart.end(), vector.begin(), vector.end());
    }
    EXPECT_EQ(together, apart);
  }
}

TEST(Fde, DimensionsOfVectors) {
  EXPECT_EQ(made(128, {})->dim(), 10240u);
  EXPECT_EQ(made(128, {.planes = 3, .projected_dim = 8})->dim(), 1280u);
  EXPECT_EQ(made(128, {.projected_dim = 0})->dim(), 81920u);
  EXPECT_EQ(made(128, {.final_dim = 2560})->dim(), 2560u);
  EXPECT_EQ(made(128, {})->token_dim(), 128u);
}

TEST(Fde, RefusesWhatDoesNotFit) {
  const auto refused = [](std::uint32_t dim, const FdeParams& params) {
    const auto encoder = FdeEncoder::make(dim, params);
    return encoder ? std::string("accepted") : encoder.error().message();
  };
  EXPECT_THAT(refused(0, {}), HasSubstr("0 dimensions"));
  EXPECT_THAT(refused(8, {}), HasSubstr("projected_dim 16"));
  EXPECT_THAT(refused(128, {.projected_dim = 12}), HasSubstr("projected_dim 12"));
  EXPECT_THAT(refused(128, {.repetitions = 0}), HasSubstr("repetitions"));
  EXPECT_THAT(refused(128, {.planes = 11}), HasSubstr("planes"));
  EXPECT_THAT(refused(128, {.renormalize = 1.5}), HasSubstr("renormalize"));
  EXPECT_THAT(refused(128, {.final_dim = 100}), HasSubstr("final_dim 100"));
  EXPECT_THAT(refused(128, {.final_dim = 10240}), HasSubstr("final_dim 10240"));
  EXPECT_THAT(refused(65536, {.planes = 10, .projected_dim = 0}), HasSubstr("at most 16777216"));
}

TEST(Fde, ParametersForDocumentsOfALength) {
  const auto planes = [](double n) { return encoders::fde_params_for(128, n).planes; };
  EXPECT_EQ(planes(0), 3u);
  EXPECT_EQ(planes(18), 4u);
  EXPECT_EQ(planes(63), 5u);
  EXPECT_EQ(planes(104), 6u);
  EXPECT_EQ(planes(1e9), 6u);
  for (std::uint32_t dim = 1; dim < 300; ++dim) {
    EXPECT_TRUE(FdeEncoder::make(dim, encoders::fde_params_for(dim, 80)).has_value()) << dim;
  }
}

}  // namespace
}  // namespace quiver::testing
