// Indexes that start from an older one of many of their rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/mutex.h"
#include "base/threads/executor.h"
#include "index/exact/searcher.h"
#include "tests/index/dense/dense_support.h"

namespace quiver::index::testing {
namespace {

struct After {
  const Searcher* predecessor = nullptr;
  Executor* executor = nullptr;
  const Directory* former = nullptr;
};

/// The names of the files, and their bytes.
using Files = std::vector<std::pair<std::string, std::vector<std::byte>>>;

struct CarriedIndex {
  explicit CarriedIndex(FieldColumn rows, const After& after = {}) : column(std::move(rows)) {
    const Cancel cancel;
    BuildContext context{after.executor, cancel, kIvfSeed, nullptr};
    Mutex telling;
    context.progress = [&](std::uint64_t n) {
      MutexLock lock(telling);
      told.push_back(n);
    };
    context.predecessor = after.predecessor;
    context.former = after.former;
    const auto built =
        ivf_type().build(column, ivf_type().parse_build({}).value(), context, *directory);
    EXPECT_TRUE(built) << built.error().to_string();
    searcher = ivf_type().open(*directory, column).value();
  }

  [[nodiscard]] Files files() const {
    Files files;
    const auto entries = directory->list().value();
    for (const auto& entry : entries) {
      const auto file = directory->open_mapped(entry.name).value();
      files.emplace_back(entry.name, std::vector(file->bytes().begin(), file->bytes().end()));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  /// Of ten hits, over all queries, and the codes that a query scans.
  [[nodiscard]] std::pair<double, double> recall(const std::vector<PreparedQuery>& queries) const {
    const auto params = ivf_type().parse_search({{"gap", 0.2}}).value();
    const auto all = RowFilter::all(column.n_rows);
    const Cancel cancel;
    double sum = 0;
    WorkCounters work;
    for (const PreparedQuery& query : queries) {
      TopK found(10);
      TopK truth(10);
      WorkCounters exact;
      EXPECT_TRUE(searcher->search(query, params, all, {cancel, nullptr, {}}, found, work));
      EXPECT_TRUE(FlatSearcher(column).search(query, {}, all, {cancel, nullptr, {}}, truth, exact));
      sum += recall_of(found.take_sorted(), truth.take_sorted());
    }
    const auto n = static_cast<double>(queries.size());
    return {sum / n, static_cast<double>(work.n_codes_scored) / n};
  }

  FieldColumn column;
  std::unique_ptr<Directory> directory = make_memory_directory();
  std::unique_ptr<Searcher> searcher;
  std::vector<std::uint64_t> told;
};

/// Vectors that come and go.
class Rows {
 public:
  Rows(Clumps& clumps, std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i) vectors_.emplace_back(clumps.vector());
  }
  void replace(double share, Clumps& clumps, Random& random) {
    std::shuffle(vectors_.begin(), vectors_.end(), random);
    const auto n = static_cast<std::size_t>(share * static_cast<double>(vectors_.size()));
    for (std::size_t i = 0; i < n; ++i) vectors_[i] = clumps.vector();
  }
  void keep(std::size_t n) { vectors_.resize(n); }
  [[nodiscard]] FieldColumn column(const FieldSchema& schema) const {
    return make_column(schema, vectors_);
  }

 private:
  std::vector<std::optional<PlainVector>> vectors_;
};

constexpr std::uint32_t kDim = 32;
constexpr std::uint32_t kRows = 6000;

std::vector<PreparedQuery> queries_of(Clumps& clumps, std::size_t n) {
  std::vector<PreparedQuery> queries;
  for (std::size_t i = 0; i < n; ++i) queries.push_back(clumps.query());
  return queries;
}

TEST(IvfCarried, RecallAfterGenerationsThatReplaceThirtyPercent) {
  Random random(kIvfSeed);
  for (const auto& schema : {dense_schema(kDim), dense_schema(kDim, Metric::kEuclid)}) {
    SCOPED_TRACE(describe(schema));
    Clumps clumps(schema, 60, random);
    const auto queries = queries_of(clumps, 300);
    Rows rows(clumps, kRows);
    auto carried = std::make_unique<CarriedIndex>(rows.column(schema));
    for (int generation = 0; generation < 6; ++generation) {
      rows.replace(0.3, clumps, random);
      auto next = std::make_unique<CarriedIndex>(rows.column(schema),
                                                 After{carried->searcher.get(), nullptr});
      carried = std::move(next);
    }
    const CarriedIndex fresh(rows.column(schema));
    EXPECT_NE(carried->files(), fresh.files()) << "it was not carried over";
    const auto [recall, codes] = carried->recall(queries);
    const auto [wanted, usual] = fresh.recall(queries);
    EXPECT_GE(recall, wanted - 0.01);
    EXPECT_LE(codes, usual * 1.1);
  }
}

TEST(IvfCarried, RowsThatAreFewerOrMore) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(kDim);
  Clumps clumps(schema, 60, random);
  const auto queries = queries_of(clumps, 300);
  const Rows all(clumps, kRows);
  Rows some = all;
  some.keep(kRows * 7 / 10);
  const CarriedIndex of_all(all.column(schema));
  const CarriedIndex of_some(some.column(schema));
  const CarriedIndex fewer(some.column(schema), {of_all.searcher.get(), nullptr});
  const CarriedIndex more(all.column(schema), {of_some.searcher.get(), nullptr});
  EXPECT_NE(fewer.files(), of_some.files());
  EXPECT_NE(more.files(), of_all.files());
  EXPECT_GE(fewer.recall(queries).first, of_some.recall(queries).first - 0.01);
  EXPECT_GE(more.recall(queries).first, of_all.recall(queries).first - 0.01);
  EXPECT_LE(fewer.recall(queries).second, of_some.recall(queries).second * 1.1);
  EXPECT_LE(more.recall(queries).second, of_all.recall(queries).second * 1.1);
}

TEST(IvfCarried, WhatDoesNotSuitIsLeftAside) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(kDim);
  Clumps clumps(schema, 60, random);
  Clumps others(schema, 60, random);
  const Rows rows(clumps, kRows);
  const FieldColumn column = rows.column(schema);
  const CarriedIndex fresh(column);
  const CarriedIndex of_others(Rows(others, kRows).column(schema));
  const CarriedIndex of_few(Rows(clumps, kRows / 10).column(schema));
  const FlatSearcher flat(column);
  const Searcher* const unsuited[] = {of_others.searcher.get(), of_few.searcher.get(), &flat};
  for (const Searcher* predecessor : unsuited) {
    EXPECT_EQ(CarriedIndex(column, {predecessor, nullptr}).files(), fresh.files());
  }
}

/// The older index is gone then.
TEST(IvfCarried, ADamagedIndexIsBuiltAgainAsItWas) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(kDim);
  Clumps clumps(schema, 60, random);
  Rows rows(clumps, kRows);
  const CarriedIndex old(rows.column(schema));
  rows.replace(0.3, clumps, random);
  const FieldColumn column = rows.column(schema);
  const CarriedIndex carried(column, {old.searcher.get()});
  const CarriedIndex fresh(column);
  ASSERT_NE(carried.files(), fresh.files());
  for (const auto& [name, bytes] : carried.files()) {
    SCOPED_TRACE(name);
    auto bad = bytes;
    bad[bad.size() / 2] ^= std::byte{1};
    const auto former = make_memory_directory();
    for (const auto& [other, good] : carried.files()) {
      ASSERT_TRUE(former->write_file(other, other == name ? bad : good));
    }
    const CarriedIndex again(column, {nullptr, nullptr, former.get()});
    EXPECT_EQ(again.files(), name == "start.qvx" ? fresh.files() : carried.files());
  }
  EXPECT_EQ(CarriedIndex(column, {nullptr, nullptr, fresh.directory.get()}).files(), fresh.files())
      << "nothing is carried over from what started from nothing";
}

