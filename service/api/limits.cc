#include "service/api/limits.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/collection.h"
#include "service/api/runtime.h"
#include "service/api/strict/checks.h"
#include "service/api/strict/costs.h"
#include "service/api/strict/usage.h"

namespace quiver::service::api {
namespace {

using engine::CollectionConfig;
using engine::Operation;
using engine::Query;
using engine::StrictMode;
using payload::Filter;
using strict::Rate;
using Clock = strict::TokenBucket::Clock;

/// The configuration of a collection that has a strict mode; else null.
std::shared_ptr<const CollectionConfig> strict_config(const OpenCollection& target) {
  auto config = target.collection->config();
  return config->strict_mode ? config : nullptr;
}

Result<> check_timeout(const Call& call, const StrictMode& limits) {
  const auto asked_s = call.asked_timeout_s();
  if (!asked_s) return {};
  return strict::check_limit(limits.max_timeout_s, static_cast<std::uint64_t>(std::ceil(*asked_s)),
                             "timeout");
}

Result<> take(Call& call, const OpenCollection& target, Rate rate, std::uint64_t per_minute,
              std::uint64_t cost) {
  auto refused =
      call.runtime().usage().take(rate, target.collection, per_minute, cost, Clock::now());
  if (!refused) return {};
  call.set_retry_after(refused->retry_after_s);
  return fail(std::move(refused->error));
}

/// `cost()` is the number of tokens; it is not called without a limit.
template <class Cost>
Result<> take_read(Call& call, const OpenCollection& target, const StrictMode& limits,
                   const Cost& cost) {
  if (!limits.reads_per_minute) return {};
  return take(call, target, Rate::kRead, *limits.reads_per_minute, cost());
}

/// Reads a stored multi-vector to count its tokens. Other vectors, and those of other collections,
/// count as one.
strict::CountVectors vectors_counter(const OpenCollection& target, const CollectionConfig& config) {
  return [&](const PointId& id, const std::string& name) -> std::uint64_t {
    const auto* field = config.find_field(name);
    if (field == nullptr || field->kind != FieldKind::kMulti) return 1;
    engine::RetrieveRequest request;
    request.ids.push_back(id);
    request.with_payload = payload::Selector::none();
    request.with_vector.names.push_back(name);
    const auto found = target.collection->retrieve(request);
    if (!found || found->empty() || !found->front().vectors) return 1;
    for (const auto& vector : *found->front().vectors) {
      const auto* multi = std::get_if<engine::MultiVector>(&vector.value);
      if (multi != nullptr) return std::max<std::uint64_t>(multi->n_tokens, 1);
    }
    return 1;
  };
}

/// Counts matches where indexes answer the filter. Where they do not, half of all points stand for
/// them, as reading every payload would cost more than the change.
strict::CountPoints points_counter(const OpenCollection& target, const CollectionConfig& config) {
  return [&](const Filter& filter) -> std::uint64_t {
    const bool is_indexed = !strict::first_unindexed(filter, config.indexes);
    const auto n =
        target.collection->count({is_indexed ? std::optional(filter) : std::nullopt}, Cancel());
    if (!n) return 1;  // the change itself will say what is wrong with the filter
    return is_indexed ? *n : *n / 2;
  };
}

bool needs_size(const StrictMode& limits) {
  return limits.max_points || limits.max_vector_bytes || limits.max_payload_bytes;
}

Result<> check_growth(Call& call, const OpenCollection& target, const StrictMode& limits,
                      const std::vector<Operation>& operations) {
  const bool grows = std::any_of(operations.begin(), operations.end(), strict::stores_data);
  if (!grows) return {};
  auto& usage = call.runtime().usage();
  if (limits.max_resident_memory_percent) {
    QV_TRY(strict::check_memory(limits, usage.memory_percent(Clock::now())));
  }
  if (!needs_size(limits)) return {};
  QV_TRY(const auto size, usage.size_of(target.collection, limits));
  if (std::any_of(operations.begin(), operations.end(), strict::stores_vectors)) {
    return strict::check_size(limits, size);
  }
  return strict::check_payload_size(limits, size);
}

}  // namespace

Result<> check_limits(Call& call, const OpenCollection& target, const Query& query) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  const StrictMode& limits = *config->strict_mode;
  QV_TRY(check_timeout(call, limits));
  QV_TRY(strict::check_query(*config, query));
  return take_read(call, target, limits,
                   [&] { return strict::query_cost(query, vectors_counter(target, *config)); });
}

Result<> check_limits(Call& call, const OpenCollection& target, std::span<const Query> queries) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  const StrictMode& limits = *config->strict_mode;
  QV_TRY(check_timeout(call, limits));
  QV_TRY(strict::check_batch(*config, queries.size()));
  for (const auto& query : queries) QV_TRY(strict::check_query(*config, query));
  return take_read(call, target, limits, [&] {
    const auto counter = vectors_counter(target, *config);
    std::uint64_t cost = 0;
    for (const auto& query : queries) cost += strict::query_cost(query, counter);
    return cost;
  });
}

