#include "engine/query/joins/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/observe/memory_budget.h"
#include "encoders/features/translation.h"
#include "engine/model/row.h"
#include "engine/query/joins/join_rows.h"
#include "engine/query/joins/target.h"

namespace quiver::engine {
namespace {

using encoders::Translation;

constexpr std::size_t kRowsPerStep = 512;
/// Of the pairs, one in so many is left out of the learning, but not more than this.
constexpr std::size_t kPairsPerJudged = 5;
constexpr std::size_t kMaxJudged = 1000;
constexpr std::size_t kJudgedNeighbours = 10;
/// Near estimates of which scores are compared with the true ones.
constexpr std::size_t kComparedNeighbours = 50;
/// How far scores of estimates are raised, in deviations of the true ones. 0.5 to 1 were equally
/// good with two pairs of models (docs/decisions/0069-translation.md).
constexpr double kRaise = 0.75;
constexpr double kLeastWeight = 0.25;

payload::Filter having(const std::string& field, bool has) {
  payload::Filter filter;
  (has ? filter.must : filter.must_not).emplace_back(payload::HasVector{field});
  return filter;
}

/// Appends the vector of a row, of unit length under Cosine.
void append_vector(const FieldSchema& schema, const Segment& segment, std::size_t field,
                   std::uint32_t row, std::vector<float>& out) {
  auto vector = std::get<DenseVector>(to_value(schema, segment.vector(field, row)));
  if (schema.metric == Metric::kCosine) {
    double square = 0;
    for (const float value : vector) square += double{value} * value;
    if (square > 0) {
      for (float& value : vector) value = static_cast<float>(value / std::sqrt(square));
    }
  }
  out.insert(out.end(), vector.begin(), vector.end());
}

/// As users see it.
double score_of(std::span<const float> row, std::span<const float> query, Metric metric) {
  double sum = 0;
  for (std::size_t d = 0; d < row.size(); ++d) {
    const double difference = double{row[d]} - query[d];
    if (metric == Metric::kManhattan) {
      sum += std::abs(difference);
    } else {
      sum += is_distance(metric) ? difference * difference : double{row[d]} * query[d];
    }
  }
  return metric == Metric::kEuclid ? std::sqrt(sum) : sum;
}

/// Share of the variance of `truth` `[n, dim]` that `estimates` explain.
double explained_share(std::span<const float> truth, std::span<const float> estimates,
                       std::size_t dim) {
  std::vector<double> mean(dim);
  const auto n = static_cast<double>(truth.size() / dim);
  for (std::size_t i = 0; i < truth.size(); ++i) mean[i % dim] += truth[i] / n;
  double error = 0;
  double variance = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double missed = double{truth[i]} - estimates[i];
    const double deviation = truth[i] - mean[i % dim];
    error += missed * missed;
    variance += deviation * deviation;
  }
  return variance > 0 ? 1 - error / variance : 0;
}

/// Points with vectors in both fields, in random order.
struct Pairs {
  std::vector<float> from, to;
  std::size_t n = 0;
};

class Translating {
 public:
  Translating(const SearchEnvironment& environment, const JoinRequest& request,
              const TranslateJoin& kind, JoinProgress& progress)
      : environment_(environment), request_(request), kind_(kind), progress_(progress) {}

  Result<JoinTable> run() {
    QV_TRY(from_, environment_.config.field(request_.using_field));
    QV_TRY(to_, environment_.config.field(kind_.to));
    QV_TRY(const auto rows, rows_to_translate());
    QV_TRY(check_size(rows.size()));
    QV_TRY(const Pairs pairs, gather_pairs());
    progress_.n_total = 2 + rows.size() / kRowsPerStep + 1;
    const std::size_t n_judged = std::min(
        {pairs.n / kPairsPerJudged, kMaxJudged, pairs.n - std::size_t{kMinTranslatedPairs}});
    QV_TRY(const auto translation, learn(pairs, pairs.n - n_judged));
    ++progress_.n_done;
    JoinTable table;
    QV_TRY(table.translation, judged(translation, pairs, n_judged));
    ++progress_.n_done;
    table.dim = schema(to_).dim;
    QV_TRY(auto vectors, estimates(translation, rows));
    table.vectors = SharedSpan<float>::of(std::move(vectors));
    table.ids = SharedSpan<PointId>::of({rows.ids().begin(), rows.ids().end()});
    return table;
  }

 private:
  [[nodiscard]] const FieldSchema& schema(std::size_t field) const {
    return environment_.config.fields[field];
  }

  [[nodiscard]] Result<JoinRows> rows_to_translate() const {
    payload::Filter filter = having(kind_.to, false);
    if (request_.filter) {
      filter.must.emplace_back(std::make_shared<const payload::Filter>(*request_.filter));
    }
    return JoinRows::gather(environment_, request_.using_field, filter);
  }

