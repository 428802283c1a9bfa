#include <algorithm>
#include <limits>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr unsigned kSeed = 20240503;

using MaxSimTest = KernelTest;
QV_EVERY_LEVEL(MaxSimTest);

float score(const KernelTable& k, Similarity similarity, DType dtype, const float* tokens,
            std::size_t n_query, std::uint32_t dim, const StoredRows& doc, std::size_t first,
            std::size_t n_doc) {
  const std::size_t n = MaxSimKernels::prepared_floats(n_query, dim);
  const std::unique_ptr<float[]> prepared(new float[n]);
  k.maxsim_family.prepare(tokens, n_query, dim, dim, prepared.get());
  return k.maxsim(similarity, dtype)(prepared.get(), n_query, dim, doc.row(first), doc.stride(),
                                     n_doc);
}

Exact exact_score(Similarity similarity, const float* tokens, std::size_t n_query,
                  std::uint32_t dim, const StoredRows& doc, std::size_t n_doc) {
  Exact total;
  for (std::size_t q = 0; q < n_query; ++q) {
    double best = -HUGE_VAL;
    double magnitude = 0;
    for (std::size_t i = 0; i < n_doc; ++i) {
      const Exact pair = exact(similarity, tokens + q * dim, doc, i, dim);
      best = std::max(best, pair.similarity);
      magnitude = std::max(magnitude, pair.magnitude);
    }
    total.similarity += best;
    total.magnitude += magnitude;
  }
  return total;
}

struct Size {
  std::size_t n_query;
  std::size_t n_doc;
  std::uint32_t dim;
};

std::vector<Size> ragged_sizes() {
  std::vector<Size> sizes = {{0, 3, 8},    {1, 1, 1},    {1, 1, 0},   {16, 8, 128},
                             {32, 9, 129}, {33, 17, 64}, {48, 5, 300}};
  std::mt19937 random(kSeed);
  for (int i = 0; i < 25; ++i)
    sizes.push_back({random() % 70, 1 + random() % 25, static_cast<std::uint32_t>(random() % 290)});
  return sizes;
}

TEST_P(MaxSimTest, RaggedSizesMeetTheBound) {
  std::mt19937 random(kSeed);
  for (const Size& size : ragged_sizes()) {
    const auto tokens = random_floats(size.n_query * size.dim, random);
    for (DType dtype : kAllDTypes) {
      const StoredRows doc(size.n_doc, size.dim, dtype, size.dim % 3, size.dim % 5, random);
      for (Similarity similarity : kAllSimilarities) {
        const Exact want =
            exact_score(similarity, tokens.get(), size.n_query, size.dim, doc, size.n_doc);
        const float got =
            score(k(), similarity, dtype, tokens.get(), size.n_query, size.dim, doc, 0, size.n_doc);
        ASSERT_NEAR(got, want.similarity, bound(size.dim + 1, want.magnitude))
            << size.n_query << " x " << size.n_doc << " x " << size.dim << ", seed " << kSeed;
      }
    }
  }
}

// The score has the bits of the sum, in token order, of the maxima of single pairs: tiles do not
// matter.
TEST_P(MaxSimTest, TilesDoNotShowInTheBits) {
  std::mt19937 random(kSeed);
  for (const Size& size :
       {Size{35, 19, 70}, Size{17, 8, 128}, Size{50, 3, 131}, Size{1, 30, 257}, Size{8, 5, 33},
        Size{9, 6, 40}, Size{24, 13, 16}, Size{25, 12, 17}, Size{104, 20, 64}}) {
    const auto tokens = random_floats(size.n_query * size.dim, random);
    for (DType dtype : kAllDTypes) {
      const StoredRows doc(size.n_doc, size.dim, dtype, 1, 3, random);
      for (Similarity similarity : kAllSimilarities) {
        double sum = 0;
        for (std::size_t q = 0; q < size.n_query; ++q) {
          float best = -HUGE_VALF;
          for (std::size_t i = 0; i < size.n_doc; ++i) {
            best = std::max(best, score(k(), similarity, dtype, tokens.get() + q * size.dim, 1,
                                        size.dim, doc, i, 1));
          }
          sum += best;
        }
        const float whole =
            score(k(), similarity, dtype, tokens.get(), size.n_query, size.dim, doc, 0, size.n_doc);
        ASSERT_TRUE(same_bits(whole, static_cast<float>(sum)))
            << "dtype " << int(dtype) << ", seed " << kSeed;
      }
    }
  }
}

