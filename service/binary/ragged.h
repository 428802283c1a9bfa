// Points with one multi-vector each as one binary body: docs/late-interaction.md.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/schema.h"
#include "engine/operation.h"
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

}  // namespace quiver::service
