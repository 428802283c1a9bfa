// What every index type owes its callers, over the registry, every kind of field, metric and type.
// A new type is tested by standing in the registry.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "gpu/devices.h"
#include "tests/index/support.h"

namespace quiver::index::testing {
namespace {

constexpr std::uint32_t kDim = 24;
constexpr std::uint64_t kSeed = 51;

struct Case {
  const IndexType* type = nullptr;
  FieldSchema schema;
  KeyValues build = {};
  KeyValues search = {};
  std::string_view variant = {};  ///< what is not as usual
};

/// Ways of building and of searching that a type takes by itself for larger segments only.
std::vector<Case> variants(const Case& usual) {
  if (usual.type->name == "ivf") {
    return {{usual.type, usual.schema, {{"graph", std::string("always")}}, {}, "Graph"}};
  }
  if (usual.type->name == "osq") {
    const KeyValues parts = {{"partitions", std::int64_t{4}}};
    const auto with = [&](const char* precision) {
      return KeyValues{{"precision", std::string(precision)}, {"distance_factor", 2.0}};
    };
    return {{usual.type, usual.schema, parts, with("hamming"), "Partitions"},
            {usual.type, usual.schema, parts, with("bounds"), "Bounds"},
            {usual.type, usual.schema, parts, with("exact"), "Exact"}};
  }
  if (usual.type->name != "seismic") return {};
  const KeyValues blocks = {{"blocks_from", std::int64_t{1}},
                            {"n_neighbours", std::int64_t{4}},
                            {"n_postings", std::int64_t{200}}};
  const KeyValues by_blocks = {{"method", std::string("blocks")},
                               {"exact_below", std::int64_t{0}},
                               {"n_knn", std::int64_t{4}}};
  const KeyValues by_scan = {
      {"method", std::string("scan")}, {"exact_below", std::int64_t{0}}, {"postings", 0.5}};
  return {{usual.type, usual.schema, blocks, by_blocks, "Blocks"},
          {usual.type, usual.schema, {{"codec", std::string("f16")}}, by_scan, "TruncatedScan"}};
}

/// Mean recall@10 that an index must reach on the data below. SQUASH's defaults keep a tenth of the
/// rows by signs and score 2 k exactly, which is a little too few in noise of 24 dimensions.
double recall_floor(const Case& tested) {
  if (tested.type->name == "osq" && tested.search.empty()) return 0.8;
  return tested.type->name == "flat" ? 1.0 : 0.9;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const IndexType* type : index_types()) {
    for (const FieldSchema& schema : all_schemas(kDim)) {
      if (!type->supports(schema)) continue;
      cases.push_back({type, schema});
      for (auto& variant : variants(cases.back())) cases.push_back(std::move(variant));
    }
  }
  return cases;
}

struct Found {
  std::vector<Hit> hits;
  WorkCounters work;
};

class IndexConformance : public ::testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] const IndexType& type() const { return *GetParam().type; }
  [[nodiscard]] FieldSchema schema(std::uint32_t dim = kDim) const {
    FieldSchema schema = GetParam().schema;
    if (schema.kind != FieldKind::kSparse) schema.dim = dim;
    return schema;
  }

  void build(const FieldColumn& column, Directory& directory, Executor* executor = nullptr) const {
    const auto params = type().parse_build(GetParam().build);
    ASSERT_TRUE(params) << params.error().to_string();
    const Cancel cancel;
    const auto built = type().build(column, *params, {executor, cancel, kSeed, nullptr}, directory);
    ASSERT_TRUE(built) << built.error().to_string();
  }
  [[nodiscard]] std::unique_ptr<Searcher> open(const FieldColumn& column,
                                               const Directory& directory) const {
    auto searcher = type().open(directory, column);
    EXPECT_TRUE(searcher) << searcher.error().to_string();
    return searcher ? *std::move(searcher) : nullptr;
  }
  [[nodiscard]] std::unique_ptr<Searcher> build_and_open(const FieldColumn& column) const {
    const auto directory = make_memory_directory();
    build(column, *directory);
    return open(column, *directory);
  }

  [[nodiscard]] Found search(const Searcher& searcher, const PreparedQuery& query,
                             const Bitset& allowed, std::size_t k, Executor* executor = nullptr,
                             Prefer prefer = Prefer::kAny) const {
    const auto params = type().parse_search(GetParam().search);
    EXPECT_TRUE(params);
    const Cancel cancel;
    TopK top(k);
    Found found;
    const auto result = searcher.search(query, *params, RowFilter::of(allowed),
                                        {cancel, executor, prefer}, top, found.work);
    EXPECT_TRUE(result) << result.error().to_string();
    found.hits = top.take_sorted();
    return found;
  }

  /// Hits are allowed rows with their exact scores, in order, each once.
  void expect_sound(const std::vector<Hit>& hits, const FieldColumn& column,
                    const PreparedQuery& query, const Bitset& allowed, std::size_t k) const {
    ASSERT_LE(hits.size(), k);
    for (std::size_t i = 0; i < hits.size(); ++i) {
      ASSERT_LT(hits[i].row, column.n_rows);
      EXPECT_TRUE(allowed.test(hits[i].row)) << "row " << hits[i].row << " is not allowed";
      const auto exact = score_row(query, column, hits[i].row);
      ASSERT_TRUE(exact) << "row " << hits[i].row << " is no possible hit";
      EXPECT_EQ(*exact, hits[i].score) << "row " << hits[i].row;
      if (i == 0) continue;
      EXPECT_TRUE(hits[i - 1].score > hits[i].score ||
                  (hits[i - 1].score == hits[i].score && hits[i - 1].row < hits[i].row))
          << "hits " << i - 1 << " and " << i;
    }
  }

  /// A few queries over `column` under several filters; small enough that nothing may be missed.
  void expect_all_found(const FieldColumn& column, Random& random) const {
    const auto searcher = build_and_open(column);
    ASSERT_NE(searcher, nullptr);
    for (Bitset& allowed : some_filters(column.n_rows, random)) {
      allowed &= present_rows(column);
      const PreparedQuery query =
          make_query(column.schema, random_vector(column.schema, {}, random));
      const std::size_t k = column.n_rows + 10;
      const auto found = search(*searcher, query, allowed, k);
      expect_sound(found.hits, column, query, allowed, k);
      EXPECT_EQ(found.hits.size(), expected_hits(query, column, allowed, k).size());
    }
  }
};

