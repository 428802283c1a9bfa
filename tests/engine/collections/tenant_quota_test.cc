// Limits of tenants, against a count in memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/database.h"

namespace quiver::engine {
namespace {

using Random = std::mt19937_64;
using Tenants = std::set<std::string>;

constexpr std::uint64_t kMaxPoints = 7;

payload::FieldIndex index_of(payload::IndexKind kind) {
  payload::FieldIndex index;
  index.key = "t";
  index.kind = kind;
  return index;
}

class TenantQuotaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_tenant_quota_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    open();
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(root_);
  }
  void create(payload::IndexKind kind, std::optional<std::uint64_t> max_points = kMaxPoints) {
    CollectionConfig config;
    config.fields = {{"a", FieldKind::kDense, 2, DType::kF32, Metric::kDot, SparseModifier::kNone}};
    config.shard_number = 2;
    config.indexes = {index_of(kind)};
    config.optimizer.seal_rows = 15;
    config.optimizer.vacuum_min_rows = 5;
    config.optimizer.idle_seal_s = 0.05;
    if (max_points) config.tenant_quota = TenantQuota{"t", *max_points};
    ASSERT_TRUE(database_->create_collection("points", config));
    collection_ = database_->collection("points").value();
  }
  void open() {
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    if (auto found = database_->collection("points")) collection_ = *found;
  }
  void close() {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
  }
  Result<std::vector<UpdateResult>> update(std::vector<Operation> operations,
                                           Ack ack = Ack::kVisible) {
    std::promise<Result<std::vector<UpdateResult>>> done;
    QV_TRY(collection_->update(std::move(operations), ack,
                               [&](auto result) { done.set_value(std::move(result)); }));
    return done.get_future().get();
  }
  Result<> limit(std::optional<TenantQuota> quota) {
    return database_->update_config("points", [&](CollectionConfig& config) -> Result<> {
      config.tenant_quota = quota;
      return {};
    });
  }
  static Operation upsert(std::uint64_t id, const std::string& payload) {
    Upsert upsert;
    upsert.points.push_back({PointId::number(id), {}, payload});
    return upsert;
  }
  /// Payloads by id, as readers see them.
  [[nodiscard]] std::map<std::uint64_t, std::string> seen() const {
    ScrollRequest request;
    request.limit = 10'000;
    request.with_payload = payload::Selector::all();
    std::map<std::uint64_t, std::string> points;
    const auto page = collection_->scroll(request, Cancel()).value();
    for (const auto& record : page.points) {
      points[record.id.low()] = *record.payload;
    }
    return points;
  }

  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
};

/// The slow, obvious collection: each point's tenants.
class Model {
 public:
  explicit Model(bool has_numbers) : has_numbers_(has_numbers) {}

  /// A random request, applied to `state`.
  std::vector<Operation> request(Random& random, std::map<std::uint64_t, Tenants>& state) const {
    std::vector<Operation> operations;
    for (std::uint64_t n = 1 + random() % 2; n > 0; --n) {
      operations.push_back(operation(random, state));
    }
    return operations;
  }
  [[nodiscard]] std::string payload_of(const Tenants& tenants) const {
    if (tenants.empty()) return "{}";
    std::string values;
    for (const auto& tenant : tenants) values += (values.empty() ? "" : ",") + value_of(tenant);
    return R"({"t":[)" + values + "]}";
  }
  static bool fits(const std::map<std::uint64_t, Tenants>& before,
                   const std::map<std::uint64_t, Tenants>& after) {
    const auto old = counts(before);
    for (const auto& [tenant, n] : counts(after)) {
      const auto found = old.find(tenant);
      if (n > kMaxPoints && (found == old.end() || n > found->second)) return false;
    }
    return true;
  }

