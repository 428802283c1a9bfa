#include "engine/segment/tenants.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "engine/model/client_settings.h"
#include "engine/segment/columns.h"
#include "payload/column/kinds.h"

namespace quiver::engine {
namespace {

using payload::ColumnView;

constexpr std::uint64_t kNoTenant = std::numeric_limits<std::uint64_t>::max();

/// The columns of the tenants, one for each input. A lacking one is made in memory.
Result<std::vector<ColumnView>> tenant_columns(std::span<const Segment> inputs,
                                               const payload::FieldIndex& index) {
  std::vector<ColumnView> columns;
  for (const Segment& input : inputs) {
    const auto found = input.data->columns.find(index.key);
    if (found != input.data->columns.end() && same_column(*found->second.index, index)) {
      columns.push_back(found->second);
      continue;
    }
    QV_TRY(auto column, column_in_memory(*input.data, index));
    columns.push_back(std::move(column));
  }
  return columns;
}

/// The rank of each term of each column among the texts of all.
std::vector<std::vector<std::uint64_t>> ranks_of_terms(const std::vector<ColumnView>& columns) {
  std::vector<std::string> texts;  // copies: sorting goes out of bounds if a damaged file changes
  for (const auto& column : columns) {
    for (std::uint32_t id = 0; id < column.n_terms(); ++id) texts.emplace_back(column.term(id));
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::vector<std::vector<std::uint64_t>> ranks;
  for (const auto& column : columns) {
    auto& own = ranks.emplace_back();
    for (std::uint32_t id = 0; id < column.n_terms(); ++id) {
      const auto found = std::lower_bound(texts.begin(), texts.end(), column.term(id));
      own.push_back(static_cast<std::uint64_t>(found - texts.begin()));
    }
  }
  return ranks;
}

/// A number for the least tenant of each row, in the order of tenants.
std::vector<std::uint64_t> tenants_of(std::span<const RowRef> rows,
                                      const std::vector<ColumnView>& columns, bool has_terms) {
  const auto ranks =
      has_terms ? ranks_of_terms(columns) : std::vector<std::vector<std::uint64_t>>();
  std::vector<std::uint64_t> tenants;
  tenants.reserve(rows.size());
  for (const RowRef& ref : rows) {
    const ColumnView& column = columns[ref.segment];
    std::uint64_t least = kNoTenant;
    if (has_terms) {
      for (const std::uint32_t id : column.row_terms(ref.row)) {
        if (id < ranks[ref.segment].size()) least = std::min(least, ranks[ref.segment][id]);
      }
    } else {
      constexpr std::uint64_t kSign = 1ULL << 63;  // so that negative numbers come first
      for (const std::int64_t value : column.row_integers(ref.row)) {
        least = std::min(least, static_cast<std::uint64_t>(value) ^ kSign);
      }
    }
    tenants.push_back(least);
  }
  return tenants;
}

/// Adds the conditions in `must`, also of filters in `must`, that name values of `key`.
void add_conditions_on(const std::string& key, const payload::Filter& filter,
                       payload::Filter& out) {
  for (const auto& condition : filter.must) {
    if (const auto* inner = std::get_if<std::shared_ptr<const payload::Filter>>(&condition)) {
      if (*inner != nullptr) add_conditions_on(key, **inner, out);
    }
    const auto* field = std::get_if<payload::FieldCondition>(&condition);
    if (field == nullptr || field->key != key) continue;
    if (std::holds_alternative<payload::MatchValue>(field->condition) ||
        std::holds_alternative<payload::MatchAny>(field->condition)) {
      out.must.push_back(condition);
    }
  }
}

}  // namespace

std::shared_ptr<const payload::Filter> tenant_filter(const payload::Filter& filter,
                                                     std::span<const payload::FieldIndex> indexes) {
  const auto* index = tenant_index(indexes);
  if (index == nullptr) return nullptr;
  auto tenants = std::make_shared<payload::Filter>();
  add_conditions_on(index->key, filter, *tenants);
  return tenants->must.empty() ? nullptr : std::move(tenants);
}

const payload::FieldIndex* tenant_index(std::span<const payload::FieldIndex> indexes) {
  for (const auto& index : indexes) {
    const bool is_kind = index.kind == payload::IndexKind::kKeyword ||
                         index.kind == payload::IndexKind::kUuid ||
                         index.kind == payload::IndexKind::kInteger;
    if (is_kind && is_tenant(index)) return &index;
  }
  return nullptr;
}

Result<> group_by_tenant(std::vector<RowRef>& rows, std::span<const Segment> inputs,
                         std::span<const payload::FieldIndex> indexes) {
  const auto* index = tenant_index(indexes);
  if (index == nullptr) return {};
  QV_TRY(const auto columns, tenant_columns(inputs, *index));
  const auto tenants = tenants_of(rows, columns, payload::traits_of(index->kind).has_dictionary());
  std::vector<std::uint32_t> order(rows.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return tenants[a] < tenants[b]; });
  std::vector<RowRef> grouped;
  grouped.reserve(rows.size());
  for (const std::uint32_t i : order) grouped.push_back(rows[i]);
  rows = std::move(grouped);
  return {};
}

}  // namespace quiver::engine