TEST_P(IndexConformance, Empty) {
  Random random(kSeed);
  const auto column = make_column(schema(), {});
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
  EXPECT_TRUE(search(*searcher, query, Bitset(0), 10).hits.empty());
}

TEST_P(IndexConformance, OneVector) {
  Random random(kSeed);
  expect_all_found(random_column(schema(), {.n_rows = 1}, random), random);
}

TEST_P(IndexConformance, NoRowHasTheVector) {
  Random random(kSeed);
  expect_all_found(random_column(schema(), {.n_rows = 20, .present_share = 0}, random), random);
}

TEST_P(IndexConformance, SomeRowsHaveTheVector) {
  Random random(kSeed);
  expect_all_found(random_column(schema(), {.n_rows = 150, .present_share = 0.5}, random), random);
}

TEST_P(IndexConformance, Duplicates) {
  Random random(kSeed);
  expect_all_found(random_column(schema(), {.n_rows = 150, .duplicate_share = 0.95}, random),
                   random);
  const auto vector = random_vector(schema(), {}, random);
  expect_all_found(make_column(schema(), repeated(100, vector)), random);
}

TEST_P(IndexConformance, MoreWantedThanThereIs) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 30}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
  const Bitset all(30, true);
  expect_same_hits(search(*searcher, query, all, 100000).hits,
                   expected_hits(query, column, all, 30));
  EXPECT_TRUE(search(*searcher, query, all, 0).hits.empty());
}

