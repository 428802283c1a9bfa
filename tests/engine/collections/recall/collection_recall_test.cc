// A collection keeps the recall that it promises: it records queries, measures by itself, watches
// its searches, and measures again after an alarm.
#include "engine/collections/recall/collection_recall.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/database.h"
#include "index/exact/searcher.h"
#include "tests/engine/indexing/copied_index.h"
#include "tests/patience.h"

namespace quiver::engine::testing {
namespace {

/// Searches find all hits of a query only with an effort of at least its difficulty, its second
/// value; else as many of them as that share. No row has a second value, so it scores nothing.
class DullSearcher final : public index::Searcher {
 public:
  explicit DullSearcher(index::FieldColumn column) : flat_(std::move(column)) {}

  Result<> search(const index::PreparedQuery& query, const index::AnyParams& params,
                  const index::RowFilter& filter, const index::SearchContext& context,
                  index::TopK& out, index::WorkCounters& work) const override {
    index::TopK all(out.k(), out.ids());
    QV_TRY(flat_.search(query, {}, filter, context, all, work));
    QV_TRY(const auto* given, params.as<CopiedSearchParams>());
    double share = 1;
    if (context.prefer != index::Prefer::kExact) {
      share = std::min(1.0, given->effort / std::max(1.0, double{query.values()[1]}));
    }
    const auto hits = all.take_sorted();
    const auto n = static_cast<std::size_t>(share * static_cast<double>(hits.size()));
    for (std::size_t i = 0; i < n; ++i) out.offer(hits[i].score, hits[i].row);
    return {};
  }
  [[nodiscard]] std::uint64_t bytes_per_search() const override { return 1; }
  [[nodiscard]] index::MemoryUse memory() const override { return {}; }

 private:
  index::FlatSearcher flat_;
};

Result<std::unique_ptr<index::Searcher>> open_dull(const Directory& /*directory*/,
                                                   index::FieldColumn column) {
  return std::make_unique<DullSearcher>(std::move(column));
}

constinit const index::IndexType kDull{"dull",
                                       [](const FieldSchema&) { return true; },
                                       copied::parse<CopiedBuildParams>,
                                       copied::parse<CopiedSearchParams>,
                                       describe_params<CopiedSearchParams>,
                                       copied::build,
                                       open_dull};

const index::IndexType* dull_index(const FieldSchema&) { return &kDull; }

constexpr float kEasy = 10;   ///< less than the least effort
constexpr float kHard = 200;  ///< 16, which easy queries need, finds a twelfth
constexpr double kTarget = 0.9;

class KeptRecall : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_kept_recall_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    copied_control.fail = copied_control.hold = false;
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }

