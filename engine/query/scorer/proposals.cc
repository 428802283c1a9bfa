#include "engine/query/scorer/proposals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/query/plan.h"
#include "engine/query/scorer/score_model.h"
#include "engine/query/stages/field_query.h"
#include "index/exact/searcher.h"
#include "index/stored_rows.h"

namespace quiver::engine {
namespace {

/// Points that are looked at for one proposal: by the model, by the query and each prefetch.
constexpr std::uint64_t kModelPointsPerProposal = 4;
constexpr std::uint64_t kMaxModelPoints = 2000;
constexpr std::uint64_t kPointsPerProposal = 2;
constexpr std::uint64_t kFirstPointsPerProposal = 4;
/// The best scored points whose neighbours are looked at.
constexpr std::size_t kBestWithNeighbours = 3;
/// One of so many proposals of the first round is the most different one, not the best.
constexpr std::uint64_t kBestPerDifferent = 4;
/// It is the most different of so many.
constexpr std::size_t kComparedPerDifferent = 8;
/// Points with the best estimates whose deviations are computed, for one proposal.
constexpr std::size_t kDeviationsPerProposal = 2;
constexpr std::size_t kMinDeviations = 30;
/// Points whose vectors are in memory together.
constexpr std::size_t kPointsPerBlock = 256;
/// The search is done if the mean of the best scores is expected to rise by less than this share of
/// the range of scores.
constexpr double kLeastGain = 0.01;

payload::Filter filter_of(const payload::Condition& condition) {
  payload::Filter filter;
  filter.must = {condition};
  return filter;
}

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

double normal_share_below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// Expectation of max(0, score - bar).
double expected_rise(const ScoreEstimate& estimate, double bar) {
  const double above = estimate.score - bar;
  if (estimate.deviation <= 0) return std::max(0.0, above);
  const double z = above / estimate.deviation;
  return above * normal_share_below(z) + estimate.deviation * normal_density(z);
}

struct Estimated {
  Candidate point;
  std::vector<double> columns;  ///< of its features
  ScoreEstimate estimate;
};

/// One round: what is known, what may be proposed, and the choice.
class Round {
 public:
  [[nodiscard]] static Result<Round> begin(const SearchEnvironment& environment,
                                           const ProposalRequest& request) {
    Round round(environment, request);
    QV_TRY(round.read_request());
    round.find_scored();
    return round;
  }

  [[nodiscard]] Result<Proposals> run() {
    if (known_.empty()) return first_proposals();
    return later_proposals();
  }

 private:
  Round(const SearchEnvironment& environment, const ProposalRequest& request)
      : environment_(environment), request_(request) {}

  Result<> read_request();
  [[nodiscard]] std::optional<Candidate> with_vector(const PointId& id) const;
  void find_scored();
  [[nodiscard]] Result<Proposals> first_proposals() const;
  [[nodiscard]] Result<Proposals> later_proposals() const;

  [[nodiscard]] payload::Filter unscored() const;
  [[nodiscard]] Query nearest(std::vector<float> vector, std::uint64_t limit) const;
  void add_asked(std::uint64_t limit, std::vector<Query>& queries) const;
  [[nodiscard]] Result<std::vector<Candidates>> find_each(std::vector<Query> queries) const;
  [[nodiscard]] Result<Candidates> pool_of(const ScoreModel& model) const;
  [[nodiscard]] std::optional<std::vector<float>> query_of(const ScoreModel& model) const;
  [[nodiscard]] Result<PointFeatures> features_of(std::span<const Candidate> points) const;
  [[nodiscard]] Result<std::vector<std::vector<double>>> prefetch_scores(
      std::span<const Candidate> points) const;
  [[nodiscard]] std::vector<float> compared_vector(const Candidate& point) const;
  [[nodiscard]] Result<std::vector<Estimated>> estimate(const ScoreModel& model,
                                                        Candidates pool) const;
  Result<> finish(Candidates chosen, Proposals& out) const;
  void add_best(std::span<const Estimated> pool, Proposals& out) const;
  void add_gain(std::span<const Estimated> pool, Proposals& out) const;

