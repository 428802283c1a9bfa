// Maximal marginal relevance: against a greedy choice in f64 over what a plain search returns.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/database.h"
#include "engine/query/shared_pass.h"
#include "tests/engine/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kManyDifferent = 250;
constexpr std::uint64_t kEveryHit = 1000;

double product(const FieldSchema& field, const float* a, const float* b) {
  double sum = 0;
  for (std::uint32_t d = 0; d < field.dim; ++d) {
    const double difference = double{a[d]} - b[d];
    sum += field.metric == Metric::kEuclid ? -difference * difference : double{a[d]} * b[d];
  }
  return sum;
}

double resemblance(const FieldSchema&, const SparseVector& a, const SparseVector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.indices.size(); ++i) {
    for (std::size_t j = 0; j < b.indices.size(); ++j) {
      if (a.indices[i] == b.indices[j]) sum += double{a.values[i]} * b.values[j];
    }
  }
  return sum;
}

double resemblance(const FieldSchema& field, const DenseVector& a, const DenseVector& b) {
  return product(field, a.data(), b.data());
}

/// What each token of `left` finds among those of `chosen`.
double resemblance(const FieldSchema& field, const MultiVector& left, const MultiVector& chosen) {
  double sum = 0;
  for (std::uint32_t q = 0; q < left.n_tokens; ++q) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::uint32_t t = 0; t < chosen.n_tokens; ++t) {
      best = std::max(best, product(field, &left.values[std::size_t{q} * field.dim],
                                    &chosen.values[std::size_t{t} * field.dim]));
    }
    sum += best;
  }
  return sum;
}

double resemblance(const FieldSchema& field, const VectorValue& left, const VectorValue& chosen) {
  return std::visit(
      [&](const auto& value) {
        return resemblance(field, value, std::get<std::decay_t<decltype(value)>>(chosen));
      },
      left);
}

class Diversity : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("quiver_diversity_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    DatabaseOptions options;
    options.data_dir = root_.string();
    database_ = Database::open(options).value();
    CollectionConfig config;
    config.fields = fields_;
    config.optimizer.seal_rows = 16;  // some sealed, some not
    config.shard_number = 2;
    ASSERT_TRUE(database_->create_collection("points", config));
    collection_ = database_->collection("points").value();
    insert();
  }
  void TearDown() override {
    collection_.reset();
    EXPECT_TRUE(database_->close());
    database_.reset();
    std::filesystem::remove_all(root_);
  }

  void insert() {
    Upsert upsert;
    for (std::uint64_t i = 0; i < kManyDifferent; ++i) {
      auto& point = upsert.points.emplace_back();
      point.id = PointId::number(i);
      for (const auto& field : fields_) {
        if (random_() % 6 == 0) continue;
        // Some twice: equal vectors must not stand in each other's way without need.
        const bool is_copy = i > 0 && random_() % 5 == 0 && last_.contains(field.name);
        if (!is_copy) last_[field.name] = random_value(field, random_);
        point.vectors.push_back({field.name, last_[field.name]});
      }
    }
    std::promise<Result<std::vector<UpdateResult>>> done;
    ASSERT_TRUE(collection_->update({std::move(upsert)}, Ack::kVisible,
                                    [&](auto result) { done.set_value(std::move(result)); }));
    ASSERT_TRUE(done.get_future().get());
  }

  [[nodiscard]] std::vector<Record> answer(const Query& query) const {
    const Cancel cancel;
    return collection_->query(query, cancel).value();
  }
  [[nodiscard]] Query nearest(const FieldSchema& field) {
    Query query;
    auto value = random_value(field, random_);
    while (field.kind == FieldKind::kSparse && std::get<SparseVector>(value).indices.size() < 3) {
      value = random_value(field, random_);
    }
    query.kind = Nearest{std::move(value)};
    query.using_field = field.name;
    query.with_vector.names = {field.name};
    query.limit = kEveryHit;
    return query;
  }
  static Query with(Query query, const Mmr& mmr, std::uint64_t limit) {
    std::get<Nearest>(query.kind).mmr = mmr;
    query.limit = limit;
    return query;
  }

  /// Each of `chosen` is a best choice among `candidates` after those before it.
  static void expect_best(const FieldSchema& field, const std::vector<Record>& candidates,
                          double diversity, const std::vector<Record>& chosen) {
    std::map<PointId, double> nearest_chosen;
    const auto score = [&](const Record& record) {
      const double shown = record.score;
      return is_distance(field.metric) ? -shown * shown : shown;
    };
    const auto relevance = [&](const Record& record) {
      const auto found = nearest_chosen.find(record.id);
      const double resembles = found == nearest_chosen.end() ? 0 : found->second;
      return (1 - diversity) * score(record) - diversity * resembles;
    };
    std::map<PointId, const Record*> pending;
    for (const Record& record : candidates) pending[record.id] = &record;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      ASSERT_TRUE(pending.contains(chosen[i].id)) << "not a candidate, or chosen twice";
      EXPECT_EQ(chosen[i].score, pending[chosen[i].id]->score);
      if (i == 0) {
        EXPECT_EQ(chosen[0].id, candidates[0].id);
      } else {
        const double own = relevance(chosen[i]);
        const double band = 1e-4 * (1 + std::abs(own));
        for (const auto& [id, record] : pending) EXPECT_LE(relevance(*record), own + band);
      }
      pending.erase(chosen[i].id);
      for (const auto& [id, record] : pending) {
        const double to_it =
            resemblance(field, record->vectors->front().value, chosen[i].vectors->front().value);
        const auto known = nearest_chosen.try_emplace(id, to_it).first;
        known->second = std::max(known->second, to_it);
      }
    }
  }

  const std::vector<FieldSchema> fields_ = mixed_fields();
  std::filesystem::path root_;
  std::unique_ptr<Database> database_;
  std::shared_ptr<Collection> collection_;
  std::map<std::string, VectorValue> last_;
  Random random_{17};
};

