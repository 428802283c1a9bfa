#include "service/api/strict/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include "service/api/strict/costs.h"

namespace quiver::service::api::strict {
namespace {

using engine::Query;
using engine::StrictMode;
using payload::Filter;

tl::unexpected<Error> refuse(const std::string& what, std::string_view help) {
  return fail(Code::kFailedPrecondition, fmt::format("{}. Help: {}", what, help));
}

tl::unexpected<Error> refuse(std::string what) {
  return fail(Code::kFailedPrecondition, std::move(what));
}

template <class T>
Result<> check_at_most(const std::optional<T>& limit, T value, std::string_view name) {
  if (!limit || value <= *limit) return {};
  return refuse(fmt::format("Limit exceeded {} > {} for \"{}\"", value, *limit, name),
                fmt::format("Reduce the \"{}\" parameter to or below {}.", name, *limit));
}

Result<> check_filter_size(const StrictMode& limits, const Filter& filter) {
  if (limits.max_filter_conditions) {
    const std::uint64_t n = n_conditions(filter);
    if (n > *limits.max_filter_conditions) {
      return refuse(
          fmt::format("Filter condition limit reached ({} > {})", n, *limits.max_filter_conditions),
          "Reduce the amount of conditions of your filter.");
    }
  }
  if (!limits.max_condition_size) return {};
  const std::uint64_t size = max_condition_size(filter);
  if (size <= *limits.max_condition_size) return {};
  return refuse(
      fmt::format("Condition size limit reached ({} > {})", size, *limits.max_condition_size),
      "Reduce the size of your condition.");
}

tl::unexpected<Error> refuse_unindexed(std::string_view key, const std::vector<Need>& needs,
                                       std::string_view help) {
  return refuse(
      fmt::format("Index required but not found for \"{}\" of one of the following types: [{}]",
                  key, index_kinds(needs)),
      help);
}

Result<> check_filter(const CollectionConfig& config, bool allows_unindexed, const Filter& filter) {
  if (!allows_unindexed) {
    if (const auto found = first_unindexed(filter, config.indexes)) {
      return refuse_unindexed(found->key, found->needs,
                              "Create an index for this key or use a different filter.");
    }
  }
  return check_filter_size(*config.strict_mode, filter);
}

bool is_by_tenant(const CollectionConfig& config, const std::optional<Filter>& filter) {
  return filter && names_tenant(*filter, config.indexes);
}

bool compares_vectors(const engine::QueryKind& kind) {
  return std::holds_alternative<engine::Nearest>(kind) ||
         std::holds_alternative<engine::Recommend>(kind) ||
         std::holds_alternative<engine::Discover>(kind) ||
         std::holds_alternative<engine::Context>(kind) ||
         std::holds_alternative<engine::RelevanceFeedback>(kind);
}

/// A search of a field whose vectors have no index reads all of them.
Result<> check_full_scan(const CollectionConfig& config, const Query& query) {
  const StrictMode& limits = *config.strict_mode;
  if (limits.allows_exact_search || !compares_vectors(query.kind)) return {};
  const auto indexed = config.vector_indexes.find(query.using_field);
  if (indexed == config.vector_indexes.end() || indexed->second.enabled) return {};
  const std::string where =
      query.using_field.empty() ? std::string() : fmt::format(" on '{}'", query.using_field);
  if (!is_by_tenant(config, query.filter)) {
    return refuse(fmt::format("Request is forbidden{} because global vector indexing is disabled "
                              "(hnsw_config.m = 0)",
                              where),
                  "Use tenant-specific filter, enable global vector indexing or enable strict mode "
                  "`search_allow_exact` option");
  }
  const auto& by_tenant = limits.fields_indexed_by_tenant;
  if (std::find(by_tenant.begin(), by_tenant.end(), query.using_field) != by_tenant.end()) {
    return {};
  }
  return refuse(
      fmt::format("Request is forbidden{} because vector indexing is disabled "
                  "(hnsw_config.m = 0 and hnsw_config.payload_m = 0)",
                  where),
      "Enable vector indexing, use a prefetch query with indexed vectors or enable strict "
      "mode `search_allow_exact` option");
}

std::vector<Need> needs_of(engine::formula::ValueType type) {
  switch (type) {
    case engine::formula::ValueType::kNumber:
      return {Need::kIntegerMatch, Need::kIntegerRange, Need::kFloatRange};
    case engine::formula::ValueType::kGeoPoint:
      return {Need::kGeo};
    case engine::formula::ValueType::kDatetime:
      return {Need::kDatetimeRange};
  }
  return {};
}

/// Variables and conditions need indexes, whether there are defaults or not.
Result<> check_formula(const CollectionConfig& config, const engine::Formula& formula) {
  constexpr std::string_view kHelp =
      "Create an index for this key or use a different formula expression.";
  if (config.strict_mode->allows_unindexed_reads) return {};
  for (const auto& variable : formula.variables) {
    QV_TRY(check_key(config, variable.path.to_string(), needs_of(variable.type), kHelp));
  }
  Filter conditions;
  conditions.must = formula.conditions;
  const auto found = first_unindexed(conditions, config.indexes);
  return found ? refuse_unindexed(found->key, found->needs, kHelp) : Result<>();
}

/// A prefetch is searched on its own; the query above it compares only what prefetches found.
Result<> check_node(const CollectionConfig& config, const Query& query, bool is_prefetch) {
  for (const auto& prefetch : query.prefetch) QV_TRY(check_node(config, prefetch, true));
  if (is_prefetch || query.prefetch.empty()) QV_TRY(check_full_scan(config, query));
  QV_TRY(check_query_limit(config, query.limit));
  QV_TRY(check_read_filter(config, query.filter));
  if (const auto* formula = std::get_if<engine::Formula>(&query.kind)) {
    QV_TRY(check_formula(config, *formula));
  }
  return check_search_params(config, query.params);
}

std::uint64_t size_of(const engine::VectorValue& vector, bool is_sparse) {
  if (is_sparse) {
    const auto* sparse = std::get_if<engine::SparseVector>(&vector);
    return sparse == nullptr ? 0 : std::max(sparse->indices.size(), sparse->values.size());
  }
  const auto* multi = std::get_if<engine::MultiVector>(&vector);
  return multi == nullptr ? 0 : multi->n_tokens;
}

Result<> check_vector(const StrictMode& limits, const engine::NamedVector& vector) {
  if (const auto limit = limits.max_tokens.find(vector.name); limit != limits.max_tokens.end()) {
    const std::uint64_t n = size_of(vector.value, false);
    if (n > limit->second) {
      return refuse(fmt::format("Multivector '{}' has a limit of {} vectors, but {} were provided!",
                                vector.name, limit->second, n));
    }
  }
  const auto limit = limits.max_nonzeros.find(vector.name);
  if (limit == limits.max_nonzeros.end()) return {};
  const std::uint64_t n = size_of(vector.value, true);
  if (n <= limit->second) return {};
  return refuse(fmt::format("Sparse vector '{}' has a limit of {} indices, but {} were provided!",
                            vector.name, limit->second, n));
}

Result<> check_points(const StrictMode& limits, const std::vector<engine::PointInput>& points,
                      std::string_view name) {
  QV_TRY(check_limit(limits.max_upsert_points, points.size(), name));
  if (limits.max_tokens.empty() && limits.max_nonzeros.empty()) return {};
  for (const auto& point : points) {
    for (const auto& vector : point.vectors) QV_TRY(check_vector(limits, vector));
  }
  return {};
}

double megabytes(std::uint64_t bytes) {
  constexpr double kBytesPerMegabyte = 1024.0 * 1024.0;
  return static_cast<double>(bytes) / kBytesPerMegabyte;
}

using engine::Aggregation;

std::string_view aggregated_key(const Aggregation& aggregation) {
  return std::visit(
      [](const auto& kind) -> std::string_view {
        if constexpr (requires { kind.key; }) {
          return kind.key;
        } else {
          return {};
        }
      },
      aggregation);
}

/// An index that serves one of them holds the values.
std::vector<Need> needs_of(const Aggregation& aggregation) {
  const auto* histogram = std::get_if<engine::HistogramAggregation>(&aggregation);
  if (histogram != nullptr &&
      std::holds_alternative<payload::CalendarBuckets>(histogram->buckets)) {
    return {Need::kDatetimeRange};
  }
  if (histogram != nullptr || std::holds_alternative<engine::StatsAggregation>(aggregation)) {
    return {Need::kFloatRange, Need::kIntegerRange};
  }
  return {Need::kKeywordMatch, Need::kIntegerMatch, Need::kBoolMatch};
}

}  // namespace

Result<> check_limit(Limit limit, std::uint64_t value, std::string_view name) {
  return check_at_most(limit, value, name);
}

Result<> check_query_limit(const CollectionConfig& config, std::uint64_t limit, std::uint64_t n) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t product = n != 0 && limit > kMax / n ? kMax : limit * n;
  return check_limit(config.strict_mode->max_query_limit, product, "limit");
}

