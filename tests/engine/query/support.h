// What query tests share: points with small whole numbers over two segments in memory, and stages
// that answer what they are given.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/model/config.h"
#include "engine/model/row.h"
#include "engine/query/plan.h"
#include "engine/query/stages/stage.h"
#include "engine/segment/mutable_segment.h"
#include "engine/segment/snapshot.h"

namespace quiver::engine::testing {

using Numbers = std::vector<std::uint64_t>;

/// `dot` and `far` hold the point's number; `words` index 1 in all points and index `number` in
/// one; `tokens` the tokens (number, 0) and (0, 1). Payload: `{"n": number, "odd": 0 or 1}`.
inline CollectionConfig numbers_config() {
  CollectionConfig config;
  config.fields = {
      {"dot", FieldKind::kDense, 1, DType::kF32, Metric::kDot, SparseModifier::kNone},
      {"far", FieldKind::kDense, 1, DType::kF32, Metric::kEuclid, SparseModifier::kNone},
      {"words", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, SparseModifier::kIdf},
      {"tokens", FieldKind::kMulti, 2, DType::kF32, Metric::kDot, SparseModifier::kNone},
  };
  payload::FieldIndex index;
  index.key = "n";
  index.kind = payload::IndexKind::kInteger;
  config.indexes = {index};
  return config;
}

inline Row number_row(std::uint64_t number, const CollectionConfig& config) {
  const auto value = static_cast<float>(number);
  Row row{PointId::number(number), Seq{number}, "{}", {}};
  row.payload = "{\"n\":" + std::to_string(number) + ",\"odd\":" + std::to_string(number % 2) + "}";
  const std::vector<VectorValue> values = {
      DenseVector{value}, DenseVector{value},
      SparseVector{{1, 100 + static_cast<std::uint32_t>(number)}, {1, 1}},
      MultiVector{2, 2, {value, 0, 0, 1}}};
  for (std::size_t f = 0; f < values.size(); ++f) {
    row.vectors.push_back(to_stored(config.fields[f], values[f]).value());
  }
  return row;
}

inline Segment segment_of_rows(const std::vector<Row>& rows, const CollectionConfig& config,
                               std::uint64_t id) {
  MutableSegment segment(id, config.fields, config.indexes);
  for (const Row& row : rows) segment.append(row);
  return {segment.snapshot(), nullptr, 0};
}

inline Snapshot snapshot_of(std::vector<Segment> segments) {
  auto set = std::make_shared<SegmentSet>();
  set->segments = std::move(segments);
  return Snapshot({std::move(set)});
}

/// Points 1 to 8: 5, 2, 7, 1 in one segment, 8, 3, 6, 4 in another. Point 9 has no vectors.
struct NumbersWorld {
  explicit NumbersWorld(CollectionConfig config_of_world = numbers_config())
      : config(std::move(config_of_world)), snapshot(snapshot_of(segments(config))) {}

  static std::vector<Segment> segments(const CollectionConfig& config) {
    std::vector<Row> first;
    std::vector<Row> second;
    for (const std::uint64_t number : {5, 2, 7, 1}) first.push_back(number_row(number, config));
    for (const std::uint64_t number : {8, 3, 6, 4}) second.push_back(number_row(number, config));
    second.push_back({PointId::number(9), Seq{9}, R"({"n":9})", {{}, {}, {}, {}}});
    return {segment_of_rows(first, config, 1), segment_of_rows(second, config, 2)};
  }
  [[nodiscard]] SearchEnvironment environment() const { return {snapshot, config, cancel}; }
  /// A candidate of the snapshot.
  [[nodiscard]] Candidate candidate(std::uint64_t number, float score) const {
    const auto place = snapshot.find(PointId::number(number)).value();
    return {PointId::number(number), score, place.segment, place.row, {}};
  }

  CollectionConfig config;
  Cancel cancel;
  Snapshot snapshot;
};

inline Numbers numbers_of(const Candidates& candidates) {
  Numbers numbers;
  for (const auto& candidate : candidates) numbers.push_back(candidate.id.low());
  return numbers;
}
inline Numbers numbers_of(const std::vector<Record>& records) {
  Numbers numbers;
  for (const auto& record : records) numbers.push_back(record.id.low());
  return numbers;
}

inline std::vector<float> scores_of(const Ranking& ranking) {
  std::vector<float> scores;
  for (const auto& candidate : ranking.candidates) scores.push_back(candidate.score);
  return scores;
}

inline Query nearest_number(const std::string& field, float value, std::uint64_t limit) {
  Query query;
  query.kind = Nearest{DenseVector{value}};
  query.using_field = field;
  query.limit = limit;
  return query;
}

inline payload::Filter only_odd() {
  payload::Filter filter;
  filter.must = {
      payload::FieldCondition{"odd", payload::MatchValue{payload::MatchScalar(std::int64_t{1})}}};
  return filter;
}

/// Answers what it was given.
class FixedStage final : public PlanStage {
 public:
  explicit FixedStage(Result<Ranking> answer) : answer_(std::move(answer)) {}
  [[nodiscard]] Result<Ranking> run(const SearchEnvironment& /*environment*/) const override {
    return answer_;
  }

 private:
  Result<Ranking> answer_;
};

inline StagePtr fixed(Result<Ranking> answer) {
  return std::make_unique<FixedStage>(std::move(answer));
}
inline std::vector<StagePtr> fixed_inputs(std::vector<Result<Ranking>> answers) {
  std::vector<StagePtr> inputs;
  for (auto& answer : answers) inputs.push_back(fixed(std::move(answer)));
  return inputs;
}

}  // namespace quiver::engine::testing
