#include "base/ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace quiver {
namespace {

TEST(PointId, ParsesEverySpellingOfAUuid) {
  const auto expected = PointId::uuid(0x5c56c79369f34fbfULL, 0x87e6c4bf54c28c26ULL);
  for (const char* text :
       {"5c56c793-69f3-4fbf-87e6-c4bf54c28c26", "5C56C793-69F3-4FBF-87E6-C4BF54C28C26",
        "5c56c79369f34fbf87e6c4bf54c28c26", "urn:uuid:5c56c793-69f3-4fbf-87e6-c4bf54c28c26",
        "{5c56c793-69f3-4fbf-87e6-c4bf54c28c26}"}) {
    EXPECT_EQ(PointId::parse_uuid(text), expected) << text;
  }
  EXPECT_EQ(expected.to_string(), "5c56c793-69f3-4fbf-87e6-c4bf54c28c26");
}

TEST(PointId, RefusesWhatIsNoUuid) {
  for (const char* text :
       {"", "42", "5c56c793-69f3-4fbf-87e6-c4bf54c28c2", "5c56c793-69f3-4fbf-87e6-c4bf54c28c2g",
        "5c56c793-69f3-4fbf-87e6c-4bf54c28c26", "{5c56c79369f34fbf87e6c4bf54c28c26}",
        "5c56c793_69f3-4fbf-87e6-c4bf54c28c26"}) {
    EXPECT_FALSE(PointId::parse_uuid(text)) << text;
  }
}

TEST(PointId, ParsesWhatItPrints) {
  for (const PointId id :
       {PointId::number(0), PointId::number(std::numeric_limits<std::uint64_t>::max()),
        PointId::uuid(0, 0), PointId::uuid(0x5c56c79369f34fbfULL, 0x87e6c4bf54c28c26ULL)}) {
    EXPECT_EQ(PointId::parse(id.to_string()), id) << id.to_string();
  }
}

TEST(PointId, ParsesDigitsAsANumberWhereTheyFit) {
  EXPECT_EQ(PointId::parse("00000000000000000000000000000042"), PointId::number(42));
  EXPECT_EQ(PointId::parse("10000000000000000000000000000042"),
            PointId::uuid(0x1000000000000000, 0x42));
  for (const char* text : {"", " 1", "1 ", "-1", "+1", "1.0", "0x1", "18446744073709551616",
                           "5c56c793-69f3-4fbf-87e6-c4bf54c28c2g"}) {
    EXPECT_FALSE(PointId::parse(text)) << text;
  }
}

TEST(PointId, PrintsNumbers) { EXPECT_EQ(PointId::number(42).to_string(), "42"); }

TEST(PointId, KeysOrderAsIds) {
  constexpr unsigned kSeed = 5;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937_64 random(kSeed);
  std::vector<PointId> ids = {PointId::number(0), PointId::uuid(0, 0),
                              PointId::number(std::numeric_limits<std::uint64_t>::max())};
  for (int i = 0; i < 200; ++i) {
    ids.push_back(PointId::number(random() >> (random() % 64)));
    ids.push_back(PointId::uuid(random() >> (random() % 64), random()));
  }
  std::ranges::sort(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(PointId::from_key(ids[i].to_key()), ids[i]);
    if (i > 0 && ids[i - 1] != ids[i]) {
      ASSERT_LT(ids[i - 1].to_key(), ids[i].to_key());
    }
  }
  EXPECT_FALSE(PointId::from_key("short"));
  EXPECT_FALSE(PointId::from_key(std::string(17, '\x02')));
}

TEST(PointId, HashIsStored) {
  // Hashes choose the shard, so these values must never change.
  EXPECT_EQ(PointId::number(0).hash(), 0x48218226ff3cd4bfULL);
  EXPECT_EQ(PointId::number(7).hash(), 0x915f11bbbfb2963dULL);
  EXPECT_EQ(PointId::uuid(0x5c56c79369f34fbfULL, 0x87e6c4bf54c28c26ULL).hash(),
            0x32231c0df927247aULL);
  EXPECT_NE(PointId::number(1).hash(), PointId::uuid(0, 1).hash());
}

}  // namespace
}  // namespace quiver
