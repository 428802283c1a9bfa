#include "engine/write/entry.h"

#include <gtest/gtest.h>

#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

std::vector<Staging::Change> random_changes(std::size_t n, Random& random) {
  std::vector<Staging::Change> changes;
  const auto fields = mixed_fields();
  std::uint64_t seq = random() % 1000;
  for (const Row& row : random_rows(n, fields, random)) {
    ++seq;
    if (random() % 4 == 0) {
      changes.push_back({row.id, Seq{seq}, nullptr});
    } else {
      auto numbered = std::make_shared<Row>(row);
      numbered->seq = Seq{seq};
      changes.push_back({row.id, Seq{seq}, std::move(numbered)});
    }
  }
  return changes;
}

TEST(Entry, RoundTrip) {
  Random random(1);
  for (std::size_t n = 0; n < 30; ++n) {
    const auto changes = random_changes(n, random);
    const auto read = decode_entry(encode_entry(changes), mixed_fields());
    ASSERT_TRUE(read) << read.error().message();
    ASSERT_EQ(read->size(), changes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) {
      EXPECT_EQ((*read)[i].id, changes[i].id);
      EXPECT_EQ((*read)[i].seq, changes[i].seq);
      ASSERT_EQ((*read)[i].row == nullptr, changes[i].row == nullptr);
      if (changes[i].row == nullptr) continue;
      EXPECT_EQ(*(*read)[i].row, *changes[i].row);
    }
  }
}

TEST(Entry, EveryCutIsRefused) {
  Random random(2);
  const std::string body = encode_entry(random_changes(4, random));
  for (std::size_t n = 0; n < body.size(); ++n) {
    EXPECT_FALSE(decode_entry(std::string_view(body).substr(0, n), mixed_fields())) << n;
  }
  EXPECT_FALSE(decode_entry(body + "x", mixed_fields()));
}

TEST(Entry, TheHashTellsBodiesApart) {
  Random random(3);
  const std::string body = encode_entry(random_changes(4, random));
  const std::string hash = entry_hash(body);
  EXPECT_EQ(hash.size(), kEntryHashBytes);
  for (std::size_t i = 0; i < body.size(); ++i) {
    std::string other = body;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_NE(entry_hash(other), hash);
  }
}

/// The format is on disks, and between nodes of different versions.
TEST(Entry, TheBytesStayAsTheyAre) {
  Row row{PointId::number(7), Seq{9}, "{}", {}};
  const std::string body = encode_entry({{PointId::number(7), Seq{9}, std::make_shared<Row>(row)},
                                         {PointId::uuid(1, 2), Seq{10}, nullptr}});
  EXPECT_EQ(body.size(), 8 + 4 + (1 + 17 + 8 + 8 + 17) + (1 + 17 + 8));
  EXPECT_EQ(body.substr(0, 12), std::string("QVENTRY1\x02\0\0\0", 12));
  EXPECT_EQ(body[12], 1);
  EXPECT_EQ(body.substr(13, 17), PointId::number(7).to_key());
  EXPECT_EQ(body.substr(38, 8), std::string("\x11\0\0\0\0\0\0\0", 8));
}

}  // namespace
}  // namespace quiver::engine::testing
