// Queries by examples on indexed segments: against the same queries answered exactly.
#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "engine/indexing/indexes.h"
#include "engine/segment/segment_file.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kPoints = 6000;
constexpr std::uint64_t kExamples = 8;
constexpr std::uint64_t kLimit = 10;

/// Points in 40 clusters, in one sealed segment with indexes.
class IndexedExamples : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { world = new World(); }
  static void TearDownTestSuite() {
    delete world;
    world = nullptr;
  }

  struct World {
    World() {
      using enum FieldKind;
      const auto none = SparseModifier::kNone;
      config.fields = {{"cosine", kDense, 12, DType::kF32, Metric::kCosine, none},
                       {"euclid", kDense, 12, DType::kF32, Metric::kEuclid, none},
                       {"words", kSparse, 0, DType::kF32, Metric::kDot, none},
                       {"tokens", kMulti, 8, DType::kF32, Metric::kCosine, none}};
      for (auto& center : centers) {
        center.resize(12);
        for (float& value : center) value = normal(random);
      }
      MutableSegment growing(1, config.fields, {});
      for (std::uint64_t id = 0; id < kPoints; ++id) growing.append(row_of(id));
      const std::vector<Segment> inputs = {{growing.snapshot(), nullptr, 0}};
      const auto directory = segments->subdirectory("7").value();
      QV_CHECK(write_segment_file(*directory, inputs, live_rows_by_id(inputs), cancel, nullptr));
      auto data = open_segment_file(*directory, 7, config.fields).value();
      policy.min_bytes = 0;
      install_indexes(data, build_indexes(data, *segments, {policy, cancel}).value());
      auto deleted = std::make_shared<Bitset>(data.n_rows);
      for (std::uint32_t row = 0; row < data.n_rows; row += 9) deleted->set(row);
      const auto n_deleted = static_cast<std::uint32_t>(deleted->count());
      snapshot.emplace(snapshot_of(
          {{std::make_shared<const SegmentData>(std::move(data)), std::move(deleted), n_deleted}}));
    }

    DenseVector near_center(std::size_t cluster, std::size_t dim) {
      DenseVector vector(centers[cluster].begin(),
                         centers[cluster].begin() + static_cast<std::ptrdiff_t>(dim));
      for (float& value : vector) value += 0.35F * normal(random);
      return vector;
    }
    VectorValue value(const FieldSchema& field, std::size_t cluster) {
      if (field.kind == FieldKind::kDense) return near_center(cluster, field.dim);
      if (field.kind == FieldKind::kMulti) {
        MultiVector tokens{3, field.dim, {}};
        for (int i = 0; i < 3; ++i) {
          const auto token = near_center((cluster + i * i) % 40, field.dim);
          tokens.values.insert(tokens.values.end(), token.begin(), token.end());
        }
        return tokens;
      }
      SparseVector words;
      std::set<std::uint32_t> indices;
      while (indices.size() < 8) {
        indices.insert(static_cast<std::uint32_t>(cluster * 10 + random() % 30));
      }
      for (const std::uint32_t index : indices) {
        words.indices.push_back(index);
        words.values.push_back(0.1F + std::abs(normal(random)));
      }
      return words;
    }
    Row row_of(std::uint64_t id) {
      Row row{PointId::number(id), Seq{id + 1}, "{}", {}};
      const std::size_t cluster = random() % 40;
      for (const auto& field : config.fields) {
        row.vectors.push_back(to_stored(field, value(field, cluster)).value());
      }
      return row;
    }

    std::mt19937_64 random{20260801};
    std::normal_distribution<float> normal;
    CollectionConfig config;
    Cancel cancel;
    std::vector<DenseVector> centers = std::vector<DenseVector>(40);
    std::unique_ptr<Directory> segments = make_memory_directory();
    IndexPolicy policy;
    std::optional<Snapshot> snapshot;
  };

  struct Outcome {
    double recall = 0;
    double share_scored = 0;  ///< similarities, of those of an exact search
  };

  /// Mean over queries of the share of the exact hits that are found.
  static Outcome measure(const std::string& field,
                         const std::function<QueryKind(const FieldSchema&)>& make) {
    const std::size_t f = world->config.field(field).value();
    Outcome outcome;
    constexpr int kQueries = 30;
    for (int i = 0; i < kQueries; ++i) {
      Query query;
      query.using_field = field;
      query.limit = kLimit;
      query.kind = make(world->config.fields[f]);
      index::WorkCounters some, all;
      const auto found = answer(query, some);
      query.params.exact = true;
      const auto exact = answer(query, all);
      EXPECT_EQ(exact.size(), kLimit);
      const float worst = exact.back().score;
      const auto is_good = [&](const Record& hit) {
        return hit.score >= worst - 1e-5F * (1 + std::abs(worst));
      };
      const auto n = std::count_if(found.begin(), found.end(), is_good);
      outcome.recall += static_cast<double>(n) / kLimit / kQueries;
      outcome.share_scored += static_cast<double>(some.n_rows_scored) /
                              static_cast<double>(all.n_rows_scored) / kQueries;
    }
    return outcome;
  }
  static std::vector<Record> answer(const Query& query, index::WorkCounters& work) {
    return Plan(query)
        .run({*world->snapshot, world->config, world->cancel, nullptr, world->policy, &work})
        .value();
  }

  static std::vector<QueryVector> values(const FieldSchema& field, std::size_t n) {
    std::vector<QueryVector> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(world->value(field, world->random() % 40));
    return values;
  }
  /// All near one cluster: as users have them.
  static std::vector<QueryVector> alike(const FieldSchema& field, std::size_t n) {
    const std::size_t cluster = world->random() % 40;
    std::vector<QueryVector> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(world->value(field, cluster));
    return values;
  }

  static World* world;
};

