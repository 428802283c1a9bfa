#include "engine/collections/collection_reads.h"

#include <memory>
#include <utility>

#include "engine/query/record_highlighter.h"
#include "engine/segment/ordering.h"
#include "engine/segment/record_memory.h"
#include "engine/segment/segment_rows.h"
#include "engine/write/prepared.h"

namespace quiver::engine {
namespace {

using FieldNumbers = std::optional<std::vector<std::size_t>>;

Result<PredicatePtr> compile_optional_filter(const std::optional<payload::Filter>& filter,
                                             const CollectionConfig& config) {
  if (!filter) return PredicatePtr();
  return payload::compile(*filter, config.indexes);
}

/// nullopt: answers have no vectors.
Result<FieldNumbers> wanted_fields(const VectorSelector& selector, const CollectionConfig& config) {
  if (selector.none()) return FieldNumbers();
  QV_TRY(auto fields, selected_fields(selector, config));
  return FieldNumbers(std::move(fields));
}

const std::vector<std::size_t>* pointer_to(const FieldNumbers& fields) {
  return fields ? &*fields : nullptr;
}

/// `highlighter`: nullptr if none are wanted.
Result<> add_highlights(RecordHighlighter* highlighter, Snapshot::Place place, Record& record,
                        const Cancel& cancel) {
  if (highlighter == nullptr) return {};
  QV_TRY(cancel.check());
  QV_TRY(record.highlights, highlighter->run(*place.segment, place.row));
  return {};
}

Result<ScrollPage> scroll_by_value(const Snapshot& snapshot, const CollectionConfig& config,
                                   const ScrollRequest& request,
                                   const payload::Predicate* predicate, const FieldNumbers& fields,
                                   RecordHighlighter* highlighter, const Cancel& cancel) {
  const auto rows_of = [&](const Segment& segment) {
    return matching_rows(segment, predicate, cancel);
  };
  QV_TRY(const auto points,
         first_points_in_order(snapshot, config, *request.order_by, request.limit, rows_of));
  ScrollPage page;
  for (const auto& point : points) {
    page.points.push_back(
        make_record(*point.segment, point.row, request.with_payload, pointer_to(fields)));
    page.points.back().order_value = point.value;
    page.points.back().shard_key = snapshot.key_of(*point.segment);
    QV_TRY(add_highlights(highlighter, {point.segment, point.row}, page.points.back(), cancel));
  }
  return page;
}

/// If all rows are live, the bounds of the estimate may be equal, and no row needs to be read.
Result<std::uint64_t> count_matching(const Segment& segment, const payload::Predicate& predicate,
                                     const Cancel& cancel) {
  if (segment.n_deleted == 0) {
    const auto estimate = predicate.estimate(SegmentRows(*segment.data));
    if (estimate.min == estimate.max) return estimate.min;
  }
  QV_TRY(const Bitset rows, matching_rows(segment, &predicate, cancel));
  return rows.count();
}

}  // namespace

Result<std::vector<Record>> retrieve(const Snapshot& snapshot, const CollectionConfig& config,
                                     const RetrieveRequest& request) {
  QV_TRY(const auto fields, wanted_fields(request.with_vector, config));
  std::vector<Record> records;
  RecordMemory memory;
  for (const auto& id : request.ids) {
    const auto place = snapshot.find(id);
    if (!place) continue;
    records.push_back(
        make_record(*place->segment, place->row, request.with_payload, pointer_to(fields)));
    records.back().shard_key = snapshot.key_of(*place->segment);
    QV_TRY(memory.add(records.back()));
  }
  return records;
}

Result<ScrollPage> scroll(const Snapshot& snapshot, const CollectionConfig& config,
                          const ScrollRequest& request, const Cancel& cancel) {
  QV_TRY(const auto fields, wanted_fields(request.with_vector, config));
  QV_TRY(const auto predicate, compile_optional_filter(request.filter, config));
  QV_TRY(const auto highlighter, RecordHighlighter::of(request, config));
  if (request.order_by) {
    return scroll_by_value(snapshot, config, request, predicate.get(), fields, highlighter.get(),
                           cancel);
  }
  ScrollPage page;
  const std::uint64_t n = request.limit == UINT64_MAX ? request.limit : request.limit + 1;
  QV_TRY(auto places, first_points_by_id(snapshot, request.offset, n, predicate.get(), cancel));
  if (places.size() > request.limit) {
    page.next = places.back().segment->data->ids[places.back().row];
    places.pop_back();
  }
  RecordMemory memory;
  for (const auto& place : places) {
    page.points.push_back(
        make_record(*place.segment, place.row, request.with_payload, pointer_to(fields)));
    page.points.back().shard_key = snapshot.key_of(*place.segment);
    QV_TRY(add_highlights(highlighter.get(), place, page.points.back(), cancel));
    QV_TRY(memory.add(page.points.back()));
  }
  return page;
}

Result<std::uint64_t> count(const Snapshot& snapshot, const CollectionConfig& config,
                            const std::optional<payload::Filter>& filter, const Cancel& cancel) {
  QV_TRY(const auto predicate, compile_optional_filter(filter, config));
  if (predicate == nullptr || predicate->always_true()) return snapshot.n_live();
  std::uint64_t n = 0;
  for (const Segment* segment : snapshot.segments()) {
    QV_TRY(const std::uint64_t n_matching, count_matching(*segment, *predicate, cancel));
    n += n_matching;
  }
  return n;
}

}  // namespace quiver::engine
