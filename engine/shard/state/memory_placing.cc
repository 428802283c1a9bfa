#include "engine/shard/state/memory_placing.h"

#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "engine/shard/state/segment_placement.h"

namespace quiver::engine {

void MemoryPlacing::start() noexcept {
  run_logged("placing files in memory", [this] {
    const auto config = common_.config.load();
    const bool is_usual = config->memory == MemoryPlan() && plan_ == MemoryPlan();
    if (is_usual || is_running_ || common_.closed) return;
    const SealedSegments segments = table_.sealed();
    if (!is_done(segments, config->memory)) run(segments, config->memory);
  });
}

bool MemoryPlacing::is_done(const SealedSegments& segments, const MemoryPlan& plan) const {
  return plan == plan_ && are_noted(segments, placed_);
}

void MemoryPlacing::run(const SealedSegments& segments, const MemoryPlan& plan) {
  std::vector<std::weak_ptr<const SegmentData>> placed(segments.begin(), segments.end());
  auto place = [this, segments, plan]() -> Result<> {
    Result<> first;
    for (const auto& segment : segments) {
      QV_TRY(common_.closing.check());
      auto one = place_segment(*segment, plan);
      if (!one && first) first = std::move(one);
    }
    return first;
  };
  common_.background.run(Priority::kLow, JobKind::kPlaceFiles, std::move(place),
                         [this](const Result<>& result) {
                           is_running_ = false;
                           if (!common_.closed) note(result);
                           start();  // for what changed meanwhile
                         });
  is_running_ = true;
  plan_ = plan;
  placed_ = std::move(placed);
}

/// What was refused is tried again when segments or settings change.
void MemoryPlacing::note(const Result<>& placed) {
  std::string text = placed ? std::string() : placed.error().message();
  MutexLock lock(mutex_);
  if (!text.empty() && text != warning_) log_warning("shard {}: {}", common_.path, text);
  warning_ = std::move(text);
}

std::string MemoryPlacing::warning() const {
  MutexLock lock(mutex_);
  return warning_;
}

}  // namespace quiver::engine
