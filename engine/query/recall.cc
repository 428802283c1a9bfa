#include "engine/query/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "engine/indexing/query_samples.h"
#include "engine/model/query.h"
#include "engine/query/plan.h"
#include "engine/query/stages/field_query.h"
#include "engine/query/stages/segment_search.h"
#include "payload/filter/predicate.h"

namespace quiver::engine {
namespace {

constexpr std::array<std::uint64_t, 3> kHits{1, 10, 100};
/// Of queries that were made between near rows the nearest row is found too easily.
constexpr std::uint64_t kLeastHitsOfMadeQueries = 10;
/// Random filters: one part of so many. Between a half and a tenth searches change their way, and
/// recall jumps there: it may be less than at both.
constexpr std::array<std::uint32_t, 6> kParts{1, 2, 3, 5, 10, 100};
/// Efforts grow by the third root of 2: the next one takes about a tenth longer.
constexpr std::uint64_t kFirstEffort = 16;
constexpr int kEffortsPerDoubling = 3;
constexpr int kEffortDoublings = 8;
/// Scores that differ by less than this share are ties, and hits alike.
constexpr float kTie = 1e-6F;
/// Queries that share a pass.
constexpr std::size_t kQueriesPerPass = 32;

std::vector<std::uint64_t> efforts() {
  std::vector<std::uint64_t> all;
  for (int i = 0; i <= kEffortsPerDoubling * kEffortDoublings; ++i) {
    const double factor = std::exp2(static_cast<double>(i) / kEffortsPerDoubling);
    all.push_back(static_cast<std::uint64_t>(std::lround(kFirstEffort * factor)));
  }
  return all;
}

/// Share of the `k` best of `truth` that are found; ties with the last of them are hits alike.
double share_found(const Candidates& truth, std::span<const float> scores, std::uint64_t k) {
  const std::size_t n = std::min<std::size_t>(k, truth.size());
  if (n == 0) return 1;
  const float last = truth[n - 1].score;
  const float least = last - std::abs(last) * kTie;
  const auto hits =
      std::count_if(scores.begin(), scores.end(), [&](float score) { return score >= least; });
  return std::min(1.0, static_cast<double>(hits) / static_cast<double>(n));
}

struct SampleQuery {
  index::PreparedQuery prepared;
  std::optional<PointId> own;  ///< the stored point that the query is; no hit
};

class Measurement {
 public:
  Measurement(const SearchEnvironment& environment, const RecallRequest& request)
      : environment_(environment), request_(request) {}

  Result<RecallTable> run();

 private:
  Result<> gather_queries();
  Result<> make_queries();
  [[nodiscard]] Result<VectorValue> between(const Candidate& point) const;
  Result<> add(const QueryVector& vector);
  [[nodiscard]] std::vector<float> weights_of(const QueryVector& vector) const;
  Result<> measure_part(std::uint32_t n_parts, RecallTable& table);
  [[nodiscard]] Result<std::vector<Candidates>> find(std::uint64_t k,
                                                     const payload::Predicate* predicate,
                                                     const SearchParams& params) const;
  [[nodiscard]] RecallPoint point_of(std::uint64_t effort, std::uint64_t k,
                                     const std::vector<Candidates>& truth,
                                     const std::vector<Candidates>& found) const;

