#include "engine/backup/tar.h"

#include <gtest/gtest.h>

#include <string>

namespace quiver::engine {
namespace {

TEST(Tar, HeadersReadBack) {
  const std::string long_path = std::string(90, 'a') + "/" + std::string(90, 'b') + "/c";
  const std::uint64_t sizes[] = {0, 1, 511, 512, 8589934591, 8589934592, std::uint64_t{1} << 50};
  for (const std::string& path :
       {std::string("a"), std::string("shard-0/rows/CURRENT"), long_path}) {
    for (const std::uint64_t size : sizes) {
      const auto block = tar_header({path, size});
      ASSERT_TRUE(block) << block.error().message();
      ASSERT_EQ(block->size(), kTarBlockBytes);
      const auto entry = parse_tar_header(*block);
      ASSERT_TRUE(entry) << entry.error().message();
      ASSERT_TRUE(*entry);
      EXPECT_EQ((*entry)->path, path);
      EXPECT_EQ((*entry)->size_bytes, size);
      EXPECT_EQ((size + tar_padding(size)) % kTarBlockBytes, 0U);
    }
  }
  EXPECT_FALSE(*parse_tar_header(std::string(kTarBlockBytes, '\0')));
}

TEST(Tar, NamesThatCouldLeaveTheFolderAreRefused) {
  for (const char* path :
       {"", "/a", "..", "../a", "a/../b", "a/..", "./a", "a/./b", "a//b", "a/", "a\nb", "a\x7f"}) {
    EXPECT_FALSE(check_archive_path(path)) << path;
    EXPECT_FALSE(tar_header({path, 1})) << path;
  }
  EXPECT_TRUE(check_archive_path("a..b/...c/d"));
  EXPECT_FALSE(tar_header({std::string(101, 'a'), 1})) << "no place to divide it";
  EXPECT_FALSE(tar_header({std::string(300, 'a') + "/b", 1}));
}

TEST(Tar, EveryFlippedBitOfAHeaderIsSeenOrHarmless) {
  const TarEntry entry{"shard-0/segments/1/rows.qvs", 12345};
  const std::string block = tar_header(entry).value();
  for (std::size_t i = 0; i < 8 * block.size(); ++i) {
    std::string flipped = block;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << i % 8));
    const auto parsed = parse_tar_header(flipped);
    if (!parsed) continue;
    ASSERT_TRUE(*parsed) << i;
    EXPECT_EQ((*parsed)->path, entry.path) << i;
    EXPECT_EQ((*parsed)->size_bytes, entry.size_bytes) << i;
  }
}

}  // namespace
}  // namespace quiver::engine
