// The first stage of a search of multi-vectors: token sets as single vectors, whose scalar products
// find the documents that are worth comparing token by token.
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
#include "index/multi/params.h"

namespace quiver::index::multi {

enum class StageKind : std::uint32_t { kMean = 0, kFde = 1, kFeatures = 2 };

[[nodiscard]] std::string_view to_string(StageKind kind);
/// kInvalidArgument names the stages there are.
[[nodiscard]] Result<StageKind> parse_stage(std::string_view name);

/// Everything that the encoder of queries is made from; part of the file.
struct StageFacts {
  StageKind kind = StageKind::kMean;
  std::uint32_t token_dim = 0;
  std::uint64_t seed = 0;
  std::uint32_t version = 0;      ///< of the kind's generator
  std::uint32_t dim = 0;          ///< of the vectors
  std::uint32_t repetitions = 0;  ///< fde, as the next three
  std::uint32_t planes = 0;
  std::uint32_t projection = 0;  ///< 0: tokens are not projected
  float renormalisation = 0;
  std::uint32_t n_features = 0;  ///< features
  std::uint32_t final_dim = 0;   ///< fde; 0: without a last projection
};
static_assert(sizeof(StageFacts) == 48);

/// What a field's documents are like.
struct FieldShape {
  std::uint32_t token_dim = 0;
  double tokens_per_row = 0;
  std::uint32_t n_rows = 0;
};

/// What a stage of this kind is for such documents, with all that `params` leaves open in place.
[[nodiscard]] StageFacts stage_facts(StageKind kind, const MultiBuildParams& params,
                                     const FieldShape& shape, std::uint64_t seed);

/// Bits a dimension of the vectors' codes that are scanned: as many as make them some hundred bytes
/// a document, unless `params` say how many.
[[nodiscard]] std::uint32_t scanned_bits(const MultiBuildParams& params, std::uint32_t dim);

/// False if `facts` are not those of a stage of such tokens that this program can make.
[[nodiscard]] bool are_possible(const StageFacts& facts, std::uint32_t token_dim);

using EncoderPtr = std::unique_ptr<const encoders::SetEncoder>;

/// A stage as documents are encoded with it, and what besides its facts must be kept to encode
/// queries.
struct Stage {
  EncoderPtr encoder;
  std::vector<std::uint16_t> map;  ///< features: `[dim, n_features]` bf16
};

/// Encodes queries only, if the kind's documents take a fit. kInvalidArgument if the arguments do
/// not fit each other.
[[nodiscard]] Result<EncoderPtr> query_encoder(const StageFacts& facts,
                                               std::span<const std::uint16_t> map);
/// For documents like those of `column`. `queries`: the tokens of such as will be asked, of which a
/// fit learns; may be none.
[[nodiscard]] Result<Stage> make_stage(const StageFacts& facts, const FieldColumn& column,
                                       std::span<const std::vector<float>> queries,
                                       const Cancel& cancel);

}  // namespace quiver::index::multi
