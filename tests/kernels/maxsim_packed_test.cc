// Packed codes of 4 and 2 bits against a slow sum of products, bit for bit.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>

#include "tests/kernels/support.h"

namespace quiver::testing {
namespace {

constexpr std::uint64_t kSeed = 20260701;

class PackedMaxSimTest : public KernelTest {};
QV_EVERY_LEVEL(PackedMaxSimTest);

struct Size {
  std::size_t n_query;
  std::size_t n_doc;
  std::uint32_t dim;
};

/// Codes in blocks without a spare byte, with gaps between the rows.
struct PackedCase {
  PackedCase(const Size& wanted, std::uint32_t n_bits, std::mt19937& random)
      : size(wanted),
        bits(n_bits),
        row_bytes(std::size_t{size.dim} * bits / 8),
        stride(row_bytes + size.n_doc % 3),
        doc_bytes((size.n_doc - 1) * stride + row_bytes),
        query(new std::int8_t[size.n_query * size.dim]),
        doc(new std::byte[doc_bytes]) {
    for (std::size_t i = 0; i < size.n_query * size.dim; ++i) {
      query[i] = static_cast<std::int8_t>(random());
    }
    for (std::size_t i = 0; i < doc_bytes; ++i) doc[i] = static_cast<std::byte>(random());
  }

  /// Code of dimension `d` of document token `i`, by the layout in maxsim.h.
  [[nodiscard]] int value(std::size_t i, std::size_t d) const {
    const std::size_t group_bytes = 4 * bits;
    const std::size_t at = d / 32 * group_bytes + d % 32 % group_bytes;
    const std::size_t shift = d % 32 / group_bytes * bits;
    const int code = std::to_integer<int>(doc[i * stride + at]) >> shift;
    return (bits == 4 ? PackedLevels::k4Bits[code & 15] : PackedLevels::k2Bits[code & 3]) - 128;
  }
  [[nodiscard]] std::int64_t expected() const {
    std::int64_t total = 0;
    for (std::size_t q = 0; q < size.n_query; ++q) {
      std::int64_t best = INT64_MIN;
      for (std::size_t i = 0; i < size.n_doc; ++i) {
        std::int64_t sum = 0;
        for (std::size_t d = 0; d < size.dim; ++d) sum += query[q * size.dim + d] * value(i, d);
        best = std::max(best, sum);
      }
      total += best;
    }
    return total;
  }
  [[nodiscard]] std::int64_t score(const MaxSimKernels& k) const {
    const std::size_t n = MaxSimKernels::prepared_codes(size.n_query, size.dim);
    const std::unique_ptr<std::int8_t[]> prepared(new std::int8_t[n]);
    k.prepare_codes(query.get(), size.n_query, size.dim, size.dim, prepared.get());
    const auto scorer = bits == 4 ? k.score_codes_4bit : k.score_codes_2bit;
    return scorer(prepared.get(), size.n_query, size.dim, doc.get(), stride, size.n_doc);
  }

  Size size;
  std::uint32_t bits;
  std::size_t row_bytes, stride, doc_bytes;
  std::unique_ptr<std::int8_t[]> query;
  std::unique_ptr<std::byte[]> doc;
};

TEST_P(PackedMaxSimTest, IsExactAtEveryLength) {
  std::mt19937 random(kSeed);
  std::vector<Size> sizes = {{0, 3, 64}, {1, 1, 32}, {33, 17, 128}, {70, 30, 96}, {1, 9, 4096}};
  for (std::uint32_t dim = 0; dim <= 544; dim += 32) {
    sizes.push_back({1 + random() % 40, 1 + random() % 20, dim});
  }
  for (std::size_t n = 1; n <= 33; ++n) sizes.push_back({n, 34 - n, 64});
  for (const Size& size : sizes) {
    for (const std::uint32_t bits : {2u, 4u}) {
      const PackedCase codes(size, bits, random);
      ASSERT_EQ(codes.score(k().maxsim_family), codes.expected())
          << bits << " bits, " << size.n_query << " x " << size.n_doc << " x " << size.dim
          << ", seed " << kSeed;
    }
  }
}

// The greatest possible sums, of either sign.
TEST_P(PackedMaxSimTest, ExtremesAreExact) {
  std::mt19937 random(kSeed);
  for (const std::uint32_t bits : {2u, 4u}) {
    for (const int query : {-128, 127}) {
      for (const bool highest : {false, true}) {
        PackedCase codes({3, 2, 65'536}, bits, random);
        std::fill_n(codes.query.get(), 3 * 65'536, static_cast<std::int8_t>(query));
        std::fill_n(codes.doc.get(), codes.doc_bytes, static_cast<std::byte>(highest ? 255 : 0));
        ASSERT_EQ(codes.score(k().maxsim_family), 3ll * query * (highest ? 127 : -127) * 65'536);
      }
    }
  }
}

TEST(PackedLevels, AreSymmetricAndAscend) {
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(PackedLevels::k4Bits[i] + PackedLevels::k4Bits[15 - i], 256);
    EXPECT_LT(PackedLevels::k4Bits[std::max(i, 1) - 1], PackedLevels::k4Bits[std::max(i, 1)]);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(PackedLevels::k2Bits[i] + PackedLevels::k2Bits[3 - i], 256);
    EXPECT_LT(PackedLevels::k2Bits[std::max(i, 1) - 1], PackedLevels::k2Bits[std::max(i, 1)]);
  }
}

}  // namespace
}  // namespace quiver::testing