  [[nodiscard]] Result<> check_size(std::size_t n_rows) const {
    const std::uint64_t dim = schema(to_).dim;
    if (n_rows * dim > kMaxJoinEntries) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{} points lack a vector of {} dimensions: at most {} numbers are "
                              "kept. A `slice` in the filter takes a part of the points",
                              n_rows, dim, kMaxJoinEntries));
    }
    const std::uint64_t of_pairs = kind_.pairs * (schema(from_).dim + dim);
    const std::uint64_t of_fit = 5 * kind_.anchors * (kind_.anchors + dim);
    return process_memory().check(sizeof(float) * (n_rows * dim + 2 * of_pairs + of_fit),
                                  "a translation");
  }

  [[nodiscard]] Result<Pairs> gather_pairs() const {
    QV_TRY(const auto rows,
           JoinRows::gather(environment_, request_.using_field, having(kind_.to, true)));
    if (rows.size() < kMinTranslatedPairs) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("{} points have vectors of both `{}` and `{}`, wanted at least {}",
                              rows.size(), request_.using_field, kind_.to, kMinTranslatedPairs));
    }
    std::vector<std::uint32_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {},
                      [&](std::uint32_t i) { return std::pair(rows.ids()[i].hash(), i); });
    Pairs pairs;
    pairs.n = std::min<std::size_t>(order.size(), kind_.pairs);
    for (std::size_t i = 0; i < pairs.n; ++i) {
      const auto place = rows.place(order[i]);
      const Segment& segment = *rows.parts()[place.part].segment;
      append_vector(schema(from_), segment, from_, place.row, pairs.from);
      append_vector(schema(to_), segment, to_, place.row, pairs.to);
    }
    return pairs;
  }

  [[nodiscard]] Result<Translation> learn(const Pairs& pairs, std::size_t n) const {
    const std::size_t from_dim = schema(from_).dim;
    const std::size_t to_dim = schema(to_).dim;
    return Translation::fit(std::span(pairs.from).first(n * from_dim), schema(from_).dim,
                            std::span(pairs.to).first(n * to_dim), schema(to_).dim, kind_.anchors,
                            environment_.cancel);
  }

  /// By the last `n` pairs.
  [[nodiscard]] Result<TranslationFacts> judged(const Translation& translation, const Pairs& pairs,
                                                std::size_t n) const;

  [[nodiscard]] Result<std::vector<float>> estimates(const Translation& translation,
                                                     const JoinRows& rows) const {
    const std::size_t dim = schema(to_).dim;
    std::vector<float> vectors(rows.size() * dim);
    const std::size_t n_steps = (rows.size() + kRowsPerStep - 1) / kRowsPerStep;
    const auto step = [&](std::size_t i) {
      if (!environment_.cancel.check()) return;
      const std::size_t first = i * kRowsPerStep;
      const std::size_t n = std::min(kRowsPerStep, rows.size() - first);
      std::vector<float> from;
      for (std::size_t row = first; row < first + n; ++row) {
        const auto place = rows.place(static_cast<std::uint32_t>(row));
        append_vector(schema(from_), *rows.parts()[place.part].segment, from_, place.row, from);
      }
      translation.apply(from, n, std::span(vectors).subspan(first * dim, n * dim));
      ++progress_.n_done;
    };
    if (environment_.executor != nullptr) {
      environment_.executor->parallel_for(n_steps, step);
    } else {
      for (std::size_t i = 0; i < n_steps; ++i) step(i);
    }
    QV_TRY(environment_.cancel.check());
    progress_.n_done = progress_.n_total.load();
    return vectors;
  }

  const SearchEnvironment& environment_;
  const JoinRequest& request_;
  const TranslateJoin& kind_;
  JoinProgress& progress_;
  std::size_t from_ = 0;
  std::size_t to_ = 0;
};

/// A score as users see it, and a position.
using Scored = std::pair<double, std::size_t>;

/// The nearest of `rows` `[n, dim]` to `query`, best first, without row `own`.
std::vector<Scored> nearest_of(std::span<const float> rows, std::span<const float> query,
                               std::size_t own, Metric metric) {
  const std::size_t dim = query.size();
  std::vector<Scored> scored;
  for (std::size_t i = 0; i < rows.size() / dim; ++i) {
    if (i != own) scored.emplace_back(score_of(rows.subspan(i * dim, dim), query, metric), i);
  }
  const std::size_t n = std::min(kComparedNeighbours, scored.size());
  const auto end = scored.begin() + static_cast<std::ptrdiff_t>(n);
  is_distance(metric) ? std::partial_sort(scored.begin(), end, scored.end())
                      : std::partial_sort(scored.begin(), end, scored.end(), std::greater<>());
  scored.resize(n);
  return scored;
}

