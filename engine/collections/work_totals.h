// The work of many searches, summed.
#pragma once

#include "base/observe/metrics.h"
#include "index/index.h"

namespace quiver::engine {

/// Thread-safe. `load` while others add: each counter is exact, the counters may not fit each
/// other.
class WorkTotals {
 public:
  void add(const index::WorkCounters& work) {
    n_lists_.add(work.n_lists);
    n_blocks_.add(work.n_blocks);
    n_codes_scored_.add(work.n_codes_scored);
    n_rows_scored_.add(work.n_rows_scored);
    n_bytes_.add(work.n_bytes);
  }
  [[nodiscard]] index::WorkCounters load() const {
    return {n_lists_.value(), n_blocks_.value(), n_codes_scored_.value(), n_rows_scored_.value(),
            n_bytes_.value()};
  }

 private:
  Counter n_lists_;
  Counter n_blocks_;
  Counter n_codes_scored_;
  Counter n_rows_scored_;
  Counter n_bytes_;
};

}  // namespace quiver::engine
