// What creating and changing a collection share. Heavy (simdjson): for the .cc files of this folder
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/model/config.h"
#include "service/json/element.h"

namespace quiver::service::json {

/// `vectors` is one set of parameters rather than an object of them by name.
[[nodiscard]] bool is_unnamed(Object vectors);
[[nodiscard]] std::optional<std::uint64_t> unsigned_member(Object object, std::string_view name);
/// Saturates.
[[nodiscard]] std::uint64_t bytes_of_kb(std::uint64_t kb);
/// Takes from `optimizers_config` what has a counterpart in the engine. Types are checked already.
void apply_optimizer(Object object, const engine::CollectionConfig& config,
                     engine::OptimizerConfig& out);
/// 400 unless `optimizers_config.max_optimization_threads` of `body` is a number or "auto".
[[nodiscard]] Decoded<> check_optimization_threads(Object body);

}  // namespace quiver::service::json
