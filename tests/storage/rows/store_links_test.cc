// A linked store is what the store was at one moment, whatever happens to it afterwards.
#include "storage/rows/store_links.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "storage/repair/store_check.h"
#include "storage/rows/shard_store.h"

namespace quiver::storage {
namespace {

namespace fs = std::filesystem;
using Rows = std::map<PointId, std::string>;

Rows rows_of(const ShardStore& store) {
  Rows rows;
  EXPECT_TRUE(store.scan_rows(std::nullopt, [&](const PointId& id, std::string_view row) {
    rows.emplace(id, row);
    return true;
  }));
  return rows;
}

std::shared_ptr<Runtime> small_runtime() {
  RuntimeOptions options;
  options.shard_write_buffer_bytes = 64 << 10;  // flushes and compactions in between
  return Runtime::create(options).value();
}

TEST(StoreLinks, HoldTheStateOfOneMoment) {
  const fs::path root =
      fs::path(::testing::TempDir()) / ("quiver_store_links_" + std::to_string(getpid()));
  fs::remove_all(root);
  std::mt19937_64 random(12);
  const auto runtime = small_runtime();
  const auto store = ShardStore::open(root / "store", runtime).value();
  Rows model;
  const auto write_some = [&] {
    for (int i = 0; i < 60; ++i) {
      RowBatch batch;
      const auto id = PointId::number(random() % 500);
      if (random() % 4 == 0) {
        batch.delete_row(id);
        model.erase(id);
      } else {
        const std::string row(random() % 3000, static_cast<char>('a' + random() % 26));
        batch.put_row(id, row);
        model[id] = row;
      }
      ASSERT_TRUE(store->write(batch));
    }
  };
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    write_some();
    if (round == 5) {
      ASSERT_TRUE(store->flush());
    }
    if (round == 7) {
      ASSERT_TRUE(store->reclaim());
    }
    const std::string target = root / ("copy" + std::to_string(round));
    fs::create_directories(target);
    auto links = store->link_files(target);
    ASSERT_TRUE(links) << links.error().to_string();
    const Rows then = model;
    write_some();
    if (round % 3 == 0) {
      ASSERT_TRUE(store->reclaim());
    }
    ASSERT_TRUE(links->finish());
    write_some();
    for (const auto& file : fs::directory_iterator(target)) {
      EXPECT_NE(file.path().extension(), ".growing");
    }
    ASSERT_TRUE(check_store(target, *runtime, Opening::kMustExist));
    ASSERT_TRUE(check_store_logs(target, *runtime));
    const auto copy = ShardStore::open(target, runtime);
    ASSERT_TRUE(copy) << copy.error().to_string();
    EXPECT_EQ(rows_of(**copy), then);
    // The copy is a store of its own.
    RowBatch batch;
    batch.put_row(PointId::number(7777), "mine");
    ASSERT_TRUE((*copy)->write(batch));
    EXPECT_EQ(rows_of(*store), model);
  }
  fs::remove_all(root);
}

}  // namespace
}  // namespace quiver::storage
