// Decodes points with multi-vectors from one binary body: docs/late-interaction.md.
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

/// 400 unless `field` can be filled from such a body.
[[nodiscard]] Decoded<> check_takes_ragged(const FieldSchema& field);

enum class RaggedPayloads : std::uint8_t { kRefused, kTaken };

/// Decodes the points of a body, each with the vector of `field` and with its payload if there are
/// payloads. 400 where the body breaks the format; the text names what was found and what was
/// wanted.
[[nodiscard]] Decoded<std::vector<engine::PointInput>> decode_ragged(std::string_view body,
                                                                     const FieldSchema& field,
                                                                     RaggedPayloads payloads);

/// True if the header says that points in JSON follow at the end.
[[nodiscard]] bool has_ragged_points(std::string_view body);

/// Decodes such a body: the tokens of `fields`, in this order, joined to the points in JSON.
[[nodiscard]] Decoded<engine::Upsert> decode_ragged_points(std::string_view body,
                                                           std::span<const FieldSchema> fields);

}  // namespace quiver::service
