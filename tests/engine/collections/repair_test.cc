// Collections whose rows are gone or damaged, in every way that we can think of: they are refused,
// nothing of them is touched, and a repair saves all that can still be read.
#include "engine/collections/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/database.h"
#include "storage/rows/shard_store.h"
#include "tests/patience.h"

namespace quiver::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

/// Ids and the version of each.
using Contents = std::map<std::uint64_t, int>;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// One collection `c` of one shard: sealed rows 0 to 99 in two segments, of which 0 to 9 were
/// deleted and 10 to 19 replaced, and rows 100 to 129, which stand in the log and in memory only.
class RepairTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSealRows = 50;

  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) /
            ("quiver_repair_" + std::to_string(getpid()) + "_" + test->name());
    fs::remove_all(root_);
    open();
    CollectionConfig config;
    config.fields = {
        {"", FieldKind::kDense, 400, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config.optimizer.seal_rows = kSealRows;
    config.optimizer.idle_seal_s = 1e6;
    ASSERT_TRUE(database_->create_collection("c", config));
    for (std::uint64_t id = 0; id < 100; ++id) upsert(id, 1);
    ASSERT_TRUE(comes_true([&] { return n_sealed() == 2; }, std::chrono::seconds(30)));
    for (std::uint64_t id = 0; id < 10; ++id) erase(id);
    for (std::uint64_t id = 10; id < 20; ++id) upsert(id, 2);
    for (std::uint64_t id = 100; id < 130; ++id) upsert(id, 1);
    close();
  }
  void TearDown() override {
    close();
    fs::remove_all(root_);
  }

  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    auto opened = Database::open(options);
    ASSERT_TRUE(opened) << opened.error().to_string();
    database_ = *std::move(opened);
  }
  void close() {
    if (database_ == nullptr) return;
    EXPECT_TRUE(database_->close());
    database_.reset();
  }
  void update(Operation operation) {
    std::promise<Result<>> done;
    std::vector<Operation> operations;
    operations.push_back(std::move(operation));
    const auto collection = database_->collection("c");
    ASSERT_TRUE(collection) << collection.error().to_string();
    ASSERT_TRUE((*collection)->update(std::move(operations), Ack::kVisible, [&](auto result) {
      done.set_value(result ? Result<>() : fail(result.error()));
    }));
    ASSERT_TRUE(done.get_future().get());
  }
  void upsert(std::uint64_t id, int version) {
    Upsert upsert;
    const std::vector<float> vector(400, static_cast<float>(id + 1));
    upsert.points.push_back({PointId::number(id),
                             {{"", DenseVector(vector.begin(), vector.end())}},
                             R"({"version":)" + std::to_string(version) + "}"});
    update(std::move(upsert));
    now_[id] = version;
  }
  void erase(std::uint64_t id) {
    update(DeletePoints{std::vector{PointId::number(id)}});
    now_.erase(id);
  }

  [[nodiscard]] fs::path shard() const { return root_ / "collections" / "00000001" / "shard-0"; }
  [[nodiscard]] fs::path rows() const { return shard() / "rows"; }
  [[nodiscard]] std::int64_t n_sealed() const {
    const auto shards = (*database_->collection("c"))->shards();
    return std::ranges::count_if(shards.at(0).segments, &SegmentInfo::sealed);
  }
  [[nodiscard]] std::vector<fs::path> files(std::string_view end) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(rows())) {
      if (entry.path().filename().string().ends_with(end)) found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  static void flip(const fs::path& file, std::size_t at) {
    std::string bytes = read_file(file);
    ASSERT_LT(at, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  /// All rows in tables and blobs, nothing in a log.
  void flush() {
    const auto store =
        storage::ShardStore::open(rows().string(), storage::Runtime::create({}).value());
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->flush());
    ASSERT_TRUE((*store)->reclaim());
  }

  Contents contents() {
    Contents found;
    const auto collection = database_->collection("c");
    EXPECT_TRUE(collection) << collection.error().to_string();
    if (!collection) return found;
    ScrollRequest request;
    request.limit = 1000;
    request.with_payload = payload::Selector::all();
    const auto page = (*collection)->scroll(request, Cancel());
    EXPECT_TRUE(page);
    for (const auto& point : page->points) {
      const auto at = point.payload->find(":");
      found[point.id.low()] = std::stoi(point.payload->substr(at + 1));
    }
    return found;
  }
  void expect_refused(std::string_view why) {
    open();
    const auto collection = database_->collection("c");
    ASSERT_FALSE(collection);
    EXPECT_EQ(collection.error().code(), Code::kDataLoss) << collection.error().to_string();
    EXPECT_THAT(collection.error().message(), HasSubstr(why));
    EXPECT_FALSE(database_->ready(nullptr));
    const auto checked = database_->check("c");
    ASSERT_TRUE(checked) << checked.error().to_string();
    EXPECT_FALSE(checked->at(0).rows.empty());
  }
  ShardRepair repair() {
    auto repaired = database_->repair("c");
    EXPECT_TRUE(repaired) << repaired.error().to_string();
    if (!repaired || !repaired->at(0)) return {};
    EXPECT_TRUE(database_->ready(nullptr));
    return *repaired->at(0);
  }
  /// It goes on working, also after another start.
  void expect_alive() {
    upsert(500, 1);
    erase(500);
    const Contents before = contents();
    close();
    open();
    EXPECT_EQ(contents(), before);
    close();
    open();
    EXPECT_EQ(contents(), before) << "segments of the old store are no part of it";
  }

  fs::path root_;
  std::unique_ptr<Database> database_;
  Contents now_;
};

TEST_F(RepairTest, WhatIsSoundIsLeftAlone) {
  open();
  const auto checked = database_->check("c");
  ASSERT_TRUE(checked) << checked.error().to_string();
  EXPECT_THAT(checked->at(0).rows, IsEmpty());
  EXPECT_EQ(checked->at(0).n_rows, now_.size());
  EXPECT_EQ(checked->at(0).n_segments, 2U);
  const auto repaired = database_->repair("c");
  ASSERT_TRUE(repaired);
  EXPECT_FALSE(repaired->at(0));
  EXPECT_EQ(contents(), now_);
  EXPECT_EQ(database_->check("c").error().code(), Code::kFailedPrecondition) << "it is open";
}

TEST_F(RepairTest, RowsThatAreGoneComeFromSegments) {
  fs::remove_all(rows());
  expect_refused("the rows are gone");
  const auto report = repair();
  EXPECT_EQ(report.n_from_segments, 100U);
  EXPECT_FALSE(report.deletes_are_known);
  Contents wanted;
  for (std::uint64_t id = 0; id < 100; ++id) wanted[id] = 1;
  EXPECT_EQ(contents(), wanted) << "what was deleted or replaced since it was sealed is back";
  expect_alive();
}

TEST_F(RepairTest, NothingIsMadeOfNothing) {
  fs::remove_all(shard());
  expect_refused("the rows are gone");
  const auto repaired = database_->repair("c");
  ASSERT_FALSE(repaired);
  EXPECT_THAT(repaired.error().message(), HasSubstr("holds neither rows nor segments"));
  EXPECT_FALSE(database_->collection("c"));
}

/// All that is lost is the change whose record is damaged.
TEST_F(RepairTest, OneDamagedRecordInALog) {
  const auto logs = files(".log");
  ASSERT_EQ(logs.size(), 1U);
  const auto size = fs::file_size(logs[0]);
  const fs::path sound = root_.string() + "-sound";
  fs::remove_all(sound);
  fs::copy(root_, sound, fs::copy_options::recursive);
  std::mt19937_64 random(3);
  std::uint64_t n_from_logs = 0;
  for (int round = 0; round < 6; ++round) {
    close();
    fs::remove_all(root_);
    fs::copy(sound, root_, fs::copy_options::recursive);
    const std::size_t at = size / 20 + random() % (size - size / 10);
    SCOPED_TRACE(::testing::Message() << "byte " << at << " of " << size);
    flip(logs[0], at);
    expect_refused("cannot be read at byte");
    const auto report = repair();
    n_from_logs += report.n_from_logs;
    const Contents found = contents();
    int n_differences = 0;
    for (std::uint64_t id = 0; id < 130; ++id) {
      const auto was = now_.find(id);
      const auto is = found.find(id);
      const int version_was = was == now_.end() ? 0 : was->second;
      const int version_is = is == found.end() ? 0 : is->second;
      if (version_was != version_is) ++n_differences;
    }
    EXPECT_LE(n_differences, 1);
    expect_alive();
    if (HasFailure()) break;
  }
  EXPECT_GT(n_from_logs, 0U);
  fs::remove_all(sound);
}

TEST_F(RepairTest, DamagedTablesAndBlobs) {
  flush();
  const fs::path sound = root_.string() + "-sound";
  fs::remove_all(sound);
  fs::copy(root_, sound, fs::copy_options::recursive);
  std::mt19937_64 random(4);
  for (const std::string end : {".sst", ".blob"}) {
    for (int round = 0; round < 4; ++round) {
      close();
      fs::remove_all(root_);
      fs::copy(sound, root_, fs::copy_options::recursive);
      const auto found = files(end);
      ASSERT_FALSE(found.empty()) << end;
      const fs::path& file = found[random() % found.size()];
      flip(file, random() % fs::file_size(file));
      SCOPED_TRACE(::testing::Message() << file);
      open();
      const auto checked = database_->check("c");
      ASSERT_TRUE(checked) << checked.error().to_string();
      if (checked->at(0).rows.empty()) continue;  // a byte that nothing depends on
      const auto report = repair();
      const Contents now = contents();
      // Every sealed row that is still the newest is in a segment, too.
      for (std::uint64_t id = 20; id < 100; ++id) EXPECT_TRUE(now.contains(id)) << id;
      if (report.deletes_are_known) {
        EXPECT_GE(now.size() + report.n_lost, now_.size());
      }
      expect_alive();
      if (HasFailure()) break;
    }
  }
  fs::remove_all(sound);
}

TEST_F(RepairTest, MissingTables) {
  flush();
  for (const auto& file : files(".sst")) fs::remove(file);
  expect_refused("");
  const auto report = repair();
  EXPECT_EQ(report.n_from_segments, 100U);
  EXPECT_FALSE(report.kept.empty());
  for (const auto& kept : report.kept) EXPECT_TRUE(fs::exists(kept)) << kept;
  expect_alive();
}

TEST_F(RepairTest, AShortenedManifest) {
  flush();
  fs::path manifest;
  for (const auto& file : fs::directory_iterator(rows())) {
    if (file.path().filename().string().starts_with("MANIFEST-")) manifest = file.path();
  }
  fs::resize_file(manifest, fs::file_size(manifest) * 2 / 3);
  expect_refused("was synced up to byte");
  (void)repair();
  const Contents now = contents();
  for (std::uint64_t id = 20; id < 100; ++id) EXPECT_TRUE(now.contains(id)) << id;
  expect_alive();
}

/// Tables are sound, but nothing names them any more.
TEST_F(RepairTest, AManifestThatIsDamagedOrNotNamed) {
  flush();
  const fs::path sound = root_.string() + "-sound";
  fs::remove_all(sound);
  fs::copy(root_, sound, fs::copy_options::recursive);
  for (const bool is_named : {false, true}) {
    SCOPED_TRACE(is_named);
    close();
    fs::remove_all(root_);
    fs::copy(sound, root_, fs::copy_options::recursive);
    if (is_named) {
      for (const auto& file : fs::directory_iterator(rows())) {
        if (file.path().filename().string().starts_with("MANIFEST-")) flip(file, 100);
      }
      expect_refused("is damaged: MANIFEST-");
    } else {
      fs::remove(rows() / "CURRENT");
      expect_refused("no file CURRENT");
    }
    (void)repair();
    const Contents now = contents();
    if (!is_named) {
      EXPECT_EQ(now, now_);
    }
    for (std::uint64_t id = 20; id < 100; ++id) EXPECT_TRUE(now.contains(id)) << id;
    EXPECT_FALSE(fs::exists(shard() / "rows.links.tmp"));
    expect_alive();
  }
  fs::remove_all(sound);
}

/// As a crash leaves them in the middle of a seal.
TEST_F(RepairTest, DirectoriesThatNobodyNamesAreNoDamage) {
  fs::create_directory(shard() / "segments" / "7777");
  open();
  const auto checked = database_->check("c");
  ASSERT_TRUE(checked);
  EXPECT_THAT(checked->at(0).rows, IsEmpty());
  EXPECT_THAT(checked->at(0).segments, IsEmpty());
}

/// The process ends between the steps that put the new store in its place.
TEST_F(RepairTest, ARepairThatWasCutShort) {
  fs::rename(rows(), shard() / "rows.rebuilt");
  expect_refused("the rows are gone");
  (void)repair();
  EXPECT_EQ(contents(), now_) << "the finished store, not what segments hold";
  close();
  fs::create_directories(shard() / "rows.rebuilt.tmp");
  std::ofstream(shard() / "rows.rebuilt.tmp" / "CURRENT") << "half";
  for (const auto& log : files(".log")) fs::remove(log);
  fs::remove_all(rows());
  expect_refused("the rows are gone");
  (void)repair();
  expect_alive();
}

}  // namespace
}  // namespace quiver::engine
