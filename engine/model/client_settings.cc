#include "engine/model/client_settings.h"

namespace quiver::engine {

const payload::Value* vector_params(const payload::Value& settings, const std::string& field) {
  const auto* vectors = settings.find("vectors");
  const auto* size = vectors == nullptr ? nullptr : vectors->find("size");
  // One set of parameters without a name has a size; a field may be called so, too.
  const bool is_unnamed = size != nullptr && size->as_object() == nullptr;
  return vectors == nullptr || is_unnamed ? vectors : vectors->find(field);
}
bool is_tenant(const payload::FieldIndex& index) {
  if (index.client_settings.find("is_tenant") == std::string::npos) return false;
  const auto settings = payload::parse_json(index.client_settings);
  const auto* member = settings ? settings->find("is_tenant") : nullptr;
  const bool* flag = member == nullptr ? nullptr : member->as_bool();
  return flag != nullptr && *flag;
}

}  // namespace quiver::engine
