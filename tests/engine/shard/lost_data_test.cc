// Parts of a data directory that are gone, and changes of it that fail half-way: nothing is deleted
// that a durable record does not name, and nothing is acknowledged that a restart could lose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "storage/rows/runtime.h"
#include "storage/rows/shard_store.h"
#include "tests/patience.h"
#include "tests/support/faulty_directory.h"

namespace quiver::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::uint64_t kPoints = 50;

/// Two collections, `a` and `b`, each with one sealed segment.
class LostData : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("quiver_lost_" + std::to_string(getpid()));
    fs::remove_all(root_);
    open();
    for (const std::string name : {"a", "b"}) {
      ASSERT_TRUE(database_->create_collection(name, config()));
      for (std::uint64_t i = 0; i < kPoints; ++i) ASSERT_TRUE(upsert(name, i));
      const auto limit = patience_end(std::chrono::seconds(30));
      while (info(name).n_segments != 1 || !has_segments(name)) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
  }
  void TearDown() override {
    close();
    fs::remove_all(root_);
  }

  static CollectionConfig config() {
    CollectionConfig config;
    config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config.optimizer.seal_rows = kPoints;
    return config;
  }
  [[nodiscard]] DatabaseOptions options() const {
    DatabaseOptions options;
    options.data_dir = root_.string();
    return options;
  }
  void open(const DatabaseOptions& options) {
    auto opened = Database::open(options);
    ASSERT_TRUE(opened) << opened.error().to_string();
    database_ = *std::move(opened);
  }
  void open() { open(options()); }
  void close() {
    if (database_ == nullptr) return;
    EXPECT_TRUE(database_->close());
    database_.reset();
  }
  Result<> upsert(const std::string& name, std::uint64_t id) {
    QV_TRY(const auto collection, database_->collection(name));
    std::promise<Result<>> done;
    Upsert upsert;
    upsert.points.push_back({PointId::number(id), {{"", DenseVector{1, 2}}}, "{}"});
    std::vector<Operation> operations;
    operations.emplace_back(std::move(upsert));
    QV_TRY(collection->update(std::move(operations), Ack::kVisible,
                              [&](Result<std::vector<UpdateResult>> result) {
                                done.set_value(result ? Result<>() : fail(result.error()));
                              }));
    return done.get_future().get();
  }
  CollectionInfo info(const std::string& name) {
    return database_->collection(name).value()->info();
  }
  [[nodiscard]] fs::path shard(const std::string& name) const {
    return root_ / "collections" / (name == "a" ? "00000001" : "00000002") / "shard-0";
  }
  [[nodiscard]] bool has_segments(const std::string& name) const {
    const auto path = shard(name) / "segments";
    return fs::exists(path) && !fs::is_empty(path);
  }
  std::string why_not_ready() {
    std::string why;
    (void)database_->ready(&why);
    return why;
  }

  fs::path root_;
  std::unique_ptr<Database> database_;
};

TEST_F(LostData, AMissingCatalogStopsTheStartAndDeletesNothing) {
  close();
  fs::rename(root_ / "catalog", root_ / "kept");
  const auto opened = Database::open(options());
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("catalog` is missing"));
  EXPECT_TRUE(has_segments("a"));
  fs::rename(root_ / "kept", root_ / "catalog");
  open();
  EXPECT_EQ(info("a").n_points, kPoints);
}

TEST_F(LostData, StrangersStay) {
  close();
  const fs::path below = root_ / "collections";
  fs::copy(below / "00000001", below / "00000001.copy", fs::copy_options::recursive);
  fs::copy(below / "00000001", below / "00000003", fs::copy_options::recursive);
  std::ofstream(below / "notes.txt") << "mine";
  open();
  EXPECT_EQ(info("a").n_points, kPoints);
  EXPECT_THAT(database_->strangers(), ElementsAre("00000001.copy", "00000003", "notes.txt"));
  ASSERT_TRUE(database_->create_collection("c", config()));
  EXPECT_EQ(info("c").n_points, 0U);
  EXPECT_TRUE(fs::exists(below / "00000004"));
  EXPECT_TRUE(database_->drop_collection("c").value());
  EXPECT_FALSE(fs::exists(below / "00000004"));
  close();
  open();
  for (const auto* name : {"00000001.copy", "00000003", "notes.txt"}) {
    EXPECT_TRUE(fs::exists(below / name)) << name;
  }
}

TEST_F(LostData, RowsThatAreGoneAreNotTakenForAnEmptyCollection) {
  for (const auto& gone : {shard("a") / "rows", shard("a"), shard("a").parent_path()}) {
    SCOPED_TRACE(gone);
    close();
    fs::rename(gone, root_ / "kept");
    open();
    EXPECT_THAT(why_not_ready(), HasSubstr("collection `a`: the rows are gone"));
    const auto opened = database_->collection("a");
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kDataLoss);
    EXPECT_EQ(info("b").n_points, kPoints);
    EXPECT_FALSE(fs::exists(gone)) << "nothing is made in its place";
    close();
    fs::rename(root_ / "kept", gone);
    open();
    EXPECT_EQ(info("a").n_points, kPoints);
    EXPECT_EQ(why_not_ready(), "");
  }
}

