#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <future>
#include <numeric>
#include <span>
#include <thread>
#include <variant>
#include <vector>

#include "engine/database.h"
#include "engine/indexing/drift.h"
#include "engine/indexing/query_samples.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/engine/indexing/query_samples_support.h"
#include "tests/patience.h"

namespace quiver::engine::testing {
namespace {

/// A query of one token that says which it is.
void offer_numbers(QueryReservoir& reservoir, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t i = first; i < end; ++i) {
    const auto value = static_cast<float>(i);
    reservoir.offer({&value, 1});
  }
}

std::vector<float> numbers_in(const index::QuerySample& sample) {
  std::vector<float> numbers;
  for (const auto& query : sample.queries) numbers.push_back(query.at(0));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

TEST(QueryReservoir, KeepsAllWhileThereIsRoom) {
  QueryReservoir reservoir(1, kReservoirSeed);
  EXPECT_TRUE(reservoir.sample().queries.empty());
  offer_numbers(reservoir, 0, QueryReservoir::kMaxQueries);
  const auto numbers = numbers_in(reservoir.sample());
  ASSERT_EQ(numbers.size(), QueryReservoir::kMaxQueries);
  for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], static_cast<float>(i));
  EXPECT_EQ(reservoir.n_changes(), QueryReservoir::kMaxQueries);
}

/// Over many seeds each tenth of the queries is as frequent in the sample as any other: 3,072 of
/// them are expected in each, with a standard deviation of about 53.
TEST(QueryReservoir, DrawsEvenly) {
  constexpr std::uint64_t kOffered = 5000;
  constexpr std::uint64_t kSeeds = 60;
  std::vector<double> tenths(10);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    QueryReservoir reservoir(1, seed);
    offer_numbers(reservoir, 0, kOffered);
    const auto numbers = numbers_in(reservoir.sample());
    ASSERT_EQ(numbers.size(), QueryReservoir::kMaxQueries);
    EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
    for (const float number : numbers) ++tenths[static_cast<std::size_t>(number) * 10 / kOffered];
  }
  const double expected = kSeeds * QueryReservoir::kMaxQueries / 10.0;
  for (const double n : tenths) EXPECT_NEAR(n, expected, 5 * std::sqrt(expected));
}

TEST(QueryReservoir, BoundsWhatItKeeps) {
  const auto kept = [](std::uint32_t dim, std::size_t n_tokens) {
    QueryReservoir reservoir(dim, kReservoirSeed);
    const std::vector<float> tokens(n_tokens * dim, 1.0F);
    reservoir.offer(tokens);
    return reservoir.sample().queries.at(0).size() / dim;
  };
  EXPECT_EQ(kept(2, 3), 3U);
  EXPECT_EQ(kept(2, 1000), QueryReservoir::kMaxTokens);
  EXPECT_EQ(kept(128, 1000), 256U);
  EXPECT_EQ(kept(1024, 1000), 32U);
  EXPECT_EQ(kept(65'536, 3), 1U);
}

TEST(QueryReservoir, IsAFunctionOfTheOrderAlone) {
  QueryReservoir one(1, kReservoirSeed);
  QueryReservoir other(1, kReservoirSeed);
  offer_numbers(one, 0, 3000);
  offer_numbers(other, 0, 3000);
  EXPECT_EQ(one.sample().queries, other.sample().queries);
}

TEST(QueryReservoir, TakesQueriesFromManyThreads) {
  constexpr std::uint64_t kEach = 20'000;
  QueryReservoir reservoir(1, kReservoirSeed);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&reservoir, t] {
      offer_numbers(reservoir, t * kEach, (t + 1) * kEach);
      EXPECT_FALSE(reservoir.sample().queries.empty());
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(reservoir.n_seen(), 4 * kEach);
  const auto numbers = numbers_in(reservoir.sample());
  ASSERT_EQ(numbers.size(), QueryReservoir::kMaxQueries);
  EXPECT_EQ(std::adjacent_find(numbers.begin(), numbers.end()), numbers.end());
}

TEST(QueryReservoir, GoesOnWhereItWasSaved) {
  const auto directory = make_memory_directory();
  QueryReservoir whole(1, kReservoirSeed);
  offer_numbers(whole, 0, 4000);
  QueryReservoir before(1, kReservoirSeed);
  offer_numbers(before, 0, 1500);
  ASSERT_TRUE(before.save(*directory, "queries"));
  QueryReservoir after(1, kReservoirSeed);
  ASSERT_TRUE(after.load(*directory, "queries"));
  EXPECT_EQ(after.n_seen(), 1500U);
  EXPECT_EQ(after.sample().queries, before.sample().queries);
  offer_numbers(after, 1500, 4000);
  EXPECT_EQ(after.sample().queries, whole.sample().queries);
}

/// Every byte of a file counts, and none of it can do harm.
TEST(QueryReservoir, RefusesDamagedFiles) {
  const auto directory = make_memory_directory();
  QueryReservoir reservoir(2, kReservoirSeed);
  const std::vector<float> tokens = {1, 2, 3, 4};
  for (int i = 0; i < 3; ++i) reservoir.offer(tokens);
  ASSERT_TRUE(reservoir.save(*directory, "queries"));
  const auto bytes = directory->read_file("queries").value();
  const auto refused = [&](std::vector<std::byte> damaged) {
    EXPECT_TRUE(directory->replace_file("queries", damaged));
    QueryReservoir loaded(2, kReservoirSeed);
    const auto result = loaded.load(*directory, "queries");
    EXPECT_TRUE(loaded.sample().queries.empty());
    return !result && result.error().code() == Code::kDataLoss;
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto flipped = bytes;
    flipped[i] ^= std::byte{0x10};
    EXPECT_TRUE(refused(flipped)) << "byte " << i;
    EXPECT_TRUE(refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(i)}));
  }
  ASSERT_TRUE(directory->replace_file("queries", bytes));
  QueryReservoir other_dim(4, kReservoirSeed);
  EXPECT_EQ(other_dim.load(*directory, "queries").error().code(), Code::kDataLoss);
}

