// What an index of multi-vectors knows about its data.
#pragma once

#include <cstdint>

#include "index/multi/stage.h"

namespace quiver::index::multi {

struct IndexFacts {
  StageFacts stage;
  /// Candidates that a search for ten looks at, at most.
  std::uint32_t usual_candidates = 400;
  std::uint32_t reserved = 0;
};

/// What a stage found of the ten best documents of sampled queries, among so many candidates.
struct ProbeRow {
  StageKind kind = StageKind::kMean;
  std::uint32_t dim = 0;
  std::uint32_t n_candidates = 0;
  float recall = 0;
};

}  // namespace quiver::index::multi
