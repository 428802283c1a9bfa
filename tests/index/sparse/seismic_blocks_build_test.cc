// Building Seismic's blocks: pruning, blocking, summaries, and the file.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "index/sparse/blocks/blocking.h"
#include "index/sparse/blocks/blocks.h"
#include "index/sparse/blocks/pruning.h"
#include "index/sparse/blocks/summaries.h"
#include "index/sparse/rows/top_components.h"
#include "tests/index/sparse/seismic_blocks_support.h"

namespace quiver::index::sparse {
namespace {

using namespace testing;

constexpr SectionFormat kFormat = {"test file", "QVTESTBL", "LBTSETVQ"};

/// Columns and what is derived from them before blocks are made.
struct Rows {
  explicit Rows(const std::vector<PlainVector>& vectors)
      : column(column_of(vectors)),
        n_rows(static_cast<std::uint32_t>(vectors.size())),
        terms(TermMap::of(column, 0, n_rows)),
        coded(column, n_rows, terms, 15) {}
  SparseColumn column;
  std::uint32_t n_rows;
  TermMap terms;
  CodedRows coded;
};

std::size_t list_size(const PostingLists& lists, std::uint32_t term) {
  return lists.list(term).size();
}

void expect_sorted(const PostingLists& lists, std::uint32_t n_terms) {
  for (std::uint32_t term = 0; term < n_terms; ++term) {
    const auto list = lists.list(term);
    for (std::size_t i = 1; i < list.size(); ++i) {
      EXPECT_TRUE(list[i - 1].value > list[i].value ||
                  (list[i - 1].value == list[i].value && list[i - 1].row < list[i].row));
    }
  }
}

TEST(SeismicPruning, ThresholdIsThatOfTheSortedValues) {
  Random random(kSeed);
  for (const std::size_t n : {1U, 2U, 10U, 1000U}) {
    std::vector<float> values(n);
    for (float& value : values)
      value = static_cast<float>(static_cast<int>(random() % 40) - 20) / 7;
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end(),
              [](float a, float b) { return std::abs(a) > std::abs(b); });
    for (std::size_t budget = 0; budget < n; budget += 1 + n / 50) {
      const auto threshold = threshold_for(values, budget);
      EXPECT_EQ(threshold.value, std::abs(sorted[budget]));
      std::size_t n_above = 0;
      std::size_t n_equal = 0;
      for (const float value : values) {
        n_above += std::abs(value) > threshold.value ? 1 : 0;
        n_equal += std::abs(value) == threshold.value ? 1 : 0;
      }
      EXPECT_EQ(n_above + threshold.n_kept, budget);
      EXPECT_EQ(threshold.n_equal, n_equal);
    }
  }
}

TEST(SeismicPruning, GlobalKeepsExactlyTheBudget) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 1000}, random));
  for (const std::uint32_t n_postings : {1U, 5U, 20U, 100U}) {
    BlockParams params;
    params.n_postings = n_postings;
    params.max_fraction = 1000;
    params.n_covered = 0;
    const auto lists = prune(rows.column, rows.coded, params);
    const std::size_t budget = std::size_t{n_postings} * rows.terms.size();
    EXPECT_EQ(lists.postings.size(), std::min(budget, rows.column.values.size()));
    expect_sorted(lists, rows.terms.size());
    float smallest_kept = 1e9F;
    for (const Posting& posting : lists.postings) {
      smallest_kept = std::min(smallest_kept, posting.value);
    }
    std::size_t n_above = 0;
    for (const float value : rows.column.values) n_above += value > smallest_kept ? 1 : 0;
    EXPECT_LE(n_above, lists.postings.size());
  }
}

TEST(SeismicPruning, ListsAreCappedAndTheirStrongestStay) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 1000}, random));
  for (const char* pruning : {"global", "fixed", "coi"}) {
    BlockParams whole;
    whole.n_postings = 1'000'000;
    const auto all = prune(rows.column, rows.coded, whole);
    BlockParams params;
    params.pruning = pruning;
    params.n_postings = 25;
    params.max_fraction = 2;
    params.coi_fraction = 0.1F;
    params.n_covered = 0;
    const auto lists = prune(rows.column, rows.coded, params);
    expect_sorted(lists, rows.terms.size());
    for (std::uint32_t term = 0; term < rows.terms.size(); ++term) {
      const std::size_t n = list_size(all, term);
      const std::size_t limit = std::string(pruning) == "global" ? 50
                                : std::string(pruning) == "fixed"
                                    ? 25
                                    : std::min<std::size_t>(25, n / 10 + 1);
      EXPECT_LE(list_size(lists, term), limit);
      if (std::string(pruning) != "global") {
        EXPECT_EQ(list_size(lists, term), std::min(n, limit));
      }
      for (std::size_t i = 0; i < list_size(lists, term); ++i) {
        EXPECT_EQ(lists.list(term)[i].row, all.list(term)[i].row);
      }
    }
  }
}