// Dense and sparse fields.

SparseVector words_of(std::uint32_t i) {
  return {{i, i + 7, 100'000}, {1.0F + static_cast<float>(i), 0.5F, -2}};
}

void offer_words(QueryReservoir& reservoir, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t i = first; i < end; ++i) {
    const auto words = words_of(i);
    reservoir.offer(SparseView{words.indices, words.values});
  }
}

TEST(QueryReservoir, KeepsSparseQueriesAsTheyWereAsked) {
  QueryReservoir reservoir(0, kReservoirSeed, FieldKind::kSparse);
  offer_words(reservoir, 0, 3);
  reservoir.offer(SparseView{});
  const auto recorded = reservoir.recorded();
  ASSERT_EQ(recorded.size(), 3U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::get<SparseVector>(recorded[i]), words_of(i));
  }
}

TEST(QueryReservoir, LongSparseQueriesAreNotKept) {
  QueryReservoir reservoir(0, kReservoirSeed, FieldKind::kSparse);
  std::vector<std::uint32_t> indices(QueryReservoir::kMaxEntries + 1);
  std::iota(indices.begin(), indices.end(), 0U);
  const std::vector<float> values(indices.size(), 1.0F);
  reservoir.offer(SparseView{indices, values});
  EXPECT_EQ(reservoir.n_seen(), 0U);
  indices.pop_back();
  reservoir.offer(SparseView{indices, std::span(values).first(indices.size())});
  EXPECT_EQ(reservoir.n_recorded(), 1U);
}

