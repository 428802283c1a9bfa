#include "base/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace quiver {
namespace {

TEST(Hash, IsXxh3) {
  // From the XXH3_64bits test vectors: empty input, seed 0.
  EXPECT_EQ(hash_text(""), 0x2d06800538d394c2ULL);
  EXPECT_NE(hash_text("a"), hash_text("b"));
  EXPECT_NE(hash_text("a", 1), hash_text("a", 2));
}

TEST(Checksum, OfPiecesEqualsThatOfTheWhole) {
  constexpr unsigned kSeed = 3;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  std::vector<std::byte> bytes(10000);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  Checksum sum;
  const std::span<const std::byte> all(bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = std::min<std::size_t>(random() % 700, bytes.size() - at);
    sum.update(all.subspan(at, n));
    at += n;
    ASSERT_EQ(sum.digest(), checksum(all.first(at)));
  }
  Checksum moved = std::move(sum);
  EXPECT_EQ(moved.digest(), checksum(all));
}

TEST(Checksum, ChangesWithEveryBit) {
  std::vector<std::byte> bytes(200);
  const auto whole = checksum(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_NE(checksum(bytes), whole) << bit;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace quiver
