// Points with multi-vectors as one binary body: docs/late-interaction.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/schema.h"
#include "engine/model/operation.h"
#include "service/json/error.h"

namespace quiver::service {

inline constexpr std::string_view kRaggedType = "application/vnd.quiver.ragged";

/// 400 unless such bodies can be for `field`.
[[nodiscard]] Decoded<> check_takes_ragged(const FieldSchema& field);

enum class RaggedPayloads : std::uint8_t { kRefused, kTaken };

/// The points of a body, each with the vector of `field` and, where there are payloads, its own.
/// 400 for whatever is not as the format has it: the text names what was found and what was wanted.
[[nodiscard]] Decoded<std::vector<engine::PointInput>> decode_ragged(std::string_view body,
                                                                     const FieldSchema& field,
                                                                     RaggedPayloads payloads);

/// Whether the body says that it ends with points as JSON has them.
[[nodiscard]] bool has_ragged_points(std::string_view body);

/// The upsert of such a body: the tokens of `fields`, in this order, joined to its points.
[[nodiscard]] Decoded<engine::Upsert> decode_ragged_points(std::string_view body,
                                                           std::span<const FieldSchema> fields);

}  // namespace quiver::service
