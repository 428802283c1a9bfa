// The file of the OSQ index: the golden file, damage, files of other rows.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/index/dense/osq/osq_support.h"

namespace quiver::index::testing {
namespace {

constexpr const char* kFile = "osq.qvx";
constexpr const char* kGolden = "osq-v1.qvx";

/// A column by arithmetic alone, the same with every library.
FieldColumn golden_rows() {
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
  return make_column(dense_schema(20, Metric::kEuclid), vectors);
}

/// What version 1 wrote is read for ever. New files may differ in bits that rounding decides.
TEST(OsqFile, TheGoldenFileIsRead) {
  const OsqIndex index(golden_rows(), partitions(3));
  const auto real = open_real_directory("tests/index/golden");
  ASSERT_TRUE(real);
  if (std::getenv("QUIVER_WRITE_GOLDEN") != nullptr) {
    ASSERT_TRUE((*real)->replace_file(kGolden, index.directory->read_file(kFile).value()));
  }
  const auto golden = (*real)->read_file(kGolden);
  ASSERT_TRUE(golden) << golden.error().to_string();
  EXPECT_EQ(golden->size(), index.directory->read_file(kFile).value().size());
  const auto old = make_memory_directory();
  ASSERT_TRUE(old->write_file(kFile, *golden));
  const auto searcher = osq_type().open(*old, index.column);
  ASSERT_TRUE(searcher) << searcher.error().to_string();
  const PreparedQuery query =
      PreparedQuery::dense(index.column.schema, std::vector<float>(20, 3.0F));
  const Bitset present = present_rows(index.column);
  const Cancel cancel;
  for (const char* word : {"hamming", "bounds", "exact"}) {
    TopK top(3);
    WorkCounters work;
    const auto params = osq_type().parse_search(precision(word));
    ASSERT_TRUE((*searcher)->search(query, *params, RowFilter::of(present), {cancel}, top, work));
    if (word == std::string("exact")) {
      expect_same_hits(top.take_sorted(), index.exact(query, RowFilter::of(present), 3));
    } else {
      EXPECT_EQ(top.take_sorted().size(), 3U);
    }
  }
}

TEST(OsqFile, AWrongByteInAnySectionIsRefused) {
  const OsqIndex index(golden_rows(), partitions(2));
  const auto good = index.directory->read_file(kFile).value();
  for (std::size_t at = 0; at < good.size(); at += 61) {
    auto bad = good;
    bad[at] ^= std::byte{4};
    const auto directory = make_memory_directory();
    ASSERT_TRUE(directory->write_file(kFile, bad));
    const auto opened = osq_type().open(*directory, index.column);
    ASSERT_FALSE(opened) << "byte " << at;
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
  }
}

TEST(OsqFile, FilesOfOtherRowsAreRefused) {
  Random random(kOsqSeed);
  const OsqIndex index(golden_rows());
  Clumps same(dense_schema(20, Metric::kEuclid), 5, random);
  Clumps wide(dense_schema(21, Metric::kEuclid), 5, random);
  for (const FieldColumn& other : {same.column(199), same.column(200), wide.column(200)}) {
    const auto opened = osq_type().open(*index.directory, other);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
  }
}

TEST(OsqFile, ACancelledBuildEnds) {
  const FieldColumn column = golden_rows();
  const Cancel cancel;
  cancel.cancel();
  const auto directory = make_memory_directory();
  const auto built = osq_type().build(column, *osq_type().parse_build({}),
                                      {nullptr, cancel, 1, nullptr}, *directory);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::testing
