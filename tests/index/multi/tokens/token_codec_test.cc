// Files of token codes: the same bytes for any number of threads, damage, other rows; and carving.
#include "base/threads/executor.h"
#include "index/multi/tokens/ball_carving.h"
#include "index/multi/tokens/sections.h"
#include "tests/index/multi/multi_support.h"

namespace quiver::index::testing {
namespace {

using multi::BallCarving;
using multi::TokenCodes;

TEST(TokenFile, TheSameBytesForAnyNumberOfThreads) {
  Random random(kMultiSeed);
  Words words(32, random);
  std::vector<std::size_t> sizes = some_sizes(300, 40, random);
  sizes[100] = 5000;
  sizes[200] = 0;
  const FieldColumn column = words.column(multi_schema(32), sizes);
  for (const std::uint32_t bits : {8U, 4U, 2U}) {
    const auto alone = CodesFile(column, bits).bytes();
    for (const unsigned n_threads : {1U, 2U, 5U}) {
      Executor executor(n_threads, "test");
      EXPECT_TRUE(alone == CodesFile(column, bits, &executor).bytes()) << n_threads << " threads";
    }
    EXPECT_FALSE(alone == CodesFile(column, bits, nullptr, kMultiSeed + 1).bytes());
  }
}

TEST(TokenFile, OpenedAgainScoresTheSame) {
  Random random(kMultiSeed);
  Words words(100, random);
  const CodesFile file(words.column(multi_schema(100), some_sizes(50, 20, random)), 4);
  const PlainVector query = words.tokens(12);
  const auto first = scores_of(file.open(), query);
  const auto second = scores_of(file.open(), query);
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

TEST(TokenFile, EveryDocumentStartsALine) {
  Random random(kMultiSeed);
  Words words(20, random);
  const CodesFile file(words.column(multi_schema(20), {1, 7, 0, 3}), 2);
  const auto reader = file.read();
  ASSERT_TRUE(reader);
  const auto places = reader->get<multi::TokenPlace>(multi::kTokenPlaces);
  ASSERT_TRUE(places);
  const std::uint64_t offsets[] = {0, 64, 192, 192};  // 16 bytes a token
  for (std::size_t row = 0; row < 4; ++row) EXPECT_EQ((*places)[row].offset, offsets[row]);
  EXPECT_EQ(reader->get<std::byte>(multi::kTokenCodes)->size(), 256U);
}

TEST(TokenFile, ADamagedByteIsFound) {
  Random random(kMultiSeed);
  Words words(12, random);
  const CodesFile file(words.column(multi_schema(12), {2, 3}), 4);
  const auto good = file.bytes();
  for (std::size_t at = 0; at < good.size(); at += 7) {
    auto bad = good;
    bad[at] ^= std::byte{16};
    ASSERT_TRUE(file.directory->remove_file("tokens"));
    ASSERT_TRUE(file.directory->write_file("tokens", bad));
    const auto reader = file.read();
    const auto error = reader ? TokenCodes::open(*reader, file.column).error() : reader.error();
    EXPECT_EQ(error.code(), Code::kDataLoss) << "byte " << at;
  }
}

TEST(TokenFile, OfOtherRowsIsRefused) {
  Random random(kMultiSeed);
  Words words(12, random);
  const CodesFile file(words.column(multi_schema(12), {2, 3, 4}), 8);
  const auto reader = file.read();
  ASSERT_TRUE(reader);
  for (const auto& sizes : std::vector<std::vector<std::size_t>>{{2, 3}, {2, 4, 3}, {2, 3, 5}}) {
    const auto codes = TokenCodes::open(*reader, words.column(multi_schema(12), sizes));
    ASSERT_FALSE(codes);
    EXPECT_EQ(codes.error().code(), Code::kDataLoss);
  }
  const auto codes =
      TokenCodes::open(*reader, Words(13, random).column(multi_schema(13), {2, 3, 4}));
  ASSERT_FALSE(codes);
  EXPECT_EQ(codes.error().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace quiver::index::testing
