// The two lanes of requests that compute: which one a request takes.
#pragma once

#include <string>

#include "base/observe/metrics.h"
#include "base/threads/executor.h"
#include "service/api/load/cost_book.h"
#include "service/api/load/lane.h"
#include "service/api/load/work.h"

namespace quiver::service::api::load {

/// Thread-safe.
class Load {
 public:
  /// Threads of `expensive` have a lower priority than those of `cheap`. All outlive this.
  Load(Executor& cheap, Executor& expensive, MetricsRegistry& metrics, double max_wait_ms,
       const std::string& metrics_prefix)
      : cheap_(cheap, book_, metrics, {max_wait_ms, "cheap", metrics_prefix}),
        expensive_(expensive, book_, metrics, {max_wait_ms, "expensive", metrics_prefix}) {}

  [[nodiscard]] WorkClass class_of(const Work& work) const { return book_.class_of(work); }
  [[nodiscard]] Lane& lane_of(const Work& work) { return lane(class_of(work)); }
  [[nodiscard]] Lane& lane(WorkClass work) {
    return work == WorkClass::kCheap ? cheap_ : expensive_;
  }

 private:
  CostBook book_;
  Lane cheap_;
  Lane expensive_;
};

}  // namespace quiver::service::api::load
