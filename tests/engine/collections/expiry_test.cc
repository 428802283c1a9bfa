// Points that expire, with a clock that stands still until it is moved.
#include "engine/collections/expiry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <future>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"
#include "tests/patience.h"

namespace quiver::engine {
namespace {

constexpr std::int64_t kStart_s = 1'700'000'000;

class ExpiryTest : public ::testing::TestWithParam<payload::IndexKind> {
 protected:
  void SetUp() override {
    root_ =
        std::filesystem::path(::testing::TempDir()) / ("quiver_expiry_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
    CollectionConfig config;
    config.fields = {{"", FieldKind::kDense, 1, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config.shard_number = 2;
    config.optimizer.seal_rows = 20;
    config.optimizer.idle_seal_s = 0.05;
    config.indexes = {{.key = "at", .kind = GetParam(), .text = {}, .client_settings = {}}};
    ASSERT_TRUE(database_->create_collection("points", config));
    collection_ = database_->collection("points").value();
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }
  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    options.unix_s = [this] { return now_s_.load(); };
    database_ = Database::open(options).value();
    if (auto found = database_->collection("points")) collection_ = *found;
  }
  void close() {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }
  Result<> set_ttl(std::optional<Ttl> ttl) {
    return database_->update_config("points", [&](CollectionConfig& config) -> Result<> {
      config.ttl = ttl;
      return {};
    });
  }
  static std::string payload_of(std::int64_t at_s) {
    if (GetParam() == payload::IndexKind::kInteger) return "{\"at\":" + std::to_string(at_s) + "}";
    const std::time_t time = at_s;
    std::tm parts{};
    gmtime_r(&time, &parts);
    char text[40];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return "{\"at\":\"" + std::string(text) + "\"}";
  }
  Result<std::vector<UpdateResult>> update(Operation operation) {
    std::promise<Result<std::vector<UpdateResult>>> done;
    QV_TRY(collection_->update({std::move(operation)}, Ack::kVisible,
                               [&](auto result) { done.set_value(std::move(result)); }));
    return done.get_future().get();
  }
  /// `at_s`: nullopt: the point never expires.
  void put(std::uint64_t id, std::optional<std::int64_t> at_s) {
    const std::string payload = at_s ? payload_of(*at_s) : "{}";
    ASSERT_TRUE(update(Upsert{{{PointId::number(id), {{"", DenseVector{1}}}, payload}}, {}, {}}));
  }
  std::vector<std::uint64_t> scrolled() const {
    ScrollRequest request;
    request.limit = 10'000;
    std::vector<std::uint64_t> ids;
    const auto page = collection_->scroll(request, Cancel()).value();
    for (const auto& record : page.points) {
      ids.push_back(record.id.low());
    }
    return ids;
  }
  /// Whatever reads, sees these points and no others.
  void expect_points(const std::vector<std::uint64_t>& wanted) const {
    EXPECT_EQ(scrolled(), wanted);
    EXPECT_EQ(collection_->count({}, Cancel()).value(), wanted.size());
    EXPECT_EQ(collection_->info().n_points, wanted.size());
    Query query;
    query.kind = Nearest{DenseVector{1}};
    query.limit = 10'000;
    EXPECT_EQ(collection_->query(query, Cancel()).value().size(), wanted.size());
    EXPECT_EQ(collection_->plan(query)->run(Cancel()).value().size(), wanted.size());
    EXPECT_EQ(collection_->query_batch(std::vector{query, query}, Cancel()).value()[1].size(),
              wanted.size());
    RetrieveRequest request;
    for (std::uint64_t id = 0; id < 300; ++id) request.ids.push_back(PointId::number(id));
    EXPECT_EQ(collection_->retrieve(request).value().size(), wanted.size());
  }
  /// The points in the shards, expired or not.
  std::uint64_t n_stored() const {
    std::uint64_t n = 0;
    const auto shards = collection_->shards();
    for (const auto& shard : shards) {
      for (const auto& segment : shard.segments) n += segment.n_points;
    }
    return n;
  }
  void wait_until_stored(std::uint64_t n) const {
    const auto limit = patience_end(std::chrono::seconds(10));
    while (n_stored() != n && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(n_stored(), n);
  }

  std::filesystem::path root_;
  std::atomic<std::int64_t> now_s_ = kStart_s;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

TEST_P(ExpiryTest, PointsAreGoneFromTheirSecondOnAndThenDeleted) {
  ASSERT_TRUE(set_ttl(Ttl{"at", 10}));
  put(1, kStart_s);
  put(2, kStart_s + 1);
  put(3, std::nullopt);
  put(4, kStart_s - 10);
  ASSERT_TRUE(update(Upsert{{{PointId::number(5), {}, "{\"at\":[true,\"x\"]}"}}, {}, {}}));
  wait_until_stored(4);
  now_s_ = kStart_s + 9;
  EXPECT_EQ(scrolled(), (std::vector<std::uint64_t>{1, 2, 3, 5}));
  now_s_ = kStart_s + 10;
  EXPECT_EQ(scrolled(), (std::vector<std::uint64_t>{2, 3, 5}));
  now_s_ = kStart_s + 11;
  EXPECT_EQ(scrolled(), (std::vector<std::uint64_t>{3, 5}));
  wait_until_stored(2);
  now_s_ = kStart_s;  // they were deleted: no clock brings them back
  EXPECT_EQ(scrolled(), (std::vector<std::uint64_t>{3, 5}));
}

TEST_P(ExpiryTest, EveryReaderAgreesWithAMap) {
  constexpr std::uint64_t seed = 20261124;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::uint64_t ttl_s = random() % 20;
  ASSERT_TRUE(set_ttl(Ttl{"at", ttl_s}));
  std::map<std::uint64_t, std::optional<std::int64_t>> model;
  for (int step = 0; step < 25; ++step) {
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t id = random() % 200;
      std::optional<std::int64_t> at_s;
      if (random() % 4 != 0) at_s = now_s_ + static_cast<std::int64_t>(random() % 40) - 20;
      put(id, at_s);
      model[id] = at_s;
    }
    if (random() % 2 == 0) now_s_ += static_cast<std::int64_t>(random() % 8);
    if (step == 12) {
      close();
      open();
    }
    std::vector<std::uint64_t> wanted;
    for (const auto& [id, at_s] : model) {
      const bool has_expired = at_s && *at_s + static_cast<std::int64_t>(ttl_s) <= now_s_;
      if (!has_expired) wanted.push_back(id);
    }
    expect_points(wanted);
    if (HasFailure()) return;
  }
}

TEST_P(ExpiryTest, APointThatIsChangedInTimeStays) {
  ASSERT_TRUE(set_ttl(Ttl{"at", 0}));
  put(1, kStart_s + 5);
  const auto config = collection_->config();
  put(1, kStart_s + 50);
  now_s_ = kStart_s + 5;
  EXPECT_EQ(scrolled(), std::vector<std::uint64_t>{1});
  // A deletion that was made before the change finds another value when it is applied.
  payload::Filter filter = expired_filter(*config->ttl, GetParam(), kStart_s + 5);
  filter.must.emplace_back(payload::HasId{{PointId::number(1)}});
  ASSERT_TRUE(update(DeletePoints{filter}));
  EXPECT_EQ(scrolled(), std::vector<std::uint64_t>{1});
}

TEST_P(ExpiryTest, WithoutATtlNothingExpires) {
  ASSERT_TRUE(set_ttl(Ttl{"at", 1000}));
  put(1, kStart_s);
  ASSERT_TRUE(set_ttl(std::nullopt));
  now_s_ = kStart_s + 100'000;
  EXPECT_EQ(scrolled(), std::vector<std::uint64_t>{1});
  close();
  open();
  EXPECT_EQ(collection_->config()->ttl, std::nullopt);
  EXPECT_EQ(scrolled(), std::vector<std::uint64_t>{1});
  ASSERT_TRUE(set_ttl(Ttl{"at", 1000}));
  EXPECT_TRUE(scrolled().empty());
}

TEST_P(ExpiryTest, TheKeyNeedsItsIndex) {
  const auto refused = set_ttl(Ttl{"other", 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("`other`"), std::string::npos);
  EXPECT_EQ(collection_->config()->ttl, std::nullopt);
  ASSERT_TRUE(set_ttl(Ttl{"at", 1}));
  EXPECT_FALSE(collection_->drop_index("at"));
  payload::FieldIndex words;
  words.key = "at";
  words.kind = payload::IndexKind::kKeyword;
  EXPECT_FALSE(collection_->create_index(words, Ack::kVisible));
  EXPECT_EQ(collection_->config()->indexes[0].kind, GetParam());
  ASSERT_TRUE(set_ttl(std::nullopt));
  EXPECT_TRUE(collection_->drop_index("at").value());
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExpiryTest,
                         ::testing::Values(payload::IndexKind::kInteger,
                                           payload::IndexKind::kDatetime),
                         [](const auto& kind) {
                           return std::string(
                               payload::kIndexKindNames[static_cast<std::size_t>(kind.param)]);
                         });

}  // namespace
}  // namespace quiver::engine
