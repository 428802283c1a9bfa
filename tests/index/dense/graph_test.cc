// The graph of the index of dense vectors: the rows that wait, links, walks, when there is one, and
// its files. What it owes every caller is in the conformance suite.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "encoders/transforms/rotation.h"
#include "index/dense/graph/beam.h"
#include "index/dense/graph/graph.h"
#include "index/dense/graph/links.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/ivf_support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint64_t kSeed = 20261122;
constexpr const char* kFiles[] = {"links.qvx", "link-codes.qvx"};

KeyValues with_graph() { return {{"graph", "always"}, {"degree", std::int64_t{16}}}; }

/// Rows without clumps: the nearest lie in many lists.
FieldColumn scattered(const FieldSchema& schema, std::uint32_t n_rows, Random& random) {
  std::normal_distribution<float> normal;
  std::vector<std::optional<PlainVector>> vectors(n_rows, PlainVector{});
  for (auto& vector : vectors) {
    for (std::uint32_t d = 0; d < schema.dim; ++d) vector->values.push_back(normal(random));
  }
  return make_column(schema, vectors);
}

std::vector<std::byte> bytes_of_file(const Directory& directory, const std::string& name) {
  const auto bytes = directory.read_file(name);
  EXPECT_TRUE(bytes) << bytes.error().to_string();
  return bytes ? *bytes : std::vector<std::byte>{};
}

TEST(GraphBeam, IsAListInOrderOfBoundedLength) {
  Random random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t length = 1 + random() % 40;
    dense::Beam beam;
    beam.reset(length);
    std::vector<std::pair<float, std::uint32_t>> wanted;  // that are in it, taken or not
    std::set<std::uint32_t> taken;
    for (std::uint32_t node = 0; node < 100; ++node) {
      const auto score = static_cast<float>(random() % 50);
      beam.add(score, node);
      const auto at = std::find_if(wanted.begin(), wanted.end(),
                                   [&](const auto& entry) { return entry.first < score; });
      wanted.insert(at, {score, node});
      if (wanted.size() > length) wanted.pop_back();
      if (random() % 3 != 0) continue;
      const auto next = std::find_if(wanted.begin(), wanted.end(), [&](const auto& entry) {
        return !taken.contains(entry.second);
      });
      const std::uint32_t* found = beam.peek();
      ASSERT_EQ(found == nullptr, next == wanted.end()) << "round " << round;
      if (found == nullptr) continue;
      ASSERT_EQ(*found, next->second) << "round " << round;
      ASSERT_EQ(beam.take(), next->second);
      taken.insert(next->second);
    }
  }
}

/// The lists of a column, opened, and its rows as the graph sees them.
struct Rows {
  explicit Rows(FieldColumn rows) : column(std::move(rows)), index(column, {{"graph", "never"}}) {
    auto files =
        dense::open_lists(*index.directory, {column.schema, column.n_rows, column.n_present});
    EXPECT_TRUE(files) << files.error().to_string();
    lists.emplace(std::move(files->candidates));
    source.emplace(column, lists->rotation());
  }
  [[nodiscard]] dense::Links links(Executor* executor = nullptr) const {
    const Cancel cancel;
    const auto found =
        dense::choose_links(*source, *lists, {.degree = 16}, {executor, cancel, kSeed, nullptr});
    EXPECT_TRUE(found) << found.error().to_string();
    return *found;
  }

  FieldColumn column;
  IvfIndex index;
  std::optional<dense::CandidateSearch> lists;
  std::optional<dense::RowSource> source;
};

