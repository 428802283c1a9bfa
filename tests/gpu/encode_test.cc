#include "gpu/encode.h"

#include <gtest/gtest.h>

#include <limits>

#include "gpu/tiles/margin.h"
#include "tests/gpu/support.h"

namespace quiver::gpu::testing {
namespace {

int product(const std::int8_t* a, const std::int8_t* b, std::uint32_t n) {
  int sum = 0;
  for (std::uint32_t i = 0; i < n; ++i) sum += int{a[i]} * int{b[i]};
  return sum;
}

/// The score in the order and the units of `tiles::center`.
double in_units(double score, const std::vector<float>& query, Similarity similarity,
                double scale) {
  if (similarity == Similarity::kDot) return score / scale;
  double square = 0;
  for (const float value : query) square += double{value} * value;
  return (score + square) / (2 * scale);
}

TEST(Encode, TheIntervalHoldsTheScoreOfTheCpu) {
  Random random(7);
  double widest = 0;
  for (const auto similarity : {Similarity::kDot, Similarity::kNegL2Squared}) {
    for (const auto dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kU8}) {
      for (const auto kind :
           {Kind::kNormal, Kind::kOneLarge, Kind::kSpreadLengths, Kind::kFewValues, Kind::kTiny}) {
        for (const std::uint32_t dim : {1U, 3U, 31U, 64U, 65U, 384U, 1536U}) {
          const auto rows = random_rows(20, dim, dtype, kind, similarity, random);
          EncodedRows encoded;
          ASSERT_TRUE(encode_rows(rows.view, 0, 20, encoded));
          const auto query = random_vector(dim, Kind::kNormal, random);
          std::vector<std::int8_t> codes(code_stride(dim));
          qv_query facts = {};
          ASSERT_TRUE(encode_query(query, similarity, codes.data(), facts));
          float largest = 0;
          for (const float value : query) largest = std::max(largest, std::fabs(value));
          const auto scores = all_scores(rows, query);
          for (std::uint32_t i = 0; i < 20; ++i) {
            const int sum = product(codes.data(), encoded.codes.data() + i * code_stride(dim),
                                    code_stride(dim));
            const double center = tiles::center(encoded.rows[i], facts, sum);
            const double margin = tiles::margin(encoded.rows[i], facts, kernel_rounding(dim));
            const double score = in_units(scores[i], query, similarity, largest / 127);
            EXPECT_LE(std::fabs(score - center), margin)
                << "dim " << dim << " kind " << static_cast<int>(kind);
            widest = std::max(widest, std::fabs(score - center) / margin);
          }
        }
      }
    }
  }
  // The bound is of some use: random errors reach a fair part of it in few dimensions.
  EXPECT_GT(widest, 0.3);
}

TEST(Encode, RefusesWhatHasNoBound) {
  std::vector<std::int8_t> codes(64);
  qv_query facts = {};
  const auto encodes = [&](std::vector<float> query) {
    return encode_query(query, Similarity::kDot, codes.data(), facts);
  };
  EXPECT_TRUE(encodes({1, 2}));
  EXPECT_FALSE(encodes({0, 0}));
  EXPECT_FALSE(encodes({1e-30F, 0}));
  EXPECT_FALSE(encodes({1e19F, 0}));
  EXPECT_FALSE(encodes({std::numeric_limits<float>::infinity(), 0}));
  EXPECT_FALSE(encodes({std::numeric_limits<float>::quiet_NaN(), 0}));

  for (const float bad :
       {1e19F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const float row[] = {1, bad};
    EncodedRows out;
    EXPECT_FALSE(
        encode_rows({reinterpret_cast<const std::byte*>(row), 1, 2, DType::kF32, 8}, 0, 1, out));
  }
}

/// MaxSim of halves, `[n, stride]` each.
double score_of(const std::uint16_t* query, std::size_t n_query, const std::uint16_t* document,
                std::size_t n_document, std::size_t stride) {
  std::vector<float> a(n_query * stride);
  std::vector<float> b(n_document * stride);
  kernels().convert.f16_to_f32(query, a.size(), a.data());
  kernels().convert.f16_to_f32(document, b.size(), b.data());
  double score = 0;
  for (std::size_t q = 0; q < n_query; ++q) {
    double best = -INFINITY;
    for (std::size_t d = 0; d < n_document; ++d) {
      double sum = 0;
      for (std::size_t i = 0; i < stride; ++i) sum += double{a[q * stride + i]} * b[d * stride + i];
      best = std::max(best, sum);
    }
    score += best;
  }
  return score;
}

TEST(Encode, TheIntervalHoldsTheScoreOfADocument) {
  Random random(9);
  double widest = 0;
  for (const auto dtype : {DType::kF32, DType::kF16, DType::kBf16, DType::kU8}) {
    for (const auto kind :
         {Kind::kNormal, Kind::kOneLarge, Kind::kFewValues, Kind::kAllEqual, Kind::kTiny}) {
      for (const std::uint32_t dim : {1U, 3U, 31U, 32U, 33U, 128U, 768U}) {
        const auto documents = random_documents(20, 9, dim, dtype, kind, random);
        EncodedDocuments encoded;
        ASSERT_TRUE(encode_documents(documents, 0, 20, encoded));
        const std::uint32_t n_query = 1 + random() % 12;
        const auto query = random_tokens(n_query, dim, random);
        const std::size_t stride = token_stride(dim) / 2;
        std::vector<std::uint16_t> halves(padded_tokens(n_query) * stride);
        qv_token_query facts = {};
        ASSERT_TRUE(encode_tokens(query, dim, halves.data(), facts));
        EXPECT_EQ(facts.n_groups, padded_tokens(n_query) / QV_TOKEN_GROUP);
        const auto scores = all_scores(documents, query);
        for (std::uint32_t i = 0; i < 20; ++i) {
          const qv_document& document = encoded.documents[i];
          if (document.n_groups == 0) continue;
          // The tokens that are repeated are part of it, and change nothing.
          const double center =
              score_of(halves.data(), n_query,
                       encoded.tokens.data() + document.first_group * QV_TOKEN_GROUP * stride,
                       document.n_groups * QV_TOKEN_GROUP, stride);
          const double margin =
              tiles::document_margin(document, facts, token_rounding(dim, n_query));
          EXPECT_LE(std::fabs(scores[i] - center), margin) << "dim " << dim;
          widest = std::max(widest, std::fabs(scores[i] - center) / margin);
        }
      }
    }
  }
  EXPECT_GT(widest, 0.1);
}

TEST(Encode, RefusesTokensThatAreNoHalves) {
  std::vector<std::uint16_t> halves(8 * 32);
  qv_token_query facts = {};
  const auto encodes = [&](std::vector<float> tokens) {
    return encode_tokens(tokens, 2, halves.data(), facts);
  };
  EXPECT_TRUE(encodes({1, 2, 3, 4}));
  EXPECT_FALSE(encodes({}));
  EXPECT_FALSE(encodes({0, 0}));
  EXPECT_FALSE(encodes({1e-20F, 0}));
  EXPECT_FALSE(encodes({1, 1e5F}));
  EXPECT_FALSE(encodes({1, std::numeric_limits<float>::quiet_NaN()}));
  for (const float bad :
       {1e5F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const float token[] = {1, bad};
    Documents documents;
    documents.tokens = {reinterpret_cast<const std::byte*>(token), 1, 2, DType::kF32, 8};
    documents.offsets = SharedSpan<std::uint64_t>::of(std::vector<std::uint64_t>{0, 1});
    EncodedDocuments out;
    EXPECT_FALSE(encode_documents(documents, 0, 1, out));
  }
}

TEST(Encode, RefusesDocumentsOfVeryManyTokens) {
  Random random(10);
  for (const std::uint32_t n : {8192U, 8193U}) {
    const auto tokens = random_rows(n, 2, DType::kF32, Kind::kNormal, Similarity::kDot, random);
    const Documents documents = {tokens.bytes, tokens.view,
                                 SharedSpan<std::uint64_t>::of(std::vector<std::uint64_t>{0, n})};
    EncodedDocuments out;
    EXPECT_EQ(encode_documents(documents, 0, 1, out), n == 8192);
  }
}

TEST(Encode, PadsWithZeros) {
  Random random(8);
  const auto rows = random_rows(3, 5, DType::kF32, Kind::kNormal, Similarity::kDot, random);
  EncodedRows encoded;
  ASSERT_TRUE(encode_rows(rows.view, 1, 2, encoded));
  ASSERT_EQ(encoded.codes.size(), 128U);
  for (const std::size_t i : {5, 63, 69, 127}) EXPECT_EQ(encoded.codes[i], 0) << i;
}

}  // namespace
}  // namespace quiver::gpu::testing