Result<> check_read_filter(const CollectionConfig& config, const std::optional<Filter>& filter) {
  if (!filter) return {};
  return check_filter(config, config.strict_mode->allows_unindexed_reads, *filter);
}

Result<> check_update_filter(const CollectionConfig& config, const Filter* filter) {
  if (filter == nullptr) return {};
  return check_filter(config, config.strict_mode->allows_unindexed_updates, *filter);
}

Result<> check_key(const CollectionConfig& config, std::string_view key,
                   const std::vector<Need>& needs, std::string_view help) {
  if (config.strict_mode->allows_unindexed_reads || is_indexed(key, needs, config.indexes)) {
    return {};
  }
  return refuse_unindexed(key, needs, help);
}

Result<> check_group_key(const CollectionConfig& config, std::string_view key) {
  constexpr std::string_view kHelp = "Create an index supporting `match` for this key.";
  if (config.strict_mode->allows_unindexed_reads) return {};
  const auto* index = index_of(key, config.indexes);
  if (index == nullptr) {
    return refuse(fmt::format("Index required but not found for \"{}\"", key), kHelp);
  }
  const std::vector<Need> matches = {Need::kIntegerMatch, Need::kKeywordMatch, Need::kBoolMatch,
                                     Need::kUuidMatch};
  if (is_indexed(key, matches, config.indexes)) return {};
  std::string kind(payload::kIndexKindNames[static_cast<std::size_t>(index->kind)]);
  kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
  return refuse(fmt::format("Index of type \"{}\" found for \"{}\"", kind, key), kHelp);
}

