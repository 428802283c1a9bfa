#include "engine/shard/state/manifest.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace quiver::engine {
namespace {

TEST(Manifest, RoundTrip) {
  for (const Manifest& manifest : {Manifest{}, Manifest{9, Seq{1234}, {1, 5, 8}, Seq{0}, {}},
                                   Manifest{9, Seq{1234}, {1, 8}, Seq{1300}, {5, 6}},
                                   Manifest{std::numeric_limits<std::uint64_t>::max(),
                                            Seq{1ULL << 63},
                                            {1ULL << 63},
                                            Seq{0},
                                            {}}}) {
    const auto decoded = decode_manifest(encode_manifest(manifest));
    ASSERT_TRUE(decoded) << decoded.error().to_string();
    EXPECT_EQ(*decoded, manifest);
  }
}

TEST(Manifest, DamageIsRefused) {
  const std::string good = encode_manifest({9, Seq{1234}, {1, 5, 8}, Seq{0}, {}});
  for (std::size_t n = 0; n < good.size(); ++n) {
    const auto decoded = decode_manifest(good.substr(0, n));
    ASSERT_FALSE(decoded) << good.substr(0, n);
    EXPECT_EQ(decoded.error().code(), Code::kDataLoss);
  }
  for (const char* bad : {"[]", "{}", R"({"version":2,"next_segment":1,"covered":0,"segments":[]})",
                          R"({"version":3,"next_segment":1,"covered":0,"segments":[]})",
                          R"({"version":1,"next_segment":-1,"covered":0,"segments":[]})",
                          R"({"version":1,"next_segment":1,"segments":[]})",
                          R"({"version":1,"next_segment":1,"covered":0,"segments":{}})",
                          R"({"version":1,"next_segment":1,"covered":0,"segments":["1"]})"}) {
    EXPECT_FALSE(decode_manifest(bad)) << bad;
  }
}

/// A program that knows version 1 alone must not open them: it would take them for whole.
TEST(Manifest, DamagedSegmentsAreVersion2) {
  const Manifest whole{9, Seq{12}, {1}, Seq{12}, {}};
  EXPECT_EQ(encode_manifest(whole),
            R"({"version":1,"next_segment":9,"covered":12,"last":12,"segments":[1]})");
  const Manifest damaged{9, Seq{12}, {1}, Seq{12}, {3}};
  EXPECT_EQ(
      encode_manifest(damaged),
      R"({"version":2,"next_segment":9,"covered":12,"last":12,"segments":[1],"damaged":[3]})");
}

TEST(DeletedRows, RoundTrip) {
  std::mt19937_64 random(71);
  for (const std::size_t size : {0, 1, 63, 64, 65, 1000}) {
    Bitset bits(size);
    for (std::size_t i = 0; i < size / 3; ++i) bits.set(random() % size);
    const std::string bytes = encode_bitset(bits);
    const auto decoded = decode_bitset(bytes, size);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, bits);
    EXPECT_FALSE(decode_bitset(bytes, size + 1));
    EXPECT_FALSE(decode_bitset(bytes + "x", size));
    EXPECT_FALSE(decode_bitset(bytes.substr(0, bytes.size() - 1), size));
  }
}

TEST(DeletedRows, KeysDiffer) {
  EXPECT_NE(deleted_key(1), deleted_key(11));
  EXPECT_NE(deleted_key(1), std::string(kManifestKey));
  EXPECT_EQ(segment_of_deleted_key(deleted_key(11)), 11U);
  for (const auto* key : {"deleted/", "deleted/x", "deleted/1x", "manifest", ""}) {
    EXPECT_EQ(segment_of_deleted_key(key), std::nullopt) << key;
  }
}

}  // namespace
}  // namespace quiver::engine
