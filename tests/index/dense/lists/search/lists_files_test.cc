// The files of the IVF index: the same bytes for any number of threads, the golden files, damage,
// and files of other rows.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/io/section_file.h"
#include "index/dense/lists/partition.h"
#include "index/dense/lists/search/list_router.h"
#include "index/dense/lists/sections.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/lists/search/lists_files_support.h"

namespace quiver::index::testing {
namespace {

void replace_file(Directory& directory, const std::string& name, std::span<const std::byte> bytes) {
  ASSERT_TRUE(directory.remove_file(name));
  ASSERT_TRUE(directory.write_file(name, bytes));
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
    EXPECT_EQ(names->size(), schema.dtype == DType::kU8 ? 3U : 4U);
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

using GoldenFiles = std::vector<std::pair<const char*, const char*>>;
const GoldenFiles kGoldenFiles = {{"lists.qvx", "ivf-v1.qvx"}, {"rows.qvx", "ivf-v1-rows.qvx"}};
const GoldenFiles kGoldenFilesWithSigns = {{"lists.qvx", "ivf-v1-signed.qvx"},
                                           {"rows.qvx", "ivf-v1-rows.qvx"},
                                           {"row-signs.qvx", "ivf-v1-row-signs.qvx"}};

/// What version 1 wrote is read, and written, for ever: another version has other golden files.
void check_golden_files(const GoldenFiles& files, bool has_signs) {
  const FieldColumn column = golden_column();
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  const auto written = make_memory_directory();
  const auto old = make_memory_directory();
  build_ivf(column, {{"n_lists", std::int64_t{8}}, {"bits", std::int64_t{2}}, {"signs", has_signs}},
            *written, nullptr, 1);
  for (const auto& [name, golden_name] : files) {
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

TEST(IvfFile, TheGoldenFilesAreReadAndWritten) { check_golden_files(kGoldenFiles, false); }

TEST(IvfFile, TheGoldenFilesWithSignsAreReadAndWritten) {
  check_golden_files(kGoldenFilesWithSigns, true);
}

TEST(IvfFile, AWrongByteInAnySectionIsRefused) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(20);
  Clumps clumps(schema, 5, random);
  const IvfIndex index(clumps.column(300));
  for (const auto& [name, golden] : kGoldenFilesWithSigns) {
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