TEST_P(MaxSimTest, PreparedBlocksAreTransposedAndPadded) {
  constexpr std::size_t kQuery = 18, kStride = 7;
  constexpr std::uint32_t kDim = 5;
  std::vector<float> tokens(kQuery * kStride);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<float>(i + 1);
  std::vector<float> prepared(MaxSimKernels::prepared_floats(kQuery, kDim), -1.0f);
  ASSERT_EQ(prepared.size(), 32 * kDim);
  k().maxsim_family.prepare(tokens.data(), kQuery, kDim, kStride, prepared.data());
  for (std::size_t token = 0; token < 32; ++token) {
    for (std::size_t d = 0; d < kDim; ++d) {
      const float want = token < kQuery ? tokens[token * kStride + d] : 0.0f;
      ASSERT_EQ(prepared[token / 16 * 16 * kDim + d * 16 + token % 16], want) << token << " " << d;
    }
  }
}

/// `[n_query, dim]` and `[n_doc, dim]` codes with gaps between the rows, in blocks without a spare
/// byte; document codes are stored + 128.
struct CodeCase {
  CodeCase(const Size& wanted, std::mt19937& random)
      : size(wanted),
        query_stride(size.dim + size.dim % 3),
        doc_stride(size.dim + size.dim % 4),
        query_bytes(block_bytes(size.n_query, query_stride)),
        doc_bytes(block_bytes(size.n_doc, doc_stride)),
        query(new std::int8_t[query_bytes]),
        doc(new std::byte[doc_bytes]) {
    for (std::size_t i = 0; i < query_bytes; ++i) query[i] = static_cast<std::int8_t>(random());
    for (std::size_t i = 0; i < doc_bytes; ++i) doc[i] = static_cast<std::byte>(random());
  }
  [[nodiscard]] std::size_t block_bytes(std::size_t n, std::size_t stride) const {
    return n == 0 ? 0 : (n - 1) * stride + size.dim;
  }
  [[nodiscard]] std::int64_t expected() const {
    std::int64_t total = 0;
    for (std::size_t q = 0; q < size.n_query; ++q) {
      std::int64_t best = INT64_MIN;
      for (std::size_t i = 0; i < size.n_doc; ++i) best = std::max(best, dot(q, i));
      total += best;
    }
    return total;
  }
  [[nodiscard]] std::int64_t dot(std::size_t q, std::size_t i) const {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < size.dim; ++d) {
      const int code = std::to_integer<int>(doc[i * doc_stride + d]) - 128;
      sum += query[q * query_stride + d] * code;
    }
    return sum;
  }
  [[nodiscard]] std::vector<std::int8_t> prepared(const MaxSimKernels& k) const {
    std::vector<std::int8_t> bytes(MaxSimKernels::prepared_codes(size.n_query, size.dim));
    k.prepare_codes(query.get(), size.n_query, size.dim, query_stride, bytes.data());
    return bytes;
  }
  [[nodiscard]] std::int64_t score(const MaxSimKernels& k) const {
    return k.score_codes(prepared(k).data(), size.n_query, size.dim, doc.get(), doc_stride,
                         size.n_doc);
  }

  Size size;
  std::size_t query_stride, doc_stride, query_bytes, doc_bytes;
  std::unique_ptr<std::int8_t[]> query;
  std::unique_ptr<std::byte[]> doc;
};

TEST_P(MaxSimTest, CodesAreExactAtEveryLength) {
  std::mt19937 random(kSeed);
  std::vector<Size> sizes = ragged_sizes();
  for (std::uint32_t dim = 0; dim <= 300; ++dim) sizes.push_back({1 + dim % 40, 1 + dim % 11, dim});
  for (const Size& size : sizes) {
    const CodeCase codes(size, random);
    ASSERT_EQ(codes.score(k().maxsim_family), codes.expected())
        << size.n_query << " x " << size.n_doc << " x " << size.dim << ", seed " << kSeed;
  }
}