std::size_t n_common(std::span<const Scored> a, std::span<const Scored> b) {
  std::size_t n = 0;
  for (const Scored& one : a) {
    n += std::ranges::count(b, one.second, &Scored::second);
  }
  return n;
}

/// Scores of near estimates, and those of the vectors that they stand for.
class ScorePairs {
 public:
  void add(double estimate, double truth) {
    ++n_;
    e_ += estimate;
    t_ += truth;
    ee_ += estimate * estimate;
    et_ += estimate * truth;
    tt_ += truth * truth;
  }
  void add_last_hit(double estimate) {
    ++n_last_;
    last_ += estimate;
  }
  /// A line through the pairs, raised by a part of their deviation from it, at the usual last hit:
  /// among many uncertain scores the best are those that turned out well.
  [[nodiscard]] double weight(bool is_distance) const {
    const double n = n_;
    const double of_estimates = ee_ - e_ * e_ / n;
    const double last = last_ / n_last_;
    if (!(of_estimates > 0) || !(last > 0)) return 1;
    const double slope = (et_ - e_ * t_ / n) / of_estimates;
    const double offset = (t_ - slope * e_) / n;
    const double rest = (tt_ - t_ * t_ / n - slope * slope * of_estimates) / n;
    const double raised = kRaise * std::sqrt(std::max(0.0, rest)) * (is_distance ? -1 : 1);
    return std::clamp(slope + (offset + raised) / last, kLeastWeight, 1 / kLeastWeight);
  }

 private:
  double n_ = 0, e_ = 0, t_ = 0, ee_ = 0, et_ = 0, tt_ = 0;
  double n_last_ = 0, last_ = 0;
};

Result<TranslationFacts> Translating::judged(const Translation& translation, const Pairs& pairs,
                                             std::size_t n) const {
  TranslationFacts facts;
  facts.n_pairs = pairs.n - n;
  facts.n_judged = n;
  if (n == 0) return facts;
  const std::size_t from_dim = schema(from_).dim;
  const std::size_t dim = schema(to_).dim;
  const Metric metric = schema(to_).metric;
  const auto truth = std::span(pairs.to).last(n * dim);
  std::vector<float> estimates(n * dim);
  translation.apply(std::span(pairs.from).last(n * from_dim), n, estimates);
  facts.r2 = explained_share(truth, estimates, dim);
  ScorePairs scores;
  std::size_t n_wanted = 0;
  std::size_t n_found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    QV_TRY(environment_.cancel.check());
    const auto query = truth.subspan(i * dim, dim);
    const auto wanted = nearest_of(truth, query, i, metric);
    const auto found = nearest_of(estimates, query, i, metric);
    const std::size_t k = std::min(kJudgedNeighbours, found.size());
    n_wanted += k;
    n_found += n_common(std::span(wanted).first(k), std::span(found).first(k));
    for (const auto& [score, row] : found) {
      scores.add(score, score_of(truth.subspan(row * dim, dim), query, metric));
    }
    if (k != 0) scores.add_last_hit(found[k - 1].first);
  }
  if (n_wanted == 0) return facts;
  facts.recall = static_cast<double>(n_found) / static_cast<double>(n_wanted);
  facts.weight = scores.weight(is_distance(metric));
  return facts;
}

Result<> check_dense(const FieldSchema& field) {
  if (field.kind == FieldKind::kDense) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("vectors are translated from a dense field to another, {} is {}",
                          quoted_name(field), kind_name(field.kind)));
}

}  // namespace

Result<JoinTable> translate(const SearchEnvironment& environment, const JoinRequest& request,
                            const TranslateJoin& kind, JoinProgress& progress) {
  return Translating(environment, request, kind, progress).run();
}

Result<> check_translate(const SearchEnvironment& environment, const JoinRequest& request,
                         const TranslateJoin& kind) {
  const auto& config = environment.config;
  QV_TRY(const std::size_t from, config.field(request.using_field));
  QV_TRY(const std::size_t to, config.field(kind.to));
  QV_TRY(check_dense(config.fields[from]));
  QV_TRY(check_dense(config.fields[to]));
  if (from == to) {
    return fail(Code::kInvalidArgument,
                fmt::format("`using` and `to` are both {}", quoted_name(config.fields[from])));
  }
  if (request.into.empty()) return {};
  QV_TRY(const std::size_t into, config.field(request.into));
  const FieldSchema& target = config.fields[into];
  if (into == from || into == to) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("`into` is {}: estimates want a field of their own", quoted_name(target)));
  }
  return check_takes_vectors(target, config.fields[to].dim);
}

}  // namespace quiver::engine