TEST_P(IndexConformance, OddDimensions) {
  Random random(kSeed);
  for (const std::uint32_t dim : {1, 2, 3, 5, 7, 17, 31, 33, 65, 127}) {
    SCOPED_TRACE("dim " + std::to_string(dim));
    expect_all_found(random_column(schema(dim), {.n_rows = 40}, random), random);
  }
  for (const std::uint32_t dim : {129, 255, 513, 1023, 4095, 4096}) {
    SCOPED_TRACE("dim " + std::to_string(dim));
    expect_all_found(random_column(schema(dim), {.n_rows = 12, .duplicate_share = 0.3}, random),
                     random);
  }
}

TEST_P(IndexConformance, ZeroVectors) {
  Random random(kSeed);
  PlainVector zero = random_vector(schema(), {}, random);
  std::fill(zero.values.begin(), zero.values.end(), 0.0F);
  expect_all_found(make_column(schema(), repeated(20, zero)), random);
}

TEST_P(IndexConformance, AllFilteredOut) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 500}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
  EXPECT_TRUE(search(*searcher, query, Bitset(500), 10).hits.empty());
}

TEST_P(IndexConformance, OneLeft) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 500}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  for (const std::size_t row : {0, 1, 63, 64, 250, 499}) {
    Bitset one(500);
    one.set(row);
    const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
    expect_same_hits(search(*searcher, query, one, 10).hits, expected_hits(query, column, one, 10));
  }
}

TEST_P(IndexConformance, RecallAgainstExactSearch) {
  Random random(kSeed);
  constexpr std::uint32_t kRows = 2000;
  constexpr std::size_t kHits = 10;
  constexpr int kQueries = 20;
  const auto column = random_column(
      schema(), {.n_rows = kRows, .present_share = 0.95, .duplicate_share = 0.05}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  for (Bitset& allowed : some_filters(kRows, random)) {
    allowed &= present_rows(column);
    double sum = 0;
    for (int i = 0; i < kQueries; ++i) {
      const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
      const auto truth = expected_hits(query, column, allowed, kHits);
      const auto found = search(*searcher, query, allowed, kHits);
      expect_sound(found.hits, column, query, allowed, kHits);
      if (truth.empty()) {
        sum += 1;
        continue;
      }
      const double least = truth.back().score - std::abs(truth.back().score) * 1e-6;
      const auto n = std::count_if(found.hits.begin(), found.hits.end(),
                                   [least](const Hit& hit) { return hit.score >= least; });
      sum += static_cast<double>(n) / static_cast<double>(truth.size());
    }
    EXPECT_GE(sum / kQueries, recall_floor(GetParam())) << allowed.count() << " rows allowed";
  }
}

std::vector<std::pair<std::string, std::vector<std::byte>>> files_of(const Directory& directory) {
  std::vector<std::pair<std::string, std::vector<std::byte>>> files;
  const auto entries = directory.list().value();
  for (const auto& entry : entries) {
    if (entry.kind == EntryKind::kFile) {
      files.emplace_back(entry.name, directory.read_file(entry.name).value());
    }
  }
  return files;
}

TEST_P(IndexConformance, SameSeedSameBytesSameHitsWhateverTheThreads) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 700, .duplicate_share = 0.1}, random);
  Executor executor(3, "test");
  const auto one = make_memory_directory();
  const auto two = make_memory_directory();
  build(column, *one);
  build(column, *two, &executor);
  EXPECT_EQ(files_of(*one), files_of(*two));
  const auto first = open(column, *one);
  const auto second = open(column, *two);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  const Bitset all = present_rows(column);
  for (int i = 0; i < 5; ++i) {
    const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
    const auto wanted = search(*first, query, all, 20);
    expect_same_hits(search(*second, query, all, 20).hits, wanted.hits);
    expect_same_hits(search(*first, query, all, 20).hits, wanted.hits);
    expect_same_hits(search(*first, query, all, 20, &executor).hits, wanted.hits);
  }
}

TEST_P(IndexConformance, ReopenedGivesIdenticalHits) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 700, .present_share = 0.9}, random);
  const auto directory = make_memory_directory();
  build(column, *directory);
  const Bitset all = present_rows(column);
  const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
  std::vector<Hit> wanted;
  for (int i = 0; i < 3; ++i) {
    const auto searcher = open(column, *directory);
    ASSERT_NE(searcher, nullptr);
    auto hits = search(*searcher, query, all, 50).hits;
    if (i > 0) expect_same_hits(hits, wanted);
    wanted = std::move(hits);
  }
}