// The greatest possible sums, of either sign.
TEST_P(MaxSimTest, ExtremeCodesAreExact) {
  std::mt19937 random(kSeed);
  for (const std::uint32_t dim : {1u, 4u, 130u, 65'536u}) {
    for (const int query : {-128, 127}) {
      for (const int doc : {0, 255}) {
        CodeCase codes({3, 2, dim}, random);
        std::fill_n(codes.query.get(), codes.query_bytes, static_cast<std::int8_t>(query));
        std::fill_n(codes.doc.get(), codes.doc_bytes, static_cast<std::byte>(doc));
        ASSERT_EQ(codes.score(k().maxsim_family), 3ll * query * (doc - 128) * dim);
      }
    }
  }
}

TEST_P(MaxSimTest, BestCodesAreThoseOfTheFirstBestToken) {
  std::mt19937 random(kSeed);
  std::vector<Size> sizes = ragged_sizes();
  for (std::uint32_t dim = 0; dim <= 40; ++dim) sizes.push_back({1 + dim, 41 - dim, dim});
  for (const Size& size : sizes) {
    const CodeCase codes(size, random);
    const auto prepared = codes.prepared(k().maxsim_family);
    std::vector<std::int32_t> best(size.n_query), best_alone(size.n_query);
    std::vector<std::uint32_t> which(size.n_query);
    const auto find = [&](std::vector<std::int32_t>& to, std::uint32_t* which_to) {
      k().maxsim_family.best_codes(prepared.data(), size.n_query, size.dim, codes.doc.get(),
                                   codes.doc_stride, size.n_doc, to.data(), which_to);
    };
    find(best, which.data());
    find(best_alone, nullptr);
    ASSERT_EQ(best, best_alone);
    for (std::size_t q = 0; q < size.n_query; ++q) {
      std::uint32_t want = 0;
      for (std::uint32_t i = 1; i < size.n_doc; ++i) {
        if (codes.dot(q, i) > codes.dot(q, want)) want = i;
      }
      ASSERT_EQ(which[q], want) << size.n_query << " x " << size.n_doc << " x " << size.dim;
      ASSERT_EQ(best[q], codes.dot(q, want));
    }
  }
}

TEST_P(MaxSimTest, ProductsOfMatricesAreAdded) {
  std::mt19937 random(kSeed);
  std::vector<Size> sizes = ragged_sizes();
  sizes.push_back({100, 50, 500});
  for (const Size& size : sizes) {
    const std::size_t stride = size.dim + 3, out_stride = size.n_query + size.n_query % 3;
    const auto tokens = random_floats(size.n_query * size.dim, random);
    const auto rows = random_floats(size.n_doc * stride, random);
    std::vector<float> prepared(MaxSimKernels::prepared_floats(size.n_query, size.dim));
    k().maxsim_family.prepare(tokens.get(), size.n_query, size.dim, size.dim, prepared.data());
    std::vector<float> out(size.n_doc * out_stride, 1.0f);
    k().maxsim_family.add_products(prepared.data(), size.n_query, size.dim, rows.get(), stride,
                                   size.n_doc, out.data(), out_stride);
    for (std::size_t i = 0; i < size.n_doc; ++i) {
      for (std::size_t q = 0; q < size.n_query; ++q) {
        double want = 1, magnitude = 1;
        for (std::size_t d = 0; d < size.dim; ++d) {
          const double term = double{tokens[q * size.dim + d]} * rows[i * stride + d];
          want += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(out[i * out_stride + q], want, bound(size.dim + 1, magnitude))
            << size.n_query << " x " << size.n_doc << " x " << size.dim << ", seed " << kSeed;
      }
      for (std::size_t q = size.n_query; q < out_stride; ++q) {
        ASSERT_EQ(out[i * out_stride + q], 1.0f);
      }
    }
  }
}

TEST_P(MaxSimTest, PreparedCodesAreThoseOfGeneric) {
  std::mt19937 random(kSeed);
  for (const Size& size : {Size{18, 1, 5}, Size{16, 1, 8}, Size{1, 1, 0}, Size{0, 1, 3}}) {
    const CodeCase codes(size, random);
    const auto got = codes.prepared(k().maxsim_family);
    const auto want = codes.prepared(available().back()->maxsim_family);
    ASSERT_EQ(got, want);
  }
}

// Token 1 overflows to inf - inf; the other one counts.
TEST_P(MaxSimTest, NaNNeverWins) {
  std::mt19937 random(kSeed);
  StoredRows doc(3, 2, DType::kF32, 0, 0, random);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::uint32_t d = 0; d < 2; ++d)
      doc.set_f32(i, d, i != 1 ? -1.0f : d == 0 ? 3e38f : -3e38f);
  }
  const float query[] = {2e38f, 2e38f};
  const float got = score(k(), Similarity::kDot, DType::kF32, query, 1, 2, doc, 0, 3);
  EXPECT_FALSE(std::isnan(got));
}

}  // namespace
}  // namespace quiver::testing
