#include "engine/write/tenant_quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/segment/columns.h"
#include "engine/write/staging.h"
#include "payload/column/kinds.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

using payload::ColumnView;
/// A number for each tenant, by its text.
using Counts = std::map<std::string, std::int64_t, std::less<>>;

bool has_terms(const ColumnView& column) {
  return payload::traits_of(column.index->kind).has_dictionary();
}

/// The different tenants of a row.
std::vector<std::string> tenants_of_row(const ColumnView& column, std::uint32_t row) {
  std::vector<std::string> tenants;
  if (has_terms(column)) {
    for (const std::uint32_t term : column.row_terms(row)) tenants.emplace_back(column.term(term));
  } else {
    for (const std::int64_t value : column.row_integers(row)) {
      tenants.push_back(std::to_string(value));
    }
  }
  std::sort(tenants.begin(), tenants.end());
  tenants.erase(std::unique(tenants.begin(), tenants.end()), tenants.end());
  return tenants;
}

/// Documents as the tenants' index reads them.
class TenantReader {
 public:
  static Result<TenantReader> create(const payload::FieldIndex& index) {
    QV_TRY(auto column, payload::MutableColumn::create(index));
    return TenantReader(std::move(column));
  }
  Result<> add(std::string_view document, std::int64_t count, Counts& counts) {
    QV_TRY(const auto value, payload::parse_json(document));
    column_->add_row(value);
    const ColumnView view = column_->view();
    for (auto& tenant : tenants_of_row(view, view.n_rows - 1)) counts[std::move(tenant)] += count;
    return {};
  }

 private:
  explicit TenantReader(std::unique_ptr<payload::MutableColumn> column)
      : column_(std::move(column)) {}

  std::unique_ptr<payload::MutableColumn> column_;
};

/// What an update adds to each tenant, or takes away.
Result<Counts> changes_of(const std::vector<std::shared_ptr<const SegmentSet>>& sets,
                          const CollectionConfig& config, const payload::FieldIndex& index,
                          std::span<const UpdatePart> parts) {
  Counts changes;
  QV_TRY(auto reader, TenantReader::create(index));
  for (const UpdatePart& part : parts) {
    const SegmentSet& set = *sets[part.shard];
    Staging staging(set, config, nullptr);
    Seq next{to_number(set.seq) + 1};
    const bool is_applied = std::ranges::all_of(part.operations, [&](const auto& operation) {
      return staging.apply(operation, next).has_value();
    });
    if (!is_applied) continue;
    for (const auto& change : staging.changes()) {
      if (const auto place = set.find(change.id)) {
        const auto& data = *set.segments[place->segment].data;
        QV_TRY(reader.add(data.documents[place->row], -1, changes));
      }
      if (change.row != nullptr) QV_TRY(reader.add(change.row->payload, 1, changes));
    }
  }
  return changes;
}

/// The live rows under a term or a number of a sealed column, each once.
class SealedCounter {
 public:
  SealedCounter(const ColumnView& column, const Segment& segment)
      : column_(column), segment_(segment) {}

  [[nodiscard]] std::int64_t count(const std::string& tenant) const {
    if (has_terms(column_)) {
      const std::uint32_t term = column_.find_term(tenant);
      return term == ColumnView::kNoTerm ? 0 : n_live(column_.postings(term));
    }
    std::int64_t number = 0;
    std::from_chars(tenant.data(), tenant.data() + tenant.size(), number);
    const auto sorted = column_.sorted_integers.span();
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), number);
    const auto last = std::upper_bound(first, sorted.end(), number);
    return n_live(column_.sorted_rows.span().subspan(
        static_cast<std::size_t>(first - sorted.begin()), static_cast<std::size_t>(last - first)));
  }

 private:
  /// Rows ascend; one with a number twice is there twice.
  [[nodiscard]] std::int64_t n_live(std::span<const std::uint32_t> rows) const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool is_again = i != 0 && rows[i] == rows[i - 1];
      if (!is_again && rows[i] < segment_.n_rows() && segment_.is_live(rows[i])) ++n;
    }
    return n;
  }

  const ColumnView& column_;
  const Segment& segment_;
};

/// Adds the live rows of a segment to those of `counts`, whose tenants alone are counted.
Result<> add_segment(const Segment& segment, const payload::FieldIndex& index, Counts& counts) {
  const auto found = segment.data->columns.find(index.key);
  const bool is_there =
      found != segment.data->columns.end() && same_column(*found->second.index, index);
  ColumnView column;
  if (is_there) {
    column = found->second;
  } else {
    QV_TRY(column, column_in_memory(*segment.data, index));
  }
  if (column.sealed) {
    const SealedCounter counter(column, segment);
    for (auto& [tenant, count] : counts) count += counter.count(tenant);
    return {};
  }
  for (std::uint32_t row = 0; row < segment.n_rows(); ++row) {
    if (!segment.is_live(row)) continue;
    for (const auto& tenant : tenants_of_row(column, row)) {
      const auto counted = counts.find(tenant);
      if (counted != counts.end()) ++counted->second;
    }
  }
  return {};
}

tl::unexpected<Error> too_many(const std::string& tenant, std::int64_t now, std::int64_t added,
                               const TenantQuota& quota) {
  return fail(Code::kFailedPrecondition,
              fmt::format("Tenant limit exceeded: {} points have `{}` \"{}\", the request adds {}, "
                          "and {} may have it. Help: Delete points of this tenant, or raise "
                          "`tenant.max_points` of the collection.",
                          now, quota.key, tenant, added, quota.max_points));
}

}  // namespace

Result<> check_tenants(const std::vector<std::shared_ptr<const SegmentSet>>& sets,
                       const CollectionConfig& config, std::span<const UpdatePart> parts) {
  if (!config.tenant_quota) return {};
  const auto* index = find_index(config.indexes, config.tenant_quota->key);
  if (index == nullptr) return {};  // `check_tenant_quota` does not allow it
  QV_TRY(auto added, changes_of(sets, config, *index, parts));
  std::erase_if(added, [](const auto& entry) { return entry.second <= 0; });
  Counts now;
  for (const auto& [tenant, count] : added) now[tenant] = 0;
  if (now.empty()) return {};
  for (const auto& set : sets) {
    for (const Segment& segment : set->segments) QV_TRY(add_segment(segment, *index, now));
    QV_TRY(set->check());
  }
  for (const auto& [tenant, count] : added) {
    const auto sum = static_cast<std::uint64_t>(now[tenant] + count);
    if (sum > config.tenant_quota->max_points) {
      return too_many(tenant, now[tenant], count, *config.tenant_quota);
    }
  }
  return {};
}

}  // namespace quiver::engine