  void open(bool watch = true, bool record = true) {
    DatabaseOptions options;
    options.data_dir = root_.string();
    options.choose_index = dull_index;
    options.watch_recall = watch;
    options.record_queries = record;
    database_ = Database::open(options).value();
    const bool is_new = database_->collection_names().empty();
    if (is_new) {
      CollectionConfig config;
      config.fields = {{"", FieldKind::kDense, 2, DType::kF32, Metric::kDot, {}}};
      config.optimizer.idle_seal_s = 0.01;
      config.optimizer.index_min_bytes = 0;
      ASSERT_TRUE(database_->create_collection("points", config));
    }
    collection_ = database_->collection("points").value();
    if (is_new) insert();
    ASSERT_TRUE(comes_true([&] {
      const auto indexes = collection_->segment_indexes();
      return !indexes.empty() && std::ranges::all_of(indexes, [](const auto& of_segment) {
        return of_segment.sealed && of_segment.index == "dull";
      });
    }));
  }
  void insert() {
    Upsert upsert;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const auto x = static_cast<float>(i);
      upsert.points.push_back({PointId::number(i), {{"", DenseVector{x, 0}}}, "{}"});
    }
    std::promise<Result<std::vector<UpdateResult>>> done;
    ASSERT_TRUE(collection_->update({std::move(upsert)}, Ack::kVisible,
                                    [&](auto result) { done.set_value(std::move(result)); }));
    ASSERT_TRUE(done.get_future().get());
  }
  void close() {
    collection_.reset();
    if (database_ != nullptr) {
      EXPECT_TRUE(database_->close());
    }
    database_.reset();
  }

  struct Answer {
    std::size_t n_hits = 0;
    RecallReport::Facts facts;
  };
  /// Asks for kTarget of 10 hits. A search that finds all has 10.
  Answer ask(float difficulty, bool by_id = false) {
    Query query;
    query.kind = Nearest{DenseVector{1.0F + static_cast<float>(++n_asked_), difficulty}};
    if (by_id) query.kind = Nearest{PointId::number(1)};
    query.params.target.mean = kTarget;
    query.recall = std::make_shared<RecallReport>();
    const auto records = collection_->query(query, Cancel());
    EXPECT_TRUE(records);
    return {records->size(), query.recall->facts().value()};
  }
  void ask_often(float difficulty, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) ask(difficulty);
  }
  [[nodiscard]] std::optional<RecallTable> table() const {
    const auto config = collection_->config();
    const auto* found = find_recall(*config, "");
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  [[nodiscard]] RecallStatus status() const {
    const auto all = collection_->recall_statuses();
    return all.empty() ? RecallStatus() : all.front();
  }
  /// Asks until `condition` holds.
  template <class Condition>
  [[nodiscard]] bool asked_until(float difficulty, Condition condition) {
    // A rest of ten times the last measurement precedes the next: long on a busy machine.
    return comes_true(
        [&] {
          ask_often(difficulty, 10);
          return condition();
        },
        std::chrono::seconds(60));
  }
  Result<RecallTable> measure(RecallRequest request) {
    auto measured = collection_->measure_recall(request, Cancel());
    if (!measured) return measured;
    QV_TRY(database_->update_config("points", [&](CollectionConfig& config) -> Result<> {
      set_recall(config, *measured);
      return {};
    }));
    return measured;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
  int n_asked_ = 0;
};

TEST_F(KeptRecall, MeasuresByItselfOnceThereAreQueries) {
  open();
  ask_often(kEasy, kMinRecordedQueries - 1);
  EXPECT_FALSE(table());
  EXPECT_EQ(status().n_recorded, kMinRecordedQueries - 1);
  EXPECT_EQ(status().next, RecallStatus::Next::kWaiting);
  EXPECT_NE(status().why.find("127 queries are recorded, and 128 are wanted"), std::string::npos)
      << status().why;
  EXPECT_TRUE(ask(kEasy).facts.is_exact);
  ASSERT_TRUE(comes_true([&] { return table().has_value(); }));
  EXPECT_EQ(table()->source, RecallSource::kRecorded);
  EXPECT_EQ(table()->n_queries, kMinRecordedQueries);
  EXPECT_EQ(table()->n_points, 1500U);
  const auto answer = ask(kEasy);
  EXPECT_EQ(answer.facts.source, RecallSource::kRecorded);
  EXPECT_EQ(answer.facts.effort, 16U);
  EXPECT_EQ(answer.n_hits, 10U);
}

TEST_F(KeptRecall, WithoutTrafficNothingIsRecordedOrMeasured) {
  open();
  Query query;
  query.kind = Nearest{DenseVector{1, kEasy}};
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(collection_->query(query, Cancel()));
  EXPECT_TRUE(collection_->recall_statuses().empty());
  ask(kEasy);
  EXPECT_EQ(status().n_recorded, 1U) << "it begins with the first that asks for a recall";
  ASSERT_TRUE(collection_->query(query, Cancel()));
  EXPECT_EQ(status().n_recorded, 2U) << "and goes on with all";
  ask(kEasy, true);
  EXPECT_EQ(status().n_recorded, 2U) << "a stored point is no query";
}

TEST_F(KeptRecall, NothingIsDoneWhenItIsTurnedOff) {
  open(false);
  ask_often(kEasy, 2 * kMinRecordedQueries);
  EXPECT_EQ(status().next, RecallStatus::Next::kNever);
  EXPECT_EQ(status().why, "`storage.watch_recall` is false");
  RecallRequest request;
  ASSERT_TRUE(measure(request)) << "but when it is asked for";
  EXPECT_EQ(table()->source, RecallSource::kRecorded);
  ask_often(kHard, 100);
  EXPECT_EQ(status().n_watched, 0U);
  close();
  open(true, false);
  ask_often(kHard, 10);
  EXPECT_EQ(status().next, RecallStatus::Next::kNever);
  request.source = RecallSource::kRecorded;
  const auto refused = measure(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kFailedPrecondition);
  EXPECT_NE(refused.error().message().find("`storage.record_queries` is false"), std::string::npos);
}

TEST_F(KeptRecall, MeasurementsWantEnoughRecordedQueries) {
  open(false);
  ask_often(kEasy, 100);
  RecallRequest request;
  request.source = RecallSource::kRecorded;
  const auto refused = measure(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kFailedPrecondition);
  EXPECT_NE(refused.error().message().find("100 queries of `` are recorded, and 128 or more"),
            std::string::npos)
      << refused.error().message();
  request.source.reset();
  EXPECT_EQ(measure(request)->source, RecallSource::kSynthetic);
  ask_often(kEasy, 100);
  EXPECT_EQ(measure(request)->source, RecallSource::kRecorded);
  EXPECT_EQ(table()->n_queries, 200U);
  request.source = RecallSource::kSynthetic;
  EXPECT_EQ(measure(request)->source, RecallSource::kSynthetic);
}

TEST_F(KeptRecall, MadeQueriesGiveWayToRecordedOnes) {
  open();
  RecallRequest request;
  request.source = RecallSource::kSynthetic;
  ASSERT_TRUE(measure(request));
  EXPECT_NE(status().why.find("made queries"), std::string::npos) << status().why;
  ask_often(kEasy, kMinRecordedQueries);
  ASSERT_TRUE(comes_true([&] { return table()->source == RecallSource::kRecorded; }));
}

TEST_F(KeptRecall, QueriesThatChangeRaiseAnAlarmAndAreMeasured) {
  open();
  ask_often(kEasy, kMinRecordedQueries);
  ASSERT_TRUE(comes_true([&] { return table().has_value(); }));
  ASSERT_TRUE(asked_until(kEasy, [&] { return status().n_watched >= 20; }));
  EXPECT_EQ(status().observed, 1);
  EXPECT_EQ(status().n_alarms, 0U);
  EXPECT_LT(ask(kHard).n_hits, 3U) << "the promise is broken";
  ASSERT_TRUE(asked_until(kHard, [&] { return status().n_alarms > 0; }));
  ASSERT_TRUE(asked_until(kHard, [&] { return status().effort_factor == 1; }))
      << "measured again: " << status().why;
  EXPECT_GE(table()->n_queries, kMinRecordedQueries);
  const auto answer = ask(kHard);
  EXPECT_GE(answer.n_hits, 9U) << "with the queries of now";
  EXPECT_EQ(answer.facts.effort, 203U) << "the least measured one above nine tenths of 200";
  ASSERT_TRUE(asked_until(kHard, [&] { return status().n_watched >= 20; }));
  EXPECT_GE(status().observed, kTarget);
}

TEST_F(KeptRecall, ATableFromBeforeTheIndexIsMeasuredAgain) {
  open();
  ask_often(kEasy, kMinRecordedQueries);
  ASSERT_TRUE(comes_true([&] { return table().has_value(); }));
  EXPECT_EQ(table()->n_indexed, 1500U);
  ASSERT_TRUE(database_->update_config("points", [](CollectionConfig& config) -> Result<> {
    RecallTable before = config.recall.at(0);
    before.n_indexed = 0;
    set_recall(config, before);
    return {};
  }));
  const auto after = status();
  const bool is_due = after.why.find("0 of them indexed") != std::string::npos;
  EXPECT_TRUE(is_due || table()->n_indexed == 1500) << after.why;
  ASSERT_TRUE(comes_true([&] { return table()->n_indexed == 1500; }, std::chrono::seconds(60)))
      << status().why;
}

TEST_F(KeptRecall, RecordedQueriesAndTablesSurviveARestart) {
  open();
  ask_often(kEasy, kMinRecordedQueries);
  ASSERT_TRUE(comes_true([&] { return table().has_value(); }));
  const auto before = table();
  close();
  open();
  EXPECT_EQ(table(), before);
  EXPECT_EQ(status().n_recorded, kMinRecordedQueries);
  Query query;
  query.kind = Nearest{DenseVector{1, kEasy}};
  ASSERT_TRUE(collection_->query(query, Cancel()));
  EXPECT_EQ(status().n_recorded, kMinRecordedQueries + 1) << "a field with a table is recorded";
}

TEST_F(KeptRecall, ClosingEndsAMeasurement) {
  open();
  ask_often(kEasy, kMinRecordedQueries);
  close();  // whatever runs
  open();
  EXPECT_EQ(ask(kEasy).n_hits, 10U);
}

}  // namespace
}  // namespace quiver::engine::testing
