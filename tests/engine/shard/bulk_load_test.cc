// Bulk loading through a database. Random loads among updates, reopenings and crashes, held against
// a map, are in tests/model; power cuts and failing disks in tests/fault.
#include "engine/model/bulk.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/database.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

/// `n` points from `first` on with a dense, a sparse and a multi field.
struct Points {
  Points(std::uint64_t first, std::size_t n, float value) {
    for (std::size_t i = 0; i < n; ++i) {
      ids.push_back(PointId::number(first + i));
      payloads.emplace_back(R"( {"n" : 1} )");
      present.push_back(i % 3 != 0 ? 1 : 0);
      dense.insert(dense.end(), {value, static_cast<float>(i), 0});
      if (i % 3 != 0) {
        indices.insert(indices.end(), {9, 2});
        weights.insert(weights.end(), {value, 1});
        tokens.insert(tokens.end(), {value, 0, 0, value});
      }
      entry_offsets.push_back(indices.size());
      token_offsets.push_back(tokens.size() / 2);
    }
  }
  [[nodiscard]] BulkChunk chunk() const {
    BulkChunk chunk;
    chunk.ids = ids;
    chunk.payloads = payloads;
    chunk.fields = {{"dense", DenseRows{dense}, {}},
                    {"words", SparseRows{entry_offsets, indices, weights}, present},
                    {"tokens", MultiRows{token_offsets, tokens}, present}};
    chunk.cursor = "cursor";
    return chunk;
  }

  std::vector<PointId> ids;
  std::vector<std::string_view> payloads;
  std::vector<std::uint8_t> present;
  std::vector<float> dense, weights, tokens;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> entry_offsets{0}, token_offsets{0};
};

class Bulk : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        std::filesystem::path(::testing::TempDir()) / ("quiver_bulk_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
    CollectionConfig config;
    const auto none = SparseModifier::kNone;
    config.fields = {{"dense", FieldKind::kDense, 3, DType::kF32, Metric::kDot, none},
                     {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, none},
                     {"tokens", FieldKind::kMulti, 2, DType::kF16, Metric::kDot, none},
                     {"other", FieldKind::kDense, 4, DType::kU8, Metric::kDot, none}};
    config.shard_number = 2;
    payload::FieldIndex index;
    index.key = "n";
    index.kind = payload::IndexKind::kInteger;
    config.indexes = {index};
    ASSERT_TRUE(database_->create_collection("bulk", config));
    collection_ = database_->collection("bulk").value();
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }
  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    auto opened = Database::open(options);
    ASSERT_TRUE(opened) << opened.error().to_string();
    database_ = *std::move(opened);
  }
  void close() {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }
  [[nodiscard]] Record record(std::uint64_t id) const {
    const auto records =
        collection_->retrieve({{PointId::number(id)}, payload::Selector::all(), {true, {}}});
    EXPECT_TRUE(records && records->size() == 1);
    return records && records->size() == 1 ? records->front() : Record();
  }
  [[nodiscard]] std::uint64_t count() const { return collection_->count({}, Cancel()).value(); }
  /// Directories of segments, and row files.
  [[nodiscard]] std::size_t n_files_of_loads() const {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      n += entry.path().extension() == ".rows" || entry.path().filename() == "rows.qvs" ? 1 : 0;
    }
    return n;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

TEST_F(Bulk, EndsSealedWithNothingLeftToDo) {
  ASSERT_TRUE(collection_->bulk_load(Points(0, 1000, 2).chunk()));
  const auto info = collection_->info();
  EXPECT_EQ(info.health, Health::kGreen);
  EXPECT_EQ(info.n_points, 1000U);
  EXPECT_EQ(info.n_segments, 2U) << "one for each shard";
  EXPECT_EQ(info.indexes.at(0).n_points, 1000U);
  EXPECT_EQ(n_files_of_loads(), 2U) << "the row files were moved into the stores";
  const Record with = record(4);
  EXPECT_EQ(with.payload, R"({"n":1})");
  ASSERT_EQ(with.vectors->size(), 3U);
  EXPECT_EQ((*with.vectors)[0].value, VectorValue(DenseVector{2, 4, 0}));
  EXPECT_EQ((*with.vectors)[1].value, VectorValue(SparseVector{{2, 9}, {1, 2}}));
  EXPECT_EQ((*with.vectors)[2].value, VectorValue(MultiVector{2, 2, {2, 0, 0, 2}}));
  EXPECT_EQ(record(3).vectors->size(), 1U) << "no words, no tokens";
}