TEST(SeismicPruning, EqualValuesAreSpreadOverRows) {
  const Rows rows(std::vector<PlainVector>(1000, sparse({1, 2, 3, 4}, {1, 1, 1, 1})));
  BlockParams params;
  params.n_postings = 250;
  params.n_covered = 0;
  const auto lists = prune(rows.column, rows.coded, params);
  EXPECT_EQ(lists.postings.size(), 1000U);
  std::set<std::uint32_t> kept;
  for (const Posting& posting : lists.postings) kept.insert(posting.row);
  EXPECT_GT(kept.size(), 900U);
}

TEST(SeismicBlocking, BlocksArePartitionsWithinLimits) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 3000}, random));
  BlockParams params;
  params.n_postings = 1'000'000;
  const auto lists = prune(rows.column, rows.coded, params);
  for (const char* blocking : {"kmeans", "fixed"}) {
    params.blocking = blocking;
    Blocker blocker(rows.coded, params);
    for (std::uint32_t term = 0; term < rows.terms.size(); term += 7) {
      Grouping grouping;
      blocker.group(lists.list(term), term, grouping);
      std::vector<std::uint32_t> wanted;
      for (const Posting& posting : lists.list(term)) wanted.push_back(posting.row);
      auto got = grouping.rows;
      std::sort(wanted.begin(), wanted.end());
      std::sort(got.begin(), got.end());
      EXPECT_EQ(got, wanted);
      const std::size_t limit =
          params.blocking == "fixed" ? params.block_size : params.max_block_size;
      for (std::size_t b = 0; b < grouping.n_blocks(); ++b) {
        const auto block = grouping.block(b);
        EXPECT_GE(block.size(), 1U);
        EXPECT_LE(block.size(), limit);
        EXPECT_TRUE(std::is_sorted(block.begin(), block.end()));
      }
      Grouping again;
      blocker.group(lists.list(term), term, again);
      EXPECT_EQ(again.rows, grouping.rows);
      EXPECT_EQ(again.first, grouping.first);
    }
  }
}

TEST(SeismicBlocking, RowsOfOneTopicMeet) {
  std::vector<PlainVector> vectors;  // four topics that share component 0
  for (std::uint32_t i = 0; i < 400; ++i) {
    const std::uint32_t topic = i % 4;
    vectors.push_back(sparse({0, 1 + topic * 2, 2 + topic * 2}, {1.0F, 5.0F, 5.0F}));
  }
  const Rows rows(vectors);
  BlockParams params;
  Blocker blocker(rows.coded, params);
  Grouping grouping;
  blocker.group(prune(rows.column, rows.coded, params).list(0), 1, grouping);
  for (std::size_t b = 0; b < grouping.n_blocks(); ++b) {
    std::set<std::uint32_t> topics;
    for (const std::uint32_t row : grouping.block(b)) topics.insert(row % 4);
    EXPECT_EQ(topics.size(), 1U);
  }
}

/// Code of each (block, term) by the definition.
std::map<std::uint32_t, std::uint32_t> maxima(const CodedRows& rows,
                                              std::span<const std::uint32_t> block) {
  std::map<std::uint32_t, std::uint32_t> largest;
  for (const std::uint32_t number : block) {
    const auto row = rows.row(number);
    for (std::size_t i = 0; i < row.terms.size(); ++i) {
      auto& code = largest[row.terms[i]];
      code = std::max<std::uint32_t>(code, row.codes[i]);
    }
  }
  return largest;
}

/// The stored summaries of a list, block by block.
std::vector<std::map<std::uint32_t, std::uint32_t>> stored(const Blocks& blocks,
                                                           std::uint32_t term) {
  std::vector<std::map<std::uint32_t, std::uint32_t>> found(blocks.list(term).n_blocks);
  const SummaryView view = blocks.summaries(term);
  for (std::uint32_t t = 0; t < blocks.n_terms(); ++t) {
    const std::uint32_t rank = view.rank(t);
    if (rank == SummaryView::kNone) continue;
    const auto run = view.run(rank);
    for (std::uint32_t i = 0; i < run.n; ++i) found[run.block(i)][t] = run.code(i);
  }
  return found;
}

std::uint64_t sum_of(const std::map<std::uint32_t, std::uint32_t>& summary) {
  std::uint64_t sum = 0;
  for (const auto& [term, code] : summary) sum += code;
  return sum;
}

