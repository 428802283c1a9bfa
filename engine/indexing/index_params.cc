#include "engine/indexing/index_params.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/indexing/indexes.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kEffort = "effort";
constexpr std::string_view kOversampling = "oversampling";

void add_group(const SearchParams& params, std::string_view group, KeyValues& values) {
  const auto found = params.index.find(group);
  if (found != params.index.end()) values.insert(found->second.begin(), found->second.end());
}

/// The type that fields of the kind are indexed with under most metrics.
const index::IndexType& usual_type(const FieldSchema& schema) {
  FieldSchema usual = schema;
  usual.metric = Metric::kDot;
  return *default_index(usual);
}

/// Values under the type's name and under the kind. A field that is searched exactly uses none of
/// the kind's, but they are checked: whether they are a mistake does not depend on the metric.
Result<KeyValues> given_values(const index::IndexType& type, const FieldSchema& schema,
                               const SearchParams& params) {
  KeyValues values;
  add_group(params, type.name, values);
  if (&type != flat_index()) {
    add_group(params, kind_name(schema.kind), values);
    return values;
  }
  KeyValues unused;
  add_group(params, kind_name(schema.kind), unused);
  QV_TRY(usual_type(schema).parse_search(unused));
  return values;
}

/// Adds a value that stock clients send for any field, within the range of the type's parameter of
/// that name. Does nothing if the type has none or the user gave one by name.
void add_common(const std::vector<ParamInfo>& known, std::string_view name, double value,
                KeyValues& values) {
  if (values.contains(name)) return;
  const auto param =
      std::ranges::find_if(known, [name](const ParamInfo& info) { return info.name == name; });
  if (param == known.end()) return;
  value = std::clamp(value, param->range.min, param->range.max);
  if (param->type == "integer") {
    values.emplace(name, static_cast<std::int64_t>(value));
  } else {
    values.emplace(name, value);
  }
}

}  // namespace

bool is_params_group(std::string_view name) {
  return std::ranges::find(kFieldKindNames, name) != kFieldKindNames.end() ||
         index::find_index_type(name) != nullptr;
}

Result<index::AnyParams> index_params(const index::IndexType& type, const FieldSchema& schema,
                                      const SearchParams& params) {
  QV_TRY(KeyValues values, given_values(type, schema, params));
  if (params.hnsw_ef || params.oversampling) {
    const auto known = type.describe_search();
    if (params.hnsw_ef) {
      add_common(known, kEffort, static_cast<double>(*params.hnsw_ef), values);
    }
    if (params.oversampling) add_common(known, kOversampling, *params.oversampling, values);
  }
  return type.parse_search(values);
}

index::AnyParams params_for_present(const index::IndexType& present, const index::IndexType& wanted,
                                    const index::AnyParams& of_wanted, const FieldSchema& schema,
                                    const SearchParams& params) {
  if (&present == &wanted || &present == flat_index()) return of_wanted;
  auto of_present = index_params(present, schema, params);
  return of_present ? *std::move(of_present) : index::AnyParams();
}

}  // namespace quiver::engine