IndexedExamples::World* IndexedExamples::world = nullptr;

TEST_F(IndexedExamples, BestScore) {
  for (const char* field : {"cosine", "euclid", "words", "tokens"}) {
    const auto outcome = measure(field, [](const FieldSchema& schema) {
      return Recommend{alike(schema, 2), values(schema, kExamples - 2),
                       RecommendStrategy::kBestScore};
    });
    EXPECT_GE(outcome.recall, 0.95) << field;
    EXPECT_LT(outcome.share_scored, 0.6) << field << " is searched by its index";
  }
}

TEST_F(IndexedExamples, SumOfScores) {
  for (const char* field : {"cosine", "euclid", "words"}) {
    const auto outcome = measure(field, [](const FieldSchema& schema) {
      return Recommend{alike(schema, 5), values(schema, 3), RecommendStrategy::kSumScores};
    });
    EXPECT_GE(outcome.recall, 0.95) << field;
    EXPECT_LT(outcome.share_scored, 0.6) << field << " is searched by its index";
  }
  const auto positive = measure("tokens", [](const FieldSchema& schema) {
    return Recommend{alike(schema, kExamples), {}, RecommendStrategy::kSumScores};
  });
  EXPECT_GE(positive.recall, 0.95);
}

TEST_F(IndexedExamples, Average) {
  for (const char* field : {"cosine", "words", "tokens"}) {
    const auto outcome = measure(field, [](const FieldSchema& schema) {
      return Recommend{alike(schema, 3), values(schema, 1), RecommendStrategy::kAverageVector};
    });
    EXPECT_GE(outcome.recall, 0.95) << field;
  }
}

TEST_F(IndexedExamples, Discover) {
  for (const char* field : {"cosine", "euclid", "words", "tokens"}) {
    const auto outcome = measure(field, [](const FieldSchema& schema) {
      const auto liked = alike(schema, 4);
      const auto others = values(schema, 3);
      return Discover{liked[0],
                      {{liked[1], others[0]}, {liked[2], others[1]}, {liked[3], others[2]}}};
    });
    EXPECT_GE(outcome.recall, 0.95) << field;
    EXPECT_LT(outcome.share_scored, 0.7) << field << " is searched by its index";
  }
}

TEST_F(IndexedExamples, RelevanceFeedback) {
  for (const char* field : {"cosine", "euclid", "words"}) {
    const auto outcome = measure(field, [](const FieldSchema& schema) {
      RelevanceFeedback query{alike(schema, 1)[0], {}, 1.0F, 0.8F, 0.05F};
      for (const auto& example : values(schema, kExamples - 1)) {
        query.feedback.push_back({example, static_cast<float>(world->random() % 10) / 10});
      }
      return query;
    });
    EXPECT_GE(outcome.recall, 0.95) << field;
    EXPECT_LT(outcome.share_scored, 0.6) << field << " is searched by its index";
  }
}

TEST_F(IndexedExamples, ContextIsExact) {
  for (const char* field : {"cosine", "euclid", "words", "tokens"}) {
    const auto outcome = measure(field, [](const FieldSchema& schema) {
      const auto liked = alike(schema, 2);
      const auto others = values(schema, 2);
      return Context{{{liked[0], others[0]}, {liked[1], others[1]}}};
    });
    EXPECT_NEAR(outcome.recall, 1, 1e-9) << field;
  }
}

}  // namespace
}  // namespace quiver::engine::testing