TEST(GraphLinks, AreDistinctOtherRowsAndTheNearestIsOne) {
  Random random(kSeed);
  Clumps clumps(dense_schema(32, Metric::kEuclid), 10, random);
  const Rows rows(clumps.column(1500, 0.9));
  const auto links = rows.links();
  ASSERT_EQ(links.rows.size(), std::size_t{rows.source->n()} * 16);
  int n_nearest = 0;
  for (std::uint32_t i = 0; i < rows.source->n(); ++i) {
    const auto of_row = links.of(i);
    const std::set<std::uint32_t> distinct(of_row.begin(), of_row.end());
    EXPECT_EQ(distinct.size(), 16U) << "row " << i;
    EXPECT_FALSE(distinct.contains(i)) << "row " << i << " links to itself";
    EXPECT_LT(*distinct.rbegin(), rows.source->n());
    if (i % 50 != 0) continue;
    std::vector<float> vector(32);
    rows.source->read_stored(i, vector.data());
    const PreparedQuery query = PreparedQuery::dense(rows.column.schema, vector);
    const Bitset present = present_rows(rows.column);
    const auto best = rows.index.exact(query, RowFilter::of(present), 2);
    n_nearest += distinct.contains(rows.source->numbers()[best[1].row]) ? 1 : 0;
  }
  EXPECT_GE(n_nearest, 26) << "of " << (rows.source->n() + 49) / 50;
}

TEST(GraphLinks, FewRowsLinkToAllOthers) {
  Random random(kSeed);
  Clumps clumps(dense_schema(8), 2, random);
  for (const std::uint32_t n : {1U, 2U, 9U}) {
    const auto links = Rows(clumps.column(n)).links();
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto of_row = links.of(i);
      const auto n_links =
          std::count_if(of_row.begin(), of_row.end(), [](auto to) { return to != dense::kNoLink; });
      EXPECT_EQ(n_links, n - 1);
    }
  }
}

double mean_recall(const IvfIndex& index, const std::vector<PreparedQuery>& queries,
                   const KeyValues& params, const RowFilter& filter, std::size_t k) {
  double sum = 0;
  for (const PreparedQuery& query : queries) {
    sum += recall_of(index.find(query, params, filter, k).hits, index.exact(query, filter, k));
  }
  return sum / static_cast<double>(queries.size());
}

std::vector<PreparedQuery> queries_like(const FieldSchema& schema, Random& random, int n = 30) {
  const FieldColumn column = scattered(schema, static_cast<std::uint32_t>(n), random);
  std::vector<PreparedQuery> queries;
  std::vector<float> values(schema.dim);
  const encoders::Rotation rotation(schema.dim, 1);
  const dense::RowSource source(column, rotation);
  for (std::uint32_t i = 0; i < source.n(); ++i) {
    source.read_stored(i, values.data());
    queries.push_back(PreparedQuery::dense(schema, values));
  }
  return queries;
}

/// Rows that lie nowhere near each other are the case that it is for.
TEST(GraphSearch, FindsTheNearestOfScatteredRows) {
  Random random(kSeed);
  for (const Metric metric : {Metric::kCosine, Metric::kEuclid}) {
    const auto schema = dense_schema(32, metric);
    const IvfIndex index(scattered(schema, 6000, random), {{"graph", "always"}});
    const auto queries = queries_like(schema, random);
    const auto all = RowFilter::all(6000);
    double before = 0;
    std::uint64_t work_before = 0;
    for (const std::int64_t effort : {16, 64, 192}) {
      const KeyValues params{{"effort", effort}};
      const double recall = mean_recall(index, queries, params, all, 10);
      const auto work = index.find(queries[0], params, all, 10).work;
      EXPECT_GE(recall, before);
      EXPECT_GT(work.n_codes_scored, work_before);
      EXPECT_EQ(work.n_lists, 1U) << "no walk";
      before = recall;
      work_before = work.n_codes_scored;
    }
    EXPECT_GE(before, 0.97) << describe(schema);
    EXPECT_GE(mean_recall(index, queries, {}, all, 10), 0.93);
    EXPECT_GE(mean_recall(index, queries, {}, all, 100), 0.93);
    EXPECT_GE(mean_recall(index, queries, {{"ef", std::int64_t{1000}}}, all, 10), 0.99);
  }
}

/// Walks pass rows that are not allowed; narrow filters are for the lists.
TEST(GraphSearch, FiltersCostNoRecall) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kCosine);
  const IvfIndex index(scattered(schema, 4000, random), {{"graph", "always"}});
  const auto queries = queries_like(schema, random);
  const double unfiltered = mean_recall(index, queries, {}, RowFilter::all(4000), 10);
  for (const double share : {0.95, 0.6, 0.3, 0.05}) {
    const Bitset allowed = random_rows(4000, share, random);
    const auto filter = RowFilter::of(allowed);
    EXPECT_GE(mean_recall(index, queries, {}, filter, 10), unfiltered - 0.01) << share;
    for (const Hit& hit : index.find(queries[0], {}, filter, 10).hits) {
      EXPECT_TRUE(allowed.test(hit.row)) << "at " << share;
    }
  }
}

