// Sparse vectors of texts, for fields whose vectors are made of payloads, and for stock clients,
// who ask for them under the name `qdrant/bm25`. Nothing of the collection is known: IDF comes from
// the field's modifier, the mean length from the model.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "payload/bm25/bm25.h"
#include "payload/text/analyzer.h"
#include "payload/text_options.h"

namespace quiver::payload {

struct TextVectorModel {
  Bm25Params params;
  double mean_length = 256;  ///< > 0, tokens of the texts that are expected
  TextOptions analysis;

  bool operator==(const TextVectorModel&) const = default;
};

struct TextVector {
  std::vector<std::uint32_t> indices;  ///< ascending; `token_index` of each token
  std::vector<float> values;
};

/// kDocument: tf * (k + 1) / (tf + k * (1 - b + b * length / mean_length)) of each token.
/// kQuery: 1 for each token.
[[nodiscard]] TextVector text_vector(const TextVectorModel& model, std::string_view text,
                                     TokenUse use);

/// The same for several texts that count as one: their counts and lengths are added.
[[nodiscard]] TextVector text_vector(const TextVectorModel& model,
                                     std::span<const std::string_view> texts, TokenUse use);

/// The absolute value of the token's MurmurHash3 (32 bits, seed 0) as a signed number. Vectors that
/// other servers and clients made have the same indices.
[[nodiscard]] std::uint32_t token_index(std::string_view token);

}  // namespace quiver::payload