 private:
  static std::map<std::string, std::uint64_t> counts(
      const std::map<std::uint64_t, Tenants>& state) {
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [id, tenants] : state) {
      for (const auto& tenant : tenants) ++counts[tenant];
    }
    return counts;
  }
  [[nodiscard]] std::string value_of(const std::string& tenant) const {
    return has_numbers_ ? tenant : "\"" + tenant + "\"";
  }
  static Tenants random_tenants(Random& random) {
    Tenants tenants;
    for (std::uint64_t n = random() % 8 == 0 ? 2 : random() % 8 != 1; n > 0; --n) {
      tenants.insert(std::to_string(random() % 4));
    }
    return tenants;
  }
  static std::vector<PointId> some_points(Random& random,
                                          const std::map<std::uint64_t, Tenants>& state,
                                          std::vector<std::uint64_t>& chosen) {
    std::vector<PointId> ids;
    for (const auto& [id, tenants] : state) {
      if (random() % 5 != 0) continue;
      ids.push_back(PointId::number(id));
      chosen.push_back(id);
    }
    return ids;
  }
  /// The points of a tenant, as a filter.
  payload::Filter of_tenant(const std::string& tenant) const {
    payload::Filter filter;
    payload::MatchValue match;
    if (has_numbers_) {
      match.value = static_cast<std::int64_t>(std::stoll(tenant));
    } else {
      match.value = tenant;
    }
    filter.must.emplace_back(payload::FieldCondition{"t", match});
    return filter;
  }
  Operation operation(Random& random, std::map<std::uint64_t, Tenants>& state) const {
    std::vector<std::uint64_t> chosen;
    switch (random() % 8) {
      case 0: {
        const auto ids = some_points(random, state, chosen);
        for (const auto id : chosen) state.erase(id);
        return DeletePoints{ids};
      }
      case 1: {
        const auto ids = some_points(random, state, chosen);
        for (const auto id : chosen) state[id].clear();
        return DeletePayload{{"t"}, ids};
      }
      case 2: {
        const auto ids = some_points(random, state, chosen);
        const auto tenants = random_tenants(random);
        for (const auto id : chosen) state[id] = tenants.empty() ? state[id] : tenants;
        return SetPayload{payload_of(tenants), std::nullopt, ids};
      }
      case 3: {  // moves all points of a tenant
        const std::string from = std::to_string(random() % 4);
        const Tenants to = random_tenants(random);
        for (auto& [id, tenants] : state) {
          if (tenants.contains(from)) tenants = to;
        }
        return OverwritePayload{payload_of(to), std::nullopt, of_tenant(from)};
      }
      default:
        return put(random, state);
    }
  }
  Operation put(Random& random, std::map<std::uint64_t, Tenants>& state) const {
    Upsert upsert;
    const bool only_new = random() % 4 == 0;
    if (only_new) upsert.mode = UpsertMode::kInsertOnly;
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      const std::uint64_t id = random() % 60;
      const Tenants tenants = random_tenants(random);
      upsert.points.push_back({PointId::number(id), {}, payload_of(tenants)});
      if (!only_new || !state.contains(id)) state[id] = tenants;
    }
    return upsert;
  }

  bool has_numbers_;
};

std::string describe(const std::vector<Operation>& request) {
  std::string text;
  for (const auto& operation : request) {
    text += " " + std::to_string(operation.index());
    if (const auto* upsert = std::get_if<Upsert>(&operation)) {
      text += upsert->mode == UpsertMode::kInsertOnly ? " new" : " all";
      for (const auto& point : upsert->points) text += " " + point.id.to_string() + point.payload;
    }
    if (const auto* removal = std::get_if<DeletePoints>(&operation)) {
      for (const auto& id : std::get<0>(removal->points)) text += " " + id.to_string();
    }
  }
  return text;
}

class TenantQuotaProperty : public TenantQuotaTest,
                            public ::testing::WithParamInterface<payload::IndexKind> {};