void replace(Directory& directory, const std::string& name, std::span<const std::byte> bytes) {
  ASSERT_TRUE(directory.remove_file(name));
  ASSERT_TRUE(directory.write_file(name, bytes));
}

/// How a batch is searched.
struct BatchMode {
  Prefer prefer;
  gpu::Devices* devices;
};

/// A batch is its queries one by one: the same hits, to the bit, whatever their number, the filter,
/// the threads, and whether a device helps.
TEST_P(IndexConformance, ABatchGivesTheHitsOfItsQueries) {
  Random random(kSeed);
  const auto column = random_column(
      schema(), {.n_rows = 900, .present_share = 0.9, .duplicate_share = 0.1}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const auto params = type().parse_search(GetParam().search);
  Executor executor(3, "test");
  const auto devices = gpu::Devices::open({.devices = "emulated", .module = "", .min_bytes = 0});
  ASSERT_TRUE(devices) << devices.error().to_string();
  const Cancel cancel;
  for (Bitset& allowed : some_filters(column.n_rows, random)) {
    allowed &= present_rows(column);
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 19}) {
      SCOPED_TRACE(std::to_string(n) + " queries");
      std::vector<PreparedQuery> queries;
      std::vector<TopK> tops;
      queries.reserve(n);
      tops.reserve(n);
      for (std::size_t i = 0; i < n; ++i) {
        PlainVector vector = random_vector(schema(), {}, random);
        if (i % 3 == 0 && !vector.values.empty()) vector.values[0] += 0.5F;  // u8: not in integers
        queries.push_back(make_query(schema(), vector));
        tops.emplace_back(i * 5 % 23);  // each its own k, none among them
      }
      std::vector<const PreparedQuery*> query_pointers;
      std::vector<TopK*> top_pointers;
      for (const PreparedQuery& query : queries) query_pointers.push_back(&query);
      for (TopK& top : tops) top_pointers.push_back(&top);
      Executor* helper = n % 2 == 0 ? &executor : nullptr;
      for (const auto& [prefer, device] :
           {BatchMode{Prefer::kAny, nullptr}, BatchMode{Prefer::kExact, nullptr},
            BatchMode{Prefer::kAny, devices->get()}, BatchMode{Prefer::kExact, devices->get()}}) {
        WorkCounters work;
        const auto result =
            searcher->search_batch(query_pointers, *params, RowFilter::of(allowed),
                                   {cancel, helper, prefer, device}, top_pointers, work);
        ASSERT_TRUE(result) << result.error().to_string();
        (*devices)->wait_for_loading();
        for (std::size_t i = 0; i < n; ++i) {
          const auto alone =
              search(*searcher, queries[i], allowed, i * 5 % 23, nullptr, prefer).hits;
          expect_same_hits(tops[i].take_sorted(), alone);
        }
      }
    }
  }
}

