// Snapshots of a database: what they hold, and that recovering them is all or nothing.
#include "engine/collections/database_snapshots.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "engine/indexing/indexes.h"
#include "engine/model/row.h"
#include "storage/rows/runtime.h"
#include "tests/engine/support.h"
#include "tests/patience.h"

namespace quiver::engine {
namespace {

namespace fs = std::filesystem;
using testing::mixed_fields;
using testing::Random;
using testing::random_id;
using testing::random_value;

constexpr std::uint64_t kIds = 300;

CollectionConfig small_config(std::uint32_t n_shards) {
  CollectionConfig config;
  config.fields = mixed_fields();
  config.shard_number = n_shards;
  config.optimizer.index_min_bytes = 1;
  config.optimizer.seal_rows = 40;
  config.optimizer.idle_seal_s = 0.05;
  config.indexes = {{"n", payload::IndexKind::kInteger, {}, true, {}}};
  return config;
}

Result<> update(Collection& collection, Operation operation) {
  std::promise<Result<std::vector<UpdateResult>>> done;
  QV_TRY(collection.update({std::move(operation)}, Ack::kVisible,
                           [&](auto result) { done.set_value(std::move(result)); }));
  QV_TRY(done.get_future().get());
  return {};
}

PointInput random_point(const PointId& id, Random& random) {
  PointInput point{id, {}, R"({"n":)" + std::to_string(random() % 10) + "}"};
  for (const auto& field : mixed_fields()) {
    if (random() % 4 != 0) point.vectors.push_back({field.name, random_value(field, random)});
  }
  return point;
}

void random_write(Collection& collection, Random& random) {
  if (random() % 5 == 0) {
    DeletePoints remove;
    std::vector<PointId> ids;
    for (int i = 0; i < 5; ++i) ids.push_back(random_id(kIds, random));
    remove.points = ids;
    ASSERT_TRUE(update(collection, remove));
    return;
  }
  Upsert upsert;
  for (int i = 0; i < 8; ++i)
    upsert.points.push_back(random_point(random_id(kIds, random), random));
  ASSERT_TRUE(update(collection, upsert));
}

void spell(const Record& record, std::string& out) {
  out += record.id.to_string() + " v" + std::to_string(to_number(record.version)) + " ";
  out.append(reinterpret_cast<const char*>(&record.score), sizeof(record.score));
  out += record.payload.value_or("-");
  if (!record.vectors) return;
  for (const auto& [name, value] : *record.vectors) {
    out += name;
    const auto add = [&](const auto& values) {
      out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
    };
    if (const auto* dense = std::get_if<DenseVector>(&value)) add(*dense);
    if (const auto* sparse = std::get_if<SparseVector>(&value)) {
      add(sparse->indices);
      add(sparse->values);
    }
    if (const auto* multi = std::get_if<MultiVector>(&value)) add(multi->values);
  }
}

/// Every point with all its values, and answers to queries of every field, bit for bit.
std::string contents(const Collection& collection, std::uint64_t seed = 5) {
  std::string text;
  ScrollRequest all;
  all.limit = 100'000;
  all.with_vector.all = true;
  all.with_payload = payload::Selector::all();
  const auto page = collection.scroll(all, Cancel());
  EXPECT_TRUE(page) << page.error().to_string();
  for (const auto& record : page->points) spell(record, text);
  Random random(seed);
  for (int i = 0; i < 4; ++i) {
    for (const auto& field : mixed_fields()) {
      Query query;
      Nearest nearest;
      nearest.vector = random_value(field, random);
      query.kind = nearest;
      query.using_field = field.name;
      query.limit = 30;
      const auto found = collection.query(query, Cancel());
      EXPECT_TRUE(found) << found.error().to_string();
      for (const auto& record : *found) spell(record, text);
    }
  }
  return text;
}

class DatabaseSnapshotsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ("quiver_snapshots_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override {
    close();
    fs::remove_all(root_);
  }
  void open() {
    DatabaseOptions options;
    options.data_dir = (root_ / "data").string();
    database_ = Database::open(options).value();
  }
  void close() {
    if (database_ != nullptr) {
      EXPECT_TRUE(database_->close());
    }
    database_.reset();
  }
  [[nodiscard]] Snapshots& snapshots() const { return *database_->snapshots(); }
  std::shared_ptr<Collection> collection(const std::string& name) {
    return database_->collection(name).value();
  }
  [[nodiscard]] std::string archive(const SnapshotScope& scope, const std::string& name) const {
    return all_of(*snapshots().open(scope, name).value());
  }
  [[nodiscard]] static std::string all_of(SnapshotReader& reader) {
    std::string bytes(reader.size_bytes(), '\0');
    // Odd pieces: a reader may begin and end anywhere.
    for (std::size_t at = 0; at < bytes.size();) {
      const auto n = reader.read(
          at, std::span(bytes).subspan(at, std::min<std::size_t>(997, bytes.size() - at)));
      EXPECT_TRUE(n && *n > 0);
      at += *n;
    }
    return bytes;
  }
  Result<> receive(const SnapshotScope& scope, std::string_view bytes,
                   const std::string& checksum = "") const {
    QV_TRY(auto receiver, snapshots().receive(scope, checksum));
    for (std::size_t at = 0; at < bytes.size(); at += 1009) {
      QV_TRY(receiver->write(bytes.substr(at, 1009)));
    }
    return receiver->finish();
  }
  [[nodiscard]] std::size_t n_directories() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root_ / "data/collections"), {}));
  }

  fs::path root_;
  std::unique_ptr<Database> database_;
};

