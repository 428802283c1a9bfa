#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/checksum/crc32c.h"

namespace quiver {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(Crc32c, KnownValues) {
  for (const auto checksum : {crc32c, crc32c_by_table}) {
    EXPECT_EQ(checksum(0, {}), 0U);
    EXPECT_EQ(checksum(0, bytes_of("123456789")), 0xE3069283U);
    // RFC 3720, appendix B.4.
    EXPECT_EQ(checksum(0, std::vector(32, std::byte{0})), 0x8A9136AAU);
    EXPECT_EQ(checksum(0, std::vector(32, std::byte{0xFF})), 0x62A8AB43U);
  }
}

TEST(Crc32c, InPartsAndWithoutTheInstruction) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 70; ++size) {
    std::vector<std::byte> bytes(size);
    for (auto& byte : bytes) byte = static_cast<std::byte>(random());
    const std::uint32_t whole = crc32c_by_table(0, bytes);
    EXPECT_EQ(crc32c(0, bytes), whole) << size;
    const std::size_t cut = size == 0 ? 0 : random() % size;
    const std::span<const std::byte> view(bytes);
    EXPECT_EQ(crc32c(crc32c(0, view.first(cut)), view.subspan(cut)), whole) << size;
  }
}

}  // namespace
}  // namespace quiver