/// The same where each query has its own filter, or several have the same.
TEST_P(IndexConformance, ABatchOfFilteredQueriesGivesTheHitsOfEach) {
  Random random(kSeed);
  const auto column = random_column(
      schema(), {.n_rows = 900, .present_share = 0.9, .duplicate_share = 0.1}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const auto params = type().parse_search(GetParam().search);
  Executor executor(3, "test");
  const auto devices = gpu::Devices::open({.devices = "emulated", .module = "", .min_bytes = 0});
  ASSERT_TRUE(devices) << devices.error().to_string();
  const Cancel cancel;
  auto bits = some_filters(column.n_rows, random);
  std::vector<RowFilter> filters;
  for (Bitset& allowed : bits) {
    allowed &= present_rows(column);
    filters.push_back(RowFilter::of(allowed));
  }
  constexpr std::size_t kQueries = 25;
  std::vector<PreparedQuery> queries;
  std::vector<TopK> tops;
  for (std::size_t i = 0; i < kQueries; ++i) {
    queries.push_back(make_query(schema(), random_vector(schema(), {}, random)));
    tops.emplace_back(i * 5 % 23);
  }
  std::vector<FilteredQuery> filtered;
  for (std::size_t i = 0; i < kQueries; ++i) {
    filtered.push_back({&queries[i], &filters[i % filters.size()], &tops[i]});
  }
  for (const auto& [prefer, device] :
       {BatchMode{Prefer::kAny, nullptr}, BatchMode{Prefer::kExact, nullptr},
        BatchMode{Prefer::kAny, devices->get()}, BatchMode{Prefer::kExact, devices->get()},
        BatchMode{Prefer::kAny, devices->get()}, BatchMode{Prefer::kExact, devices->get()}}) {
    WorkCounters work;
    Executor* helper = device != nullptr ? &executor : nullptr;
    const auto result =
        searcher->search_filtered(filtered, *params, {cancel, helper, prefer, device}, work);
    ASSERT_TRUE(result) << result.error().to_string();
    (*devices)->wait_for_loading();
    for (std::size_t i = 0; i < kQueries; ++i) {
      const auto& allowed = bits[i % bits.size()];
      const auto alone = search(*searcher, queries[i], allowed, i * 5 % 23, nullptr, prefer).hits;
      expect_same_hits(tops[i].take_sorted(), alone);
    }
  }
}

/// What shall be on a device comes without a search, what shall not goes, whatever there is, also
/// of a column without a vector.
TEST_P(IndexConformance, PlacesWhatDevicesHold) {
  Random random(kSeed);
  for (const double share : {0.9, 0.0}) {
    const auto column = random_column(schema(), {.n_rows = 600, .present_share = share}, random);
    const auto searcher = build_and_open(column);
    ASSERT_NE(searcher, nullptr);
    const auto devices = gpu::Devices::open({.devices = "emulated", .module = "", .min_bytes = 0});
    ASSERT_TRUE(devices) << devices.error().to_string();
    const auto n_parts = [&] {
      (*devices)->wait_for_loading();
      return (*devices)->report().devices[0].n_parts;
    };
    const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
    const Bitset all = present_rows(column);
    const auto params = type().parse_search(GetParam().search);
    const auto expect_same = [&](Prefer prefer) {
      const Cancel cancel;
      const RowFilter filter = RowFilter::of(all);
      WorkCounters work;
      TopK top(10);
      EXPECT_TRUE(searcher->search(query, *params, filter,
                                   {cancel, nullptr, prefer, devices->get()}, top, work));
      expect_same_hits(top.take_sorted(), search(*searcher, query, all, 10, nullptr, prefer).hits);
    };
    const auto place = [&](gpu::Placing placing) {
      const bool is_done = searcher->place(**devices, placing);
      return n_parts() == 0 ? is_done : searcher->place(**devices, placing);
    };
    for (const auto placing : {gpu::Placing::kAuto, gpu::Placing::kAlways, gpu::Placing::kNever,
                               gpu::Placing::kAlways, gpu::Placing::kAuto, gpu::Placing::kNever}) {
      SCOPED_TRACE(to_string(placing));
      const auto before = n_parts();
      EXPECT_TRUE(place(placing));
      if (placing != gpu::Placing::kNever) {
        EXPECT_GE(n_parts(), before);
      }
      for (const Prefer prefer : {Prefer::kAny, Prefer::kExact, Prefer::kAny}) {
        if (share > 0) expect_same(prefer);
        if (placing == gpu::Placing::kNever) {
          EXPECT_EQ(n_parts(), 0U);
        }
      }
    }
  }
}

/// Whatever files a type writes: cut anywhere, or with any bit turned, they are refused.
TEST_P(IndexConformance, DamagedFilesAreRefused) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 120}, random);
  const auto directory = make_memory_directory();
  build(column, *directory);
  for (const auto& [name, good] : files_of(*directory)) {
    SCOPED_TRACE(name);
    ASSERT_FALSE(good.empty()) << "an index has no use for empty files";
    for (int i = 0; i < 200; ++i) {
      auto bad = good;
      if (i % 2 == 0) {
        bad.resize(random() % good.size());
      } else {
        bad[random() % bad.size()] ^= static_cast<std::byte>(1U << random() % 8);
      }
      replace(*directory, name, bad);
      const auto opened = type().open(*directory, column);
      ASSERT_FALSE(opened) << "damage number " << i;
      EXPECT_EQ(opened.error().code(), Code::kDataLoss) << opened.error().to_string();
    }
    ASSERT_TRUE(directory->remove_file(name));
    EXPECT_FALSE(type().open(*directory, column)) << "a missing file";
    ASSERT_TRUE(directory->write_file(name, good));
    EXPECT_TRUE(type().open(*directory, column));
  }
}