/// All that is near the query is denied: what a walk passes on its way there are no answers.
TEST(GraphSearch, WhereTheNearRowsAreDeniedFartherOnesAreFound) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kEuclid);
  const IvfIndex index(scattered(schema, 6000, random), {{"graph", "always"}});
  double recall = 0;
  for (const PreparedQuery& query : queries_like(schema, random)) {
    Bitset allowed(6000, true);
    for (const Hit& hit : index.exact(query, RowFilter::all(6000), 300)) allowed.reset(hit.row);
    recall += mean_recall(index, {query}, {}, RowFilter::of(allowed), 10) / 30;
  }
  EXPECT_GE(recall, 0.9);
}

/// All rows are compared where a walk would take longer, however long a walk is asked for.
TEST(GraphSearch, WalksAreBounded) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kCosine);
  const IvfIndex index(scattered(schema, 3000, random), with_graph());
  const auto queries = queries_like(schema, random, 3);
  const auto all = RowFilter::all(3000);
  EXPECT_EQ(mean_recall(index, queries, {}, all, 1500), 1);
  for (const KeyValues& params :
       {KeyValues{{"ef", std::int64_t{1'000'000}}}, KeyValues{{"effort", std::int64_t{1'000'000}}},
        KeyValues{{"oversampling", 1e6}}}) {
    EXPECT_EQ(mean_recall(index, queries, params, all, 10), 1);
    EXPECT_EQ(index.find(queries[0], params, all, 10).work.n_rows_scored, 3000U);
  }
}

/// Rows that equal each other do not keep a walk among themselves.
TEST(GraphLinks, EqualRowsAreLinkedToOthers) {
  Random random(kSeed);
  const auto schema = dense_schema(32, Metric::kEuclid);
  std::normal_distribution<float> normal;
  std::vector<std::optional<PlainVector>> vectors(3000, PlainVector{});
  for (std::size_t row = 0; row < vectors.size(); ++row) {
    const bool is_middle = row % 10 == 3;  // 300 rows in the middle of all others
    for (std::uint32_t d = 0; d < 32; ++d) {
      vectors[row]->values.push_back(is_middle ? 0.01F : normal(random));
    }
  }
  const Rows rows(make_column(schema, vectors));
  const auto links = rows.links();
  const auto is_equal = [](std::uint32_t row) { return row % 10 == 3; };
  const auto leads_on = [&](std::uint32_t row) {
    return !is_equal(row) || std::ranges::any_of(links.of(row), [&](std::uint32_t to) {
      return to != dense::kNoLink && !is_equal(to);
    });
  };
  for (std::uint32_t row = 3; row < 3000; row += 10) {
    EXPECT_TRUE(leads_on(row) || std::ranges::any_of(links.of(row), leads_on)) << "row " << row;
  }
}

TEST(GraphLinks, SomeRowLinksToEachRow) {
  Random random(kSeed);
  const Rows rows(scattered(dense_schema(32, Metric::kEuclid), 2000, random));
  const auto links = rows.links();
  const std::set<std::uint32_t> targets(links.rows.begin(), links.rows.end());
  EXPECT_EQ(targets.size(), 2000U);
}

TEST(GraphLinks, ABuildThatIsCancelledStops) {
  Random random(kSeed);
  const Rows rows(scattered(dense_schema(32), 1000, random));
  Cancel cancel;
  cancel.cancel();
  const auto found =
      dense::choose_links(*rows.source, *rows.lists, {}, {nullptr, cancel, kSeed, nullptr});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::kCancelled);
}

TEST(GraphSearch, WhoAsksForListsGetsThem) {
  Random random(kSeed);
  const auto schema = dense_schema(32);
  const IvfIndex index(scattered(schema, 3000, random), with_graph());
  const auto queries = queries_like(schema, random, 1);
  const auto found =
      index.find(queries[0], {{"nprobe", std::int64_t{7}}}, RowFilter::all(3000), 10);
  EXPECT_EQ(found.work.n_lists, 7U);
}

