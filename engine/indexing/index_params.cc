#include "engine/indexing/index_params.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/indexing/indexes.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kEffort = "effort";
constexpr std::string_view kOversampling = "oversampling";

std::string_view kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::kDense:
      return "dense";
    case FieldKind::kSparse:
      return "sparse";
    case FieldKind::kMulti:
      return "multi";
  }
  return "";
}

void add_group(const SearchParams& params, std::string_view group, KeyValues& values) {
  const auto found = params.index.find(group);
  if (found != params.index.end()) values.insert(found->second.begin(), found->second.end());
}

/// What most fields of the kind are indexed with.
const index::IndexType& usual_type(const FieldSchema& schema) {
  FieldSchema usual = schema;
  usual.metric = Metric::kDot;
  return *default_index(usual);
}

/// A field that is searched exactly has no use for what its kind may be given, but it is checked
/// all the same: what is a mistake does not depend on the metric.
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

/// Stock clients send it whatever the field: a type that has no use for it does not refuse it. One
/// that the user gives by the type's own name stays.
void add_if_known(const index::IndexType& type, std::string_view name, ParamValue value,
                  KeyValues& values) {
  if (values.contains(name)) return;
  KeyValues with = values;
  with.emplace(name, std::move(value));
  if (type.parse_search(with)) values = std::move(with);
}

}  // namespace

Result<index::AnyParams> index_params(const index::IndexType& type, const FieldSchema& schema,
                                      const SearchParams& params) {
  QV_TRY(KeyValues values, given_values(type, schema, params));
  QV_TRY(auto parsed, type.parse_search(values));
  if (!params.hnsw_ef && !params.oversampling) return parsed;
  constexpr std::int64_t kMost = 1'000'000;  // more than any index has a use for
  if (params.hnsw_ef) {
    const auto effort = static_cast<std::int64_t>(std::min<std::uint64_t>(*params.hnsw_ef, kMost));
    add_if_known(type, kEffort, effort, values);
  }
  if (params.oversampling) {
    const double factor = std::min(*params.oversampling, static_cast<double>(kMost));
    add_if_known(type, kOversampling, factor, values);
  }
  return type.parse_search(values);
}

}  // namespace quiver::engine
