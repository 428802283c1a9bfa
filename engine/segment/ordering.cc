#include "engine/segment/ordering.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/segment/columns.h"
#include "engine/segment/segment_rows.h"
#include "payload/column/order.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

/// Rows that the first step of a page considers, at least.
constexpr std::uint32_t kMinWindowRows = 4096;
/// Each step considers so many times more rows than the one before.
constexpr std::uint64_t kWindowGrowth = 4;

using Places = std::vector<Snapshot::Place>;

const PointId& id_of(const Snapshot::Place& place) { return place.segment->data->ids[place.row]; }

/// Sorts by id and leaves the first `n`. Works on copies of the ids: sorting goes out of bounds if
/// ids change meanwhile, as those of a damaged file may.
void keep_first(Places& places, std::uint64_t n) {
  struct Entry {
    PointId id;
    Snapshot::Place place;
  };
  std::vector<Entry> entries;
  entries.reserve(places.size());
  for (const auto& place : places) entries.push_back({id_of(place), place});
  const auto by_id = [](const Entry& a, const Entry& b) { return a.id < b.id; };
  if (entries.size() > n) {
    std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(n),
                     entries.end(), by_id);
    entries.resize(n);
  }
  std::sort(entries.begin(), entries.end(), by_id);
  places.clear();
  for (const Entry& entry : entries) places.push_back(entry.place);
}

Result<Bitset> filtered(const Segment& segment, Bitset candidates,
                        const payload::Predicate* predicate, const Cancel& cancel) {
  if (predicate == nullptr || predicate->always_true()) return candidates;
  return predicate->evaluate(SegmentRows(*segment.data), candidates, cancel);
}

/// Evaluates windows of a sealed segment's rows, in id order, until `n` are found. Where rows lie
/// by tenant, adds all that the last window has.
Result<> add_sealed(const Segment& segment, std::uint32_t first, std::uint64_t n,
                    const payload::Predicate* predicate, const Cancel& cancel, Places& out) {
  const bool is_sorted = segment.data->has_sorted_ids();
  std::uint64_t n_found = 0;
  std::uint64_t window = std::max<std::uint64_t>(kMinWindowRows, n);
  while (first < segment.n_rows() && n_found < n) {
    const auto end =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(segment.n_rows(), first + window));
    Bitset candidates(segment.n_rows());
    for (std::uint32_t rank = first; rank < end; ++rank) {
      const std::uint32_t row = segment.data->row_of_rank(rank);
      if (segment.is_live(row)) candidates.set(row);
    }
    QV_TRY(const Bitset rows, filtered(segment, std::move(candidates), predicate, cancel));
    rows.for_each([&](std::size_t row) {
      if (n_found++ < n || !is_sorted) out.push_back({&segment, static_cast<std::uint32_t>(row)});
    });
    first = end;
    window *= kWindowGrowth;
  }
  return {};
}

Result<> add_unsealed(const Segment& segment, const std::optional<PointId>& from, std::uint64_t n,
                      const payload::Predicate* predicate, const Cancel& cancel, Places& out) {
  const auto ids = segment.data->ids.span();
  Bitset candidates(segment.n_rows());
  for (std::uint32_t row = 0; row < segment.n_rows(); ++row) {
    if (segment.is_live(row) && (!from || !(ids[row] < *from))) candidates.set(row);
  }
  QV_TRY(const Bitset rows, filtered(segment, std::move(candidates), predicate, cancel));
  Places places;
  rows.for_each([&](std::size_t row) {
    places.push_back({&segment, static_cast<std::uint32_t>(row)});
  });
  keep_first(places, n);
  out.insert(out.end(), places.begin(), places.end());
  return {};
}

OrderedPoint to_point(const Segment& segment, const payload::OrderedRow& row) {
  OrderedPoint point{&segment, row.row, std::int64_t{}};
  std::visit([&](auto key) { point.value = key; }, row.key);
  return point;
}

}  // namespace

Result<Places> first_points_by_id(const Snapshot& snapshot, const std::optional<PointId>& from,
                                  std::uint64_t n, const payload::Predicate* predicate,
                                  const Cancel& cancel) {
  Places places;
  n = std::min(n, snapshot.n_live());
  for (const Segment* segment : snapshot.segments()) {
    if (segment->data->sealed) {
      const std::uint32_t first = from ? segment->data->rank_of(*from) : 0;
      QV_TRY(add_sealed(*segment, first, n, predicate, cancel, places));
    } else {
      QV_TRY(add_unsealed(*segment, from, n, predicate, cancel, places));
    }
  }
  keep_first(places, n);
  return places;
}

Result<std::vector<OrderedPoint>> first_points_in_order(
    const Snapshot& snapshot, const CollectionConfig& config, const OrderBy& order, std::uint64_t n,
    const std::function<Result<Bitset>(const Segment&)>& rows_of) {
  const auto* index = find_index(config.indexes, order.key);
  if (index == nullptr || !payload::is_orderable(*index)) {
    return fail(Code::kInvalidArgument,
                fmt::format("No range index for `order_by` key: `{}`. Please create one to use "
                            "`order_by`.",
                            order.key));
  }
  const auto direction =
      order.descending ? payload::Direction::kDescending : payload::Direction::kAscending;
  struct Entry {
    PointId id;
    const Segment* segment;
    payload::OrderedRow row;
  };
  std::vector<Entry> entries;
  for (const Segment* segment : snapshot.segments()) {
    const auto column = segment->data->columns.find(order.key);
    if (column == segment->data->columns.end()) {
      return fail(Code::kUnavailable,
                  fmt::format("the index of `{}` is still being built", order.key));
    }
    QV_TRY(const Bitset rows, rows_of(*segment));
    for (const auto& row : payload::first_in_order(column->second, segment->data->ids.span(), rows,
                                                   direction, order.start_from, n)) {
      entries.push_back({segment->data->ids[row.row], segment, row});
    }
  }
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    if (payload::comes_before(a.row.key, b.row.key, direction)) return true;
    if (payload::comes_before(b.row.key, a.row.key, direction)) return false;
    return a.id < b.id;
  });
  std::vector<OrderedPoint> points;
  for (const auto& entry : entries) {
    if (points.size() == n) break;
    points.push_back(to_point(*entry.segment, entry.row));
  }
  return points;
}

}  // namespace quiver::engine