TEST(GraphSearch, AWalkThatIsCancelledSaysSo) {
  Random random(kSeed);
  const auto schema = dense_schema(32);
  const IvfIndex index(scattered(schema, 6000, random), with_graph());
  Cancel cancel;
  cancel.cancel();
  TopK top(10);
  WorkCounters work;
  const auto params = index.type.parse_search({{"ef", std::int64_t{150}}});
  const auto done = index.searcher->search(queries_like(schema, random, 1)[0], *params,
                                           RowFilter::all(6000), {cancel}, top, work);
  EXPECT_FALSE(done);
  // What the walk left behind does not show in the next one.
  const auto query = queries_like(schema, random, 1)[0];
  const auto filter = RowFilter::all(6000);
  EXPECT_GE(recall_of(index.find(query, {{"ef", std::int64_t{150}}}, filter, 10).hits,
                      index.exact(query, filter, 10)),
            0.9);
}

/// docs/decisions/0023.
TEST(GraphRule, OnlyWhereListsWouldReadMuchMore) {
  Random random(kSeed);
  const auto has_graph = [](const FieldColumn& column, const KeyValues& values) {
    const IvfIndex index(column, values);
    return dense::Graph::exists(*index.directory);
  };
  const KeyValues automatic{{"degree", std::int64_t{16}}};
  const auto schema = dense_schema(64, Metric::kCosine);
  const FieldColumn hard = scattered(schema, 10'000, random);
  EXPECT_TRUE(has_graph(hard, automatic));
  EXPECT_FALSE(has_graph(hard, {{"graph", "never"}}));
  EXPECT_FALSE(has_graph(hard, {{"degree", std::int64_t{16}}, {"bits", std::int64_t{2}}}))
      << "codes of one's own are for little memory";
  std::vector<std::optional<PlainVector>> equal(10'000);
  for (std::uint32_t row = 0; row < equal.size(); ++row) {
    const float* values = reinterpret_cast<const float*>(hard.dense().rows().row(row));
    if (row % 500 == 0) values = reinterpret_cast<const float*>(hard.dense().rows().row(0));
    equal[row] =
        PlainVector{.values = std::vector<float>(values, values + schema.dim), .indices = {}};
  }
  EXPECT_FALSE(has_graph(make_column(schema, equal), automatic)) << "20 equal rows";
  Clumps clumps(schema, 100, random);
  const FieldColumn easy = clumps.column(7000);
  EXPECT_FALSE(has_graph(easy, automatic));
  EXPECT_TRUE(has_graph(easy, with_graph()));
  EXPECT_FALSE(has_graph(scattered(dense_schema(64), 7000, random), automatic))
      << "Dot, and rows of different lengths";
}

TEST(GraphParams, AreRefusedWithWhatWasWanted) {
  const auto error_of = [](const KeyValues& values) {
    const auto parsed = ivf_type().parse_build(values);
    EXPECT_FALSE(parsed);
    return parsed ? std::string() : parsed.error().message();
  };
  EXPECT_EQ(error_of({{"graph", "yes"}}), "graph is \"yes\", must be auto, always or never");
  EXPECT_EQ(error_of({{"degree", std::int64_t{24}}}), "degree is 24, must be a multiple of 16");
  EXPECT_EQ(error_of({{"graph", "always"}, {"refine_bits", std::int64_t{0}}}),
            "graph is \"always\" and refine_bits 0: a graph needs second codes, 8");
}

TEST(GraphFile, TheSameBytesForAnyNumberOfThreads) {
  Random random(kSeed);
  Clumps clumps(dense_schema(24), 20, random);
  const FieldColumn column = clumps.column(2000, 0.95, 0.05);
  const auto alone = make_memory_directory();
  build_ivf(column, with_graph(), *alone);
  Executor executor(3, "test");
  const auto together = make_memory_directory();
  build_ivf(column, with_graph(), *together, &executor);
  for (const char* name : kFiles) {
    EXPECT_TRUE(bytes_of_file(*alone, name) == bytes_of_file(*together, name)) << name;
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
  build_ivf(column, with_graph(), *directory, nullptr, 1);
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
