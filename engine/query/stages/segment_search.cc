#include "engine/query/stages/segment_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/threads/parallel.h"
#include "engine/indexing/index_params.h"
#include "engine/segment/segment_filter.h"
#include "gpu/devices.h"
#include "index/index.h"

namespace quiver::engine {
namespace {

/// Which rows of a segment the queries of a search may return: filters, each once.
class SegmentFilters {
 public:
  /// Errors are those of `SegmentFilter::make`.
  static Result<SegmentFilters> make(const SearchEnvironment& environment,
                                     const FieldSearch& search, const Segment& segment) {
    SegmentFilters filters;
    if (!search.own_predicates.empty()) {
      QV_TRY(filters.make_each(environment, search, segment));
    } else {
      QV_TRY(auto one,
             SegmentFilter::make(segment, search.field, search.predicate, environment.cancel));
      filters.filters_.push_back(std::move(one));
    }
    for (const auto& one : filters.filters_) filters.views_.push_back(one.view());
    return filters;
  }

  /// Of each query, if there are several filters.
  [[nodiscard]] bool are_several() const { return views_.size() > 1; }
  [[nodiscard]] const index::RowFilter& of(std::size_t query) const {
    return views_[number_of_.empty() ? 0 : number_of_[query]];
  }
  [[nodiscard]] std::span<const index::RowFilter> all() const { return views_; }

 private:
  /// Each predicate once, on all threads.
  Result<> make_each(const SearchEnvironment& environment, const FieldSearch& search,
                     const Segment& segment) {
    std::vector<const payload::Predicate*> predicates;
    for (const auto* predicate : search.own_predicates) {
      const auto known = std::ranges::find(predicates, predicate);
      number_of_.push_back(static_cast<std::size_t>(known - predicates.begin()));
      if (known == predicates.end()) predicates.push_back(predicate);
    }
    std::vector<std::optional<Result<SegmentFilter>>> made(predicates.size());
    parallel_if_many(environment.executor, predicates.size(), [&](std::size_t i) {
      made[i].emplace(
          SegmentFilter::make(segment, search.field, predicates[i], environment.cancel));
    });
    for (auto& one : made) {
      if (!*one) return fail(one->error());
      filters_.push_back(std::move(**one));
    }
    return {};
  }

