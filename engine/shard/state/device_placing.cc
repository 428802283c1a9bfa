#include "engine/shard/state/device_placing.h"

#include <algorithm>
#include <utility>

#include "base/observe/failure.h"

namespace quiver::engine {

void DevicePlacing::update() noexcept {
  if (devices_ == nullptr) return;
  run_logged("placing vectors on devices", [this] {
    Settings settings = this->settings();
    if ((settings.empty() && settings_.empty()) || common_.closed) return;
    const bool is_changed = settings != settings_;
    std::vector<std::weak_ptr<const SegmentData>> placed;
    for (const SegmentState& state : table_.segments()) {
      if (!state.sealed()) continue;
      const auto& data = state.view.data;
      const bool is_placed = std::ranges::any_of(placed_, [&](const auto& other) {
        return !other.owner_before(data) && !data.owner_before(other);
      });
      // A field that lost its setting is as usual again.
      Settings of_segment = settings;
      for (const auto& [field, before] : settings_) {
        of_segment.try_emplace(field, gpu::Placing::kAuto);
      }
      if (is_changed || !is_placed) place(*data, of_segment);
      placed.push_back(data);
    }
    settings_ = std::move(settings);
    placed_ = std::move(placed);
  });
}

DevicePlacing::Settings DevicePlacing::settings() const {
  Settings settings;
  for (const auto& [field, config] : common_.config.load()->vector_indexes) {
    if (config.on_gpu != gpu::Placing::kAuto) settings.emplace(field, config.on_gpu);
  }
  return settings;
}

void DevicePlacing::place(const SegmentData& data, const Settings& settings) const {
  for (std::size_t field = 0; field < data.fields.size(); ++field) {
    const auto found = settings.find(data.fields[field].schema.name);
    if (found != settings.end()) data.searchers[field]->place(*devices_, found->second);
  }
}

}  // namespace quiver::engine