TEST_F(DatabaseSnapshotsTest, RandomWritesAreRecoveredBitForBit) {
  for (const std::uint32_t n_shards : {1U, 3U}) {
    SCOPED_TRACE(n_shards);
    Random random(20260101 + n_shards);
    open();
    const std::string name = "points" + std::to_string(n_shards);
    ASSERT_TRUE(database_->create_collection(name, small_config(n_shards)));
    for (int round = 0; round < 6; ++round) {
      SCOPED_TRACE(round);
      for (int i = 0; i < 25; ++i) random_write(*collection(name), random);
      if (round % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const std::string before = contents(*collection(name));
      const auto made = snapshots().create({name, {}});
      ASSERT_TRUE(made) << made.error().to_string();
      // What follows is not in the snapshot.
      for (int i = 0; i < 25; ++i) random_write(*collection(name), random);
      const auto facts = snapshots().complete({name, {}}, made->name, Cancel()).value();
      EXPECT_EQ(facts.size_bytes, made->size_bytes);
      const std::string copy = "copy" + std::to_string(round);
      ASSERT_TRUE(receive({copy, {}}, archive({name, {}}, made->name), facts.checksum));
      EXPECT_EQ(contents(*collection(copy)), before);
      const std::string after = contents(*collection(name));
      if (round == 3) {
        close();
        open();
        EXPECT_EQ(contents(*collection(copy)), before);
        EXPECT_EQ(contents(*collection(name)), after);
      }
      if (round == 4) {
        ASSERT_TRUE(snapshots().recover({name, {}}, made->name, ""));
        EXPECT_EQ(contents(*collection(name)), before);
      }
      ASSERT_TRUE(database_->drop_collection(copy));
    }
    close();
  }
}

/// As cluster/copies.cc does: whoever asks for a stream waits for no file to be read.
TEST_F(DatabaseSnapshotsTest, AStreamHasItsChecksumsAfterItsFiles) {
  open();
  Random random(4);
  ASSERT_TRUE(database_->create_collection("points", small_config(2)));
  for (int i = 0; i < 40; ++i) random_write(*collection("points"), random);
  const std::string before = contents(*collection("points"));
  auto reader = snapshots().stream({"points", {}}).value();
  for (const auto& draft : fs::directory_iterator(root_ / "data/snapshot-drafts")) {
    EXPECT_FALSE(fs::exists(draft.path() / "archive.json")) << "nothing was read yet";
  }
  for (int i = 0; i < 40; ++i) random_write(*collection("points"), random);
  std::string bytes = all_of(*reader);
  ASSERT_TRUE(receive({"copy", {}}, bytes));
  EXPECT_EQ(contents(*collection("copy")), before);
  const auto damaged = std::span(bytes).subspan(bytes.size() / 3, 600);  // more than a padding
  for (char& byte : damaged) byte = static_cast<char>(byte ^ 1);
  EXPECT_FALSE(receive({"copy", {}}, bytes)) << "the checksums are those of what was sent";
  reader.reset();
  EXPECT_TRUE(fs::is_empty(root_ / "data/snapshot-drafts"));
}

TEST_F(DatabaseSnapshotsTest, IndexesAreReusedAndNotBuiltAgain) {
  open();
  Random random(3);
  ASSERT_TRUE(database_->create_collection("points", small_config(1)));
  for (int i = 0; i < 40; ++i) random_write(*collection("points"), random);
  const auto is_indexed = [&](const std::string& name) {
    return collection(name)->optimizations().running.empty() &&
           !collection(name)->segment_indexes().empty();
  };
  for (int i = 0; i < 200 && !is_indexed("points"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const auto made = snapshots().create({"points", {}}).value();
  ASSERT_TRUE(snapshots().recover({"points", {}}, made.name, ""));
  // The same files, by links: same inodes.
  const fs::path folder = root_ / "data/snapshots/points" / made.name / "files/shard-0";
  const fs::path now = fs::directory_iterator(root_ / "data/collections")->path() / "shard-0";
  int n_same = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder / "segments")) {
    if (!file.is_regular_file()) continue;
    EXPECT_TRUE(fs::equivalent(file.path(), now / fs::relative(file.path(), folder)));
    ++n_same;
  }
  EXPECT_GT(n_same, 0);
}

/// One writer: a snapshot holds a prefix of its writes, with everything acknowledged before.
TEST_F(DatabaseSnapshotsTest, ASnapshotUnderWritesIsAPrefix) {
  open();
  ASSERT_TRUE(database_->create_collection("points", small_config(1)));
  std::atomic<std::uint64_t> n_written = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    Random random(9);
    while (!stop) {
      Upsert upsert;
      upsert.points.push_back(random_point(PointId::number(n_written), random));
      ASSERT_TRUE(update(*collection("points"), upsert));
      ++n_written;
    }
  });
  for (std::uint64_t i = 0; i < 8; ++i) {
    while (n_written < 40 * (i + 1)) std::this_thread::yield();
    const std::uint64_t low = n_written;
    const auto made = snapshots().create({"points", {}});
    const std::uint64_t high = n_written;
    ASSERT_TRUE(made) << made.error().to_string();
    ASSERT_TRUE(snapshots().complete({"points", {}}, made->name, Cancel()));
    ASSERT_TRUE(receive({"copy", {}}, archive({"points", {}}, made->name)));
    const auto n = collection("copy")->count({}, Cancel()).value();
    EXPECT_GE(n, low);
    EXPECT_LE(n, high + 1);
    ScrollRequest last;
    last.offset = PointId::number(n - 1);
    EXPECT_EQ(collection("copy")->scroll(last, Cancel())->points.size(), 1U);
    ASSERT_TRUE(database_->drop_collection("copy"));
  }
  stop = true;
  writer.join();
}