Result<> check_aggregation(const CollectionConfig& config, const Aggregation& aggregation) {
  if (std::holds_alternative<engine::CountAggregation>(aggregation)) return {};
  if (const auto* terms = std::get_if<engine::TermsAggregation>(&aggregation)) {
    QV_TRY(check_query_limit(config, terms->limit));
  }
  std::string_view key = aggregated_key(aggregation);
  while (key.ends_with("[]")) key.remove_suffix(2);  // `a[]` is `a` there
  return check_key(config, key, needs_of(aggregation), "Create an index for this key.");
}

Result<> check_search_params(const CollectionConfig& config, const engine::SearchParams& params) {
  const StrictMode& limits = *config.strict_mode;
  if (params.oversampling) {
    QV_TRY(check_at_most(limits.max_oversampling, *params.oversampling, "oversampling"));
  }
  if (params.hnsw_ef) QV_TRY(check_limit(limits.max_hnsw_ef, *params.hnsw_ef, "hnsw_ef"));
  if (limits.allows_exact_search || !params.exact) return {};
  return refuse("Exact search disabled!", "Set exact=false.");
}

Result<> check_query(const CollectionConfig& config, const Query& query) {
  return check_node(config, query, false);
}

Result<> check_batch(const CollectionConfig& config, std::size_t n_searches) {
  return check_limit(config.strict_mode->max_batch_searches, n_searches, "search batch size");
}

Result<> check_operation(const CollectionConfig& config, const engine::Operation& operation) {
  const StrictMode& limits = *config.strict_mode;
  if (const auto* upsert = std::get_if<engine::Upsert>(&operation)) {
    return check_points(limits, upsert->points, "upsert limit");
  }
  if (const auto* update = std::get_if<engine::UpdateVectors>(&operation)) {
    return check_points(limits, update->points, "update limit");
  }
  return check_update_filter(config, filter_of(operation));
}

bool stores_vectors(const engine::Operation& operation) {
  return std::holds_alternative<engine::Upsert>(operation) ||
         std::holds_alternative<engine::UpdateVectors>(operation);
}

bool stores_data(const engine::Operation& operation) {
  return stores_vectors(operation) || std::holds_alternative<engine::SetPayload>(operation) ||
         std::holds_alternative<engine::OverwritePayload>(operation);
}

Result<> check_payload_size(const StrictMode& limits, const CollectionSize& size) {
  if (!limits.max_payload_bytes || size.n_payload_bytes < *limits.max_payload_bytes) return {};
  return refuse(fmt::format("Max payload storage size limit of {}MB reached!",
                            static_cast<float>(megabytes(*limits.max_payload_bytes))));
}

Result<> check_size(const StrictMode& limits, const CollectionSize& size) {
  if (limits.max_vector_bytes && size.n_vector_bytes >= *limits.max_vector_bytes) {
    return refuse(fmt::format("Max vector storage size limit of {}MB reached!",
                              static_cast<float>(megabytes(*limits.max_vector_bytes))));
  }
  QV_TRY(check_payload_size(limits, size));
  if (!limits.max_points || size.n_points < *limits.max_points) return {};
  return refuse(fmt::format("Max points count limit of {} reached!", *limits.max_points));
}

Result<> check_new_index(const CollectionConfig& config, std::string_view key) {
  const Limit limit = config.strict_mode->max_payload_indexes;
  if (!limit || config.indexes.size() < *limit || index_of(key, config.indexes) != nullptr) {
    return {};
  }
  return refuse(
      fmt::format("Collection already has the maximum number of payload indices ({})", *limit),
      "Please delete an existing index before creating a new one.");
}

Result<> check_memory(const StrictMode& limits, std::uint64_t used_percent) {
  const Limit limit = limits.max_resident_memory_percent;
  if (!limit || used_percent < *limit) return {};
  return refuse(fmt::format("Resident memory usage is at {}% of total memory, exceeding the "
                            "configured limit of {}%",
                            used_percent, *limit),
                "Reduce memory usage (e.g. delete points or drop collections), or raise "
                "`max_resident_memory_percent` in the strict mode config of this collection.");
}

}  // namespace quiver::service::api::strict
