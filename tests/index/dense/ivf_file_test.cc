// The files of the IVF index: the same bytes for any number of threads, the golden files, damage,
// and files of other rows.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/io/section_file.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/list_router.h"
#include "index/dense/lists/sections.h"
#include "tests/index/dense/ivf_support.h"

namespace quiver::index::testing {
namespace {

constexpr SectionFormat kListsFormat{"dense index", "QVIVF001", "QVIVFEND"};

std::vector<std::byte> bytes_of_file(const Directory& directory, const std::string& name) {
  const auto bytes = directory.read_file(name);
  EXPECT_TRUE(bytes) << bytes.error().to_string();
  return *bytes;
}

void replace_file(Directory& directory, const std::string& name, std::span<const std::byte> bytes) {
  ASSERT_TRUE(directory.remove_file(name));
  ASSERT_TRUE(directory.write_file(name, bytes));
}

SectionReader lists_of(const Directory& directory) {
  auto reader = SectionReader::open(kListsFormat, directory, "lists.qvx");
  EXPECT_TRUE(reader) << reader.error().to_string();
  return *std::move(reader);
}

TEST(IvfFile, TheSameBytesForAnyNumberOfThreads) {
  Random random(kIvfSeed);
  for (const FieldSchema& schema :
       {dense_schema(40), dense_schema(24, Metric::kEuclid, DType::kU8)}) {
    SCOPED_TRACE(describe(schema));
    Clumps clumps(schema, 20, random);
    const FieldColumn column = clumps.column(2500, 0.95, 0.05);
    const auto alone = make_memory_directory();
    build_ivf(column, {}, *alone);
    const auto names = alone->list();
    ASSERT_TRUE(names);
    EXPECT_EQ(names->size(), schema.dtype == DType::kU8 ? 2U : 3U);
    for (const unsigned n_threads : {1U, 2U, 5U}) {
      Executor executor(n_threads, "test");
      const auto together = make_memory_directory();
      build_ivf(column, {}, *together, &executor);
      for (const auto& entry : *names) {
        EXPECT_TRUE(bytes_of_file(*alone, entry.name) == bytes_of_file(*together, entry.name))
            << entry.name << ", " << n_threads << " threads";
      }
    }
    const auto another = make_memory_directory();
    build_ivf(column, {}, *another, nullptr, kIvfSeed + 1);
    EXPECT_FALSE(bytes_of_file(*alone, "lists.qvx") == bytes_of_file(*another, "lists.qvx"))
        << "the seed has no effect";
  }
}

/// A column by arithmetic alone, the same with every library.
FieldColumn golden_column() {
  std::uint32_t state = 1;
  const auto next = [&state] { return state = state * 1'664'525U + 1'013'904'223U, state >> 16; };
  std::vector<std::optional<PlainVector>> vectors;
  for (std::uint32_t row = 0; row < 200; ++row) {
    PlainVector vector;
    for (std::uint32_t d = 0; d < 20; ++d) {
      const auto clump = static_cast<float>((row % 5 + 1) * (d % 7) % 11);
      vector.values.push_back(clump + static_cast<float>(next() % 64) / 32.0F);
    }
    if (row % 40 == 7) {
      vectors.emplace_back();
    } else {
      vectors.emplace_back(std::move(vector));
    }
  }
  return make_column(dense_schema(20), vectors);
}

constexpr std::pair<const char*, const char*> kGoldenFiles[] = {{"lists.qvx", "ivf-v1.qvx"},
                                                                {"rows.qvx", "ivf-v1-rows.qvx"}};

/// What version 1 wrote is read, and written, for ever: another version has other golden files.
TEST(IvfFile, TheGoldenFilesAreReadAndWritten) {
  const FieldColumn column = golden_column();
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  const auto written = make_memory_directory();
  const auto old = make_memory_directory();
  build_ivf(column, {{"n_lists", std::int64_t{8}}, {"bits", std::int64_t{2}}}, *written, nullptr,
            1);
  for (const auto& [name, golden_name] : kGoldenFiles) {
    const auto bytes = bytes_of_file(*written, name);
    if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
      ASSERT_TRUE((*real)->replace_file(golden_name, bytes));
    }
    const auto golden = (*real)->read_file(golden_name);
    ASSERT_TRUE(golden) << golden.error().to_string();
    EXPECT_TRUE(*golden == bytes) << "the bytes that are written to " << name << " have changed";
    ASSERT_TRUE(old->write_file(name, *golden));
  }
  const auto searcher = ivf_type().open(*old, column);
  ASSERT_TRUE(searcher) << searcher.error().to_string();
  const IvfIndex index(column);
  const Bitset present = present_rows(column);
  std::vector<float> vector(20, 3.0F);
  for (std::uint32_t d = 0; d < 20; ++d) vector[d] += static_cast<float>(d % 3);
  const PreparedQuery query = PreparedQuery::dense(column.schema, vector);
  const auto params =
      ivf_type().parse_search({{"nprobe", std::int64_t{8}}, {"rerank", std::int64_t{30}}});
  const Cancel cancel;
  TopK top(3);
  WorkCounters work;
  ASSERT_TRUE((*searcher)->search(query, *params, RowFilter::of(present), {cancel, nullptr, {}},
                                  top, work));
  EXPECT_EQ(work.n_lists, 8U) << "this was no test of the lists";
  expect_same_hits(top.take_sorted(), index.exact(query, RowFilter::of(present), 3));
}

/// docs/formats/ivf.md, of the golden files: sizes of sections follow from the facts.
TEST(IvfFile, SectionsAreAsTheFormatSays) {
  const auto directory = make_memory_directory();
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  ASSERT_TRUE(directory->write_file("lists.qvx", bytes_of_file(**real, "ivf-v1.qvx")));
  const SectionReader reader = lists_of(*directory);
  EXPECT_EQ(reader.n_rows(), 200U);
  const auto facts = reader.get<std::uint32_t>(1);
  ASSERT_TRUE(facts);
  const auto fact = facts->span();
  ASSERT_EQ(fact.size(), 14U);
  EXPECT_EQ(fact[0], 20U);           // dimensions
  EXPECT_EQ(fact[1], 64U);           // of rotated vectors
  EXPECT_EQ(fact[2], 2U);            // bits
  EXPECT_EQ(fact[3], 8U);            // lists
  EXPECT_EQ(fact[4] | fact[5], 1U);  // seed of the rotation, u64
  EXPECT_EQ(fact[6], 1U);            // version of the rotation
  const std::uint32_t n_positions = fact[7];
  EXPECT_EQ(fact[9], 1U);   // rows are in two lists
  EXPECT_EQ(fact[11], 8U);  // bits of the second codes
  EXPECT_EQ(n_positions % 16, 0U);
  EXPECT_TRUE(reader.get<std::uint32_t>(2, 0, 8 + 1));                            // first blocks
  EXPECT_TRUE(reader.get<std::uint32_t>(3, 0, n_positions));                      // rows
  EXPECT_TRUE(reader.get<std::byte>(4, 0, n_positions / 16 * (2 * 2 + 2) * 64));  // codes
  EXPECT_TRUE(reader.get<std::uint16_t>(5, 0, 8 * 64));                           // centroids
  EXPECT_TRUE(reader.get<std::byte>(6, 0, 1 * (2 + 2) * 64));                     // their codes
  EXPECT_TRUE(reader.get<float>(7, 0, 64));                                       // their mean
  EXPECT_TRUE(reader.get<float>(8, 0, 8));                                        // reaches
  ASSERT_TRUE(directory->write_file("rows.qvx", bytes_of_file(**real, "ivf-v1-rows.qvx")));
  constexpr SectionFormat kRowsFormat{"second codes", "QVIVFROW", "QVIVFREN"};
  const auto rows = SectionReader::open(kRowsFormat, *directory, "rows.qvx");
  ASSERT_TRUE(rows) << rows.error().to_string();
  EXPECT_TRUE(rows->get<std::byte>(20, 0, 200 * 64));
  EXPECT_TRUE(rows->get<float>(21, 0, 2 * 200));
}

/// Each row that is present is in two lists, or in one, and no other row is in any.
TEST(IvfFile, EveryRowIsInItsLists) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(30);
  for (const bool spill : {false, true}) {
    Clumps clumps(schema, 12, random);
    const IvfIndex index(clumps.column(3000, 0.9, 0.05), {{"spill", spill}});
    const auto lists = dense::Partition::open(lists_of(*index.directory), schema, 3000);
    ASSERT_TRUE(lists) << lists.error().to_string();
    std::vector<std::vector<std::uint32_t>> lists_of_row(3000);
    for (std::uint32_t list = 0; list < lists->n_lists(); ++list) {
      const std::size_t n = lists->blocks(list).n * 16;
      const auto rows = lists->rows().subspan(lists->first_position(list), n);
      for (std::size_t i = 0; i < n; ++i) {
        auto& of_row = lists_of_row[rows[i]];
        if (i > 0 && rows[i] == rows[i - 1]) continue;  // fills up the last block
        EXPECT_TRUE(of_row.empty() || of_row.back() != list) << "twice in one list";
        of_row.push_back(list);
      }
    }
    for (std::uint32_t row = 0; row < 3000; ++row) {
      const std::size_t wanted = index.column.present[row] == 0 ? 0 : spill ? 2 : 1;
      EXPECT_EQ(lists_of_row[row].size(), wanted) << "row " << row;
    }
  }
}

/// A query as the router wants it; its values count as rotated.
struct RouterQuery {
  static constexpr std::uint32_t kDim = 256;
  RouterQuery(std::span<const float> query, Metric metric, float length) {
    std::copy(query.begin(), query.end(), values);
    rotated.values = values;
    dense::stretch(similarity_of(metric), length, values);
    rotated.tables = kernels().codes.prepare(values, kDim / 32, tables);
  }
  alignas(64) float values[kDim];
  alignas(64) std::uint8_t tables[4 * kDim];
  dense::RotatedQuery rotated;
};

/// Codes of one bit choose the centroids that are looked at: few of those that were asked for may
/// be missed.
TEST(IvfFile, RoutesAreTheNearestListsNearestFirst) {
  Random random(kIvfSeed);
  constexpr std::uint32_t kLists = 200;
  constexpr int kQueries = 20;
  for (const Metric metric : {Metric::kDot, Metric::kEuclid}) {
    const auto schema = dense_schema(RouterQuery::kDim, metric);
    Clumps clumps(schema, 50, random);
    const IvfIndex index(clumps.column(4000), {{"n_lists", std::int64_t{kLists}}});
    const auto lists = dense::Partition::open(lists_of(*index.directory), schema, 4000);
    ASSERT_TRUE(lists);
    const dense::ListRouter router(*lists, similarity_of(metric));
    dense::ScanScratch scan;
    dense::RouteScratch all_scratch;
    dense::RouteScratch scratch;
    double by_number[2] = {};  // shares that were found
    double by_gap[3] = {};
    for (int q = 0; q < kQueries; ++q) {
      const RouterQuery prepared(clumps.query().values(), metric, lists->facts().length);
      const auto all = router.nearest(prepared.rotated, kLists, scan, all_scratch);
      ASSERT_EQ(all.size(), kLists);
      EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
      const auto share_of_first = [&](std::span<const dense::Probe> some) {
        EXPECT_TRUE(std::is_sorted(some.begin(), some.end()));
        const auto last = std::upper_bound(all.begin(), all.end(), some.back());
        return static_cast<double>(some.size()) / static_cast<double>(last - all.begin());
      };
      const std::size_t numbers[] = {20, 150};
      for (std::size_t i = 0; i < 2; ++i) {
        const auto some = router.nearest(prepared.rotated, numbers[i], scan, scratch);
        ASSERT_EQ(some.size(), numbers[i]);
        by_number[i] += share_of_first(some) / kQueries;
      }
      const float gaps[] = {0.2F, 1.0F, 3.0F};
      std::size_t before = 1;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto some = router.within(prepared.rotated, gaps[i], kLists, scan, scratch);
        ASSERT_GE(some.size(), before);
        before = some.size();
        by_gap[i] += share_of_first(some) / kQueries;
      }
      EXPECT_EQ(router.within(prepared.rotated, 1e6F, kLists, scan, scratch).size(), kLists);
      EXPECT_EQ(router.within(prepared.rotated, 1e6F, 7, scan, scratch).size(), 7U);
    }
    for (const double share : by_number) EXPECT_GE(share, 0.9);
    EXPECT_GE(by_gap[0], 0.5) << "less than the errors of the codes";
    EXPECT_GE(by_gap[1], 0.8);
    EXPECT_GE(by_gap[2], 0.8);
  }
}

