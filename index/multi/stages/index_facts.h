// Measurements stored in a multi-vector index.
#pragma once

#include <cstdint>

#include "index/multi/stages/stage.h"

namespace quiver::index::multi {

struct MultiFacts {
  StageFacts stage;
  /// Largest number of candidates that a search for ten hits compares by codes.
  std::uint32_t usual_candidates = 400;
  /// Documents from which signs choose them; 0: the index has no signs.
  std::uint32_t usual_pool = 0;
};

/// How the probe was made.
struct ProbeFacts {
  std::uint32_t n_documents = 0;  ///< sampled documents; 0: there was no probe
  std::uint32_t n_queries = 0;
  std::uint32_t are_recorded = 0;  ///< 1: recorded queries; 0: parts of documents
  std::uint32_t left_out = 0;      ///< bit i: stage i could not win and was not tried
};

/// Marks rows of the probe's table that are about signs, which follow any stage.
inline constexpr auto kBySigns = static_cast<StageKind>(3);

/// One measurement of the probe: recall of the ten best documents among the first `n_candidates` of
/// a stage or of signs.
struct ProbeRow {
  StageKind kind = StageKind::kMean;
  std::uint32_t dim = 0;
  std::uint32_t n_candidates = 0;
  float recall = 0;
};

}  // namespace quiver::index::multi
