#include "engine/spread/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "payload/aggregate/buckets.h"

namespace quiver::engine {
namespace {

constexpr std::uint64_t kAllValues = std::numeric_limits<std::uint64_t>::max();

bool comes_before(const Record& a, const Record& b, const std::optional<OrderBy>& order) {
  if (order && a.order_value && b.order_value && *a.order_value != *b.order_value) {
    return (*a.order_value < *b.order_value) != order->descending;
  }
  return a.id < b.id;
}

/// Counts by value of several parts, added up.
using ValueCounts = std::map<FacetValue, std::uint64_t>;

void add_counts(const std::vector<FacetHit>& hits, ValueCounts& counts) {
  for (const auto& hit : hits) counts[hit.value] += hit.count;
}

std::vector<FacetHit> most_frequent_of(const ValueCounts& counts, std::uint64_t limit) {
  std::vector<FacetHit> hits;
  hits.reserve(counts.size());
  for (const auto& [value, count] : counts) hits.push_back({value, count});
  std::ranges::stable_sort(hits, std::ranges::greater(), &FacetHit::count);
  if (hits.size() > limit) hits.resize(limit);
  return hits;
}

double as_double(const payload::Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

payload::Number sum_of(const payload::Number& a, const payload::Number& b) {
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  std::int64_t sum = 0;
  if (x != nullptr && y != nullptr && !__builtin_add_overflow(*x, *y, &sum)) return sum;
  return as_double(a) + as_double(b);
}

// The aggregates of one kind as one. `parts`: at least one.

template <class T>
using Parts = std::vector<const T*>;

Aggregate merged(const Parts<CountAggregate>& parts, const Aggregation& /*of*/) {
  CountAggregate all;
  for (const auto* part : parts) all.count += part->count;
  return all;
}

Aggregate merged(const Parts<TermsAggregate>& parts, const Aggregation& of) {
  ValueCounts counts;
  TermsAggregate all;
  for (const auto* part : parts) {
    add_counts(part->hits, counts);
    all.n_missing += part->n_missing;
  }
  all.n_distinct = counts.size();
  const auto* terms = std::get_if<TermsAggregation>(&of);
  if (terms == nullptr) return CardinalityAggregate{all.n_distinct};
  all.hits = most_frequent_of(counts, terms->limit);
  return all;
}

Aggregate merged(const Parts<CardinalityAggregate>& parts, const Aggregation& /*of*/) {
  return *parts.front();  // never asked: `for_parts` asks for the terms
}

Aggregate merged(const Parts<payload::NumberStats>& parts, const Aggregation& /*of*/) {
  payload::NumberStats all;
  const auto is_less = [](const payload::Number& a, const payload::Number& b) {
    return as_double(a) < as_double(b);
  };
  for (const auto* part : parts) {
    all.count += part->count;
    all.n_missing += part->n_missing;
    if (part->count == 0) continue;
    if (!all.min || is_less(*part->min, *all.min)) all.min = part->min;
    if (!all.max || is_less(*all.max, *part->max)) all.max = part->max;
    all.sum = sum_of(all.sum, part->sum);
  }
  if (all.count > 0) all.average = as_double(all.sum) / static_cast<double>(all.count);
  return all;
}

template <class Histogram>
Aggregate merged_buckets(const Parts<Histogram>& parts) {
  std::map<typename decltype(Histogram::buckets)::value_type::first_type, std::uint64_t> counts;
  Histogram all;
  for (const auto* part : parts) {
    all.n_missing += part->n_missing;
    for (const auto& [bound, count] : part->buckets) counts[bound] += count;
  }
  all.buckets.assign(counts.begin(), counts.end());
  return all;
}
Aggregate merged(const Parts<NumberHistogram>& parts, const Aggregation& /*of*/) {
  return merged_buckets(parts);
}
Aggregate merged(const Parts<CalendarHistogram>& parts, const Aggregation& /*of*/) {
  return merged_buckets(parts);
}

Result<> check_buckets(const Aggregate& aggregate) {
  const std::size_t n = std::visit(
      [](const auto& one) -> std::size_t {
        if constexpr (requires { one.buckets; }) return one.buckets.size();
        return 0;
      },
      aggregate);
  if (n <= payload::kMaxBuckets) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("a histogram has {} buckets, must be at most {}: take a larger interval",
                          n, payload::kMaxBuckets));
}

}  // namespace

ScrollPage merge_pages(std::vector<ScrollPage> pages, const ScrollRequest& request) {
  ScrollPage merged;
  std::optional<PointId> next;
  const auto note_next = [&](const PointId& id) { next = next ? std::min(*next, id) : id; };
  for (auto& page : pages) {
    if (page.next) note_next(*page.next);
    std::ranges::move(page.points, std::back_inserter(merged.points));
  }
  std::ranges::sort(merged.points, [&](const Record& a, const Record& b) {
    return comes_before(a, b, request.order_by);
  });
  if (merged.points.size() > request.limit) {
    note_next(merged.points[request.limit].id);
    merged.points.erase(merged.points.begin() + static_cast<std::ptrdiff_t>(request.limit),
                        merged.points.end());
  }
  if (!request.order_by) merged.next = next;
  return merged;
}

std::vector<FacetHit> merge_facets(std::vector<std::vector<FacetHit>> parts, std::uint64_t limit) {
  ValueCounts counts;
  for (const auto& part : parts) add_counts(part, counts);
  return most_frequent_of(counts, limit);
}

AggregateRequest for_parts(AggregateRequest request) {
  for (auto& [name, aggregation] : request.aggregations) {
    if (const auto* cardinality = std::get_if<CardinalityAggregation>(&aggregation)) {
      aggregation = TermsAggregation{cardinality->key, kAllValues};
    } else if (auto* terms = std::get_if<TermsAggregation>(&aggregation)) {
      terms->limit = kAllValues;
    }
  }
  return request;
}

Result<std::vector<Aggregate>> merge_aggregates(const std::vector<std::vector<Aggregate>>& parts,
                                                const AggregateRequest& request) {
  std::vector<Aggregate> all;
  for (std::size_t i = 0; i < request.aggregations.size(); ++i) {
    const auto merge = [&](const auto& first) {
      using Kind = std::decay_t<decltype(first)>;
      Parts<Kind> alike;
      for (const auto& part : parts) alike.push_back(&std::get<Kind>(part[i]));
      return merged(alike, request.aggregations[i].second);
    };
    all.push_back(std::visit(merge, parts.front()[i]));
    QV_TRY(check_buckets(all.back()));
  }
  return all;
}

}  // namespace quiver::engine
