// Every format: its rows whole, in batches, after skips, compressed.
#include <gtest/gtest.h>

#include <random>

#include "tests/dataset/cases.h"
#include "tests/dataset/support.h"

namespace quiver::dataset {
namespace {

/// The case's files, plain or compressed.
class ReadersTest : public testing::TestWithParam<std::tuple<SourceCase, std::string>> {
 protected:
  ReadersTest() {
    for (const auto& [name, bytes] : source().files) {
      directory_.write(name + ending(), packed(bytes, ending()));
    }
  }
  [[nodiscard]] static const SourceCase& source() { return std::get<0>(GetParam()); }
  [[nodiscard]] static const std::string& ending() { return std::get<1>(GetParam()); }
  [[nodiscard]] std::string path() const {
    return directory_.path(packed_source(source().source, ending()));
  }
  [[nodiscard]] std::unique_ptr<VectorReader> open() const {
    auto reader = open_vectors(path(), source().kind);
    EXPECT_TRUE(reader) << error_of(reader);
    return reader ? std::move(*reader) : nullptr;
  }

  TemporaryDirectory directory_;
};

/// Rows [first, first + n) of `all`.
VectorBatch rows_of(const VectorBatch& all, std::size_t first, std::size_t n, std::size_t dim) {
  VectorBatch rows;
  rows.first_row = first;
  rows.n_rows = n;
  std::size_t begin = first * dim;
  std::size_t end = (first + n) * dim;
  if (!all.offsets.empty()) {
    const std::size_t per_entry = all.indices.empty() ? dim : 1;
    begin = all.offsets[first] * per_entry;
    end = all.offsets[first + n] * per_entry;
    for (std::size_t i = 0; i <= n; ++i) {
      rows.offsets.push_back(all.offsets[first + i] - all.offsets[first]);
    }
  }
  const auto cut = [](const auto& values, std::size_t from, std::size_t to) {
    return std::decay_t<decltype(values)>(values.begin() + static_cast<std::ptrdiff_t>(from),
                                          values.begin() + static_cast<std::ptrdiff_t>(to));
  };
  rows.values = cut(all.values, begin, end);
  if (!all.indices.empty()) rows.indices = cut(all.indices, begin, end);
  return rows;
}

void expect_same(const VectorBatch& found, const VectorBatch& wanted) {
  EXPECT_EQ(found.first_row, wanted.first_row);
  EXPECT_EQ(found.n_rows, wanted.n_rows);
  EXPECT_EQ(found.values, wanted.values);
  EXPECT_EQ(found.offsets, wanted.offsets);
  EXPECT_EQ(found.indices, wanted.indices);
}

TEST_P(ReadersTest, SaysWhatItHolds) {
  const auto reader = open();
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->shape().kind, source().kind);
  EXPECT_EQ(reader->shape().type, source().type);
  EXPECT_EQ(reader->position(), 0U);
  const std::uint64_t n_rows = source().expected.n_rows;
  EXPECT_EQ(reader->shape().n_rows.value_or(n_rows), n_rows);
  const bool tells_rows = ending().empty() || source().row_bytes == 0;
  EXPECT_EQ(reader->shape().n_rows.has_value(), tells_rows);
}

// A source may be named with or without its compression.
TEST_P(ReadersTest, OpensWhatIsThereUnderTheOtherNames) {
  for (const std::string other : {"", ".zst", ".gz"}) {
    const auto rows =
        read_source(directory_.path(packed_source(source().source, other)), source().kind);
    ASSERT_TRUE(rows) << other << ": " << error_of(rows);
    expect_same(*rows, source().expected);
  }
}

TEST_P(ReadersTest, GivesItsRowsInBatchesOfAnySize) {
  for (const std::size_t max_rows : {std::size_t{1}, std::size_t{2}, std::size_t{100}, SIZE_MAX}) {
    const auto reader = open();
    ASSERT_TRUE(reader);
    const auto rows = read_rest(*reader, max_rows);
    ASSERT_TRUE(rows) << error_of(rows);
    expect_same(*rows, source().expected);
  }
}

std::uint64_t bytes_of(const VectorBatch& batch) {
  return batch.values.size() * sizeof(float) + batch.indices.size() * sizeof(std::uint32_t);
}

TEST_P(ReadersTest, LooksAheadHowManyRowsFit) {
  constexpr unsigned kSeed = 2;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const VectorBatch& all = source().expected;
  for (int round = 0; round < 50; ++round) {
    const auto reader = open();
    ASSERT_TRUE(reader);
    const std::size_t dim = reader->shape().dim;
    VectorBatch batch;
    for (std::size_t at = 0; at < all.n_rows; at += batch.n_rows) {
      const std::size_t n_left = all.n_rows - at;
      const std::size_t most = 1 + random() % n_left;
      const std::uint64_t limit = random() % (bytes_of(rows_of(all, at, n_left, dim)) + 2);
      const auto n = reader->rows_within(most, limit);
      ASSERT_TRUE(n) << error_of(n);
      ASSERT_GE(*n, 1U);
      ASSERT_LE(*n, most);
      EXPECT_TRUE(*n == 1 || bytes_of(rows_of(all, at, *n, dim)) <= limit);
      EXPECT_TRUE(*n == most || bytes_of(rows_of(all, at, *n + 1, dim)) > limit);
      if (random() % 2 == 0) {  // what was looked at is passed over
        at += random() % n_left;
        ASSERT_TRUE(reader->skip_to(at));
      }
      const std::size_t n_read = std::min(*n, all.n_rows - at);
      ASSERT_TRUE(reader->read(n_read, batch));
      expect_same(batch, rows_of(all, at, n_read, dim));
    }
    const auto at_end = reader->rows_within(3, 1);
    ASSERT_TRUE(at_end) << error_of(at_end);
    EXPECT_GE(*at_end, 1U);
  }
}

TEST_P(ReadersTest, RandomSkipsAndBatchesGiveTheSameRows) {
  constexpr unsigned kSeed = 1;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  const std::size_t n_rows = source().expected.n_rows;
  for (int round = 0; round < 50; ++round) {
    const auto reader = open();
    ASSERT_TRUE(reader);
    VectorBatch batch;
    while (reader->position() < n_rows) {
      const auto at = static_cast<std::size_t>(reader->position());
      const std::size_t first = at + random() % (n_rows - at + 1);
      const auto skipped = reader->skip_to(first);
      ASSERT_TRUE(skipped) << error_of(skipped);
      ASSERT_EQ(reader->position(), first);
      const std::size_t n = std::min<std::size_t>(random() % 3, n_rows - first);
      const auto read = reader->read(n, batch);
      ASSERT_TRUE(read) << error_of(read);
      expect_same(batch, rows_of(source().expected, first, n, reader->shape().dim));
    }
  }
}

TEST_P(ReadersTest, NoRowIsSkippedToBeyondTheEnd) {
  const auto reader = open();
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->skip_to(source().expected.n_rows));
  VectorBatch batch;
  ASSERT_TRUE(reader->read(10, batch));
  EXPECT_EQ(batch.n_rows, 0U);
  const auto beyond = open()->skip_to(source().expected.n_rows + 1);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code(), Code::kOutOfRange);
  EXPECT_NE(beyond.error().message().find("wanted row"), std::string::npos);
}

