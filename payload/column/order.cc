#include "payload/column/order.h"

#include <algorithm>

#include "payload/column/kinds.h"
#include "payload/scalar/number.h"

namespace quiver::payload {
namespace {

Number as_number(const OrderKey& key) {
  return std::visit([](auto value) { return Number(value); }, key);
}

bool by_key_then_id(const OrderedRow& a, const OrderedRow& b, std::span<const PointId> ids,
                    Direction direction) {
  const auto order = compare_keys(a.key, b.key);
  if (order != 0) return direction == Direction::kAscending ? order < 0 : order > 0;
  return ids[a.row] < ids[b.row];
}

/// Walks the sorted values of a sealed column from one end and stops early.
class SortedWalk {
 public:
  SortedWalk(const ColumnView& column, const Bitset& candidates)
      : column_(column), candidates_(candidates) {}

  [[nodiscard]] std::size_t size() const { return column_.sorted_rows.size(); }
  [[nodiscard]] OrderKey key(std::size_t i) const {
    return column_.sorted_doubles.empty() ? OrderKey(column_.sorted_integers[i])
                                          : OrderKey(column_.sorted_doubles[i]);
  }
  /// The first position whose key satisfies `test`. The keys must be partitioned: first all that
  /// fail it, then all that satisfy it.
  template <class Test>
  [[nodiscard]] std::size_t first_where(Test test) const {
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (test(key(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  /// End of the run of equal keys that starts at `i`.
  [[nodiscard]] std::size_t run_end(std::size_t i) const {
    const OrderKey first = key(i);
    while (i < size() && compare_keys(key(i), first) == 0) ++i;
    return i;
  }
  [[nodiscard]] std::size_t run_begin(std::size_t end) const {
    const OrderKey last = key(end - 1);
    while (end > 0 && compare_keys(key(end - 1), last) == 0) --end;
    return end;
  }
  /// Appends the distinct rows of a run. It takes all of them, so that equal keys can be ordered by
  /// id.
  void take_run(std::size_t first, std::size_t last, std::vector<OrderedRow>& out) const {
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t row = column_.sorted_rows[i];
      const bool repeated = i > first && column_.sorted_rows[i - 1] == row;
      if (repeated || row >= candidates_.size() || !candidates_.test(row)) continue;
      out.push_back({key(i), row});
    }
  }

 private:
  const ColumnView& column_;
  const Bitset& candidates_;
};

bool starts_too_early(const OrderKey& key, const std::optional<Number>& start,
                      Direction direction) {
  if (!start) return false;
  const auto order = compare(as_number(key), *start);
  return direction == Direction::kAscending ? order < 0 : order > 0;
}

std::vector<OrderedRow> walk_up(const SortedWalk& walk, const std::optional<Number>& start,
                                std::size_t limit) {
  std::vector<OrderedRow> out;
  std::size_t i = start ? walk.first_where([&](const OrderKey& key) {
    return compare(as_number(key), *start) >= 0;
  })
                        : 0;
  while (i < walk.size() && out.size() < limit) {
    const std::size_t end = walk.run_end(i);
    walk.take_run(i, end, out);
    i = end;
  }
  return out;
}

std::vector<OrderedRow> walk_down(const SortedWalk& walk, const std::optional<Number>& start,
                                  std::size_t limit) {
  std::vector<OrderedRow> out;
  std::size_t end = start ? walk.first_where([&](const OrderKey& key) {
    return compare(as_number(key), *start) > 0;
  })
                          : walk.size();
  while (end > 0 && out.size() < limit) {
    const std::size_t first = walk.run_begin(end);
    walk.take_run(first, end, out);
    end = first;
  }
  return out;
}

std::vector<OrderedRow> collect_all(const ColumnView& column, const Bitset& candidates,
                                    Direction direction, const std::optional<Number>& start) {
  std::vector<OrderedRow> out;
  std::vector<OrderKey> keys;
  candidates.for_each([&](std::size_t i) {
    const auto row = static_cast<std::uint32_t>(i);
    keys.clear();
    append_order_keys(column, row, keys);
    for (const OrderKey& key : keys) {
      if (!starts_too_early(key, start, direction)) out.push_back({key, row});
    }
  });
  return out;
}

}  // namespace

std::strong_ordering compare_keys(const OrderKey& a, const OrderKey& b) {
  const auto order = compare(as_number(a), as_number(b));
  if (order < 0) return std::strong_ordering::less;
  return order > 0 ? std::strong_ordering::greater : std::strong_ordering::equal;
}

bool comes_before(const OrderKey& a, const OrderKey& b, Direction direction) {
  const auto order = compare_keys(a, b);
  return direction == Direction::kAscending ? order < 0 : order > 0;
}

bool is_orderable(const FieldIndex& index) {
  const Ordering ordering = traits_of(index.kind).ordering;
  return ordering == Ordering::kAlways || (ordering == Ordering::kWithRange && index.range);
}

void append_order_keys(const ColumnView& column, std::uint32_t row, std::vector<OrderKey>& out) {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  if (traits_of(column.index->kind).storage == ValueStorage::kDoubles) {
    for (const double value : column.row_doubles(row)) out.emplace_back(value);
  } else {
    for (const std::int64_t value : column.row_integers(row)) out.emplace_back(value);
  }
  if (static_cast<std::ptrdiff_t>(out.size()) - first < 2) return;
  std::sort(out.begin() + first, out.end());
  out.erase(std::unique(out.begin() + first, out.end()), out.end());
}

std::vector<OrderedRow> first_in_order(const ColumnView& column, std::span<const PointId> ids,
                                       const Bitset& candidates, Direction direction,
                                       const std::optional<Number>& start_from, std::size_t limit) {
  const SortedWalk walk(column, candidates);
  auto out = !column.sealed ? collect_all(column, candidates, direction, start_from)
             : direction == Direction::kAscending ? walk_up(walk, start_from, limit)
                                                  : walk_down(walk, start_from, limit);
  const auto before = [&](const OrderedRow& a, const OrderedRow& b) {
    return by_key_then_id(a, b, ids, direction);
  };
  const std::size_t n = std::min(limit, out.size());
  std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n), out.end(), before);
  out.resize(n);
  return out;
}

}  // namespace quiver::payload