TEST_P(IndexConformance, CancelledSearchReturnsPromptly) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 3000}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const auto params = type().parse_search(GetParam().search);
  const PreparedQuery query =
      make_query(schema(), random_vector(schema(), {.max_nonzero = 3}, random));
  const Cancel cancelled;
  cancelled.cancel();
  TopK top(10);
  WorkCounters work;
  const Bitset all = present_rows(column);
  const auto result =
      searcher->search(query, *params, RowFilter::of(all), {cancelled, nullptr}, top, work);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kCancelled);
  EXPECT_LT(work.n_rows_scored + work.n_codes_scored, 3000U) << "a block, not everything";
  const PreparedQuery* const queries[] = {&query, &query, &query};
  TopK others[] = {TopK(10), TopK(10), TopK(10)};
  TopK* const outs[] = {&others[0], &others[1], &others[2]};
  WorkCounters batch_work;
  const auto batch = searcher->search_batch(queries, *params, RowFilter::of(all),
                                            {cancelled, nullptr}, outs, batch_work);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code(), Code::kCancelled);
  EXPECT_LT(batch_work.n_rows_scored + batch_work.n_codes_scored, 3 * 3000U);
}

TEST_P(IndexConformance, TermsAreCountedExactly) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 600, .present_share = 0.9}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const Cancel cancel;
  const std::vector<std::uint32_t> terms = {0, 1, 5, 17, 4000000000U};
  for (const Bitset& allowed : some_filters(column.n_rows, random)) {
    const auto filter = RowFilter::of(allowed);
    std::vector<std::uint64_t> counts(terms.size(), 3);  // added to, not overwritten
    const auto result = searcher->count_terms(terms, filter, counts, cancel);
    if (schema().kind != FieldKind::kSparse) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code(), Code::kUnimplemented);
      return;
    }
    ASSERT_TRUE(result) << result.error().to_string();
    std::vector<std::uint64_t> wanted(terms.size(), 3);
    ASSERT_TRUE(count_terms(column.sparse(), filter, terms, wanted, cancel));
    EXPECT_EQ(counts, wanted);
  }
}

TEST_P(IndexConformance, ThreadsShareASearcher) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 400}, random);
  const auto searcher = build_and_open(column);
  ASSERT_NE(searcher, nullptr);
  const PreparedQuery query = make_query(schema(), random_vector(schema(), {}, random));
  const Bitset all = present_rows(column);
  const auto wanted = search(*searcher, query, all, 10).hits;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) expect_same_hits(search(*searcher, query, all, 10).hits, wanted);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(IndexConformance, MemoryReportIsSane) {
  Random random(kSeed);
  const auto column = random_column(schema(), {.n_rows = 1000}, random);
  const auto directory = make_memory_directory();
  build(column, *directory);
  const auto searcher = open(column, *directory);
  ASSERT_NE(searcher, nullptr);
  std::uint64_t on_disk = 0;
  for (const auto& [name, bytes] : files_of(*directory)) on_disk += bytes.size();
  const MemoryUse use = searcher->memory();
  EXPECT_GT(use.heap_bytes, 0U);
  EXPECT_LE(use.mapped_bytes, on_disk + 4096);
  EXPECT_LT(use.heap_bytes, (1U << 20) + 4 * on_disk) << "the column's own bytes do not count";
}

INSTANTIATE_TEST_SUITE_P(Types, IndexConformance, ::testing::ValuesIn(all_cases()),
                         [](const auto& one) {
                           return std::string(one.param.type->name) + describe(one.param.schema) +
                                  std::string(one.param.variant);
                         });

}  // namespace
}  // namespace quiver::index::testing