/// A server made an empty store in the place of the lost one, and then ended.
TEST_F(LostData, SegmentsOfAnEmptyStoreAreKept) {
  close();
  fs::remove_all(shard("a") / "rows");
  {
    const auto runtime = storage::Runtime::create({}).value();
    ASSERT_TRUE(storage::ShardStore::open((shard("a") / "rows").string(), runtime));
  }
  open();
  const auto opened = database_->collection("a");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("the rows are gone"));
  EXPECT_TRUE(has_segments("a"));
}

/// No manifest has counted them, so none says that they are garbage.
TEST_F(LostData, SegmentsOfUnknownOriginStay) {
  close();
  const auto segments = shard("a") / "segments";
  const std::vector<const char*> unknown{"900", "copy of 2", "007", "+8"};
  for (const auto* name : unknown) fs::create_directory(segments / name);
  open();
  for (std::uint64_t i = 0; i < kPoints; ++i) ASSERT_TRUE(upsert("a", i)) << "goes on beyond 900";
  close();
  for (const auto* name : unknown) EXPECT_TRUE(fs::exists(segments / name)) << name;
  open();
  EXPECT_EQ(info("a").n_points, kPoints);
}

/// As if the process had ended in the middle of `create_collection`.
TEST_F(LostData, ACreationThatWasCutShortIsFinishedAtTheNextStart) {
  {
    auto broken = options();
    close();
    broken.open_directory = [](const std::string&) -> Result<std::unique_ptr<Directory>> {
      return fail(Code::kInternal, "the process ends here");
    };
    broken.open_data_directory = [](const std::string& path) -> Result<std::unique_ptr<Directory>> {
      QV_TRY(auto real, open_real_directory(path));
      auto faulty = std::make_unique<FaultyDirectory>(std::move(real));
      // The entry is written; the change that takes it back is not.
      faulty->inject({FileOperation::kCreate, 2, FaultRule::kForever});
      return faulty;
    };
    open(broken);
    EXPECT_FALSE(database_->create_collection("c", config()));
    close();
  }
  open();
  EXPECT_EQ(why_not_ready(), "");
  EXPECT_EQ(info("c").n_points, 0U);
  EXPECT_TRUE(upsert("c", 1));
}

/// Directory syncs of the catalog fail after its file is in place.
TEST_F(LostData, UpdatesAreRefusedWhileTheCatalogIsUncertain) {
  close();
  FaultyDirectory* catalog = nullptr;
  auto faulty = options();
  faulty.open_data_directory = [&](const std::string& path) -> Result<std::unique_ptr<Directory>> {
    QV_TRY(auto real, open_real_directory(path));
    auto made = std::make_unique<FaultyDirectory>(std::move(real));
    catalog = made.get();
    return made;
  };
  open(faulty);
  EXPECT_TRUE(upsert("a", 100));
  catalog->inject({FileOperation::kDirectorySync, 1, FaultRule::kForever});
  EXPECT_FALSE(database_->drop_collection("a"));
  const auto refused = upsert("a", 101);
  ASSERT_FALSE(refused) << "a restart could find the collection dropped";
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  EXPECT_FALSE(upsert("b", 101));
  EXPECT_THAT(why_not_ready(), HasSubstr("read-only: a change of"));
  EXPECT_EQ(info("a").n_points, kPoints + 1) << "reads go on";
  catalog->clear_faults();
  const auto limit = patience_end(std::chrono::seconds(30));
  while (!upsert("a", 102)) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "by itself, once the disk works";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(why_not_ready(), "");
  close();
  open();
  EXPECT_EQ(info("a").n_points, kPoints + 2);
}

/// The files of a new collection cannot be made, and then the catalog takes no change.
TEST_F(LostData, ARefusedCreationIsUndoneOnceTheDiskWorks) {
  close();
  FaultyDirectory* catalog = nullptr;
  std::atomic<bool> fails = true;
  auto faulty = options();
  faulty.open_data_directory = [&](const std::string& path) -> Result<std::unique_ptr<Directory>> {
    QV_TRY(auto real, open_real_directory(path));
    auto made = std::make_unique<FaultyDirectory>(std::move(real));
    catalog = made.get();
    return made;
  };
  faulty.open_directory = [&](const std::string& path) -> Result<std::unique_ptr<Directory>> {
    if (!fails || path.find("00000003") == std::string::npos) return open_real_directory(path);
    catalog->inject({FileOperation::kAppend, 1, FaultRule::kForever});
    return fail(Code::kInternal, "the disk fails");
  };
  open(faulty);
  const auto refused = database_->create_collection("c", config());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("the disk fails"));
  EXPECT_FALSE(database_->exists("c"));
  EXPECT_EQ(database_->create_collection("c", config()).error().code(), Code::kUnavailable);
  EXPECT_FALSE(upsert("a", 101)) << "a restart could find the collection";
  fails = false;
  catalog->clear_faults();
  EXPECT_TRUE(comes_true([&] { return database_->create_collection("c", config()).has_value(); }));
  EXPECT_TRUE(upsert("c", 1));
  close();
  open();
  EXPECT_EQ(info("c").n_points, 1U);
}