  const SearchEnvironment& environment_;
  const ProposalRequest& request_;
  std::size_t field_ = 0;
  std::vector<float> query_;                      ///< empty: there is none
  std::optional<index::PreparedQuery> prepared_;  ///< `query_` as its field compares it
  std::vector<const Query*> explaining_;          ///< prefetches whose scores are columns
  Candidates known_;            ///< scored points that have the vector, ascending by id
  std::vector<double> scores_;  ///< of `known_`
};

Result<> Round::read_request() {
  QV_TRY(field_, environment_.config.field(request_.basis));
  const FieldSchema& schema = environment_.config.fields[field_];
  if (schema.kind != FieldKind::kDense || schema.metric == Metric::kManhattan) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} is {}{}; the basis of proposals must be a dense vector, compared by "
                    "Dot, Cosine or Euclid",
                    quoted_name(schema), with_article(schema.kind),
                    schema.kind == FieldKind::kDense ? " under Manhattan" : ""));
  }
  const std::uint64_t n_values = std::uint64_t{request_.scored.size()} * schema.dim;
  if (n_values > kMaxScoredValues) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} scored points of {} dimensions are too many: at most {} points",
                            request_.scored.size(), schema.dim, kMaxScoredValues / schema.dim));
  }
  if (request_.query) {
    QV_TRY(auto value, query_value(environment_, field_, *request_.query));
    QV_TRY(prepared_, prepare_value(schema, value, {}));
    query_ = std::get<DenseVector>(std::move(value));
    if (schema.metric == Metric::kCosine) index::to_unit_length(query_.data(), query_.size());
  }
  for (const Query& prefetch : request_.prefetch) {
    if (prefetch.prefetch.empty() && !is_fusion(prefetch.kind)) explaining_.push_back(&prefetch);
  }
  if (query_.empty() && request_.prefetch.empty() && request_.scored.empty()) {
    return fail(Code::kInvalidArgument,
                "nothing says where to begin: wanted `query`, `prefetch` or `scored`");
  }
  return {};
}

/// The point, if it exists and has the vector. Under several shard keys: the first that has.
std::optional<Candidate> Round::with_vector(const PointId& id) const {
  for (const Segment* segment : environment_.snapshot.segments()) {
    const auto row = segment->find(id);
    if (row && segment->data->fields[field_].present[*row] != 0) {
      return Candidate{id, 0, segment, *row, std::nullopt};
    }
  }
  return std::nullopt;
}

/// Finds the scored points that exist and have the vector.
void Round::find_scored() {
  std::vector<ScoredPoint> scored(request_.scored.begin(), request_.scored.end());
  std::stable_sort(scored.begin(), scored.end(),
                   [](const ScoredPoint& a, const ScoredPoint& b) { return a.id < b.id; });
  for (const ScoredPoint& point : scored) {
    if (!known_.empty() && known_.back().id == point.id) continue;
    auto candidate = with_vector(point.id);
    if (!candidate) continue;
    known_.push_back(*std::move(candidate));
    scores_.push_back(point.score);
  }
}

/// What may be proposed: points that the filter allows, with a vector, not yet scored.
payload::Filter Round::unscored() const {
  payload::Filter filter = filter_of(payload::HasVector{request_.basis});
  if (request_.filter) {
    filter.must.emplace_back(std::make_shared<const payload::Filter>(*request_.filter));
  }
  payload::HasId left_out;
  for (const ScoredPoint& point : request_.scored) left_out.ids.push_back(point.id);
  if (request_.query) {
    if (const auto* own = std::get_if<PointId>(&*request_.query)) left_out.ids.push_back(*own);
  }
  if (!left_out.ids.empty()) filter.must_not.emplace_back(std::move(left_out));
  return filter;
}

Query Round::nearest(std::vector<float> vector, std::uint64_t limit) const {
  Query query;
  query.kind = Nearest{VectorValue(std::move(vector))};
  query.using_field = request_.basis;
  query.params = request_.params;
  query.limit = limit;
  return query;
}

