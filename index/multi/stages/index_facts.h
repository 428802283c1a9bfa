// What an index of multi-vectors knows about its data.
#pragma once

#include <cstdint>

#include "index/multi/stages/stage.h"

namespace quiver::index::multi {

struct MultiFacts {
  StageFacts stage;
  /// Candidates that a search for ten compares by codes, at most.
  std::uint32_t usual_candidates = 400;
  /// Documents that it takes them from by signs; 0: there are none of signs.
  std::uint32_t usual_pool = 0;
};

/// What the probe's table was made with.
struct ProbeFacts {
  std::uint32_t n_documents = 0;  ///< sampled; 0: nothing was tried
  std::uint32_t n_queries = 0;
  std::uint32_t are_recorded = 0;  ///< 1: queries that the field was asked; 0: parts of documents
  std::uint32_t left_out = 0;      ///< bit i: stage i could not win, and was not tried
};

/// In the probe's table: the signs of tokens, which come after any stage.
inline constexpr auto kBySigns = static_cast<StageKind>(3);

/// What a stage, or signs, found of the ten best documents of sampled queries, among so many
/// candidates.
struct ProbeRow {
  StageKind kind = StageKind::kMean;
  std::uint32_t dim = 0;
  std::uint32_t n_candidates = 0;
  float recall = 0;
};

}  // namespace quiver::index::multi