Result<> check_limits(Call& call, const OpenCollection& target,
                      const engine::RetrieveRequest& request) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  QV_TRY(check_timeout(call, *config->strict_mode));
  return take_read(call, target, *config->strict_mode, [&] { return request.ids.size(); });
}

Result<> check_limits(Call& call, const OpenCollection& target,
                      const engine::ExplainRequest& request) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  QV_TRY(check_timeout(call, *config->strict_mode));
  return take_read(call, target, *config->strict_mode, [&] { return request.ids.size(); });
}

Result<> check_limits(Call& call, const OpenCollection& target,
                      const engine::ScrollRequest& request) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  QV_TRY(check_timeout(call, *config->strict_mode));
  QV_TRY(strict::check_query_limit(*config, request.limit));
  QV_TRY(strict::check_read_filter(*config, request.filter));
  return take_read(call, target, *config->strict_mode,
                   [&] { return strict::read_cost(request.filter); });
}

Result<> check_limits(Call& call, const OpenCollection& target, const engine::GroupsQuery& query) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  QV_TRY(check_timeout(call, *config->strict_mode));
  QV_TRY(strict::check_group_key(*config, query.group_by));
  QV_TRY(strict::check_query_limit(*config, query.query.limit, query.group_size));
  QV_TRY(strict::check_query(*config, query.query));
  return take_read(call, target, *config->strict_mode, [&] {
    return strict::query_cost(query.query, vectors_counter(target, *config));
  });
}

Result<> check_limits(Call& call, const OpenCollection& target,
                      const engine::FacetRequest& request) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  QV_TRY(strict::check_query_limit(*config, request.limit));
  return check_limits(call, target, request.filter);
}

Result<> check_limits(Call& call, const OpenCollection& target,
                      const engine::AggregateRequest& request) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  for (const auto& [name, aggregation] : request.aggregations) {
    QV_TRY(strict::check_aggregation(*config, aggregation));
  }
  return check_limits(call, target, request.filter);
}

/// Each point of the sample is searched for.
Result<> check_limits(Call& call, const OpenCollection& target,
                      const engine::MatrixRequest& request) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  QV_TRY(check_timeout(call, *config->strict_mode));
  QV_TRY(strict::check_query_limit(*config, request.limit, request.sample));
  QV_TRY(strict::check_read_filter(*config, request.filter));
  return take_read(call, target, *config->strict_mode,
                   [&] { return strict::read_cost(request.filter) + request.sample; });
}

Result<> check_limits(Call& call, const OpenCollection& target,
                      const std::optional<Filter>& filter) {
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  QV_TRY(check_timeout(call, *config->strict_mode));
  QV_TRY(strict::check_read_filter(*config, filter));
  return take_read(call, target, *config->strict_mode, [&] { return strict::read_cost(filter); });
}

Result<> check_limits(Call& call, const OpenCollection& target,
                      const std::vector<Operation>& operations) {
  if (std::any_of(operations.begin(), operations.end(), strict::stores_data)) {
    QV_TRY(call.runtime().quota().check_growth(Clock::now()));
  }
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  const StrictMode& limits = *config->strict_mode;
  QV_TRY(check_timeout(call, limits));
  for (const auto& operation : operations) QV_TRY(strict::check_operation(*config, operation));
  QV_TRY(check_growth(call, target, limits, operations));
  if (!limits.writes_per_minute) return {};
  const auto counter = points_counter(target, *config);
  std::uint64_t cost = 0;
  for (const auto& operation : operations) cost += strict::write_cost(operation, counter);
  return take(call, target, Rate::kWrite, *limits.writes_per_minute, cost);
}

Result<> check_limits(Call& call, const OpenCollection& target, const payload::FieldIndex& index) {
  QV_TRY(call.runtime().quota().check_growth(Clock::now()));
  const auto config = strict_config(target);
  if (config == nullptr) return {};
  const StrictMode& limits = *config->strict_mode;
  QV_TRY(check_timeout(call, limits));
  QV_TRY(strict::check_new_index(*config, index.key));
  if (!limits.writes_per_minute) return {};
  return take(call, target, Rate::kWrite, *limits.writes_per_minute, 1);
}

bool is_slow_to_check(const OpenCollection& target, const std::vector<Operation>& operations) {
  const auto config = strict_config(target);
  if (config == nullptr) return false;
  const StrictMode& limits = *config->strict_mode;
  if (needs_size(limits)) return true;
  return limits.writes_per_minute &&
         std::any_of(operations.begin(), operations.end(), [](const Operation& operation) {
           return strict::filter_of(operation) != nullptr;
         });
}

}  // namespace quiver::service::api