TEST_F(Diversity, EachHitIsTheBestChoiceAfterThoseBefore) {
  for (const auto& field : fields_) {
    for (const float diversity : {0.0F, 0.3F, 0.8F, 1.0F}) {
      const Query plain = nearest(field);
      const auto all = answer(plain);
      ASSERT_GT(all.size(), 12U) << field.name;
      for (const std::size_t n_candidates : {all.size(), std::size_t{11}}) {
        const auto chosen = answer(with(plain, {diversity, n_candidates}, 8));
        ASSERT_EQ(chosen.size(), 8U);
        const std::vector candidates(all.begin(), all.begin() + std::ptrdiff_t(n_candidates));
        expect_best(field, candidates, diversity, chosen);
      }
    }
  }
}

TEST_F(Diversity, NothingButScoresWithoutDiversity) {
  for (const auto& field : fields_) {
    const Query plain = nearest(field);
    const auto all = answer(plain);
    const auto chosen = answer(with(plain, {0, {}}, 9));
    ASSERT_EQ(chosen.size(), 9U);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(chosen[i].id, all[i].id);
  }
}

TEST_F(Diversity, CandidatesAreTheBestWithinLimitThresholdAndOffset) {
  const FieldSchema& field = fields_[0];
  const Query plain = nearest(field);
  const auto all = answer(plain);

  const auto reordered = answer(with(plain, {1, {}}, 6));
  ASSERT_EQ(reordered.size(), 6U);
  expect_best(field, {all.begin(), all.begin() + 6}, 1, reordered);
  EXPECT_EQ(answer(with(plain, {0.5F, 4}, 6)).size(), 4U);
  EXPECT_TRUE(answer(with(plain, {0.5F, 0}, 6)).empty());

  Query skipping = with(plain, {0.5F, 20}, 5);
  const auto whole = answer(with(plain, {0.5F, 20}, 8));
  skipping.offset = 3;
  const auto rest = answer(skipping);
  ASSERT_EQ(rest.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(rest[i].id, whole[i + 3].id);

  Query strict = with(plain, {1, 50}, 50);
  strict.score_threshold = (all[6].score + all[7].score) / 2;
  const auto good = answer(strict);
  ASSERT_EQ(good.size(), 7U);
  expect_best(field, {all.begin(), all.begin() + 7}, 1, good);
}

TEST_F(Diversity, OverPrefetches) {
  Query query = nearest(fields_[0]);
  Query inner = nearest(fields_[1]);
  inner.limit = 25;
  query.prefetch = {inner};
  const auto all = answer(query);
  const auto chosen = answer(with(query, {0.7F, 15}, 7));
  ASSERT_EQ(chosen.size(), 7U);
  expect_best(fields_[0], {all.begin(), all.begin() + 15}, 0.7, chosen);
}

TEST_F(Diversity, InABatchWithPlainQueries) {
  const Query plain = nearest(fields_[0]);
  const Query diverse = with(plain, {0.9F, 30}, 10);
  const std::vector<Query> batch = {plain, diverse, plain};
  const Cancel cancel;
  const auto answers = collection_->query_batch(batch, cancel).value();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto alone = answer(batch[i]);
    ASSERT_EQ(answers[i].size(), alone.size());
    for (std::size_t h = 0; h < alone.size(); ++h) EXPECT_EQ(answers[i][h].id, alone[h].id);
  }
  EXPECT_FALSE(are_searched_alike(plain, diverse, Searched::kOnDevice));
}

TEST_F(Diversity, StopsWhenCancelled) {
  const Cancel cancel;
  cancel.cancel();
  const auto result = collection_->query(with(nearest(fields_[0]), {0.5F, 50}, 10), cancel);
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

}  // namespace
}  // namespace quiver::engine::testing