  const SearchEnvironment& environment_;
  const RecallRequest& request_;
  std::size_t field_ = 0;
  FieldPoints points_;
  std::vector<SampleQuery> queries_;
};

Result<RecallTable> Measurement::run() {
  QV_TRY(field_, environment_.config.field(request_.using_field));
  points_ = points_of(environment_.snapshot, field_);
  QV_TRY(gather_queries());
  RecallTable table;
  table.field = request_.using_field;
  table.n_queries = queries_.size();
  table.source = request_.source.value_or(RecallSource::kGiven);
  if (request_.queries.empty()) table.source = RecallSource::kSynthetic;
  table.n_points = points_.all;
  table.n_indexed = points_.indexed;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  table.measured_at_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  for (const std::uint32_t n_parts : kParts) QV_TRY(measure_part(n_parts, table));
  return table;
}

Result<> Measurement::gather_queries() {
  if (request_.queries.empty()) {
    QV_TRY(make_queries());
  } else {
    for (const QueryVector& vector : request_.queries) QV_TRY(add(vector));
  }
  if (queries_.size() >= kMinRecallQueries) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("recall is measured with {} or more queries, and there are {} stored "
                          "vectors to make some of",
                          kMinRecallQueries, queries_.size()));
}

/// Of stored points that a hash of the id chooses: dense queries lie between a point and its
/// nearest, others are the points' own vectors.
Result<> Measurement::make_queries() {
  Query sample;
  sample.filter.emplace();
  sample.filter->must.emplace_back(payload::HasVector{request_.using_field});
  const std::uint64_t n_parts = std::max<std::uint64_t>(1, points_.all / request_.sample);
  sample.filter->must.emplace_back(
      payload::Slice{static_cast<std::uint32_t>(std::min<std::uint64_t>(n_parts, 1U << 31U)), 0});
  sample.limit = request_.sample;
  const Plan plan(sample);
  QV_TRY(const Ranking chosen, plan.rank(environment_));
  const bool is_dense = environment_.config.fields[field_].kind == FieldKind::kDense;
  for (const Candidate& point : chosen.candidates) {
    QV_TRY(environment_.cancel.check());
    if (!is_dense) {
      QV_TRY(add(point.id));
      continue;
    }
    QV_TRY(auto vector, between(point));
    QV_TRY(add(std::move(vector)));
  }
  return {};
}

Result<VectorValue> Measurement::between(const Candidate& point) const {
  Query nearest;
  nearest.kind = Nearest{point.id};
  nearest.using_field = request_.using_field;
  nearest.limit = 1;
  const Plan plan(nearest);
  QV_TRY(const Ranking found, plan.rank(environment_));
  auto middle = std::get<DenseVector>(vector_of(point, field_));
  if (found.candidates.empty()) return middle;
  const auto other = std::get<DenseVector>(vector_of(found.candidates.front(), field_));
  for (std::size_t i = 0; i < middle.size(); ++i) middle[i] = (middle[i] + other[i]) / 2;
  return middle;
}

Result<> Measurement::add(const QueryVector& vector) {
  std::optional<PointId> own;
  if (const auto* id = std::get_if<PointId>(&vector)) own = *id;
  SearchParams params;
  params.token_weights = weights_of(vector);
  QV_TRY(auto query, field_query(environment_, request_.using_field, Nearest{vector}, params));
  queries_.push_back({std::move(query.prepared), own});
  return {};
}

/// The token weights that a recorded query was asked with.
std::vector<float> Measurement::weights_of(const QueryVector& vector) const {
  const auto* value = std::get_if<VectorValue>(&vector);
  const auto* tokens = value == nullptr ? nullptr : std::get_if<MultiVector>(value);
  if (tokens == nullptr || request_.source != RecallSource::kRecorded) return {};
  return recorded_weights(environment_.config.fields[field_], tokens->values);
}

/// The `k` best of each query, without the query's own point.
Result<std::vector<Candidates>> Measurement::find(std::uint64_t k,
                                                  const payload::Predicate* predicate,
                                                  const SearchParams& params) const {
  std::vector<Candidates> found;
  for (std::size_t first = 0; first < queries_.size(); first += kQueriesPerPass) {
    QV_TRY(environment_.cancel.check());
    const std::size_t n = std::min(kQueriesPerPass, queries_.size() - first);
    std::vector<const index::PreparedQuery*> prepared;
    std::vector<std::uint64_t> limits;
    for (std::size_t i = first; i < first + n; ++i) {
      prepared.push_back(&queries_[i].prepared);
      limits.push_back(k + (queries_[i].own ? 1 : 0));
    }
    QV_TRY(auto some, search_segments(environment_, {.queries = prepared,
                                                     .limits = limits,
                                                     .field = field_,
                                                     .predicate = predicate,
                                                     .params = params}));
    for (std::size_t i = 0; i < n; ++i) {
      const auto& own = queries_[first + i].own;
      std::erase_if(some[i], [&](const Candidate& hit) { return own && hit.id == *own; });
      if (some[i].size() > k) some[i].resize(k);
      found.push_back(std::move(some[i]));
    }
  }
  return found;
}

RecallPoint Measurement::point_of(std::uint64_t effort, std::uint64_t k,
                                  const std::vector<Candidates>& truth,
                                  const std::vector<Candidates>& found) const {
  std::vector<double> recalls;
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    std::vector<float> scores;
    for (const Candidate& hit : found[i]) scores.push_back(hit.score);
    recalls.push_back(share_found(truth[i], scores, k));
    sum += recalls.back();
  }
  std::sort(recalls.begin(), recalls.end());
  const auto place = static_cast<std::size_t>(kLowShare * static_cast<double>(recalls.size() + 1));
  const double low = place == 0 ? 0 : recalls[place - 1];
  const double mean = sum / static_cast<double>(recalls.size());
  // Rounded down: less than 1 stays less.
  return {effort, static_cast<Ppm>(std::floor(mean * kPpm)),
          static_cast<Ppm>(std::floor(low * kPpm))};
}

/// Measures searches of one part of `n_parts`, which a hash of the id chooses.
Result<> Measurement::measure_part(std::uint32_t n_parts, RecallTable& table) {
  payload::Filter filter;
  filter.must.emplace_back(payload::Slice{n_parts, 0});
  QV_TRY(const auto compiled, payload::compile(filter, environment_.config.indexes));
  const payload::Predicate* predicate = n_parts == 1 ? nullptr : compiled.get();
  SearchParams params;
  params.exact = true;
  QV_TRY(const auto truth, find(kHits.back(), predicate, params));
  params.exact = false;
  for (const std::uint64_t k : kHits) {
    if (table.source == RecallSource::kSynthetic && k < kLeastHitsOfMadeQueries) continue;
    RecallCell cell{k, static_cast<Ppm>(kPpm / n_parts), {}};
    for (const std::uint64_t effort : efforts()) {
      params.hnsw_ef = effort;
      QV_TRY(const auto found, find(k, predicate, params));
      cell.points.push_back(point_of(effort, k, truth, found));
      if (cell.points.back().recall == kPpm) break;
    }
    table.cells.push_back(std::move(cell));
  }
  return {};
}

}  // namespace

Result<RecallTable> measure_recall(const SearchEnvironment& environment,
                                   const RecallRequest& request) {
  return Measurement(environment, request).run();
}

Result<double> recall_of(const SearchEnvironment& environment, const WatchedSearch& search) {
  const std::array queries = {&search.query};
  const std::array limits = {search.limit};
  QV_TRY(const auto truth, search_segments(environment, {queries, limits, search.field,
                                                         search.predicate.get(), search.params}));
  return share_found(truth[0], search.scores, search.limit);
}

}  // namespace quiver::engine