TEST(SeismicSummaries, KeepTheLargestUpToTheirShare) {
  Random random(kSeed);
  const auto vectors = random_rows({.n_rows = 1000}, random);
  const Rows rows(vectors);
  for (const float energy : {0.1F, 0.5F, 1.0F}) {
    BlockParams params;
    params.n_postings = 30;
    params.summary_energy = energy;
    const Built built(rows.column, params);
    for (std::uint32_t term = 0; term < built.blocks.n_terms(); term += 5) {
      const auto summaries = stored(built.blocks, term);
      for (std::uint32_t b = 0; b < summaries.size(); ++b) {
        const auto all =
            maxima(rows.coded, built.blocks.rows(built.blocks.list(term).first_block + b));
        std::uint32_t smallest = 255;
        for (const auto& [t, code] : summaries[b]) {
          EXPECT_EQ(code, all.at(t));
          smallest = std::min(smallest, code);
        }
        const double wanted = static_cast<double>(sum_of(all)) * energy;
        EXPECT_GE(static_cast<double>(sum_of(summaries[b])), wanted - 1e-3);
        EXPECT_LT(static_cast<double>(sum_of(summaries[b]) - smallest), wanted);
        for (const auto& [t, code] : all) {
          if (!summaries[b].contains(t)) {
            EXPECT_LE(code, smallest);
          }
        }
      }
    }
  }
}

TEST(SeismicSummaries, FixedNumbersOfTerms) {
  Random random(kSeed);
  BlockParams params;
  params.n_postings = 30;
  params.summary_terms = 12;
  const Built built(column_of(random_rows({.n_rows = 1000}, random)), params);
  for (std::uint32_t term = 0; term < built.blocks.n_terms(); term += 5) {
    for (const auto& summary : stored(built.blocks, term)) EXPECT_EQ(summary.size(), 12U);
  }
}

TEST(SeismicSummaries, CodesAreNeverBelowTheirValues) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 500, .negative_share = 0.2}, random));
  for (std::uint32_t i = 0; i < rows.n_rows; ++i) {
    const auto exact = rows.column.row(i).values;
    const auto coded = rows.coded.row(i);
    for (std::size_t j = 0; j < exact.size(); ++j) {
      const float value = rows.coded.scale() * coded.codes[j];
      EXPECT_GE(value, std::abs(exact[j]));
      EXPECT_LT(value, std::abs(exact[j]) + rows.coded.scale() * 1.001F);
    }
  }
}

TEST(SeismicHeads, AreTheLargestComponents) {
  Random random(kSeed);
  const Rows rows(random_rows({.n_rows = 300, .n_nonzero = 100}, random));
  const TopComponents heads = TopComponents::build(rows.coded, 20);  // rounded up to 32
  EXPECT_TRUE(TopComponents::build(rows.coded, 0).empty());
  for (std::uint32_t row = 0; row < rows.n_rows; ++row) {
    const auto coded = rows.coded.row(row);
    std::vector<std::uint8_t> codes(coded.codes.begin(), coded.codes.end());
    std::sort(codes.begin(), codes.end(), std::greater<>());
    codes.resize(std::min<std::size_t>(codes.size(), 32));
    std::vector<float> ones(rows.terms.size() + 1, 1);
    ones.back() = 0;
    const double wanted =
        std::accumulate(codes.begin(), codes.end(), 0) * double{rows.coded.scale()};
    EXPECT_NEAR(heads.score(ones.data(), row), wanted, wanted * 1e-5);
  }
}

/// Keeps the sections of `blocks` where they can be changed.
struct Sections {
  static constexpr std::uint32_t kFirst = 40;
  static constexpr std::uint32_t kLast = 47;

  explicit Sections(const Blocks& blocks) {
    auto directory = make_memory_directory();
    SectionWriter writer(kFormat, *directory->create_file("blocks"));
    blocks.write(writer);
    EXPECT_TRUE(writer.finish(blocks.n_rows()));
    auto reader = SectionReader::open(kFormat, *directory, "blocks");
    for (std::uint32_t kind = kFirst; kind <= kLast; ++kind) {
      const auto section = *reader->get<std::byte>(kind);
      bytes[kind].assign(section.begin(), section.end());
    }
  }
  [[nodiscard]] Result<Blocks> open(std::uint32_t n_rows, std::uint32_t n_terms) const {
    auto directory = make_memory_directory();
    SectionWriter writer(kFormat, *directory->create_file("blocks"));
    for (const auto& [kind, section] : bytes) {
      writer.section(kind, std::span<const std::byte>(section));
    }
    EXPECT_TRUE(writer.finish(n_rows));
    auto reader = SectionReader::open(kFormat, *directory, "blocks");
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

TEST(SeismicBuild, WrongParametersAreNamed) {
  const auto message = [](auto&& change) {
    BlockParams params;
    change(params);
    const auto status = check(params);
    EXPECT_FALSE(status);
    return status ? "" : status.error().message();
  };
  EXPECT_NE(message([](auto& p) { p.pruning = "none"; }).find("global, fixed, coi"),
            std::string::npos);
  EXPECT_NE(message([](auto& p) { p.blocking = ""; }).find("kmeans, fixed"), std::string::npos);
  EXPECT_NE(message([](auto& p) { p.summary_energy = 2; }).find("summary_energy"),
            std::string::npos);
  EXPECT_TRUE(check(BlockParams{}));
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
