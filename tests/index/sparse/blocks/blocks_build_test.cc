// Building Seismic's blocks: pruning, blocking, summaries, and the file.
#include <gtest/gtest.h>

#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/top_components.h"
#include "tests/index/sparse/blocks/blocks_build_support.h"
#include "tests/index/sparse/blocks/blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

constexpr SectionFormat kBlocksFormat = {"test file", "QVTESTBL", "LBTSETVQ"};

/// Keeps the sections of `blocks` where they can be changed.
struct Sections {
  static constexpr std::uint32_t kFirst = 40;
  static constexpr std::uint32_t kLast = 47;

  explicit Sections(const Blocks& blocks) {
    auto directory = make_memory_directory();
    SectionWriter writer(kBlocksFormat, *directory->create_file("blocks"));
    blocks.write(writer);
    EXPECT_TRUE(writer.finish(blocks.n_rows()));
    auto reader = SectionReader::open(kBlocksFormat, *directory, "blocks");
    for (std::uint32_t kind = kFirst; kind <= kLast; ++kind) {
      const auto section = *reader->get<std::byte>(kind);
      bytes[kind].assign(section.begin(), section.end());
    }
  }
  [[nodiscard]] Result<Blocks> open(std::uint32_t n_rows, std::uint32_t n_terms) const {
    auto directory = make_memory_directory();
    SectionWriter writer(kBlocksFormat, *directory->create_file("blocks"));
    for (const auto& [kind, section] : bytes) {
      writer.section(kind, std::span<const std::byte>(section));
    }
    EXPECT_TRUE(writer.finish(n_rows));
    auto reader = SectionReader::open(kBlocksFormat, *directory, "blocks");
    EXPECT_TRUE(reader);
    return Blocks::open(*reader, n_rows, n_terms);
  }
  template <class T>
  T& at(std::uint32_t kind, std::size_t byte) {
    return *reinterpret_cast<T*>(bytes[kind].data() + byte);
  }

  std::map<std::uint32_t, std::vector<std::byte>> bytes;
};

TEST(SeismicFile, ReopenedBlocksGiveTheSameAnswers) {
  Random random(kSeed);
  const Topics topics;
  BlockParams params;
  params.n_neighbours = 3;
  params.n_postings = 100;
  Built built(column_of(random_rows(topics, random)), params, Codec::kU8);
  std::vector<PlainVector> queries;
  std::vector<std::vector<ScoredRow>> wanted;
  const BlockSearchParams search{.n_knn = 2};
  for (int i = 0; i < 20; ++i) {
    queries.push_back(random_row(topics, random));
    wanted.push_back(built.search(queries.back(), search));
  }
  const Sections sections(built.blocks);
  auto opened = sections.open(built.n_rows, built.terms.size());
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ(opened->bytes(), built.blocks.bytes());
  EXPECT_EQ(Sections(*opened).bytes, sections.bytes);
  built.blocks = *std::move(opened);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto found = built.search(queries[i], search);
    ASSERT_EQ(found.size(), wanted[i].size());
    for (std::size_t j = 0; j < found.size(); ++j) {
      EXPECT_EQ(found[j].row, wanted[i][j].row);
      EXPECT_EQ(found[j].score, wanted[i][j].score);
    }
  }
}

TEST(SeismicFile, ThreadsDoNotShowInTheBytes) {
  Random random(kSeed);
  const auto rows = random_rows({.n_rows = 3000}, random);
  BlockParams params;
  params.n_neighbours = 4;
  params.n_postings = 100;
  const Sections one(Built(column_of(rows), params).blocks);
  Executor executor(4, "build");
  for (int i = 0; i < 2; ++i) {
    const Built built(column_of(rows), params, Codec::kF32, &executor);
    EXPECT_EQ(Sections(built.blocks).bytes, one.bytes);
  }
}