TEST_F(Bulk, ReplacesWhatIsThereAndSurvives) {
  ASSERT_TRUE(collection_->bulk_load(Points(0, 300, 1).chunk()));
  auto again = Points(200, 300, 5);
  again.ids[7] = again.ids[8];  // of equal ids the last wins
  ASSERT_TRUE(collection_->bulk_load(again.chunk()));
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(count(), 500U);
    EXPECT_EQ(std::get<DenseVector>((*record(199).vectors)[0].value)[0], 1);
    EXPECT_EQ(std::get<DenseVector>((*record(208).vectors)[0].value), (DenseVector{5, 8, 0}));
    EXPECT_EQ(std::get<DenseVector>((*record(207).vectors)[0].value)[0], 1) << "not in the chunk";
    EXPECT_EQ(collection_->bulk_cursor().value(), "cursor");
    close();
    open();
    collection_ = database_->collection("bulk").value();
  }
}

TEST_F(Bulk, AChunkMayBeNothingButACursor) {
  BulkChunk chunk;
  EXPECT_TRUE(collection_->bulk_load(chunk));
  EXPECT_EQ(collection_->bulk_cursor().value(), "");
  chunk.cursor = "at the end";
  EXPECT_TRUE(collection_->bulk_load(chunk));
  EXPECT_EQ(collection_->bulk_cursor().value(), "at the end");
  chunk.cursor = "";
  EXPECT_TRUE(collection_->bulk_load(chunk));
  EXPECT_EQ(collection_->bulk_cursor().value(), "");
  EXPECT_EQ(count(), 0U);
}

TEST_F(Bulk, WhatDoesNotFitLeavesNothing) {
  ASSERT_TRUE(collection_->bulk_load(Points(0, 10, 1).chunk()));
  const std::vector<std::pair<const char*, std::function<void(Points&)>>> bad_points = {
      {"too few dense values", [](Points& p) { p.dense.pop_back(); }},
      {"not a number", [](Points& p) { p.dense[40] = std::nanf(""); }},
      {"descending offsets", [](Points& p) { std::swap(p.entry_offsets[3], p.entry_offsets[9]); }},
      {"offsets beyond the end", [](Points& p) { p.token_offsets.back() += 1; }},
      {"too few offsets", [](Points& p) { p.token_offsets.pop_back(); }},
      {"an index twice", [](Points& p) { p.indices[1] = p.indices[0]; }},
      {"a value for no index", [](Points& p) { p.weights.push_back(1); }},
      {"half a token", [](Points& p) { p.tokens.push_back(1); }},
      {"larger than f16", [](Points& p) { p.tokens[5] = 1e6F; }},
      {"no tokens", [](Points& p) { p.present[0] = 1; }},
      {"absent with entries", [](Points& p) { p.present[1] = 0; }},
      {"too few of present", [](Points& p) { p.present.pop_back(); }},
      {"too few payloads", [](Points& p) { p.payloads.pop_back(); }},
      {"no object", [](Points& p) { p.payloads[4] = "7"; }},
      {"no JSON", [](Points& p) { p.payloads[4] = "{"; }},
  };
  const std::vector<std::pair<const char*, std::function<void(BulkChunk&)>>> bad_chunks = {
      {"unknown field", [](BulkChunk& c) { c.fields[0].name = "nobody"; }},
      {"field given twice", [](BulkChunk& c) { c.fields[1].name = "dense"; }},
      {"rows of another kind", [](BulkChunk& c) { c.fields[1].rows = c.fields[2].rows; }},
  };
  const std::size_t n_files = n_files_of_loads();
  const auto expect_refused = [&](const char* what, BulkChunk chunk) {
    SCOPED_TRACE(what);
    chunk.cursor = "never";
    const auto loaded = collection_->bulk_load(chunk);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code(), Code::kInvalidArgument) << loaded.error().to_string();
    EXPECT_EQ(count(), 10U);
    EXPECT_EQ(collection_->bulk_cursor().value(), "cursor");
    EXPECT_EQ(n_files_of_loads(), n_files);
  };
  for (const auto& [what, spoil] : bad_points) {
    Points points(5, 50, 3);
    spoil(points);
    expect_refused(what, points.chunk());
  }
  for (const auto& [what, spoil] : bad_chunks) {
    const Points points(5, 50, 3);
    BulkChunk chunk = points.chunk();
    spoil(chunk);
    expect_refused(what, chunk);
  }
  EXPECT_TRUE(collection_->bulk_load(Points(5, 50, 3).chunk()));
  EXPECT_EQ(count(), 55U);
}

}  // namespace
}  // namespace quiver::engine::testing
