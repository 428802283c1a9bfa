#include "engine/query/aggregates.h"

#include <functional>
#include <memory>
#include <utility>

#include "engine/segment/segment_rows.h"
#include "payload/aggregate/collect.h"
#include "payload/aggregate/terms.h"

namespace quiver::engine {
namespace {

using payload::BucketCollector;
using payload::JsonPath;
using payload::StatsCollector;
using payload::TermCollector;

/// An aggregation while it is answered.
struct Work {
  std::unique_ptr<payload::Collector> collector;  ///< nullptr: the number of points is enough
  std::function<Aggregate(std::uint64_t n_points)> outcome;
};

/// The path of a key. `a[]` is `a`: an array stands for its elements anyway.
Result<JsonPath> path_of(const std::string& key) {
  QV_TRY(const JsonPath path, JsonPath::parse(key));
  std::vector<payload::PathStep> steps(path.steps().begin(), path.steps().end());
  while (steps.back().kind == payload::PathStep::Kind::kEach) steps.pop_back();
  return JsonPath(std::move(steps));
}

/// Work of a collector. `outcome(collector)` gives its Aggregate in the end.
template <class T, class Outcome>
Work work_of(std::unique_ptr<T> collector, Outcome outcome) {
  const T* own = collector.get();
  return {std::move(collector), [own, outcome](std::uint64_t) { return Aggregate(outcome(*own)); }};
}

Result<Work> start(const CountAggregation&) {
  return Work{nullptr, [](std::uint64_t n_points) { return CountAggregate{n_points}; }};
}

Result<Work> start(const TermsAggregation& terms) {
  QV_TRY(JsonPath path, path_of(terms.key));
  const auto outcome = [limit = terms.limit](const TermCollector& collector) {
    TermsAggregate aggregate;
    for (auto& [term, n_rows] : collector.most_frequent(limit)) {
      aggregate.hits.push_back({std::move(term), n_rows});
    }
    aggregate.n_distinct = collector.n_distinct();
    aggregate.n_missing = collector.n_missing();
    return aggregate;
  };
  return work_of(std::make_unique<TermCollector>(std::move(path)), outcome);
}

Result<Work> start(const CardinalityAggregation& terms) {
  QV_TRY(JsonPath path, path_of(terms.key));
  return work_of(
      std::make_unique<TermCollector>(std::move(path)),
      [](const TermCollector& collector) { return CardinalityAggregate{collector.n_distinct()}; });
}

Result<Work> start(const StatsAggregation& stats) {
  QV_TRY(JsonPath path, path_of(stats.key));
  return work_of(std::make_unique<StatsCollector>(std::move(path)),
                 [](const StatsCollector& collector) { return collector.stats(); });
}

Result<Work> start(const HistogramAggregation& histogram) {
  QV_TRY(JsonPath path, path_of(histogram.key));
  auto collector = std::make_unique<BucketCollector>(std::move(path), histogram.buckets);
  if (std::holds_alternative<payload::NumberBuckets>(histogram.buckets)) {
    return work_of(std::move(collector), [](const BucketCollector& own) {
      return NumberHistogram{own.number_buckets(), own.n_missing()};
    });
  }
  return work_of(std::move(collector), [](const BucketCollector& own) {
    return CalendarHistogram{own.calendar_buckets(), own.n_missing()};
  });
}

/// Gives the segment's live rows that match to the collectors. Returns their number.
Result<std::uint64_t> collect_segment(const Segment& segment, const payload::Predicate* predicate,
                                      std::span<payload::Collector* const> collectors,
                                      const CollectionConfig& config, const Cancel& cancel) {
  const SegmentRows rows(*segment.data);
  if (predicate == nullptr && segment.n_deleted == 0) {
    QV_TRY(payload::collect(collectors, rows, nullptr, config.indexes, cancel));
    return segment.n_rows();
  }
  QV_TRY(const Bitset matching, matching_rows(segment, predicate, cancel));
  QV_TRY(payload::collect(collectors, rows, &matching, config.indexes, cancel));
  return matching.count();
}

}  // namespace

Result<std::vector<Aggregate>> aggregate(const Snapshot& snapshot, const CollectionConfig& config,
                                         const AggregateRequest& request, const Cancel& cancel) {
  std::vector<Work> works;
  std::vector<payload::Collector*> collectors;
  for (const auto& [name, aggregation] : request.aggregations) {
    QV_TRY(Work work, std::visit([](const auto& kind) { return start(kind); }, aggregation));
    if (work.collector != nullptr) collectors.push_back(work.collector.get());
    works.push_back(std::move(work));
  }
  std::shared_ptr<const payload::Predicate> predicate;
  if (request.filter) {
    QV_TRY(predicate, payload::compile(*request.filter, config.indexes));
    if (predicate->always_true()) predicate = nullptr;
  }
  std::uint64_t n_points = 0;
  for (const Segment* segment : snapshot.segments()) {
    QV_TRY(cancel.check());
    QV_TRY(const std::uint64_t n,
           collect_segment(*segment, predicate.get(), collectors, config, cancel));
    n_points += n;
  }
  std::vector<Aggregate> aggregates;
  for (const Work& work : works) aggregates.push_back(work.outcome(n_points));
  return aggregates;
}

}  // namespace quiver::engine