/// Adds the query and the prefetches.
void Round::add_asked(std::uint64_t limit, std::vector<Query>& queries) const {
  if (!query_.empty()) queries.push_back(nearest(query_, limit));
  for (const Query& prefetch : request_.prefetch) {
    queries.push_back(prefetch);
    queries.back().limit = limit;
  }
}

/// The points of each query that may be proposed.
Result<std::vector<Candidates>> Round::find_each(std::vector<Query> queries) const {
  Query all;
  all.filter = unscored();
  all.prefetch = std::move(queries);
  QV_TRY(auto rankings, rank_prefetches(environment_, all));
  std::vector<Candidates> found;
  for (Ranking& ranking : rankings) found.push_back(std::move(ranking.candidates));
  return found;
}

/// The vector as it is compared: of length 1 under Cosine, however it is stored.
std::vector<float> Round::compared_vector(const Candidate& point) const {
  auto vector = std::get<DenseVector>(vector_of(point, field_));
  const bool is_cosine = environment_.config.fields[field_].metric == Metric::kCosine;
  if (is_cosine) index::to_unit_length(vector.data(), vector.size());
  return vector;
}

/// Scores of each explaining prefetch. A point that it does not find has the lowest score, at most
/// 0: sparse vectors and texts score 0 without anything in common.
Result<std::vector<std::vector<double>>> Round::prefetch_scores(
    std::span<const Candidate> points) const {
  payload::HasId ids;
  for (const Candidate& point : points) ids.ids.push_back(point.id);
  Query all;
  all.filter = filter_of(std::move(ids));
  for (const Query* prefetch : explaining_) {
    all.prefetch.push_back(*prefetch);
    all.prefetch.back().limit = points.size();
    all.prefetch.back().score_threshold.reset();
  }
  QV_TRY(const auto rankings, rank_prefetches(environment_, all));
  std::vector<std::vector<double>> columns;
  for (const Ranking& ranking : rankings) {
    std::unordered_map<PointId, double> found;
    double lowest = 0;
    for (const Candidate& candidate : ranking.candidates) {
      found.emplace(candidate.id, candidate.score);
      lowest = std::min(lowest, static_cast<double>(candidate.score));
    }
    auto& column = columns.emplace_back();
    for (const Candidate& point : points) {
      const auto at = found.find(point.id);
      column.push_back(at == found.end() ? lowest : at->second);
    }
  }
  return columns;
}

/// Vectors, similarities to the query, and scores of prefetches.
Result<PointFeatures> Round::features_of(std::span<const Candidate> points) const {
  std::vector<std::vector<double>> others;
  if (!explaining_.empty()) {
    QV_TRY(others, prefetch_scores(points));
  }
  const FieldSchema& schema = environment_.config.fields[field_];
  PointFeatures features(schema.dim, others.size() + (query_.empty() ? 0 : 1), points.size());
  std::vector<double> columns;
  for (std::size_t i = 0; i < points.size(); ++i) {
    columns.clear();
    if (prepared_) {
      const auto& field = points[i].segment->data->fields[field_];
      columns.push_back(index::score_row(*prepared_, field, points[i].row).value_or(0.0F));
    }
    for (const auto& column : others) columns.push_back(column[i]);
    features.add(compared_vector(points[i]), columns);
  }
  return features;
}

/// The vector whose nearest rows have the greatest estimates, as far as vectors explain them.
/// Euclid: -f |x - e|^2 + <w, x> with f > 0 is greatest at x = e + w / (2 f).
std::optional<std::vector<float>> Round::query_of(const ScoreModel& model) const {
  const bool is_euclid = environment_.config.fields[field_].metric == Metric::kEuclid;
  const double factor = query_.empty() ? 0 : model.factor_of(0);
  if (is_euclid && factor <= 0) return std::nullopt;
  std::vector<float> vector;
  double most = 0;
  for (std::size_t i = 0; i < model.weights().size(); ++i) {
    const double own = query_.empty() ? 0 : query_[i];
    const double weight = model.weights()[i];
    const double value = is_euclid ? own + weight / (2 * factor) : factor * own + weight;
    vector.push_back(static_cast<float>(value));
    most = std::max(most, std::abs(value));
  }
  // A search needs a direction that floats can hold.
  if (!(most > std::numeric_limits<float>::min() && most < 1e18)) return std::nullopt;
  return vector;
}

