// Indexes over fewer dimensions: what they find, their files, and what they take over.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/threads/executor.h"
#include "index/dense/lists/search/lists_files.h"
#include "tests/index/dense/dense_support.h"
#include "tests/index/dense/searcher_support.h"

namespace quiver::index::testing {
namespace {

class IvfReducedSearch : public IvfSearch {};

INSTANTIATE_TEST_SUITE_P(, IvfReducedSearch, ::testing::ValuesIn(ivf_schemas(0)),
                         [](const auto& one) { return describe(one.param); });

constexpr std::uint32_t kReducedDim = 160;

KeyValues reduced(const std::string& how, KeyValues others = {}) {
  others["reduce"] = how;
  return others;
}

/// Clumps that vary along few directions: neighbouring dimensions are nearly equal.
class FlatClumps {
 public:
  FlatClumps(const FieldSchema& schema, std::uint32_t n_centres, Random& random)
      : schema_(schema), few_(narrow(schema), n_centres, random), random_(random) {}

  [[nodiscard]] PlainVector vector() {
    const PlainVector few = few_.vector();
    PlainVector vector;
    const float noise = schema_.dtype == DType::kU8 ? 2 : 0.05F;
    for (std::uint32_t d = 0; d < schema_.dim; ++d) {
      const float value = few.values[d / kRepeats] + noise * normal_(random_);
      vector.values.push_back(
          schema_.dtype == DType::kU8 ? std::clamp(std::round(value), 0.0F, 255.0F) : value);
    }
    return vector;
  }
  [[nodiscard]] PreparedQuery query() { return make_query(schema_, vector()); }
  [[nodiscard]] FieldColumn column(std::uint32_t n_rows) {
    std::vector<std::optional<PlainVector>> vectors(n_rows);
    for (std::uint32_t row = 0; row < n_rows; ++row) {
      if (row % 20 != 7) vectors[row] = vector();
    }
    return make_column(schema_, vectors);
  }

 private:
  static constexpr std::uint32_t kRepeats = 8;
  static FieldSchema narrow(FieldSchema schema) {
    schema.dim = (schema.dim + kRepeats - 1) / kRepeats;
    return schema;
  }

