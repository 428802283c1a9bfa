#include <gtest/gtest.h>

#include <cstdlib>

#include "encoders/transforms/rotation.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/graph/graph_support.h"

namespace quiver::index::testing {
namespace {

std::vector<std::byte> bytes_of_file(const Directory& directory, const std::string& name) {
  const auto bytes = directory.read_file(name);
  EXPECT_TRUE(bytes) << bytes.error().to_string();
  return bytes ? *bytes : std::vector<std::byte>{};
}

FieldColumn column_with_gaps_and_copies() {
  Random random(kSeed);
  Clumps clumps(dense_schema(24), 20, random);
  return clumps.column(2000, 0.95, 0.05);
}

TEST(GraphFile, TheSameBytesForAnyNumberOfThreads) {
  const FieldColumn column = column_with_gaps_and_copies();
  const auto alone = make_memory_directory();
  build_ivf(column, with_graph(), *alone);
  Executor executor(3, "test");
  const auto together = make_memory_directory();
  build_ivf(column, with_graph(), *together, &executor);
  for (const char* name : kFiles) {
    EXPECT_TRUE(bytes_of_file(*alone, name) == bytes_of_file(*together, name)) << name;
  }
}

/// Builds keep the transformed rows where there is memory for it.
TEST(GraphFile, TheSameBytesWhetherRowsAreKept) {
  const FieldColumn column = column_with_gaps_and_copies();
  const auto built = make_memory_directory();
  build_ivf(column, with_graph(), *built);
  const auto lists =
      dense::open_lists(*built, {column.schema, column.n_rows, column.n_present}).value();
  const dense::LinkParams params{.degree = 16, .bits = 2};
  const Cancel cancel;
  const BuildContext context{nullptr, cancel, kSeed, nullptr};
  for (const bool keeps : {false, true}) {
    dense::RowSource source(column, lists.candidates.transform());
    if (keeps) source.keep(context);
    EXPECT_EQ(source.kept().empty(), !keeps);
    const auto written = make_memory_directory();
    ASSERT_TRUE(dense::Graph::write(source, lists.candidates, params, context, *written));
    for (const char* name : kFiles) {
      EXPECT_TRUE(bytes_of_file(*built, name) == bytes_of_file(*written, name)) << name;
    }
  }
}

/// A column by arithmetic alone, the same with every library.
FieldColumn golden_column() {
  std::uint32_t state = 1;
  const auto next = [&state] { return state = state * 1'664'525U + 1'013'904'223U, state >> 16; };
  std::vector<std::optional<PlainVector>> vectors(120);
  for (std::uint32_t row = 0; row < vectors.size(); ++row) {
    if (row % 30 == 7) continue;
    vectors[row].emplace();
    for (std::uint32_t d = 0; d < 20; ++d) {
      vectors[row]->values.push_back(static_cast<float>(next() % 64) / 32.0F - 1);
    }
  }
  return make_column(dense_schema(20, Metric::kEuclid), vectors);
}

/// What version 1 wrote is read, and written, for ever; sections as docs/formats/graph.md has them.
TEST(GraphFile, TheGoldenFilesAreReadAndWritten) {
  const FieldColumn column = golden_column();
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  const auto directory = make_memory_directory();
  build_ivf(column, {{"graph", "never"}}, *directory, nullptr, 1);
  const auto lists =
      dense::open_lists(*directory, {column.schema, column.n_rows, column.n_present}).value();
  const dense::RowSource source(column, lists.candidates.transform());
  const Cancel cancel;
  ASSERT_TRUE(dense::Graph::write(source, lists.candidates,
                                  {.degree = 16, .bits = 2, .candidates = 64},
                                  {nullptr, cancel, 1, nullptr}, *directory));
  for (const std::string name : kFiles) {
    const std::string golden_name = "graph-v1-" + name;
    const auto bytes = bytes_of_file(*directory, name);
    if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
      ASSERT_TRUE((*real)->replace_file(golden_name, bytes));
    }
    EXPECT_TRUE(bytes_of_file(**real, golden_name) == bytes) << name << " has changed";
  }
  constexpr SectionFormat kLinks{"links of a dense index", "QVLINKS1", "QVLINKSE"};
  const auto links = SectionReader::open(kLinks, **real, "graph-v1-links.qvx");
  ASSERT_TRUE(links) << links.error().to_string();
  const auto facts = links->get<std::uint32_t>(1, 0, 4);
  ASSERT_TRUE(facts);
  const std::vector<std::uint32_t> wanted{64, 16, 2, 116};  // dimensions, degree, bits, rows
  EXPECT_EQ(std::vector<std::uint32_t>(facts->span().begin(), facts->span().end()), wanted);
  EXPECT_TRUE(links->get<std::uint32_t>(2, 0, 116));       // rows
  EXPECT_TRUE(links->get<std::uint32_t>(3, 0, 116 * 16));  // links
  constexpr SectionFormat kCodes{"codes of a dense index's links", "QVLCODE1", "QVLCODEE"};
  const auto codes = SectionReader::open(kCodes, **real, "graph-v1-link-codes.qvx");
  ASSERT_TRUE(codes) << codes.error().to_string();
  EXPECT_TRUE(codes->get<std::byte>(4, 0, 116 * (2 * 2 + 2) * 64));
}

TEST(GraphFile, DamageAndFilesOfOtherRowsAreRefused) {
  Random random(kSeed);
  Clumps clumps(dense_schema(20), 5, random);
  const IvfIndex index(clumps.column(300, 0.9), with_graph());
  const IvfIndex other(clumps.column(300, 0.8), with_graph());
  const auto is_refused = [&] {
    const auto opened = ivf_type().open(*index.directory, index.column);
    return !opened && opened.error().code() == Code::kDataLoss;
  };
  for (const std::string name : kFiles) {
    const auto good = bytes_of_file(*index.directory, name);
    ASSERT_TRUE(index.directory->remove_file(name));
    EXPECT_FALSE(ivf_type().open(*index.directory, index.column)) << name << " is missing";
    ASSERT_TRUE(index.directory->write_file(name, bytes_of_file(*other.directory, name)));
    EXPECT_TRUE(is_refused()) << name << " is of other rows";
    for (std::size_t at = 0; at < good.size(); at += 509) {
      auto bad = good;
      bad[at] ^= std::byte{4};
      ASSERT_TRUE(index.directory->replace_file(name, bad));
      EXPECT_TRUE(is_refused()) << name << ", byte " << at;
    }
    ASSERT_TRUE(index.directory->replace_file(name, good));
    EXPECT_TRUE(ivf_type().open(*index.directory, index.column));
  }
}

}  // namespace
}  // namespace quiver::index::testing