TEST_P(ReadersTest, LoadsRanges) {
  const auto all = load_vectors(path(), source().kind);
  ASSERT_TRUE(all) << error_of(all);
  expect_same(all->batch, source().expected);
  const std::size_t n_rows = source().expected.n_rows;
  const auto some = load_vectors(path(), source().kind, {1, n_rows});
  ASSERT_TRUE(some) << error_of(some);
  expect_same(some->batch, rows_of(source().expected, 1, n_rows - 1, some->shape.dim));
  const auto beyond = load_vectors(path(), source().kind, {1, n_rows + 1});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code(), Code::kOutOfRange);
}

INSTANTIATE_TEST_SUITE_P(Formats, ReadersTest,
                         testing::Combine(testing::ValuesIn(all_cases()),
                                          testing::Values("", ".zst", ".gz")),
                         [](const auto& test) {
                           const std::string& ending = std::get<1>(test.param);
                           return std::get<0>(test.param).name +
                                  (ending.empty() ? "" : "_" + ending.substr(1));
                         });

TEST(Sparse, RowsInAnyOrderComeSorted) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> offsets = {0, 3, 3, 5, 7};
  const std::vector<std::int32_t> indices = {7, 1, 4, 2, 3, 6, 5};
  const std::vector<float> values = {70, 10, 40, 20, 30, 60, 50};
  directory.write("a.csr", csr_bytes({4, 8, 7}, offsets, indices, values));
  directory.write("s.indptr.npy", npy("<i8", "(5,)", pack(offsets)));
  directory.write("s.indices.npy", npy("<i4", "(7,)", pack(indices)));
  directory.write("s.values.npy", npy("<f4", "(7,)", pack(values)));
  for (const char* name : {"a.csr", "s"}) {
    for (const std::size_t max_rows : {1, 3, 100}) {
      const auto reader = open_vectors(directory.path(name), FieldKind::kSparse);
      ASSERT_TRUE(reader) << error_of(reader);
      const auto rows = read_rest(**reader, max_rows);
      ASSERT_TRUE(rows) << error_of(rows);
      EXPECT_EQ(rows->offsets, (std::vector<std::uint64_t>{0, 3, 3, 5, 7}));
      EXPECT_EQ(rows->indices, (std::vector<std::uint32_t>{1, 4, 7, 2, 3, 5, 6}));
      EXPECT_EQ(rows->values, (std::vector<float>{10, 40, 70, 20, 30, 50, 60}));
    }
  }
}

