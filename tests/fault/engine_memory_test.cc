// Memory runs out while a collection is in use. A child process sends a series of requests while
// some of its allocations fail, and reports which requests succeeded. Afterwards it must accept
// writes, and it must end by itself or with a clear log line. No acknowledged update may be lost,
// before or after a restart.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/observe/failure.h"
#include "tests/model/bulk_input.h"
#include "tests/model/runner.h"
#include "tests/soak.h"
#include "tests/support/failing_allocation.h"

namespace quiver::model {
namespace {

using engine::Ack;
using testing_support::FailingAllocations;

constexpr std::uint32_t kRequests = 150;
/// Safety limit: a child that has not ended by then is stuck.
constexpr unsigned kChildSeconds = 120;
/// While a bulk load cannot be ended, updates wait, and each is refused after this time.
constexpr auto kUpdatePatience = std::chrono::milliseconds(300);
constexpr int kLost = 3;
constexpr int kRefused = 4;
constexpr int kNotOpened = 5;

/// The visible part of a point without its version, because numbers of refused writes are not
/// reused.
struct SeenPoint {
  std::string payload;
  std::map<std::string, engine::VectorValue> vectors;
  bool operator==(const SeenPoint&) const = default;
};
using SeenPoints = std::map<PointId, SeenPoint>;

SeenPoints seen(const engine::Collection& collection) {
  engine::ScrollRequest request;
  request.limit = 100'000;
  request.with_vector = {true, {}};
  const Cancel cancel;
  const auto page = collection.scroll(request, cancel).value();
  SeenPoints points;
  for (const auto& record : page.points) {
    SeenPoint& point = points[record.id];
    point.payload = *record.payload;
    for (const auto& vector : *record.vectors) point.vectors[vector.name] = vector.value;
  }
  return points;
}

SeenPoints seen(const CollectionModel& model) {
  SeenPoints points;
  for (const auto& [id, row] : model.points()) {
    SeenPoint& point = points[id];
    point.payload = row.payload;
    for (std::size_t f = 0; f < row.vectors.size(); ++f) {
      const FieldSchema& field = model.config().fields[f];
      if (is_present(row.vectors[f])) {
        point.vectors[field.name] = engine::to_value(field, row.vectors[f]);
      }
    }
  }
  return points;
}

engine::CollectionConfig lively_config() {
  Random random(2);
  auto config = random_config(random);
  config.shard_number = 1;
  config.optimizer.seal_rows = 80;
  config.optimizer.index_min_bytes = 100;
  payload::FieldIndex texts;
  texts.key = "w";
  texts.kind = payload::IndexKind::kText;
  texts.scoring = true;
  config.indexes.push_back(texts);
  return config;
}

/// One trial: the allocations that fail, and the phase in which they fail.
struct Trial {
  FailingAllocations failing;
  bool while_closing = false;  ///< also while closing, not only until the last request
};

/// True if step `number` of the series is a bulk chunk.
bool is_chunk(std::uint32_t number) { return number % 20 == 13; }
bool is_index(std::uint32_t number) { return number % 10 == 4; }
bool is_query(std::uint32_t number) { return number % 10 == 7; }

Request request_of(const engine::CollectionConfig& config, std::uint64_t seed,
                   std::uint32_t number) {
  Random random(seed * 1'000'003 + number);
  if (is_index(number) || is_query(number)) return {};
  const std::uint64_t n = is_chunk(number) ? 40 : 1 + random() % 8;
  if (!is_chunk(number) && random() % 3 == 0) return random_request(config, random);
  return {engine::Upsert{random_points(config, n, random), {}, {}}};
}

/// Returns true if the chunk was loaded.
bool send_chunk(engine::Collection& collection, const Request& request, std::uint32_t number) {
  const auto& points = std::get<engine::Upsert>(request[0]).points;
  const std::string cursor = std::to_string(number);
  const OwnedChunk chunk(*collection.config(), points, cursor);
  return collection.bulk_load(chunk.view()) || collection.bulk_cursor().value() == cursor;
}

/// None of a text: the model does not learn of it, and texts match otherwise under an index.
payload::FieldIndex index_of_values(Random& random) {
  auto index = random_index(random);
  while (index.kind == payload::IndexKind::kText) index = random_index(random);
  return index;
}

void change_index(engine::Collection& collection, Random& random) {
  const auto index = index_of_values(random);
  if (random() % 3 == 0) {
    (void)collection.drop_index(index.key);
  } else {
    (void)collection.create_index(index, Ack::kVisible);
  }
}

bool send_step(engine::Collection& collection, std::uint64_t seed, std::uint32_t number) {
  Random random(seed + number);
  const auto config = collection.config();
  if (is_index(number)) {
    change_index(collection, random);
    return true;
  }
  if (is_query(number)) {
    const Cancel cancel;
    try {
      (void)collection.query(random_query(*config, random), cancel);
    } catch (const std::bad_alloc&) {  // from threads that helped; the client gets an error
    }
    return true;
  }
  auto request = request_of(*config, seed, number);
  if (is_chunk(number)) return send_chunk(collection, request, number);
  const auto ack = number % 2 == 0 ? Ack::kVisible : Ack::kDurable;
  const engine::UpdateTerms terms(ack, Deadline::after(kUpdatePatience));
  return update(collection, std::move(request), terms).has_value();
}

CollectionModel model_of(std::uint64_t seed, const std::string& answers) {
  CollectionModel model(lively_config());
  for (std::uint32_t i = 0; i < answers.size(); ++i) {
    if (answers[i] == '1') model.apply(request_of(model.config(), seed, i));
  }
  return model;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// ---- The child --------------------------------------------------------------------------------

class Life {
 public:
  Life(std::string directory, std::uint64_t seed, const Trial& trial)
      : directory_(std::move(directory)), seed_(seed), trial_(trial) {}

  [[noreturn]] void run() {
    alarm(kChildSeconds);
    end_process_on_uncaught();
    testing_support::spare_this_thread();
    open();
    testing_support::begin_failing(trial_.failing);
    send_series();
    if (!trial_.while_closing) {
      testing_support::end_failing();
      expect_alive("after the failures");
    }
    close();
    std::fprintf(stderr, "%d failed\n", static_cast<int>(testing_support::end_failing()));
    open();
    expect_alive("after the opening");
    close();
    _exit(0);
  }

 private:
  void open() {
    auto opened = engine::Database::open(small_options(directory_ + "/data"));
    if (!opened) end(kNotOpened, opened.error().to_string());
    database_ = *std::move(opened);
    auto collection = database_->collection(kCollection);
    if (!collection) end(kNotOpened, collection.error().to_string());
    collection_ = *std::move(collection);
  }
  void close() {
    collection_.reset();
    if (const auto closed = database_->close(); !closed) {
      std::fprintf(stderr, "closing: %s\n", closed.error().to_string().c_str());
    }
    database_.reset();
  }
  void send_series() {
    const int answers = ::open((directory_ + "/answers").c_str(), O_WRONLY | O_CREAT, 0644);
    for (std::uint32_t number = 0; number < kRequests; ++number) {
      const char answer = send_step(*collection_, seed_, number) ? '1' : '0';
      answers_.push_back(answer);
      if (::write(answers, &answer, 1) != 1) _exit(9);
    }
    ::close(answers);
  }
  void expect_alive(const char* when) {
    if (seen(*collection_) != seen(model_of(seed_, answers_))) {
      end(kLost, std::string("not what was acknowledged ") + when);
    }
    const auto added = engine::PointInput{PointId::number(1'000'000), {}, R"({"last":true})"};
    const auto result = update(*collection_, {engine::Upsert{{added}, {}, {}}}, Ack::kVisible);
    if (!result) end(kRefused, result.error().to_string());
    const auto removed =
        update(*collection_, {engine::DeletePoints{std::vector{added.id}}}, Ack::kVisible);
    if (!removed) end(kRefused, removed.error().to_string());
  }
  [[noreturn]] static void end(int status, const std::string& text) {
    testing_support::end_failing();
    std::fprintf(stderr, "%s\n", text.c_str());
    _exit(status);
  }

  const std::string directory_;
  const std::uint64_t seed_;
  const Trial trial_;
  std::unique_ptr<engine::Database> database_;
  std::shared_ptr<engine::Collection> collection_;
  std::string answers_;
};

// ---- The parent -------------------------------------------------------------------------------

class EngineMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_engine_memory_" + std::to_string(getpid()));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// Runs a child from start to end. True if it survived until the end.
  bool outlives(std::uint64_t seed, const Trial& trial) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    Runner(small_options((root_ / "data").string()), lively_config());  // creates the collection
    const int status = run_child(seed, trial);
    const std::string said = said_by_child();
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0) << said;
      return true;
    }
    EXPECT_EQ(WTERMSIG(status), SIGABRT)
        << (WTERMSIG(status) == SIGALRM ? "it hung: " : "it crashed: ") << said;
    EXPECT_TRUE(names_its_end(said)) << said;
    check_after_end(seed);
    return false;
  }

  std::string said_by_child() const { return read_text((root_ / "said").string()); }

 private:
  /// RocksDB is not safe against exceptions: a memtable whose allocation fails ends in one of its
  /// own assertions, which names the file and line.
  static bool names_its_end(const std::string& said) {
    return said.find("the process ends here") != std::string::npos ||
           (said.find("rocksdb::") != std::string::npos &&
            said.find("Assertion") != std::string::npos);
  }
  int run_child(std::uint64_t seed, const Trial& trial) {
    const pid_t child = fork();
    if (child == 0) {
      const int said = ::open((root_ / "said").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
      dup2(said, STDERR_FILENO);
      execl("/proc/self/exe", "engine_memory_test", "--child", root_.c_str(),
            std::to_string(seed).c_str(), trial.failing.thread,
            std::to_string(trial.failing.min_bytes).c_str(),
            std::to_string(trial.failing.first).c_str(),
            std::to_string(trial.failing.every).c_str(), trial.while_closing ? "1" : "0", nullptr);
      _exit(8);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  /// Checks every acknowledged request, and that the request in flight was applied whole or not at
  /// all.
  void check_after_end(std::uint64_t seed) {
    const std::string answers = read_text((root_ / "answers").string());
    auto database = engine::Database::open(small_options((root_ / "data").string()));
    ASSERT_TRUE(database) << database.error().to_string();
    {
      const auto collection = (*database)->collection(kCollection);
      ASSERT_TRUE(collection) << collection.error().to_string();
      const auto found = seen(**collection);
      const auto without = seen(model_of(seed, answers));
      const auto with = seen(model_of(seed, answers + "1"));
      EXPECT_TRUE(found == without || (answers.size() < kRequests && found == with))
          << "not what was acknowledged";
    }
    EXPECT_TRUE((*database)->close());
  }

  std::filesystem::path root_;
};

TEST_F(EngineMemory, NothingFails) { EXPECT_TRUE(outlives(1, {{"nobody", 0, 1, 0}})); }

/// One large allocation, such as a growing column's.
TEST_F(EngineMemory, OneInTheApplyLane) {
  int n_lived = 0;
  // Which allocation is met when depends on the threads: few are met before anything is written.
  for (std::uint64_t i = 0; i < 20 || (n_lived == 0 && i < 150); ++i) {
    SCOPED_TRACE("allocation " + std::to_string(1 + 7 * i));
    n_lived += outlives(i, {{"lane", 4096, 1 + 7 * i, 0}}) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(n_lived, 0) << "what is met before anything is written is an error";
}

/// Only builds fail.
TEST_F(EngineMemory, OneInTheBackground) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    SCOPED_TRACE("allocation " + std::to_string(1 + 311 * i));
    EXPECT_TRUE(outlives(i, {{"background", 0, 1 + 311 * i, 0}, i % 2 == 0}));
    if (HasFailure()) return;
  }
}

TEST_F(EngineMemory, EveryNthOfTheBackground) {
  for (const std::uint64_t n : {1U, 2U, 3U, 10U, 50U}) {
    SCOPED_TRACE("every " + std::to_string(n));
    EXPECT_TRUE(outlives(n, {{"background", 0, n, n}, n % 2 == 0}));
    if (HasFailure()) return;
  }
}

TEST_F(EngineMemory, EveryNthOfTheLanes) {
  for (const std::uint64_t n : {1U, 2U, 3U, 7U, 20U, 70U, 200U, 700U, 2000U, 7000U}) {
    SCOPED_TRACE("every " + std::to_string(n));
    outlives(n, {{"lane", 0, n, n}, n % 2 == 0});
    if (HasFailure()) return;
  }
}

TEST_F(EngineMemory, EveryNthOfAll) {
  for (const std::uint64_t n : {1U, 101U, 307U, 1009U, 3001U, 10007U, 30011U}) {
    SCOPED_TRACE("every " + std::to_string(n));
    outlives(n, {{"", 0, n, n}, n % 2 == 0});
    if (HasFailure()) return;
  }
}

/// Any allocations of any threads. Builds that fail end nothing.
TEST_F(EngineMemory, AnyNth) {
  run_trials({.n_least = 50}, [&](std::uint64_t seed) {
    Random random(seed);
    constexpr std::array<const char*, 3> kThreads = {"lane", "background", ""};
    constexpr std::array<std::size_t, 3> kMinBytes = {0, 64, 4096};
    const std::uint64_t n = 1 + random() % (std::uint64_t{1} << random() % 15);
    const bool is_once = random() % 3 == 0;
    const Trial trial{{kThreads[random() % 3], kMinBytes[random() % 3], n, is_once ? 0 : n},
                      random() % 2 == 0};
    SCOPED_TRACE(std::string("threads `") + trial.failing.thread + "`, of at least " +
                 std::to_string(trial.failing.min_bytes) + " bytes, " +
                 (is_once ? "number " : "every ") + std::to_string(n));
    const bool has_outlived = outlives(seed, trial);
    EXPECT_TRUE(has_outlived || std::string(trial.failing.thread) != "background")
        << said_by_child();
    note_soak("processes", 1);
    note_soak(has_outlived ? "lived" : "ended with a reason", 1);
  });
}

}  // namespace
}  // namespace quiver::model

int main(int argc, char** argv) {
  using quiver::model::Life;
  if (argc == 9 && std::strcmp(argv[1], "--child") == 0) {
    const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
    Life(argv[2], number(3), {{argv[4], number(5), number(6), number(7)}, number(8) != 0}).run();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