  std::vector<SegmentFilter> filters_;
  std::vector<index::RowFilter> views_;  ///< of `filters_`
  std::vector<std::size_t> number_of_;   ///< of each query; empty: all have the first filter
};

/// The score that a hit of each query must reach: some segment has `limit` hits at least as good.
using Floors = std::vector<std::atomic<float>>;

index::Prefer preference(FieldKind kind, const SearchParams& params) {
  if (is_exact_search(kind, params)) return index::Prefer::kExact;
  return params.indexed_only ? index::Prefer::kIndexed : index::Prefer::kAny;
}

Result<> search_index(const FieldSearch& search, const index::AnyParams& params,
                      const index::Searcher& searcher, const index::SearchContext& context,
                      const SegmentFilters& filters, std::vector<index::TopK>& heaps,
                      index::WorkCounters& work) {
  if (heaps.size() == 1) {
    return searcher.search(*search.queries[0], params, filters.of(0), context, heaps[0], work);
  }
  if (filters.are_several()) {
    std::vector<index::FilteredQuery> queries;
    for (std::size_t i = 0; i < heaps.size(); ++i) {
      queries.push_back({search.queries[i], &filters.of(i), &heaps[i]});
    }
    return searcher.search_filtered(queries, params, context, work);
  }
  std::vector<index::TopK*> heap_of_query;
  for (auto& heap : heaps) heap_of_query.push_back(&heap);
  return searcher.search_batch(search.queries, params, filters.of(0), context, heap_of_query, work);
}

/// True if the query is `indexed_only` and the segment's index is missing: its points are left out.
bool is_left_out(const SearchEnvironment& environment, const FieldSearch& search,
                 const SegmentData& data) {
  return search.params.indexed_only && lacks_index(data, search.field, environment.indexes);
}

std::vector<index::TopK> heaps_for(const FieldSearch& search, const Segment& segment,
                                   Floors& floors) {
  const auto& data = *segment.data;
  std::vector<index::TopK> heaps;
  heaps.reserve(search.queries.size());
  for (std::size_t i = 0; i < search.queries.size(); ++i) {
    const std::uint64_t limit = search.limits[i];
    // A heap that cannot hold `limit` hits says nothing about the other segments.
    heaps.emplace_back(std::min<std::uint64_t>(limit, segment.n_live()), data.ids_unless_sorted(),
                       segment.n_live() >= limit ? &floors[i] : nullptr);
  }
  return heaps;
}

void begin_report(const FieldSearch& search, const Segment& segment, SegmentReport& report) {
  const auto& data = *segment.data;
  report.segment = data.id;
  report.is_sealed = data.sealed;
  report.n_rows = data.n_rows;
  report.index = data.indexes[search.field].type->name;
  const auto estimate = estimate_allowed(segment, search.field, search.predicate);
  report.allowed = {estimate.min, estimate.expected, estimate.max, 0};
}

/// `n_allowed`: rows that the filter allows.
void end_report(std::uint64_t n_allowed, const index::WorkCounters& work, SegmentReport& report) {
  report.allowed.counted = n_allowed;
  report.work = work;
  if (report.ways.empty()) report.ways.push_back({"exact", 0, true});
}

/// The parameters that reach the recall which the search asks for. `points`: of all segments.
SearchParams settled(const SearchEnvironment& environment, const FieldSearch& search,
                     const Segment& segment, const index::RowFilter& filter,
                     const FieldPoints& points) {
  SearchParams params = search.params;
  params.target = {};
  const SegmentData& data = *segment.data;
  const auto& name = environment.config.fields[search.field].name;
  const RecallTable* table = find_recall(environment.config, name);
  RecallChoice choice{false, 0, 1};  // without an index a search is exact anyway
  if (data.indexes[search.field].type != flat_index()) {
    const auto n = std::min<std::uint64_t>(data.fields[search.field].n_present, segment.n_live());
    const double share =
        search.predicate == nullptr
            ? 1
            : std::min(1.0, static_cast<double>(filter.n_allowed()) /
                                static_cast<double>(std::max<std::uint64_t>(n, 1)));
    const auto k = *std::max_element(search.limits.begin(), search.limits.end());
    choice = choose_effort(table, search.params.target, k, share, points);
    if (environment.recall != nullptr) {
      const double factor = environment.recall->effort_factor(search.field);
      choice.effort =
          static_cast<std::uint64_t>(std::llround(factor * static_cast<double>(choice.effort)));
    }
    params.exact = choice.is_exact;
    if (!choice.is_exact) params.hnsw_ef = choice.effort;
  }
  if (search.recall != nullptr) search.recall->add(search.params.target, table, choice);
  return params;
}

bool has_device(const SearchEnvironment& environment) {
  return environment.devices != nullptr && environment.devices->is_useful();
}

/// Whether the setting of the field keeps it off devices.
bool is_kept_off(const SearchEnvironment& environment, const FieldSchema& schema) {
  return find_vector_index(environment.config.vector_indexes, schema.name).on_gpu ==
         gpu::Placing::kNever;
}

gpu::Devices* devices_for(const SearchEnvironment& environment, const SegmentData& data,
                          const FieldSchema& schema, const SearchParams& params) {
  if (!data.sealed || params.device == DeviceChoice::kCpu) return nullptr;
  // Lost devices are asked, too: they count what they would have done.
  if (environment.devices == nullptr || environment.devices->n_lanes() == 0) return nullptr;
  return is_kept_off(environment, schema) ? nullptr : environment.devices;
}

/// True if a query wants a device and none has what it searches.
bool lacks_device(const SearchEnvironment& environment, const SegmentData& data, std::size_t field,
                  const SearchParams& params, const SegmentFilters& filters) {
  if (params.device != DeviceChoice::kGpu || !data.sealed) return false;
  if (!has_device(environment) || is_kept_off(environment, data.fields[field].schema)) return true;
  const auto& searcher = *data.searchers[field];
  const bool is_scan = compares_all_rows(data, field, params);
  return std::ranges::any_of(filters.all(), [&](const index::RowFilter& filter) {
    const std::size_t n = filter.n_allowed();
    return n > 0 && !(is_scan ? searcher.is_on_device(n) : searcher.is_index_on_device(n));
  });
}

Error no_device(const SearchEnvironment& environment, const FieldSearch& search,
                const SegmentData& data) {
  const auto& schema = data.fields[search.field].schema;
  if (is_kept_off(environment, schema)) {
    return Error(
        Code::kUnavailable,
        fmt::format("the field `{}` is searched by the CPU: its `on_gpu` is `never`", schema.name));
  }
  if (!has_device(environment)) {
    const std::string reason =
        environment.devices == nullptr ? "" : environment.devices->report().reason;
    return Error(Code::kUnavailable,
                 fmt::format("no device can search: {}",
                             reason.empty() ? "there is none that is up" : reason));
  }
  return Error(Code::kUnavailable,
               fmt::format("a segment of {} points of the field `{}` is not on a device: it is on "
                           "its way, too small, or searched in a way that stays on the CPU "
                           "(GET /v1/gpu)",
                           data.n_rows, schema.name));
}

/// `report`: nullptr if it is not asked for.
Result<std::vector<Candidates>> search_segment(const SearchEnvironment& environment,
                                               const FieldSearch& search,
                                               const index::AnyParams& params,
                                               const FieldPoints& points, const Segment& segment,
                                               Floors& floors, index::WorkCounters& work,
                                               SegmentReport* report) {
  const auto& data = *segment.data;
  if (data.fields[search.field].n_present == 0) return std::vector<Candidates>{};
  if (is_left_out(environment, search, data)) return std::vector<Candidates>{};
  if (report != nullptr) begin_report(search, segment, *report);
  const Stopwatch clock;
  QV_TRY(const auto filters, SegmentFilters::make(environment, search, segment));
  const double filter_seconds = clock.seconds();
  auto heaps = heaps_for(search, segment, floors);
  const auto& searcher = *data.searchers[search.field];
  const auto& schema = data.fields[search.field].schema;
  const auto& wanted = *wanted_type(schema, environment.indexes);
  std::optional<SearchParams> own;  // those of this segment, if a recall is asked for
  std::optional<index::AnyParams> of_own;
  if (!search.params.target.is_none()) {
    own = settled(environment, search, segment, filters.of(0), points);
    QV_TRY(of_own, index_params(wanted, schema, *own));
  }
  const SearchParams& in_force = own ? *own : search.params;
  const auto of_present = params_for_present(*data.indexes[search.field].type, wanted,
                                             of_own ? *of_own : params, schema, in_force);
  const index::SearchContext context{environment.cancel, environment.executor,
                                     preference(schema.kind, in_force),
                                     devices_for(environment, data, schema, in_force),
                                     report != nullptr ? &report->ways : nullptr};
  const bool is_refused = lacks_device(environment, data, search.field, in_force, filters);
  QV_TRY(search_index(search, of_present, searcher, context, filters, heaps, work));
  // Only now, as the search has the rows copied to a device.
  if (is_refused) return tl::unexpected(no_device(environment, search, data));
  if (report != nullptr) {
    report->filter_us = filter_seconds * 1e6;
    report->search_us = (clock.seconds() - filter_seconds) * 1e6;
    end_report(filters.of(0).n_allowed(), work, *report);
  }
  std::vector<Candidates> candidates(heaps.size());
  for (std::size_t i = 0; i < heaps.size(); ++i) {
    const auto hits = heaps[i].take_sorted();
    candidates[i].reserve(hits.size());
    for (const auto& hit : hits) {
      candidates[i].push_back({data.ids[hit.row], hit.score, &segment, hit.row, {}});
    }
  }
  return candidates;
}

Result<std::vector<Candidates>> merged(const FieldSearch& search,
                                       const std::vector<Result<std::vector<Candidates>>>& parts) {
  std::vector<Candidates> best(search.queries.size());
  for (const auto& part : parts) {
    if (!part) return fail(part.error());
    for (std::size_t i = 0; i < part->size(); ++i) {
      best[i].insert(best[i].end(), (*part)[i].begin(), (*part)[i].end());
    }
  }
  for (std::size_t i = 0; i < best.size(); ++i) keep_best(best[i], search.limits[i]);
  return best;
}

}  // namespace

bool compares_all_rows(const SegmentData& data, std::size_t field, const SearchParams& params) {
  return is_exact_search(data.fields[field].schema.kind, params) ||
         data.indexes[field].type == flat_index();
}

FieldPoints points_of(const Snapshot& snapshot, std::size_t field) {
  FieldPoints points;
  for (const Segment* segment : snapshot.segments()) {
    const SegmentData& data = *segment->data;
    if (field >= data.fields.size()) continue;  // older than the field
    const std::uint64_t n = data.fields[field].n_present;
    points.all += n;
    if (data.indexes[field].type != flat_index()) points.indexed += n;
  }
  return points;
}

Result<std::vector<Candidates>> search_segments(const SearchEnvironment& environment,
                                                const FieldSearch& search) {
  const auto& segments = environment.snapshot.segments();
  const auto& schema = environment.config.fields[search.field];
  QV_TRY(const auto params,
         index_params(*wanted_type(schema, environment.indexes), schema, search.params));
  const FieldPoints points = search.params.target.is_none()
                                 ? FieldPoints()
                                 : points_of(environment.snapshot, search.field);
  std::vector<Result<std::vector<Candidates>>> parts(segments.size());
  std::vector<index::WorkCounters> work(segments.size());
  Floors floors(search.queries.size());
  for (auto& floor : floors) floor = -std::numeric_limits<float>::infinity();
  std::vector<SegmentReport> reports(environment.report != nullptr ? segments.size() : 0);
  const auto search_one = [&](std::size_t i) {
    parts[i] = search_segment(environment, search, params, points, *segments[i], floors, work[i],
                              reports.empty() ? nullptr : &reports[i]);
  };
  if (environment.executor != nullptr && segments.size() > 1) {
    environment.executor->parallel_for(segments.size(), search_one);
  } else {
    for (std::size_t i = 0; i < segments.size(); ++i) search_one(i);
  }
  if (environment.work != nullptr) {
    for (const auto& part : work) *environment.work += part;
  }
  for (auto& report : reports) {
    if (!report.ways.empty()) environment.report->segments.push_back(std::move(report));
  }
  return merged(search, parts);
}

}  // namespace quiver::engine