/// Points that may be proposed, each once: those with the best estimates, those that the query and
/// the prefetches find next, and those near the best scored points.
Result<Candidates> Round::pool_of(const ScoreModel& model) const {
  std::vector<Query> queries;
  if (auto vector = query_of(model)) {
    const auto n = std::min(kModelPointsPerProposal * request_.n, kMaxModelPoints);
    queries.push_back(nearest(*std::move(vector), n));
  }
  add_asked(kPointsPerProposal * request_.n, queries);
  std::vector<std::size_t> order(known_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores_[a] > scores_[b]; });
  order.resize(std::min(order.size(), kBestWithNeighbours));
  for (const std::size_t i : order) {
    queries.push_back(nearest(compared_vector(known_[i]), request_.n));
  }
  QV_TRY(const auto found, find_each(std::move(queries)));
  Candidates pool;
  std::unordered_set<PointId> ids;
  for (const Candidates& points : found) {
    for (const Candidate& point : points) {
      if (ids.insert(point.id).second) pool.push_back(point);
    }
  }
  return pool;
}

/// Estimates of the pool, best first. Deviations are those of the first ones only.
Result<std::vector<Estimated>> Round::estimate(const ScoreModel& model, Candidates pool) const {
  std::vector<Estimated> estimated;
  for (std::size_t first = 0; first < pool.size(); first += kPointsPerBlock) {
    QV_TRY(environment_.cancel.check());
    const auto block =
        std::span(pool).subspan(first).first(std::min(kPointsPerBlock, pool.size() - first));
    QV_TRY(const PointFeatures features, features_of(block));
    const auto scores = model.scores_of(features);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto columns = features.columns_of(i);
      estimated.push_back({std::move(block[i]), {columns.begin(), columns.end()}, {scores[i], 0}});
    }
  }
  std::stable_sort(estimated.begin(), estimated.end(), [](const Estimated& a, const Estimated& b) {
    return a.estimate.score > b.estimate.score;
  });
  const std::size_t n_wanted =
      std::max({kMinDeviations, static_cast<std::size_t>(kDeviationsPerProposal * request_.n),
                static_cast<std::size_t>(std::min<std::uint64_t>(request_.limit, pool.size()))});
  estimated.resize(std::min(estimated.size(), n_wanted));
  for (std::size_t first = 0; first < estimated.size(); first += kPointsPerBlock) {
    QV_TRY(environment_.cancel.check());
    const std::size_t end = std::min(estimated.size(), first + kPointsPerBlock);
    PointFeatures features(environment_.config.fields[field_].dim, estimated[first].columns.size(),
                           end - first);
    for (std::size_t i = first; i < end; ++i) {
      features.add(compared_vector(estimated[i].point), estimated[i].columns);
    }
    const auto deviations = model.deviations_of(features);
    for (std::size_t i = first; i < end; ++i) {
      estimated[i].estimate.deviation = deviations[i - first];
    }
  }
  return estimated;
}

/// Fills in payloads.
Result<> Round::finish(Candidates chosen, Proposals& out) const {
  Query query;
  query.with_payload = request_.with_payload;
  query.limit = chosen.size();
  Ranking ranking;
  ranking.candidates = std::move(chosen);
  QV_TRY(auto records, records_of(environment_, query, ranking));
  for (Record& record : records) out.proposals.push_back({std::move(record), std::nullopt});
  return {};
}

