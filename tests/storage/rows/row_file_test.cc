#include "storage/rows/row_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "storage/rows/shard_store.h"
#include "tests/support/failing_allocation.h"

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;
using Rows = std::map<PointId, std::string>;

class RowFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) / "quiver_row_file" / test->name();
    fs::remove_all(directory_);
    RuntimeOptions options;
    options.sync = false;
    runtime_ = Runtime::create(options).value();
    reopen();
  }
  void TearDown() override {
    store_ = nullptr;
    fs::remove_all(directory_);
  }
  void reopen() {
    store_ = nullptr;
    auto opened = ShardStore::open(directory_.string(), runtime_);
    ASSERT_TRUE(opened) << opened.error().to_string();
    store_ = *std::move(opened);
  }
  void write_file(const std::string& name, const Rows& rows) {
    auto file = store_->new_row_file(name);
    for (const auto& [id, row] : rows) ASSERT_TRUE(file.add(id, row));
    const auto finished = file.finish();
    ASSERT_TRUE(finished) << finished.error().to_string();
  }
  void expect_rows(const Rows& wanted) {
    Rows got;
    ASSERT_TRUE(store_->scan_rows(std::nullopt, [&](const PointId& id, std::string_view row) {
      got.emplace(id, row);
      return true;
    }));
    EXPECT_EQ(got.size(), wanted.size());
    EXPECT_TRUE(got == wanted);
  }
  /// Rows of which some are large enough for blob files.
  static Rows random_rows(std::uint64_t first, std::size_t n, std::mt19937_64& random) {
    Rows rows;
    for (std::uint64_t i = first; i < first + n; ++i) {
      std::string row(random() % 3 == 0 ? 2000 : 20, '\0');
      for (char& c : row) c = static_cast<char>(random());
      rows[i % 4 == 0 ? PointId::uuid(i, ~i) : PointId::number(i)] = row;
    }
    return rows;
  }

  fs::path directory_;
  std::shared_ptr<Runtime> runtime_;
  std::unique_ptr<ShardStore> store_;
};

TEST_F(RowFileTest, IngestedRowsReplaceOlderOnesAndAreReplaced) {
  std::mt19937_64 random(1);
  Rows model;
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    RowBatch batch;
    for (const auto& [id, row] : random_rows(random() % 400, 60, random)) {
      batch.put_row(id, row);
      model[id] = row;
    }
    for (int i = 0; i < 20; ++i) {
      const PointId id = PointId::number(random() % 400);
      batch.delete_row(id);
      model.erase(id);
    }
    ASSERT_TRUE(store_->write(batch));
    const Rows loaded = random_rows(random() % 400, 200, random);
    const auto middle = std::next(loaded.begin(), 90);
    write_file("a.rows", Rows(loaded.begin(), middle));
    write_file("b.rows", Rows(middle, loaded.end()));
    expect_rows(model);
    const std::vector<std::string> names = {"a.rows", "b.rows"};
    EXPECT_THAT(store_->row_files().value(), ::testing::UnorderedElementsAreArray(names));
    const auto ingested = store_->ingest(names);
    ASSERT_TRUE(ingested) << ingested.error().to_string();
    EXPECT_TRUE(store_->row_files().value().empty()) << "moved";
    for (const auto& [id, row] : loaded) model[id] = row;
    expect_rows(model);
    if (round % 2 == 1) reopen();
    expect_rows(model);
  }
  EXPECT_TRUE(store_->stats().healthy);
}

/// The space of ingested and then overwritten rows is reclaimed like that of other rows.
TEST_F(RowFileTest, SpaceOfIngestedRowsIsReclaimed) {
  std::mt19937_64 random(2);
  const Rows rows = random_rows(0, 4000, random);
  write_file("a.rows", rows);
  ASSERT_TRUE(store_->ingest(std::vector<std::string>{"a.rows"}));
  const std::uint64_t full = store_->disk_bytes();
  RowBatch batch;
  for (const auto& [id, row] : rows) batch.delete_row(id);
  ASSERT_TRUE(store_->write(batch));
  EXPECT_EQ(store_->stats().rows_deleted, rows.size());
  ASSERT_TRUE(store_->reclaim());
  EXPECT_LT(store_->disk_bytes(), full / 4);
  EXPECT_EQ(store_->stats().rows_deleted, 0U);
  expect_rows({});
}

/// A writer whose last step ran out of memory is destroyed like any other.
TEST_F(RowFileTest, FinishingWithoutMemoryIsSurvived) {
  int n_failed = 0;
  for (bool is_over = false; !is_over; ++n_failed) {
    auto file = store_->new_row_file("a.rows");
    ASSERT_TRUE(file.add(PointId::number(1), std::string(2000, 'x')));
    testing_support::fail_allocations(n_failed, 1);
    try {
      is_over = file.finish().has_value();
    } catch (const std::bad_alloc&) {
    }
    testing_support::fail_allocations(0, 0);
  }
  EXPECT_GT(n_failed, 10);
  ASSERT_TRUE(store_->ingest(std::vector<std::string>{"a.rows"}));
}

TEST_F(RowFileTest, IdsMustAscend) {
  auto file = store_->new_row_file("a.rows");
  ASSERT_TRUE(file.add(PointId::number(2), "two"));
  EXPECT_FALSE(file.add(PointId::number(2), "two"));
  EXPECT_FALSE(file.add(PointId::number(1), "one"));
}

TEST_F(RowFileTest, DamagedOrMissingFilesChangeNothing) {
  std::mt19937_64 random(3);
  const Rows rows = random_rows(0, 100, random);
  write_file("good.rows", rows);
  write_file("short.rows", random_rows(1000, 100, random));
  const fs::path cut = directory_ / "short.rows";
  fs::resize_file(cut, fs::file_size(cut) / 2);
  EXPECT_FALSE(store_->ingest(std::vector<std::string>{"good.rows", "short.rows"}));
  EXPECT_FALSE(store_->ingest(std::vector<std::string>{"good.rows", "missing.rows"}));
  expect_rows({});
  ASSERT_TRUE(store_->ingest(std::vector<std::string>{"good.rows"}));
  expect_rows(rows);
  ASSERT_TRUE(store_->remove_row_files(std::vector<std::string>{"short.rows", "missing.rows"}));
  EXPECT_TRUE(store_->row_files().value().empty());
  reopen();
  expect_rows(rows);
}

TEST_F(RowFileTest, UnfinishedMeansNothing) {
  {
    auto file = store_->new_row_file("a.rows");
    ASSERT_TRUE(file.add(PointId::number(1), "one"));
  }
  auto empty = store_->new_row_file("b.rows");
  EXPECT_FALSE(empty.finish());
  EXPECT_FALSE(store_->ingest(std::vector<std::string>{"a.rows"}));
  reopen();
  expect_rows({});
}

}  // namespace
}  // namespace quiver::storage