TEST_F(LostData, UpdatesAreRefusedWhileTheDataDirectoryIsGone) {
  const auto wait_until = [&](bool taken) {
    const auto limit = patience_end(std::chrono::seconds(30));
    std::uint64_t id = 1000;
    while (upsert("a", id++).has_value() != taken) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  const auto elsewhere = root_.string() + "-elsewhere";
  fs::rename(root_, elsewhere);
  wait_until(false);
  EXPECT_THAT(upsert("a", 1).error().message(), HasSubstr("was removed while the server runs"));
  // A shard looks at its files and may notice first; the database looks at its directory.
  EXPECT_TRUE(comes_true([&] { return why_not_ready().find("read-only: ") != std::string::npos; }));
  fs::create_directories(root_);
  EXPECT_FALSE(upsert("a", 1));
  EXPECT_FALSE(database_->create_collection("c", config()));
  EXPECT_FALSE(database_->drop_collection("b"));
  fs::remove_all(root_);
  fs::rename(elsewhere, root_);
  wait_until(true);
  EXPECT_TRUE(comes_true([&] { return why_not_ready().empty(); })) << why_not_ready();
}

TEST_F(LostData, UpdatesAreRefusedWhileRowsAreGone) {
  const auto wait_until = [&](bool taken) {
    const auto limit = patience_end(std::chrono::seconds(30));
    while (upsert("a", 1).has_value() != taken) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  for (const auto& gone : {shard("a") / "rows", shard("a").parent_path()}) {
    SCOPED_TRACE(gone);
    fs::rename(gone, root_ / "elsewhere");
    wait_until(false);
    EXPECT_THAT(upsert("a", 1).error().message(), HasSubstr("was removed while the server runs"));
    // An update looks at the files it needs, and may notice first.
    EXPECT_TRUE(
        comes_true([&] { return why_not_ready().find("collection `a`: ") != std::string::npos; }));
    EXPECT_EQ(info("a").n_points, kPoints) << "reads go on";
    EXPECT_TRUE(upsert("b", 1));
    fs::rename(root_ / "elsewhere", gone);
    wait_until(true);
    EXPECT_TRUE(comes_true([&] { return why_not_ready().empty(); })) << why_not_ready();
  }
}

/// Work that does not end keeps nobody from stopping.
TEST_F(LostData, ClosingDoesNotWaitForEver) {
  close();
  std::promise<void> go_on;
  const auto released = go_on.get_future().share();
  std::promise<void> stuck;
  std::atomic<bool> first = true;
  std::atomic<bool> blocks = false;
  auto slow = options();
  slow.close_patience = std::chrono::milliseconds(20);
  slow.choose_index = [&](const FieldSchema& schema) {
    if (blocks) {
      if (first.exchange(false)) stuck.set_value();
      released.wait();
    }
    return default_index(schema);
  };
  open(slow);
  ASSERT_TRUE(database_->collection("a"));
  blocks = true;  // a tick meets it
  stuck.get_future().wait();
  const auto closed = database_->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(closed.error().message(), HasSubstr("is not closed"));
  go_on.set_value();
  database_.reset();
  open();
  EXPECT_EQ(info("a").n_points, kPoints);
}

/// What asks for open collections, as metrics do, does not wait for one that is being opened.
TEST_F(LostData, NobodyWaitsForAnOpening) {
  close();
  std::promise<void> inside;
  std::promise<void> go_on;
  std::atomic<bool> first = true;
  auto slow = options();
  slow.open_directory = [&](const std::string& path) -> Result<std::unique_ptr<Directory>> {
    if (first.exchange(false)) {
      inside.set_value();
      go_on.get_future().wait();
    }
    return open_real_directory(path);
  };
  open(slow);
  auto opening =
      std::async(std::launch::async, [&] { return database_->collection("a").has_value(); });
  inside.get_future().wait();
  EXPECT_TRUE(database_->open_collections().empty());
  EXPECT_TRUE(upsert("b", 1));
  EXPECT_EQ(database_->open_collections().size(), 1U);
  EXPECT_EQ(why_not_ready(), "");
  EXPECT_TRUE(database_->exists("a"));
  EXPECT_EQ(database_->collection_names().size(), 2U);
  // Nor do ticks: they notice that the data directory is moved, and that it is back.
  const fs::path elsewhere = root_.string() + ".moved";
  fs::rename(root_, elsewhere);
  EXPECT_TRUE(comes_true([&] { return !upsert("b", 2); }));
  fs::rename(elsewhere, root_);
  EXPECT_TRUE(comes_true([&] { return upsert("b", 2).has_value(); }));
  go_on.set_value();
  EXPECT_TRUE(opening.get());
  EXPECT_EQ(database_->open_collections().size(), 2U);
}

}  // namespace
}  // namespace quiver::engine
