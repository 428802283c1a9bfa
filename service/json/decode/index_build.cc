// What vector indexes are built with, as users set it by name.
#include <fmt/format.h>

#include "engine/indexing/indexes.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {

Decoded<IndexBuildPatch> IndexBuildPatch::decode(std::string& body) {
  const Path root;
  IndexBuildPatch patch;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element build, require(object, "build", root));
  const Path at_build = root.member("build");
  QV_TRY(const Object fields, get_object(build, at_build));
  for (const auto [field, values] : fields) {
    const Path at_field = at_build.member(field);
    QV_TRY(const Object members, get_object(values, at_field));
    auto& changes = patch.fields_[std::string(field)];
    for (const auto [name, value] : members) {
      QV_TRY(changes[std::string(name)], decode_param(value, at_field.member(name)));
    }
  }
  return patch;
}

Result<> IndexBuildPatch::apply(engine::CollectionConfig& config) const {
  for (const auto& [name, changes] : fields_) {
    QV_TRY(const std::size_t field, config.field(name));
    engine::VectorIndexConfig index;
    const auto found = config.vector_indexes.find(name);
    if (found != config.vector_indexes.end()) index = found->second;
    for (const auto& [key, value] : changes) {
      index.given.erase(key);
      if (value) index.given.emplace(key, *value);
    }
    QV_TRY(engine::check_build_values(config.fields[field], index));
    config.vector_indexes.erase(name);
    if (index != engine::VectorIndexConfig()) config.vector_indexes[name] = std::move(index);
  }
  return {};
}

}  // namespace quiver::service::json
