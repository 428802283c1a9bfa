// What is read of damaged stores. engine/repair makes collections of it (tests/engine).
#include "storage/repair/salvage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;
using Effort = Salvage::Effort;
using Numbers = std::vector<std::uint64_t>;

class SalvageTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return (directory_ / "rows").string(); }
  /// Writes rows 0 to n - 1, flushes the first `n_flushed`; returns the log's size after each.
  /// Every table gets a file, because RocksDB's repair forgets column families without one.
  std::vector<std::uint64_t> write_rows(std::uint64_t n, std::uint64_t n_flushed) {
    const auto store = *ShardStore::open(path(), runtime_);
    std::vector<std::uint64_t> ends;
    for (std::uint64_t i = 0; i < n; ++i) {
      RowBatch batch;
      batch.put_row(PointId::number(i), "row " + std::to_string(i));
      batch.put_op(Seq{i + 1}, "op");
      batch.put_meta("fact", std::to_string(i));
      EXPECT_TRUE(store->write(batch));
      if (i + 1 == n_flushed) {
        EXPECT_TRUE(store->flush());
      }
      ends.push_back(fs::file_size(newest(".log")));
    }
    return ends;
  }
  [[nodiscard]] fs::path newest(std::string_view part) const {
    fs::path found;
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().filename().string().find(part) == std::string::npos) continue;
      found = std::max(found, entry.path());
    }
    return found;
  }
  static void flip_bit(const fs::path& file, std::uint64_t at) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const char old = static_cast<char>(bytes.get());
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(old ^ 4));
  }
  [[nodiscard]] static Numbers rows_of(const Salvage& salvage) {
    Numbers rows;
    salvage.scan_rows(
        {}, [&](const PointId& id, std::string_view /*row*/) { rows.push_back(id.low()); });
    return rows;
  }
  [[nodiscard]] static Numbers late_rows_of(const Salvage& salvage) {
    Numbers rows;
    EXPECT_TRUE(salvage.late_batches([&](const RowBatch& batch) {
      batch.for_each([&](const RowBatch::Change& change) {
        if (change.table != RowBatch::Table::kPoints) return;
        rows.push_back(PointId::from_key(change.key)->low());
      });
    }));
    return rows;
  }

  const fs::path directory_ = fs::path(::testing::TempDir()) / "quiver_salvage";
  const std::shared_ptr<Runtime> runtime_ = *Runtime::create({});
};

TEST_F(SalvageTest, ASoundStoreIsReadWhole) {
  write_rows(5, 2);
  const Salvage salvage(path(), runtime_, Effort::kLook);
  EXPECT_TRUE(salvage.problems().empty());
  ASSERT_NE(salvage.store(), nullptr);
  EXPECT_FALSE(salvage.has_damaged_logs());
  EXPECT_TRUE(salvage.knows_all_files());
  EXPECT_EQ(rows_of(salvage), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(late_rows_of(salvage), Numbers{});
}

TEST_F(SalvageTest, BatchesAfterDamageInALogAreFound) {
  const auto ends = write_rows(6, 0);
  flip_bit(newest(".log"), (ends[1] + ends[2]) / 2);
  const Salvage salvage(path(), runtime_, Effort::kLook);
  EXPECT_EQ(salvage.problems().size(), 1U);
  EXPECT_TRUE(salvage.has_damaged_logs());
  EXPECT_EQ(rows_of(salvage), (Numbers{0, 1}));
  EXPECT_EQ(late_rows_of(salvage), (Numbers{3, 4, 5}));
}

TEST_F(SalvageTest, TablesAreReadThroughANewManifestIfTheirsIsDamaged) {
  write_rows(4, 4);
  std::ofstream(newest("MANIFEST-"), std::ios::trunc) << "no manifest";
  {
    const Salvage looked(path(), runtime_, Effort::kLook);
    EXPECT_EQ(looked.store(), nullptr);
    EXPECT_FALSE(looked.problems().empty());
  }
  {
    const Salvage saved(path(), runtime_, Effort::kSave);
    ASSERT_NE(saved.store(), nullptr);
    EXPECT_FALSE(saved.knows_all_files());
    EXPECT_EQ(rows_of(saved), (Numbers{0, 1, 2, 3}));
  }
  EXPECT_FALSE(fs::exists(path() + ".links.tmp"));
}

TEST_F(SalvageTest, AMissingStoreIsAProblem) {
  const Salvage salvage(path(), runtime_, Effort::kSave);
  EXPECT_EQ(salvage.store(), nullptr);
  EXPECT_FALSE(salvage.problems().empty());
}

}  // namespace
}  // namespace quiver::storage