/// Most proposals are the best of the query and of each prefetch in turn; the others are those that
/// differ most from one another.
Result<Proposals> Round::first_proposals() const {
  Proposals out;
  std::vector<Query> queries;
  add_asked(kFirstPointsPerProposal * request_.n, queries);
  if (queries.empty()) {  // none of the scored points exists
    out.is_done = true;
    return out;
  }
  QV_TRY(const auto found, find_each(std::move(queries)));
  Candidates pool;
  std::unordered_set<PointId> ids;
  std::size_t longest = 0;
  for (const Candidates& points : found) longest = std::max(longest, points.size());
  for (std::size_t rank = 0; rank < longest; ++rank) {
    for (const Candidates& points : found) {
      if (rank < points.size() && ids.insert(points[rank].id).second) pool.push_back(points[rank]);
    }
  }
  const std::size_t n = std::min<std::size_t>(request_.n, pool.size());
  const std::size_t n_different = n / kBestPerDifferent;
  Candidates chosen(pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(n - n_different));
  const auto rest = std::span(pool).subspan(n - n_different);
  PointFeatures features(environment_.config.fields[field_].dim, 0);
  for (const Candidate& point :
       rest.first(std::min(rest.size(), kComparedPerDifferent * n_different))) {
    features.add(compared_vector(point), {});
  }
  for (const std::size_t i : most_different(features, n_different)) chosen.push_back(rest[i]);
  QV_TRY(finish(std::move(chosen), out));
  out.is_done = n == 0;
  return out;
}

Result<Proposals> Round::later_proposals() const {
  QV_TRY(const PointFeatures features, features_of(known_));
  const ScoreModel model(features, scores_, request_.ridge);
  QV_TRY(auto pool, pool_of(model));
  QV_TRY(auto estimated, estimate(model, std::move(pool)));
  Proposals out;
  out.model = {known_.size(), model.ridge(), model.r2()};
  add_best(estimated, out);
  const auto promise = [&](const Estimated& point) {
    return point.estimate.score + request_.explore * point.estimate.deviation;
  };
  std::stable_sort(estimated.begin(), estimated.end(),
                   [&](const Estimated& a, const Estimated& b) { return promise(a) > promise(b); });
  estimated.resize(std::min<std::size_t>(estimated.size(), request_.n));
  add_gain(estimated, out);
  Candidates chosen;
  for (const Estimated& point : estimated) chosen.push_back(point.point);
  QV_TRY(finish(std::move(chosen), out));
  for (std::size_t i = 0; i < out.proposals.size(); ++i) {
    out.proposals[i].estimate = estimated[i].estimate;
  }
  return out;
}

void Round::add_best(std::span<const Estimated> pool, Proposals& out) const {
  for (std::size_t i = 0; i < known_.size(); ++i) {
    out.best.push_back({known_[i].id, {scores_[i], 0}, true});
  }
  for (const Estimated& point : pool) {
    out.best.push_back({point.point.id, point.estimate, false});
  }
  std::stable_sort(out.best.begin(), out.best.end(), [](const BestPoint& a, const BestPoint& b) {
    return a.estimate.score > b.estimate.score;
  });
  out.best.resize(std::min<std::size_t>(out.best.size(), request_.limit));
}

/// `chosen`: the proposals.
void Round::add_gain(std::span<const Estimated> chosen, Proposals& out) const {
  if (chosen.empty()) out.is_done = true;
  if (scores_.size() < request_.limit) return;
  auto scores = scores_;
  const auto last = scores.begin() + static_cast<std::ptrdiff_t>(request_.limit - 1);
  std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
  double rise = 0;
  for (const Estimated& point : chosen) rise += expected_rise(point.estimate, *last);
  out.gain = rise / static_cast<double>(request_.limit);
  const auto [low, high] = std::minmax_element(scores_.begin(), scores_.end());
  if (*out.gain < kLeastGain * (*high - *low)) out.is_done = true;
}

}  // namespace

Result<Proposals> propose(const SearchEnvironment& environment, const ProposalRequest& request) {
  QV_TRY(Round round, Round::begin(environment, request));
  return round.run();
}

}  // namespace quiver::engine
