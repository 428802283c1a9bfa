// The first stage of a multi-vector search: token sets as single vectors, whose scalar products
// find the documents worth comparing token by token.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/io/section_file.h"
#include "base/result.h"
#include "base/threads/cancel.h"
#include "encoders/set_encoder.h"
#include "index/index.h"
#include "index/multi/stages/params.h"

namespace quiver::index::multi {

enum class StageKind : std::uint32_t { kMean = 0, kFde = 1, kFeatures = 2 };

[[nodiscard]] std::string_view to_string(StageKind kind);
/// kInvalidArgument lists the stages.
[[nodiscard]] Result<StageKind> parse_stage(std::string_view name);

/// Everything from which the query encoder is made. Part of the file.
struct StageFacts {
  StageKind kind = StageKind::kMean;
  std::uint32_t token_dim = 0;
  std::uint64_t seed = 0;
  std::uint32_t version = 0;      ///< version of the kind's generator
  std::uint32_t dim = 0;          ///< dimensions of the vectors
  std::uint32_t repetitions = 0;  ///< fde, like the next three
  std::uint32_t planes = 0;
  std::uint32_t projection = 0;  ///< 0: no projection
  float renormalisation = 0;
  std::uint32_t n_features = 0;  ///< features
  std::uint32_t final_dim = 0;   ///< fde; 0: no final projection
};
static_assert(sizeof(StageFacts) == 48);

/// What a stage must know of a field's documents.
struct FieldShape {
  std::uint32_t token_dim = 0;
  double tokens_per_row = 0;
  std::uint32_t n_rows = 0;
};

/// Facts of a stage of this kind for such documents, with all defaults of `params` filled in.
[[nodiscard]] StageFacts stage_facts(StageKind kind, const MultiBuildParams& params,
                                     const FieldShape& shape, std::uint64_t seed);

/// Bits per dimension of the vectors' scanned codes: `params.bits` or, if 0, about 100 bytes per
/// document.
[[nodiscard]] std::uint32_t scanned_bits(const MultiBuildParams& params, std::uint32_t dim);

/// True if this program can make the stage of `facts` for tokens of `token_dim` dimensions.
[[nodiscard]] bool are_possible(const StageFacts& facts, std::uint32_t token_dim);

using EncoderPtr = std::unique_ptr<const encoders::SetEncoder>;

/// A stage that encodes documents, and what must be stored besides its facts to encode queries.
struct Stage {
  EncoderPtr encoder;
  std::vector<std::uint16_t> map;  ///< features: `[dim, n_features]` bf16
};

/// An encoder of queries; of documents too, if the kind needs no fit. kInvalidArgument if the
/// arguments do not fit each other.
[[nodiscard]] Result<EncoderPtr> query_encoder(const StageFacts& facts,
                                               std::span<const std::uint16_t> map);
/// A stage for documents like those of `column`. `queries`: tokens of expected queries for a fit;
/// may be empty.
[[nodiscard]] Result<Stage> make_stage(const StageFacts& facts, const FieldColumn& column,
                                       std::span<const std::vector<float>> queries,
                                       const Cancel& cancel);

}  // namespace quiver::index::multi