TEST(Ragged, TokensMayLieInAFileOfThePrefixItself) {
  const TemporaryDirectory directory;
  directory.write("t.indptr.npy", npy("<i8", "(3,)", pack<std::int64_t>({0, 1, 3})));
  directory.write("t.npy", npy("<f4", "(3, 2)", pack<float>({1, 2, 3, 4, 5, 6})));
  const auto found = load_vectors(directory.path("t"), FieldKind::kMulti);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->batch.values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(found->batch.offsets, (std::vector<std::uint64_t>{0, 1, 3}));
  // `t.values.npy` is preferred to `t.npy`.
  directory.write("t.values.npy", npy("<f4", "(3, 1)", pack<float>({7, 8, 9})));
  EXPECT_EQ(load_vectors(directory.path("t"), FieldKind::kMulti)->batch.values,
            (std::vector<float>{7, 8, 9}));
}

TEST(ParseRows, TakesRanges) {
  const auto range = [](std::string_view text) {
    const auto rows = parse_rows(text);
    return rows ? std::pair(rows->first, rows->end) : std::pair<std::uint64_t, std::uint64_t>();
  };
  EXPECT_EQ(range("10:20"), std::pair(std::uint64_t{10}, std::uint64_t{20}));
  EXPECT_EQ(range("10:"), std::pair(std::uint64_t{10}, UINT64_MAX));
  EXPECT_EQ(range(":20"), std::pair(std::uint64_t{0}, std::uint64_t{20}));
  EXPECT_EQ(range(":"), std::pair(std::uint64_t{0}, UINT64_MAX));
  EXPECT_EQ(range(""), std::pair(std::uint64_t{0}, UINT64_MAX));
  for (const auto* text :
       {"1", "a:b", "1:2:3", "-1:2", "2:1", "2:2", "1: 2", "1:2 ", "99999999999999999999:"}) {
    EXPECT_FALSE(parse_rows(text)) << text;
  }
}

TEST(Neighbours, FromEachFormat) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> ids = {1, 2, 3, 4, 5, -1};
  const auto expect_ids = [&](const std::string& source) {
    const auto found = load_neighbours(source);
    ASSERT_TRUE(found) << error_of(found);
    EXPECT_EQ(found->n_queries, 2U);
    EXPECT_EQ(found->k, 3U);
    EXPECT_EQ(found->ids, ids);
  };
  expect_ids(directory.write("a.npy", npy("<i4", "(2, 3)", pack<int>({1, 2, 3, 4, 5, -1}))));
  expect_ids(directory.write("b.npy", npy("<i8", "(2, 3)", pack(ids))));
  expect_ids(directory.write("b.npy.zst", compressed(npy("<i8", "(2, 3)", pack(ids)))));
  const std::string ivecs = pack<int>({3, 1, 2, 3, 3, 4, 5, -1});
  expect_ids(directory.write("c.ivecs", ivecs));
  expect_ids(directory.write("c.ivecs.zst", compressed(ivecs)));
  const std::string head = pack<std::uint32_t>({2, 3});
  const std::string bin_ids = head + pack<int>({1, 2, 3, 4, 5, -1});
  const std::string with_distances = bin_ids + pack<float>({.1F, .2F, .3F, .4F, .5F, .6F});
  for (const std::string& bytes : {bin_ids, with_distances}) {
    expect_ids(directory.write("e.ibin", bytes));
    expect_ids(directory.write("e.bin", bytes));
    expect_ids(directory.write("GT-10M", bytes));
    expect_ids(directory.write("e.ibin.zst", compressed(bytes)));
  }
  const auto u32 = load_neighbours(
      directory.write("d.npy", npy("<u4", "(1, 1)", pack<std::uint32_t>({4000000000U}))));
  ASSERT_TRUE(u32);
  EXPECT_EQ(u32->ids[0], 4000000000);
}