TEST(QueryReservoir, KeepsFewerOfLongDenseVectors) {
  const auto n_kept = [](std::uint32_t dim) {
    QueryReservoir reservoir(dim, kReservoirSeed, FieldKind::kDense);
    const std::vector<float> vector(dim, 1.0F);
    for (std::size_t i = 0; i < QueryReservoir::kMaxQueries + 50; ++i) reservoir.offer(vector);
    EXPECT_EQ(std::get<DenseVector>(reservoir.recorded().at(0)).size(), dim);
    return reservoir.n_recorded();
  };
  EXPECT_EQ(n_kept(3), QueryReservoir::kMaxQueries);
  EXPECT_EQ(n_kept(32'768), QueryReservoir::kMaxQueries);
  EXPECT_EQ(n_kept(65'536), QueryReservoir::kMaxQueries / 2) << "64 MiB";
}

TEST(QueryReservoir, SparseAndDenseOnesGoOnWhereTheyWereSaved) {
  const auto directory = make_memory_directory();
  QueryReservoir whole(0, kReservoirSeed, FieldKind::kSparse);
  offer_words(whole, 0, 3000);
  QueryReservoir before(0, kReservoirSeed, FieldKind::kSparse);
  offer_words(before, 0, 1500);
  ASSERT_TRUE(before.save(*directory, "sparse"));
  QueryReservoir after(0, kReservoirSeed, FieldKind::kSparse);
  ASSERT_TRUE(after.load(*directory, "sparse"));
  EXPECT_EQ(after.recorded(), before.recorded());
  offer_words(after, 1500, 3000);
  EXPECT_EQ(after.recorded(), whole.recorded());
  QueryReservoir dense(1, kReservoirSeed, FieldKind::kDense);
  offer_numbers(dense, 0, 700);
  ASSERT_TRUE(dense.save(*directory, "dense"));
  QueryReservoir dense_after(1, kReservoirSeed, FieldKind::kDense);
  ASSERT_TRUE(dense_after.load(*directory, "dense"));
  EXPECT_EQ(dense_after.recorded(), dense.recorded());
  EXPECT_FALSE(after.load(*directory, "dense")) << "of another kind of field";
  EXPECT_FALSE(QueryReservoir(1, kReservoirSeed).load(*directory, "dense"));
}

/// Multi-vector fields have had files of version 1; they get one of version 2 once renewed.
TEST(QueryReservoir, CountsOnlyLaterQueriesOnceItIsRenewed) {
  for (const FieldKind kind : {FieldKind::kMulti, FieldKind::kDense}) {
    const auto directory = make_memory_directory();
    QueryReservoir reservoir(1, kReservoirSeed, kind);
    offer_numbers(reservoir, 0, 5000);
    ASSERT_TRUE(reservoir.save(*directory, "queries"));
    EXPECT_EQ(reservoir.n_recorded(), QueryReservoir::kMaxQueries);
    reservoir.renew();
    EXPECT_EQ(reservoir.n_recorded(), 0U);
    EXPECT_EQ(reservoir.sample().queries.size(), QueryReservoir::kMaxQueries) << "for indexes";
    offer_numbers(reservoir, 5000, 5100);
    EXPECT_EQ(reservoir.n_recorded(), 100U);
    EXPECT_EQ(reservoir.n_seen(), 5100U);
    ASSERT_TRUE(reservoir.save(*directory, "renewed"));
    QueryReservoir after(1, kReservoirSeed, kind);
    ASSERT_TRUE(after.load(*directory, "renewed"));
    EXPECT_EQ(after.recorded(), reservoir.recorded());
    offer_numbers(after, 5100, 9000);
    offer_numbers(reservoir, 5100, 9000);
    EXPECT_EQ(after.recorded(), reservoir.recorded());
    EXPECT_EQ(after.n_recorded(), QueryReservoir::kMaxQueries);
    QueryReservoir old(1, kReservoirSeed, kind);
    EXPECT_TRUE(old.load(*directory, "queries"));
    EXPECT_EQ(old.n_recorded(), QueryReservoir::kMaxQueries);
  }
}

TEST(QueryReservoir, RefusesDamagedFilesOfSparseQueries) {
  const auto directory = make_memory_directory();
  QueryReservoir reservoir(0, kReservoirSeed, FieldKind::kSparse);
  offer_words(reservoir, 0, 3);
  ASSERT_TRUE(reservoir.save(*directory, "queries"));
  const auto bytes = directory->read_file("queries").value();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (auto damaged :
         {bytes, std::vector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(i))}) {
      if (damaged.size() > i) damaged[i] ^= std::byte{0x10};
      ASSERT_TRUE(directory->replace_file("queries", damaged));
      QueryReservoir loaded(0, kReservoirSeed, FieldKind::kSparse);
      const auto result = loaded.load(*directory, "queries");
      ASSERT_FALSE(result) << "byte " << i;
      EXPECT_EQ(result.error().code(), Code::kDataLoss);
      EXPECT_EQ(loaded.n_recorded(), 0U);
    }
  }
}

}  // namespace
}  // namespace quiver::engine::testing
