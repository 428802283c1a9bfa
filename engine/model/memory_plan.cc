#include "engine/model/memory_plan.h"

#include <algorithm>
#include <optional>

#include "engine/model/client_settings.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

using Placement = std::optional<MemoryPlacement>;

/// `memory`, otherwise the older `flag`: true is cold, false is cached. `object` may be nullptr.
Placement placement_in(const payload::Value* object, std::string_view flag) {
  if (object == nullptr) return std::nullopt;
  const auto* memory = object->find("memory");
  if (const auto* name = memory == nullptr ? nullptr : memory->as_string()) {
    if (*name == "cold") return MemoryPlacement::kCold;
    return *name == "pinned" ? MemoryPlacement::kPinned : MemoryPlacement::kCached;
  }
  const auto* member = object->find(flag);
  const bool* is_set = member == nullptr ? nullptr : member->as_bool();
  if (is_set == nullptr) return std::nullopt;
  return *is_set ? MemoryPlacement::kCold : MemoryPlacement::kCached;
}

const payload::Value* member_of(const payload::Value* object, std::string_view name) {
  return object == nullptr ? nullptr : object->find(name);
}

/// Codes lie in the files of the index. `always_ram` is true for what must not be cold.
Placement placement_of_codes(const payload::Value* quantization) {
  const auto* methods = quantization == nullptr ? nullptr : quantization->as_object();
  if (methods == nullptr || methods->empty()) return std::nullopt;
  const auto& method = methods->front().value;
  if (method.find("memory") != nullptr) return placement_in(&method, "");
  const auto* member = method.find("always_ram");
  const bool* is_set = member == nullptr ? nullptr : member->as_bool();
  return is_set != nullptr && *is_set ? Placement(MemoryPlacement::kCached) : std::nullopt;
}

/// Settings of the index and of its codes are about the same files: the warmer one counts.
MemoryPlacement placement_of_index(const payload::Value& settings, const payload::Value* field) {
  auto index = placement_in(member_of(field, "hnsw_config"), "on_disk");
  if (!index) index = placement_in(settings.find("hnsw_config"), "on_disk");
  const auto* quantization = member_of(field, "quantization_config");
  if (quantization == nullptr) quantization = settings.find("quantization_config");
  const auto codes = placement_of_codes(quantization);
  if (index && codes) return std::max(*index, *codes);
  return index.value_or(codes.value_or(MemoryPlacement::kCached));
}

FieldPlacement placement_of_field(const payload::Value& settings, const FieldSchema& field) {
  constexpr auto kOtherwise = MemoryPlacement::kCached;
  if (field.kind == FieldKind::kSparse) {
    const auto* params = member_of(settings.find("sparse_vectors"), field.name);
    const auto place = placement_in(member_of(params, "index"), "on_disk").value_or(kOtherwise);
    return {place, place};
  }
  const auto* params = vector_params(settings, field.name);
  return {placement_in(params, "on_disk").value_or(kOtherwise),
          placement_of_index(settings, params)};
}

/// `payload.memory`, otherwise `on_disk_payload` if the creator set it.
MemoryPlacement placement_of_payloads(const payload::Value& settings) {
  if (const auto own = placement_in(settings.find("payload"), "")) return *own;
  const auto* flag = settings.find("on_disk_payload");
  const bool* is_set = flag == nullptr ? nullptr : flag->as_bool();
  return is_set != nullptr && *is_set ? MemoryPlacement::kCold : MemoryPlacement::kCached;
}

}  // namespace

FieldPlacement MemoryPlan::field(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? FieldPlacement() : found->second;
}

MemoryPlacement MemoryPlan::column(std::string_view key) const {
  const auto found = columns.find(key);
  return found == columns.end() ? MemoryPlacement::kCached : found->second;
}

MemoryPlan memory_plan_of(std::string_view client_settings, const std::vector<FieldSchema>& fields,
                          const std::vector<payload::FieldIndex>& indexes) {
  MemoryPlan plan;
  for (const auto& index : indexes) {
    const auto settings = payload::parse_json(index.client_settings);
    const auto place = settings ? placement_in(&*settings, "on_disk") : std::nullopt;
    if (place.value_or(MemoryPlacement::kCached) != MemoryPlacement::kCached) {
      plan.columns[index.key] = *place;
    }
  }
  const auto settings = payload::parse_json(client_settings);
  if (!settings) return plan;
  for (const auto& field : fields) {
    const auto place = placement_of_field(*settings, field);
    if (place != FieldPlacement()) plan.fields[field.name] = place;
  }
  plan.payloads = placement_of_payloads(*settings);
  plan.ids = placement_in(settings->find("id_tracker"), "").value_or(MemoryPlacement::kCached);
  return plan;
}

}  // namespace quiver::engine