TEST(Neighbours, UnderTheOtherName) {
  const TemporaryDirectory directory;
  const std::string bin = pack<std::uint32_t>({1, 2}) + pack<int>({1, 2});
  directory.write("a.npy.zst", compressed(npy("<i4", "(1, 2)", pack<int>({1, 2}))));
  directory.write("b.ivecs.gz", gzipped(pack<int>({2, 1, 2})));
  directory.write("c.ibin.zst", compressed(bin));
  directory.write("GT.zst", compressed(bin));
  for (const char* name : {"a.npy", "b.ivecs", "c.ibin", "GT"}) {
    const auto found = load_neighbours(directory.path(name));
    ASSERT_TRUE(found) << error_of(found);
    EXPECT_EQ(found->ids, (std::vector<std::int64_t>{1, 2}));
  }
}

TEST(Neighbours, OfWhatHoldsNone) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(load_neighbours(directory.path("none.npy")));
  EXPECT_FALSE(load_neighbours(directory.write("a.npy", npy("<f4", "(1, 1)", pack({1.F})))));
  EXPECT_FALSE(load_neighbours(directory.write("b.npy", npy("<i4", "(1,)", pack({1})))));
  EXPECT_FALSE(load_neighbours(directory.write("c.fvecs", pack<int>({1, 0}))));
  EXPECT_FALSE(load_neighbours(directory.write("d.txt", "1 2 3")));
  EXPECT_FALSE(load_neighbours(directory.write("e.ivecs", pack<int>({2, 0, 0, 1, 0, 0}))));
  const auto bin = [&](std::uint32_t n, std::uint32_t k, std::size_t n_values) {
    return pack<std::uint32_t>({n, k}) + pack(std::vector<int>(n_values, 7));
  };
  for (const std::size_t n_values : {0, 5, 7, 11, 13}) {
    const auto found = load_neighbours(directory.write("g.ibin", bin(2, 3, n_values)));
    ASSERT_FALSE(found);
    EXPECT_NE(error_of(found).find("wanted 32 for 2 queries with 3 ids"), std::string::npos)
        << error_of(found);
    EXPECT_FALSE(load_neighbours(directory.write("g.bin.zst", compressed(bin(2, 3, n_values)))));
  }
  EXPECT_FALSE(load_neighbours(directory.write("h.ibin", bin(2, 0, 0))));
  EXPECT_FALSE(load_neighbours(directory.write("i.ibin", bin(UINT32_MAX, UINT32_MAX, 6))));
  EXPECT_FALSE(load_neighbours(directory.write("j.ibin.zst", compressed(bin(UINT32_MAX, 9, 6)))));
  EXPECT_FALSE(load_neighbours(directory.write("k.fbin", bin(2, 3, 6))));
  EXPECT_FALSE(load_neighbours(directory.write("l.ibin", "123")));
  const std::string good = npy("<i4", "(2, 2)", pack<int>({1, 2, 3, 4}));
  const auto cut = load_neighbours(directory.write("f.npy.zst", compressed(good.substr(0, 140))));
  EXPECT_EQ(cut.error().code(), Code::kDataLoss);
  EXPECT_NE(error_of(cut).find("row 1, byte 140"), std::string::npos) << error_of(cut);
}

}  // namespace
}  // namespace quiver::dataset