TEST_P(TenantQuotaProperty, AcceptsExactlyWhatFits) {
  constexpr std::uint64_t kSeed = 77;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  const Model model(GetParam() == payload::IndexKind::kInteger);
  create(GetParam());
  std::map<std::uint64_t, Tenants> state;
  std::size_t n_refused = 0;
  for (int round = 0; round < 400; ++round) {
    auto after = state;
    const auto request = model.request(random, after);
    const bool fits = Model::fits(state, after);
    const auto answer = update(request, random() % 3 == 0 ? Ack::kDurable : Ack::kVisible);
    ASSERT_EQ(answer.has_value(), fits)
        << "round " << round << (answer ? "" : answer.error().message());
    if (fits) {
      state = after;
    } else {
      ++n_refused;
      EXPECT_EQ(answer.error().code(), Code::kFailedPrecondition);
      EXPECT_NE(answer.error().message().find("Tenant limit exceeded"), std::string::npos);
    }
    std::map<std::uint64_t, std::string> wanted;
    for (const auto& [id, tenants] : state) wanted[id] = model.payload_of(tenants);
    ASSERT_EQ(seen(), wanted) << "round " << round << ", " << describe(request)
                              << (fits ? "" : " refused");
    if (round % 100 == 99) {
      close();
      open();
    }
  }
  EXPECT_GT(n_refused, 40U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TenantQuotaProperty,
                         ::testing::Values(payload::IndexKind::kKeyword,
                                           payload::IndexKind::kInteger));

TEST_F(TenantQuotaTest, WritersAtTheSameTimeDoNotExceedIt) {
  create(payload::IndexKind::kKeyword);
  std::atomic<std::uint64_t> n_taken = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 5; ++i) {
        if (update({upsert(t * 100 + i, R"({"t":"x"})")})) ++n_taken;
        EXPECT_TRUE(update({upsert(t * 100 + 50 + i, "{}")})) << "no tenant, no limit";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(n_taken, kMaxPoints);
  EXPECT_EQ(seen().size(), kMaxPoints + 20);
}

TEST_F(TenantQuotaTest, HoldsForUpdatesAfterTheAnswerWhateverWasUnderWay) {
  create(payload::IndexKind::kKeyword, std::nullopt);
  std::atomic<bool> stops = false;
  std::atomic<std::uint64_t> n_taken = 0;
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stops; ++i) {
      if (update({upsert(i, R"({"t":"x"})")}, Ack::kDurable)) ++n_taken;
    }
  });
  while (n_taken < 20) std::this_thread::yield();
  ASSERT_TRUE(limit(TenantQuota{"t", 5}));
  const std::uint64_t n = seen().size();
  EXPECT_FALSE(update({upsert(1'000'000, R"({"t":"x"})")})) << "more than it may have already";
  EXPECT_TRUE(update({upsert(0, R"({"t":"x","n":1})")})) << "one that is there may change";
  stops = true;
  writer.join();
  EXPECT_EQ(seen().size(), n);
  ASSERT_TRUE(limit(std::nullopt));
  EXPECT_TRUE(update({upsert(1'000'000, R"({"t":"x"})")}));
}

TEST_F(TenantQuotaTest, NeedsAnIndexThatStays) {
  create(payload::IndexKind::kFloat, std::nullopt);
  const auto refused = limit(TenantQuota{"t", 5});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  ASSERT_TRUE(collection_->create_index(index_of(payload::IndexKind::kUuid), Ack::kVisible));
  ASSERT_TRUE(limit(TenantQuota{"t", 1}));
  EXPECT_FALSE(collection_->drop_index("t"));
  EXPECT_FALSE(collection_->create_index(index_of(payload::IndexKind::kBool), Ack::kVisible));
  ASSERT_TRUE(update({upsert(1, R"({"t":"550E8400-E29B-41D4-A716-446655440000"})")}));
  EXPECT_FALSE(update({upsert(2, R"({"t":"550e8400-e29b-41d4-a716-446655440000"})")}))
      << "the same UUID in another spelling";
  BulkChunk chunk;
  const std::vector<PointId> ids = {PointId::number(9)};
  chunk.ids = ids;
  EXPECT_EQ(collection_->bulk_load(chunk).error().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace quiver::engine
