// Searches over several segments: against a loop over all rows.
#include "engine/query/stages/segment_search.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/query/stages/field_query.h"
#include "tests/engine/query/support.h"

namespace quiver::engine::testing {
namespace {

constexpr std::uint64_t kManyNumbers = 500;

/// Three segments with few different values, so that many scores are equal, and some deleted rows.
class ManyNumbers : public ::testing::Test {
 protected:
  ManyNumbers() : config_(numbers_config()), snapshot_(snapshot_of(segments())) {}

  std::vector<Segment> segments() {
    std::vector<Segment> segments;
    for (std::uint64_t part = 0; part < 3; ++part) {
      std::vector<Row> rows;
      auto deleted = std::make_shared<Bitset>();
      for (std::uint64_t i = part; i < kManyNumbers; i += 3) {
        const std::uint64_t number = (i * 7919) % kManyNumbers;
        Row row = number_row(number, config_);
        row.vectors[0] = to_stored(config_.fields[0], DenseVector{value_of(number)}).value();
        const bool is_deleted = number % 11 == 0;
        const bool is_absent = number % 5 == 0;
        if (is_absent) row.vectors[0] = {};
        rows.push_back(std::move(row));
        deleted->resize(rows.size());
        if (is_deleted) deleted->set(rows.size() - 1);
        if (!is_deleted && !is_absent) scores_[PointId::number(number)] = value_of(number);
      }
      Segment segment = segment_of_rows(rows, config_, part + 1);
      segment.n_deleted = static_cast<std::uint32_t>(deleted->count());
      segment.deleted = std::move(deleted);
      segments.push_back(std::move(segment));
    }
    return segments;
  }
  static float value_of(std::uint64_t number) { return static_cast<float>(number % 13); }

  /// By (score, id).
  template <class Keep>
  [[nodiscard]] Numbers best_numbers(float factor, std::size_t limit, Keep keep) const {
    std::vector<std::pair<float, std::uint64_t>> all;
    for (const auto& [id, value] : scores_) {
      if (keep(id.low())) all.emplace_back(-factor * value, id.low());
    }
    std::sort(all.begin(), all.end());
    Numbers numbers;
    for (std::size_t i = 0; i < std::min(limit, all.size()); ++i) numbers.push_back(all[i].second);
    return numbers;
  }
  [[nodiscard]] index::PreparedQuery prepared(float value) const {
    return index::PreparedQuery::dense(config_.fields[0], std::vector{value});
  }
  using Queries = std::vector<const index::PreparedQuery*>;
  using Limits = std::vector<std::uint64_t>;
  /// Of field `dot`.
  [[nodiscard]] Result<std::vector<Candidates>> search(
      const Queries& queries, const Limits& limits, const payload::Predicate* predicate = nullptr,
      Executor* executor = nullptr, index::WorkCounters* work = nullptr) const {
    const SearchParams params;
    return search_segments({snapshot_, config_, cancel_, executor, {}, work},
                           {queries, limits, 0, predicate, params});
  }

  const CollectionConfig config_;
  const Cancel cancel_;
  std::map<PointId, float> scores_;
  const Snapshot snapshot_;
};

constexpr auto kEveryNumber = [](std::uint64_t) { return true; };

TEST_F(ManyNumbers, TheBestOfAllSegments) {
  const auto query = prepared(1);
  Executor executor(3, "segments");
  for (const std::uint64_t limit : {1, 10, 100, 10'000}) {
    const auto expected = best_numbers(1, limit, kEveryNumber);
    const auto alone = search({&query}, {limit}).value();
    const auto helped = search({&query}, {limit}, nullptr, &executor).value();
    EXPECT_EQ(numbers_of(alone.at(0)), expected) << limit;
    EXPECT_EQ(numbers_of(helped.at(0)), expected) << limit;
  }
}

TEST_F(ManyNumbers, OnlyRowsThatMatch) {
  const auto query = prepared(1);
  const auto odd = payload::compile(only_odd(), config_.indexes).value();
  const auto filtered = search({&query}, {20}, odd.get()).value();
  EXPECT_EQ(numbers_of(filtered.at(0)),
            best_numbers(1, 20, [](std::uint64_t number) { return number % 2 == 1; }));
}

TEST_F(ManyNumbers, SeveralQueriesWithLimitsOfTheirOwn) {
  const auto up = prepared(1);
  const auto down = prepared(-1);
  const auto answers = search({&up, &down, &up}, {5, 7, 400}).value();
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(numbers_of(answers[0]), best_numbers(1, 5, kEveryNumber));
  EXPECT_EQ(numbers_of(answers[1]), best_numbers(-1, 7, kEveryNumber));
  EXPECT_EQ(numbers_of(answers[2]), best_numbers(1, 400, kEveryNumber));
}

TEST_F(ManyNumbers, AddsItsWork) {
  const auto query = prepared(1);
  index::WorkCounters work;
  ASSERT_TRUE(search({&query}, {10}, nullptr, nullptr, &work));
  EXPECT_EQ(work.n_rows_scored, scores_.size());
}

TEST_F(ManyNumbers, StopsWhenCancelled) {
  const auto query = prepared(1);
  cancel_.cancel();
  const auto stopped = search({&query}, {10});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::kCancelled);
}

/// A sealed segment that should have an index and has none, beside a growing one.
TEST(SegmentSearch, IndexedOnlyLeavesOutSegmentsThatLackTheirIndex) {
  const CollectionConfig config = numbers_config();
  auto sealed = segment_of_rows({number_row(1, config), number_row(2, config)}, config, 1);
  auto data = std::make_shared<SegmentData>(*sealed.data);
  data->sealed = true;
  sealed.data = std::move(data);
  const auto growing = segment_of_rows({number_row(3, config)}, config, 2);
  const Snapshot snapshot = snapshot_of({sealed, growing});
  const Cancel cancel;
  IndexPolicy policy;
  policy.min_bytes = 0;
  const auto query = index::PreparedQuery::dense(config.fields[0], std::vector{1.0F});
  SearchParams params;
  const auto numbers = [&] {
    const std::array queries = {&query};
    const std::array<std::uint64_t, 1> limits = {10};
    const FieldSearch search{queries, limits, 0, nullptr, params};
    return numbers_of(
        search_segments({snapshot, config, cancel, nullptr, policy}, search).value().at(0));
  };
  EXPECT_EQ(numbers(), (Numbers{3, 2, 1}));
  params.indexed_only = true;
  EXPECT_EQ(numbers(), Numbers{3});
  policy.min_bytes = 1 << 20;  // too small for an index: nothing is missing
  EXPECT_EQ(numbers(), (Numbers{3, 2, 1}));
}

}  // namespace
}  // namespace quiver::engine::testing