TEST(IvfCarried, TheSameBytesForAnyNumberOfThreads) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(kDim, Metric::kCosine);
  Clumps clumps(schema, 60, random);
  Rows rows(clumps, kRows);
  const CarriedIndex old(rows.column(schema));
  rows.replace(0.3, clumps, random);
  const CarriedIndex alone(rows.column(schema), {old.searcher.get(), nullptr});
  for (const unsigned n_threads : {1U, 2U, 5U}) {
    Executor executor(n_threads, "test");
    const CarriedIndex together(rows.column(schema), {old.searcher.get(), &executor});
    EXPECT_EQ(together.files(), alone.files());
  }
}

TEST(IvfCarried, ProgressAscendsThroughTrainingToTheNumberOfRows) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(kDim);
  Clumps clumps(schema, 60, random);
  const FieldColumn column = clumps.column(kRows, 0.6);
  const CarriedIndex fresh(column);
  const CarriedIndex carried(column, {fresh.searcher.get(), nullptr});
  for (const auto& told : {fresh.told, carried.told}) {
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back(), kRows);
    // Lists are half of the work, and of that .05 second codes, then .43 training.
    const auto in_training = std::count_if(told.begin(), told.end(), [](std::uint64_t n) {
      return n > kRows * 3 / 100 && n < kRows * 23 / 100;
    });
    EXPECT_GE(in_training, 2);
  }
}

}  // namespace
}  // namespace quiver::index::testing
