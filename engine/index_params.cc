#include "engine/index_params.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

namespace quiver::engine {
namespace {

constexpr std::string_view kEffort = "effort";

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

KeyValues given_values(const index::IndexType& type, const FieldSchema& schema,
                       const SearchParams& params) {
  KeyValues values;
  for (const std::string_view group : {type.name, kind_name(schema.kind)}) {
    const auto found = params.index.find(group);
    if (found != params.index.end()) values.insert(found->second.begin(), found->second.end());
  }
  return values;
}

}  // namespace

Result<index::AnyParams> index_params(const index::IndexType& type, const FieldSchema& schema,
                                      const SearchParams& params) {
  KeyValues values = given_values(type, schema, params);
  QV_TRY(auto parsed, type.parse_search(values));
  if (!params.hnsw_ef || values.contains(kEffort)) return parsed;
  // Stock clients send it whatever the field: a type that has no use for it does not refuse it.
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  values.emplace(kEffort, static_cast<std::int64_t>(std::min(*params.hnsw_ef, kMost)));
  if (auto with_effort = type.parse_search(values)) return with_effort;
  return parsed;
}

}  // namespace quiver::engine