TEST(IvfFile, AWrongByteInAnySectionIsRefused) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(20);
  Clumps clumps(schema, 5, random);
  const IvfIndex index(clumps.column(300));
  for (const auto& [name, golden] : kGoldenFiles) {
    const auto good = bytes_of_file(*index.directory, name);
    for (std::size_t at = 0; at < good.size(); at += 61) {  // each line of every section
      auto bad = good;
      bad[at] ^= std::byte{4};
      replace_file(*index.directory, name, bad);
      const auto opened = ivf_type().open(*index.directory, index.column);
      ASSERT_FALSE(opened) << name << ", byte " << at;
      EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
    }
    replace_file(*index.directory, name, good);
    EXPECT_TRUE(ivf_type().open(*index.directory, index.column));
  }
}

TEST(IvfFile, FilesOfOtherRowsAreRefused) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(20);
  Clumps clumps(schema, 5, random);
  const IvfIndex index(clumps.column(300));
  Clumps wide(dense_schema(21), 5, random);
  for (const FieldColumn& other : {clumps.column(299), clumps.column(301), wide.column(300)}) {
    const auto opened = ivf_type().open(*index.directory, other);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
  }
  const IvfIndex larger(clumps.column(400));  // second codes of other rows
  replace_file(*index.directory, "rows.qvx", bytes_of_file(*larger.directory, "rows.qvx"));
  EXPECT_FALSE(ivf_type().open(*index.directory, index.column));
}

}  // namespace
}  // namespace quiver::index::testing