  FieldSchema schema_;
  Clumps few_;
  Random& random_;
  std::normal_distribution<float> normal_;
};

std::uint32_t dimensions_of(const BuiltIndex& index) {
  const auto lists = dense::open_lists(
      *index.directory, {index.column.schema, index.column.n_rows, index.column.n_present});
  EXPECT_TRUE(lists);
  return lists ? lists->candidates.lists().facts().padded_dim : 0;
}

TEST_P(IvfReducedSearch, FindsMostWithExactScoresAndNeverTooFew) {
  Random random(kIvfSeed);
  FlatClumps clumps(schema(kReducedDim), 40, random);
  const auto column = clumps.column(1500);
  const Bitset present = present_rows(column);
  for (const char* how : {"pca", "random"}) {
    for (const char* graph : {"never", "always"}) {
      if (how == std::string("random") && graph == std::string("always")) continue;
      SCOPED_TRACE(std::string(how) + ", graph " + graph);
      const IvfIndex index(column, reduced(how, {{"graph", graph}}));
      EXPECT_LT(dimensions_of(index), kReducedDim);
      for (const std::size_t k : {1, 10, 100}) {
        double recall = 0;
        constexpr int kQueries = 10;
        for (int i = 0; i < kQueries; ++i) {
          const PreparedQuery query = clumps.query();
          const RowFilter filter = RowFilter::of(present);
          const Found found = index.find(query, {}, filter, k);
          ASSERT_EQ(found.hits.size(), k);
          for (const Hit& hit : found.hits) {
            EXPECT_EQ(score_row(query, index.column, hit.row), hit.score) << "row " << hit.row;
          }
          recall += recall_of(found.hits, index.exact(query, filter, k));
        }
        // Random maps of so few dimensions err much, above all if rows share a long mean, as of u8.
        EXPECT_GE(recall / kQueries, std::string(how) == "pca" ? 0.9 : 0.4) << "k " << k;
      }
    }
  }
}

TEST_P(IvfReducedSearch, FindsMostWithFilters) {
  Random random(kIvfSeed);
  FlatClumps clumps(schema(kReducedDim), 40, random);
  const IvfIndex index(clumps.column(1500), reduced("pca"));
  for (const Bitset& allowed : filters_over(index.column, random)) {
    const RowFilter filter = RowFilter::of(allowed);
    double recall = 0;
    constexpr int kQueries = 10;
    for (int i = 0; i < kQueries; ++i) {
      const PreparedQuery query = clumps.query();
      const auto found = index.find(query, {}, filter, 10);
      ASSERT_EQ(found.hits.size(), 10U);
      recall += recall_of(found.hits, index.exact(query, filter, 10));
    }
    EXPECT_GE(recall / kQueries, 0.9) << "of " << allowed.count();
  }
}

/// Every list scanned and every row scored: the bits of brute force.
TEST_P(IvfReducedSearch, AllListsGiveTheBitsOfBruteForce) {
  Random random(kIvfSeed);
  FlatClumps clumps(schema(kReducedDim), 20, random);
  const auto column = clumps.column(1500);
  for (const char* how : {"pca", "random"}) {
    const IvfIndex index(column, reduced(how, {{"refine_bits", std::int64_t{0}}}));
    for (const Bitset& allowed : filters_over(column, random)) {
      const RowFilter filter = RowFilter::of(allowed);
      const PreparedQuery query = clumps.query();
      const auto found = index.find(query, everything(), filter, 20);
      expect_same_hits(found.hits, index.exact(query, filter, 20));
    }
  }
}

TEST(IvfReduced, SaysHowManyDimensionsAreLeft) {
  Random random(kIvfSeed);
  FlatClumps clumps(dense_schema(kReducedDim), 20, random);
  const auto column = clumps.column(1500);
  const auto dims = [&](const KeyValues& values) {
    return dimensions_of(IvfIndex(column, values));
  };
  EXPECT_EQ(dims({}), 160U) << "too few rows and dimensions for auto";
  EXPECT_EQ(dims(reduced("none")), 160U);
  EXPECT_EQ(dims(reduced("pca")), 64U);
  EXPECT_EQ(dims(reduced("pca", {{"reduced_dims", std::int64_t{96}}})), 96U);
  EXPECT_EQ(dims(reduced("pca", {{"reduced_dims", std::int64_t{256}}})), 160U);
  EXPECT_EQ(dims(reduced("random")), 96U);
  EXPECT_EQ(dims(reduced("random", {{"reduced_dims", std::int64_t{64}}})), 64U);
  const IvfIndex index(column, reduced("pca"));
  const auto description = index.searcher->describe();
  const auto is_told = [&](const auto& fact) {
    return fact.first == "dimensions" && std::get<std::int64_t>(fact.second) == 64;
  };
  EXPECT_TRUE(std::any_of(description.facts.begin(), description.facts.end(), is_told));
}

TEST(IvfReduced, NoiseIsNotReduced) {
  Random random(kIvfSeed);
  const auto column = random_column(dense_schema(kReducedDim), {.n_rows = 1500}, random);
  EXPECT_EQ(dimensions_of(IvfIndex(column, reduced("pca"))), 160U);
}

TEST(IvfReduced, ParametersAreRefusedWithWhatWasWanted) {
  const auto error_of = [](const KeyValues& values) {
    const auto parsed = ivf_type().parse_build(values);
    return parsed ? std::string() : parsed.error().message();
  };
  EXPECT_EQ(error_of(reduced("svd")), "reduce is \"svd\", must be auto, pca, random or none");
  EXPECT_EQ(error_of(reduced("pca", {{"reduced_dims", std::int64_t{100}}})),
            "reduced_dims is 100, must be 0 or a multiple of 32 from 64");
  EXPECT_EQ(error_of(reduced("pca", {{"reduced_dims", std::int64_t{32}}})),
            "reduced_dims is 32, must be 0 or a multiple of 32 from 64");
}

using Files = std::vector<std::pair<std::string, std::vector<std::byte>>>;

Files files_of(const Directory& directory) {
  Files files;
  const auto entries = directory.list().value();
  for (const auto& entry : entries) {
    const auto file = directory.open_mapped(entry.name).value();
    files.emplace_back(entry.name, std::vector(file->bytes().begin(), file->bytes().end()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Others {
  const Searcher* predecessor = nullptr;
  const Directory* former = nullptr;
  Executor* executor = nullptr;
};

std::unique_ptr<Directory> built(const FieldColumn& column, const Others& others = {}) {
  auto directory = make_memory_directory();
  const Cancel cancel;
  BuildContext context{others.executor, cancel, kIvfSeed, nullptr};
  context.predecessor = others.predecessor;
  context.former = others.former;
  const auto params = ivf_type().parse_build(reduced("pca")).value();
  const auto done = ivf_type().build(column, params, context, *directory);
  EXPECT_TRUE(done) << done.error().to_string();
  return directory;
}

TEST(IvfReduced, TheSameBytesForAnyNumberOfThreads) {
  Random random(kIvfSeed);
  FlatClumps clumps(dense_schema(kReducedDim), 40, random);
  const auto column = clumps.column(4000);
  Executor executor(3, "reduced");
  EXPECT_EQ(files_of(*built(column)), files_of(*built(column, {.executor = &executor})));
}

TEST(IvfReduced, TakesOverTheMapOfAnOlderIndexWhileItFits) {
  Random random(kIvfSeed);
  const auto schema = dense_schema(kReducedDim);
  FlatClumps clumps(schema, 40, random);
  const auto matrix_of = [&](const Directory& directory, const FieldColumn& column) {
    const auto lists =
        dense::open_lists(directory, {column.schema, column.n_rows, column.n_present});
    const auto& reduction = lists.value().candidates.transform().reduction();
    return reduction ? std::vector(reduction->matrix().begin(), reduction->matrix().end())
                     : std::vector<float>();
  };
  const auto old_rows = clumps.column(4000);
  const auto old = built(old_rows);
  const auto searcher = ivf_type().open(*old, old_rows).value();
  const auto new_rows = clumps.column(4500);
  const auto merged = built(new_rows, {.predecessor = searcher.get()});
  EXPECT_EQ(matrix_of(*merged, new_rows), matrix_of(*old, old_rows));
  EXPECT_EQ(files_of(*built(new_rows, {.former = merged.get()})), files_of(*merged))
      << "a rebuild gives the same bytes";
  FlatClumps elsewhere(schema, 3, random);
  std::vector<std::optional<PlainVector>> rotated;
  for (int i = 0; i < 3000; ++i) {
    auto vector = elsewhere.vector();
    std::rotate(vector.values.begin(), vector.values.begin() + 3, vector.values.end());
    for (std::size_t d = 0; d < vector.values.size(); d += 2) vector.values[d] *= -1;
    rotated.emplace_back(std::move(vector));
  }
  const auto strange_rows = make_column(schema, rotated);
  const auto strange = built(strange_rows, {.predecessor = searcher.get()});
  EXPECT_NE(matrix_of(*strange, strange_rows), matrix_of(*old, old_rows));
}

TEST(IvfReduced, DamagedMapsAreRefused) {
  Random random(kIvfSeed);
  FlatClumps clumps(dense_schema(kReducedDim), 10, random);
  const auto column = clumps.column(1200);
  const auto directory = built(column);
  const auto files = files_of(*directory);
  const auto lists = std::find_if(files.begin(), files.end(),
                                  [](const auto& file) { return file.first == "lists.qvx"; });
  ASSERT_NE(lists, files.end());
  // The map's sections are the last large ones.
  for (const std::size_t from_end : {5000U, 20000U, 40000U}) {
    auto bytes = lists->second;
    bytes[bytes.size() - from_end] ^= std::byte{1};
    ASSERT_TRUE(directory->remove_file("lists.qvx"));
    ASSERT_TRUE(directory->write_file("lists.qvx", bytes));
    const auto opened = ivf_type().open(*directory, column);
    ASSERT_FALSE(opened) << from_end;
    EXPECT_EQ(opened.error().code(), Code::kDataLoss);
  }
}

}  // namespace
}  // namespace quiver::index::testing
