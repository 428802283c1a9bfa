// The scans of the sparse index against brute force: whole lists miss nothing, whatever the signs,
// filters and ties; truncated ones find most and never fewer than there are.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/io/file.h"
#include "index/sparse/lists/growing.h"
#include "index/sparse/lists/impact_lists.h"
#include "index/sparse/lists/range_builder.h"
#include "index/sparse/params.h"
#include "index/sparse/searcher.h"
#include "index/sparse/type.h"
#include "tests/index/documented.h"
#include "tests/index/sparse/lists/scan_support.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

using sparse::GrowingLists;

std::unique_ptr<Searcher> build(const FieldColumn& column, Directory& directory,
                                Executor* executor = nullptr) {
  const Cancel cancel;
  const auto params = kSeismic.parse_build({});
  EXPECT_TRUE(kSeismic.build(column, *params, {executor, cancel, kSeed, nullptr}, directory));
  auto searcher = kSeismic.open(directory, column);
  EXPECT_TRUE(searcher) << searcher.error().to_string();
  return searcher ? *std::move(searcher) : nullptr;
}

INSTANTIATE_TEST_SUITE_P(, SeismicScan, ::testing::Values(Signs::kPositive, Signs::kMixed));

TEST_P(SeismicScan, WholeListsGiveTheBitsOfBruteForce) {
  Random random(kSeed);
  const auto column = zipf_column(40'000, 2'000, GetParam(), random);
  const auto directory = make_memory_directory();
  const auto searcher = build(column, *directory);
  const FlatSearcher flat(column);
  for (int i = 0; i < 20; ++i) {
    const PreparedQuery query =
        make_query(column.schema, zipf_vector(1 + random() % 20, 2'000, GetParam(), random));
    for (const unsigned one_in : {1U, 2U, 20U, 500U}) {
      const Bitset allowed = random_filter(column.n_rows, one_in, random);
      const auto filter = one_in == 1 ? RowFilter::all(column.n_rows) : RowFilter::of(allowed);
      for (const std::size_t k : {1, 10, 300}) {
        const auto wanted = find(flat, query, {}, filter, k);
        const auto found = find(*searcher, query, {}, filter, k, Prefer::kExact);
        ASSERT_TRUE(same(found, wanted)) << "query " << i << " 1/" << one_in << " k " << k;
      }
    }
  }
}

TEST_P(SeismicScan, TruncatedListsFindMostAndNeverTooFew) {
  Random random(kSeed + 1);
  const auto column = zipf_column(40'000, 2'000, GetParam(), random);
  const auto directory = make_memory_directory();
  const auto searcher = build(column, *directory);
  const FlatSearcher flat(column);
  double n_found = 0, n_wanted = 0;
  for (int i = 0; i < 40; ++i) {
    const PreparedQuery query =
        make_query(column.schema, zipf_vector(5 + random() % 20, 2'000, GetParam(), random));
    for (const unsigned one_in : {1U, 10U}) {
      const Bitset allowed = random_filter(column.n_rows, one_in, random);
      const auto filter = one_in == 1 ? RowFilter::all(column.n_rows) : RowFilter::of(allowed);
      const auto wanted = find(flat, query, {}, filter, 10);
      const auto found = find(*searcher, query, {{"method", "scan"}}, filter, 10);
      EXPECT_EQ(found.size(), wanted.size());
      n_wanted += static_cast<double>(wanted.size());
      for (const Hit& hit : found) {
        n_found += !wanted.empty() && hit.score >= wanted.back().score ? 1 : 0;
        EXPECT_EQ(score_row(query, column, hit.row), hit.score);
      }
    }
  }
  EXPECT_GE(n_found / n_wanted, 0.95);
}

TEST(SeismicScanEdges, HugeIndicesAndWideVocabularies) {
  Random random(kSeed + 2);
  std::vector<std::optional<PlainVector>> vectors;
  for (std::uint32_t i = 0; i < 9'000; ++i) {
    PlainVector vector;
    vector.indices = {i * 8, i * 8 + 3, 4'000'000'000U + i % 7, 4'294'967'295U};
    vector.values = {1.0F, static_cast<float>(i), 0.5F, 1e-3F};
    vectors.emplace_back(std::move(vector));
  }
  const auto column = make_column(sparse_schema(), vectors);
  const auto directory = make_memory_directory();
  const auto searcher = build(column, *directory);
  const FlatSearcher flat(column);
  const auto all = RowFilter::all(column.n_rows);
  for (const std::uint32_t at : {0U, 8U * 17, 8U * 8'999}) {
    PlainVector vector;
    vector.indices = {at, 4'000'000'003U, 4'294'967'295U};
    vector.values = {1.0F, 2.0F, 3.0F};
    const PreparedQuery query = make_query(column.schema, vector);
    EXPECT_TRUE(
        same(find(*searcher, query, {}, all, 25, Prefer::kExact), find(flat, query, {}, all, 25)));
    EXPECT_EQ(find(*searcher, query, {}, all, 25).size(), 25U);
  }
}

TEST(SeismicScanEdges, ZerosTiesAndUnknownTerms) {
  const auto column = make_column(sparse_schema(), repeated(6'000, {{1.0F, 0.0F}, {3, 9}}));
  const auto directory = make_memory_directory();
  const auto searcher = build(column, *directory);
  const auto all = RowFilter::all(column.n_rows);
  const auto query = [&](std::vector<std::uint32_t> indices, std::vector<float> values) {
    return make_query(column.schema, {std::move(values), std::move(indices)});
  };
  EXPECT_TRUE(find(*searcher, query({7}, {1.0F}), {}, all, 5).empty());
  EXPECT_TRUE(find(*searcher, query({}, {}), {}, all, 5).empty());
  for (const auto prefer : {Prefer::kAny, Prefer::kExact}) {
    for (const PreparedQuery& q : {query({3}, {1.0F}), query({9}, {1.0F}), query({3}, {0.0F}),
                                   query({3}, {-1.0F}), query({3, 7, 9}, {1.0F, 2.0F, 3.0F})}) {
      const auto found = find(*searcher, q, {}, all, 5, prefer);
      ASSERT_EQ(found.size(), 5U);
      for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(found[i].row, i);  // ties by id
    }
  }
}

TEST(SeismicScanEdges, TheFileIsTheSameForAnyNumberOfThreads) {
  Random random(kSeed + 3);
  const auto column = zipf_column(50'000, 500, Signs::kMixed, random);
  const auto one = make_memory_directory();
  const auto four = make_memory_directory();
  Executor executor(3, "test");
  build(column, *one);
  build(column, *four, &executor);
  const auto names = one->list();
  ASSERT_TRUE(names);
  for (const auto& entry : *names) {
    EXPECT_EQ(*one->read_file(entry.name), *four->read_file(entry.name)) << entry.name;
  }
}

TEST(SeismicScanEdges, ADamagedByteIsFound) {
  Random random(kSeed + 4);
  const auto column = zipf_column(300, 60, Signs::kMixed, random);
  const auto directory = make_memory_directory();
  build(column, *directory);
  const auto names = directory->list();
  ASSERT_TRUE(names && names->size() == 1);
  const std::string name = names->front().name;
  const auto bytes = *directory->read_file(name);
  for (std::size_t at = 0; at < bytes.size(); at += 1 + at / 50) {
    auto damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    ASSERT_TRUE(directory->replace_file(name, damaged));
    const auto opened = kSeismic.open(*directory, column);
    const bool unused = at >= 12 && at < 64;  // zeros of the header
    EXPECT_TRUE(unused || !opened) << "byte " << at;
  }
}

/// A column by arithmetic alone, the same with every library.
FieldColumn golden_column() {
  std::uint32_t state = 1;
  const auto next = [&state] { return state = state * 1'664'525U + 1'013'904'223U, state >> 16; };
  std::vector<std::optional<PlainVector>> vectors;
  for (std::uint32_t row = 0; row < 60; ++row) {
    PlainVector vector;
    for (std::uint32_t index = next() % 4; index < 24; index += 1 + next() % 9) {
      vector.indices.push_back(index);
      const float weight = static_cast<float>(1 + next() % 64) / 16.0F;
      vector.values.push_back(next() % 8 == 0 ? -weight : weight);
    }
    vectors.emplace_back(std::move(vector));
  }
  return make_column(sparse_schema(), vectors);
}

struct GoldenFile {
  std::string name;
  KeyValues build;
  std::vector<std::string> methods;
};

/// What version 1 wrote is read, and written, for ever: another version has another golden file.
void expect_read_and_written(const GoldenFile& file) {
  SCOPED_TRACE(file.name);
  const auto column = golden_column();
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  const auto golden = (*real)->read_file(file.name);
  const auto directory = make_memory_directory();
  const Cancel cancel;
  const auto params = kSeismic.parse_build(file.build);
  ASSERT_TRUE(kSeismic.build(column, *params, {nullptr, cancel, 1, nullptr}, *directory));
  const auto written = directory->read_file("lists.qvx");
  ASSERT_TRUE(written);
  if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE((*real)->replace_file(file.name, *written));
  }
  ASSERT_TRUE(golden) << golden.error().to_string();
  EXPECT_TRUE(*golden == *written) << "the bytes that are written have changed";
  const auto old = make_memory_directory();
  ASSERT_TRUE(old->write_file("lists.qvx", *golden));
  const auto searcher = kSeismic.open(*old, column);
  ASSERT_TRUE(searcher) << searcher.error().to_string();
  const FlatSearcher flat(column);
  const auto all = RowFilter::all(column.n_rows);
  const PreparedQuery query = make_query(column.schema, {{2.0F, 1.0F, -1.0F, 0.5F}, {1, 5, 9, 20}});
  for (const auto& method : file.methods) {
    const KeyValues options = {{"method", method},
                               {"exact_below", std::int64_t{0}},
                               {"postings", 1.0},
                               {"heap_factor", 0.0}};
    EXPECT_TRUE(same(find(**searcher, query, options, all, 10), find(flat, query, {}, all, 10)))
        << method;
  }
}

TEST(SeismicScanEdges, GoldenFilesAreReadAndWritten) {
  const std::pair<const std::string, ParamValue> blocks = {"blocks_from", std::int64_t{1}};
  const auto codec = [](const char* name) {
    return std::pair<const std::string, ParamValue>{"codec", std::string(name)};
  };
  expect_read_and_written({"seismic-v1.qvx", {blocks}, {"exact", "scan", "blocks"}});
  expect_read_and_written({"seismic-v1-neighbours.qvx",
                           {blocks, codec("gaps"), {"n_neighbours", std::int64_t{2}}},
                           {"exact", "scan", "blocks"}});
  expect_read_and_written({"seismic-v1-f16.qvx", {codec("f16")}, {"exact", "scan"}});
  expect_read_and_written({"seismic-v1-f32.qvx", {codec("f32")}, {"exact", "scan"}});
}

TEST(SeismicScanEdges, CountsOfTermsAreThoseOfAllowedRows) {
  Random random(kSeed + 5);
  const auto column = zipf_column(5'000, 200, Signs::kMixed, random);
  const auto directory = make_memory_directory();
  const auto searcher = build(column, *directory);
  const FlatSearcher flat(column);
  const std::vector<std::uint32_t> terms = {0, 1, 5, 77, 199, 100'000};
  const Cancel cancel;
  for (const unsigned one_in : {1U, 2U, 30U}) {
    Bitset allowed = random_filter(column.n_rows, one_in, random);  // 1: all
    if (one_in == 30) {                                             // nearly all
      Bitset others(column.n_rows, true);
      allowed = std::move(others.subtract(allowed));
    }
    std::vector<std::uint64_t> found(terms.size(), 1), wanted(terms.size(), 1);
    ASSERT_TRUE(searcher->count_terms(terms, RowFilter::of(allowed), found, cancel));
    ASSERT_TRUE(flat.count_terms(terms, RowFilter::of(allowed), wanted, cancel));
    EXPECT_EQ(found, wanted);
    GrowingLists lists;
    lists.extend(column);
    std::fill(found.begin(), found.end(), 1);
    const auto growing = lists.searcher(column);
    ASSERT_TRUE(growing->count_terms(terms, RowFilter::of(allowed), found, cancel));
    EXPECT_EQ(found, wanted);
  }
}

TEST(SeismicScanEdges, EveryParameterIsDocumented) {
  expect_documented<sparse::SparseSearchParams>("docs/sparse.md");
  expect_documented<sparse::SparseBuildParams>("docs/sparse.md");
}

TEST(SeismicScanEdges, BadParametersAreNamed) {
  const auto bad_method = kSeismic.parse_search({{"method", "magic"}});
  ASSERT_FALSE(bad_method);
  EXPECT_NE(bad_method.error().message().find("magic"), std::string::npos);
  EXPECT_FALSE(kSeismic.parse_search({{"postings", 1.5}}));
  EXPECT_FALSE(kSeismic.parse_search({{"nprobe", std::int64_t{3}}}));
  EXPECT_FALSE(kSeismic.parse_build({{"codec", "u4"}}));
}

}  // namespace
}  // namespace quiver::index::testing
