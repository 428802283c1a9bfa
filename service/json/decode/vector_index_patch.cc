// What vector indexes are built with, and what devices hold, as users set it by name.
#include <fmt/format.h>

#include "engine/indexing/indexes.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

/// nullopt: null.
Decoded<gpu::Placing> decode_placing(Element element, const Path& path) {
  if (element.is_null()) return gpu::Placing::kAuto;
  QV_TRY(const std::string_view name, get_string(element, path));
  const auto placing = gpu::placing_of(name);
  if (placing) return *placing;
  return format_error(
      path, fmt::format("unknown variant `{}`, expected `auto`, `always` or `never`", name));
}

}  // namespace

Decoded<VectorIndexPatch> VectorIndexPatch::decode(std::string& body) {
  const Path root;
  VectorIndexPatch patch;
  QV_TRY(const Object object, parse_object_body(body));
  const auto on_gpu = find(object, "on_gpu");
  if (on_gpu) {
    const Path at_placings = root.member("on_gpu");
    QV_TRY(const Object placings, get_object(*on_gpu, at_placings));
    for (const auto [field, value] : placings) {
      QV_TRY(patch.fields_[std::string(field)].on_gpu,
             decode_placing(value, at_placings.member(field)));
    }
    if (!find(object, "build")) return patch;
  }
  if (!find(object, "build")) return format_error(root, "missing field `build` or `on_gpu`");
  QV_TRY(const Element build, require(object, "build", root));
  const Path at_build = root.member("build");
  QV_TRY(const Object fields, get_object(build, at_build));
  for (const auto [field, values] : fields) {
    const Path at_field = at_build.member(field);
    QV_TRY(const Object members, get_object(values, at_field));
    auto& changes = patch.fields_[std::string(field)].build;
    for (const auto [name, value] : members) {
      QV_TRY(changes[std::string(name)], decode_param(value, at_field.member(name)));
    }
  }
  return patch;
}

Result<> VectorIndexPatch::apply(engine::CollectionConfig& config) const {
  for (const auto& [name, change] : fields_) {
    QV_TRY(const std::size_t field, config.field(name));
    engine::VectorIndexConfig index = engine::find_vector_index(config.vector_indexes, name);
    for (const auto& [key, value] : change.build) {
      index.given.erase(key);
      if (value) index.given.emplace(key, *value);
    }
    index.on_gpu = change.on_gpu.value_or(index.on_gpu);
    QV_TRY(engine::check_build_values(config.fields[field], index));
    config.vector_indexes.erase(name);
    if (index != engine::VectorIndexConfig()) config.vector_indexes[name] = std::move(index);
  }
  return {};
}

}  // namespace quiver::service::json
