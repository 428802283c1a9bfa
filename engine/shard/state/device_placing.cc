#include "engine/shard/state/device_placing.h"

#include <utility>

#include "base/observe/failure.h"

namespace quiver::engine {
namespace {

/// Room may come, as searches of replaced segments end.
constexpr auto kAskAgain = std::chrono::seconds(1);

}  // namespace

void DevicePlacing::update() noexcept {
  if (devices_ == nullptr) return;
  run_logged("placing vectors on devices", [this] {
    Settings now = settings();
    if ((now.empty() && settings_.empty()) || common_.closed) return;
    const SealedSegments segments = table_.sealed();
    if (is_done(segments, now)) return;
    // A field that lost its setting is as usual again.
    Settings changed = now;
    for (const auto& [field, before] : settings_) changed.try_emplace(field, gpu::Placing::kAuto);
    is_waiting_ = false;
    for (const auto& segment : segments) is_waiting_ |= !place(*segment, changed);
    if (is_waiting_) common_.wants_tick = true;
    asked_at_ = Clock::now();
    settings_ = std::move(now);
    placed_.assign(segments.begin(), segments.end());
  });
}

DevicePlacing::Settings DevicePlacing::settings() const {
  Settings settings;
  for (const auto& [field, config] : common_.config.load()->vector_indexes) {
    if (config.on_gpu != gpu::Placing::kAuto) settings.emplace(field, config.on_gpu);
  }
  return settings;
}

bool DevicePlacing::is_done(const SealedSegments& segments, const Settings& settings) const {
  if (is_waiting_ && Clock::now() - asked_at_ >= kAskAgain) return false;
  return settings == settings_ && are_noted(segments, placed_);
}

/// False if something is not on a device yet.
bool DevicePlacing::place(const SegmentData& data, const Settings& settings) const {
  bool is_placed = true;
  for (std::size_t field = 0; field < data.fields.size(); ++field) {
    const auto found = settings.find(data.fields[field].schema.name);
    if (found == settings.end()) continue;
    is_placed &= data.searchers[field]->place(*devices_, found->second);
  }
  return is_placed;
}

}  // namespace quiver::engine