TEST_F(DatabaseSnapshotsTest, AShardIsReplacedAndTheOthersKeepTheirWrites) {
  open();
  Random random(4);
  ASSERT_TRUE(database_->create_collection("points", small_config(3)));
  for (int i = 0; i < 40; ++i) random_write(*collection("points"), random);
  const auto n_before = collection("points")->count({}, Cancel()).value();
  const auto made = snapshots().create({"points", 1}).value();
  const std::string before = contents(*collection("points"));
  ASSERT_TRUE(snapshots().recover({"points", 1}, made.name, ""));
  EXPECT_EQ(contents(*collection("points")), before);
  for (std::uint64_t i = 0; i < 300; ++i) {
    Upsert upsert;
    upsert.points.push_back(random_point(PointId::number(100'000 + i), random));
    ASSERT_TRUE(update(*collection("points"), upsert));
  }
  ASSERT_TRUE(snapshots().recover({"points", 1}, made.name, ""));
  const auto n_after = collection("points")->count({}, Cancel()).value();
  EXPECT_GT(n_after, n_before + 100);
  EXPECT_LT(n_after, n_before + 300);
  const auto wrong = receive({"points", 0}, archive({"points", 1}, made.name));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message(), "the snapshot holds shards [1], wanted [0]");
  EXPECT_EQ(collection("points")->count({}, Cancel()).value(), n_after);
}

/// A shard that is still open writes to its files: they must not become another collection's.
TEST_F(DatabaseSnapshotsTest, ACollectionThatDoesNotCloseIsNotReplaced) {
  std::promise<void> stuck;
  std::promise<void> go_on;
  std::atomic<bool> blocks = false;
  DatabaseOptions options;
  options.data_dir = (root_ / "data").string();
  options.close_patience = std::chrono::milliseconds(50);
  options.choose_index = [&](const FieldSchema& schema) {
    if (blocks.exchange(false)) {
      stuck.set_value();
      go_on.get_future().wait();
    }
    return default_index(schema);
  };
  database_ = Database::open(options).value();
  Random random(11);
  ASSERT_TRUE(database_->create_collection("points", small_config(2)));
  for (int i = 0; i < 40; ++i) random_write(*collection("points"), random);
  const auto made = snapshots().create({"points", 1}).value();
  ASSERT_TRUE(snapshots().complete({"points", 1}, made.name, Cancel()));
  for (int i = 0; i < 10; ++i) random_write(*collection("points"), random);
  const std::string before = contents(*collection("points"));
  const auto held = collection("points");
  blocks = true;  // a tick meets it
  stuck.get_future().wait();
  const auto recovered = snapshots().recover({"points", 1}, made.name, "");
  EXPECT_TRUE(!recovered && recovered.error().code() == Code::kDeadlineExceeded);
  EXPECT_EQ(n_directories(), 1U);
  go_on.set_value();
  const auto limit = patience_end(std::chrono::seconds(20));
  DeletePoints nothing;
  nothing.points = std::vector{PointId::number(1'000'000)};
  while (!update(*collection("points"), nothing)) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it is opened anew";
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(contents(*collection("points")), before);
  while (!snapshots().recover({"points", 1}, made.name, "")) {  // a busy machine needs longer
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

/// A second database on a copy of the directory, as a kill at this moment would leave it.
TEST_F(DatabaseSnapshotsTest, WhatARecoveryLeftIsRemovedAtTheStart) {
  open();
  Random random(8);
  ASSERT_TRUE(database_->create_collection("points", small_config(1)));
  for (int i = 0; i < 10; ++i) random_write(*collection("points"), random);
  const auto made = snapshots().create({"points", {}}).value();
  ASSERT_TRUE(snapshots().complete({"points", {}}, made.name, Cancel()));
  const std::string bytes = archive({"points", {}}, made.name);
  auto receiver = snapshots().receive({"other", {}}, "").value();
  ASSERT_TRUE(receiver->write(std::string_view(bytes).substr(0, bytes.size() / 2)));
  EXPECT_EQ(n_directories(), 2U);
  // A background job may remove a file while the directory is copied.
  std::error_code error;
  do {
    fs::remove_all(root_ / "killed");
    fs::copy(root_ / "data", root_ / "killed", fs::copy_options::recursive, error);
  } while (error == std::errc::no_such_file_or_directory);
  ASSERT_FALSE(error) << error.message();
  DatabaseOptions options;
  options.data_dir = (root_ / "killed").string();
  const auto killed = Database::open(options);
  ASSERT_TRUE(killed) << killed.error().to_string();
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ / "killed/collections"), {}), 1);
  EXPECT_TRUE((*killed)->strangers().empty());
  EXPECT_FALSE((*killed)->exists("other"));
  EXPECT_EQ((*killed)->snapshots()->list({"points", {}})->size(), 1U);
  EXPECT_TRUE((*killed)->close());
  receiver.reset();
  EXPECT_EQ(n_directories(), 1U);
}

/// One thread reads all files of new snapshots; who asks for a finished one needs none of its time.
TEST_F(DatabaseSnapshotsTest, AFinishedSnapshotWaitsForNoOther) {
  open();
  Random random(12);
  ASSERT_TRUE(database_->create_collection("points", small_config(1)));
  for (int i = 0; i < 5; ++i) random_write(*collection("points"), random);
  const auto made = snapshots().create({"points", {}}).value();
  ASSERT_TRUE(snapshots().complete({"points", {}}, made.name, Cancel()));
  const auto unfinished = snapshots().create({"points", {}}).value();
  close();
  Executor executor(2, "test");
  Executor readers(1, "readers");
  readers.stop();  // never gets to anything
  ShardContext context;
  context.runtime = storage::Runtime::create({}).value();
  context.lanes = context.background = &executor;
  const std::string path = (root_ / "data").string();
  const auto directory = open_real_directory(path).value();
  CatalogGate gate;
  ASSERT_TRUE(gate.open(*directory, path));
  const auto folder = directory->subdirectory(storage::Catalog::kCollectionsDirectory).value();
  const JobContext no_jobs{};
  CollectionTable table(path, {.max_open = 10}, context, gate, executor, no_jobs);
  ASSERT_TRUE(table.add_stored(*folder));
  {
    DatabaseSnapshots idle("", path, gate, table, context, readers);
    ASSERT_TRUE(idle.start());
    EXPECT_TRUE(idle.open({"points", {}}, made.name));
    EXPECT_TRUE(idle.recover({"points", {}}, made.name, ""));
    EXPECT_FALSE(idle.open({"points", {}}, unfinished.name));
  }
  EXPECT_TRUE(table.close_all());
}

TEST_F(DatabaseSnapshotsTest, DamagedFoldersAreRefused) {
  open();
  Random random(6);
  ASSERT_TRUE(database_->create_collection("points", small_config(1)));
  for (int i = 0; i < 20; ++i) random_write(*collection("points"), random);
  const auto made = snapshots().create({"points", {}}).value();
  ASSERT_TRUE(snapshots().complete({"points", {}}, made.name, Cancel()));
  const std::string before = contents(*collection("points"));
  const fs::path rows = root_ / "data/snapshots/points" / made.name / "files/shard-0/rows";
  for (const auto& file : fs::directory_iterator(rows)) {
    if (!file.path().filename().string().starts_with("MANIFEST")) continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(20);
    bytes.put('x');
  }
  const auto refused = snapshots().recover({"points", {}}, made.name, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("its checksum does not match"), std::string::npos);
  EXPECT_EQ(contents(*collection("points")), before);
  EXPECT_EQ(n_directories(), 1U);
}

TEST_F(DatabaseSnapshotsTest, ANameOfASnapshotNeverLeavesItsFolder) {
  open();
  ASSERT_TRUE(database_->create_collection("points", small_config(1)));
  for (const char* name : {"../points", "..", "", "a/b.snapshot", "/etc/passwd", "x.snapshot"}) {
    const auto opened = snapshots().open({"points", {}}, name);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Code::kNotFound);
    EXPECT_FALSE(snapshots().remove({"points", {}}, name));
  }
}

}  // namespace
}  // namespace quiver::engine