TEST(SeismicFile, WrongPlacesAreFoundAtOpening) {
  Random random(kSeed);
  BlockParams params;
  params.n_neighbours = 2;
  const Built built(column_of(random_rows({.n_rows = 300}, random)), params);
  const Sections good(built.blocks);
  const std::uint32_t n_terms = built.terms.size();
  const std::uint32_t n_rows = built.n_rows;
  ASSERT_TRUE(good.open(n_rows, n_terms));
  const auto expect_damaged = [&](auto&& change, const char* what) {
    Sections sections = good;
    change(sections);
    const auto opened = sections.open(n_rows, n_terms);
    ASSERT_FALSE(opened) << what;
    EXPECT_EQ(opened.error().code(), Code::kDataLoss) << what;
  };
  expect_damaged([](Sections& s) { s.at<float>(40, 0) = NAN; }, "scale");
  expect_damaged([](Sections& s) { s.at<std::uint32_t>(40, 4) = 3; }, "number of neighbours");
  expect_damaged([](Sections& s) { ++s.at<ListHeader>(41, 32).first_block; }, "first block");
  expect_damaged([](Sections& s) { ++s.at<ListHeader>(41, 0).n_blocks; }, "number of blocks");
  expect_damaged([](Sections& s) { s.at<ListHeader>(41, 0).line = 1 << 30; }, "line");
  expect_damaged([](Sections& s) { s.at<ListHeader>(41, 0).directory = 2; }, "directory");
  expect_damaged([](Sections& s) { ++s.at<ListHeader>(41, 0).n_entries; }, "entries");
  expect_damaged([](Sections& s) { s.bytes[41].resize(s.bytes[41].size() - 32); }, "lists");
  expect_damaged([](Sections& s) { s.bytes[42].resize(64); }, "summaries cut off");
  expect_damaged([](Sections& s) { s.at<std::uint32_t>(43, 4) = 0x7FFFFFFF; }, "first row");
  expect_damaged([](Sections& s) { s.bytes[43].resize(4); }, "no blocks");
  expect_damaged([&](Sections& s) { s.at<std::uint32_t>(44, 8) = n_rows; }, "row");
  expect_damaged([&](Sections& s) { s.at<std::uint32_t>(45, 4) = n_rows; }, "neighbour");
  expect_damaged([](Sections& s) { s.at<std::uint32_t>(46, 0) = 96; }, "size of heads");
  expect_damaged([](Sections& s) { s.at<std::uint32_t>(46, 0) = 63; }, "odd size of heads");
  expect_damaged([](Sections& s) { s.at<float>(46, 4) = INFINITY; }, "scale of heads");
  expect_damaged([](Sections& s) { s.at<std::uint16_t>(47, 0) = 0xFFFF; }, "term of a head");
  expect_damaged([](Sections& s) { s.bytes.erase(44); }, "a section");
}

TEST(SeismicFile, AnyBytesAreRefusedOrSafeToSearch) {
  Random random(kSeed);
  const Topics topics{.n_rows = 200, .n_terms = 100, .n_nonzero = 12};
  BlockParams params;
  params.n_neighbours = 2;
  Built built(column_of(random_rows(topics, random)), params);
  const Sections good(built.blocks);
  int n_refused = 0;
  for (int i = 0; i < 400; ++i) {
    Sections sections = good;
    auto& section = sections.bytes[40 + static_cast<std::uint32_t>(random() % 8)];
    const std::size_t where = random() % section.size();
    section[where] ^= static_cast<std::byte>(1 + random() % 255);
    auto opened = sections.open(built.n_rows, built.terms.size());
    if (!opened) {
      EXPECT_EQ(opened.error().code(), Code::kDataLoss);
      ++n_refused;
      continue;
    }
    built.blocks = *std::move(opened);
    const BlockSearchParams search{.query_cut = 100, .heap_factor = 0.5F, .n_knn = 2};
    built.search(random_row(topics, random), search);
  }
  EXPECT_GT(n_refused, 100);
}

TEST(SeismicBuild, TellsProgressAndStopsWhenCancelled) {
  Random random(kSeed);
  BlockParams params;
  params.n_neighbours = 2;
  const Rows rows(random_rows({.n_rows = 500}, random));
  const Records records = Records::build(rows.column, rows.n_rows, rows.terms, Codec::kU8);
  std::vector<std::uint64_t> told;
  const Cancel cancel;
  const BuildContext context{nullptr, cancel, 1, [&](std::uint64_t n) { told.push_back(n); }};
  ASSERT_TRUE(Blocks::build(rows.column, rows.n_rows, rows.terms, records, params, context));
  ASSERT_FALSE(told.empty());
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), rows.n_rows);
  const auto has_part = [&](double from, double to) {
    return std::any_of(told.begin(), told.end(), [&](std::uint64_t n) {
      return static_cast<double>(n) > from * rows.n_rows &&
             static_cast<double>(n) < to * rows.n_rows;
    });
  };
  EXPECT_TRUE(has_part(0.1, 0.4) && has_part(0.4, 1)) << "lists, then neighbours";
  cancel.cancel();
  const auto built = Blocks::build(rows.column, rows.n_rows, rows.terms, records, params, context);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::index::sparse
