// Parts that creating and changing a collection share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/model/config.h"
#include "service/json/element.h"

namespace quiver::service::json {

/// True if `vectors` is one set of parameters, false if it is an object of such sets by name.
[[nodiscard]] bool is_unnamed(Object vectors);
[[nodiscard]] std::optional<std::uint64_t> unsigned_member(Object object, std::string_view name);
/// The largest number if the product does not fit.
[[nodiscard]] std::uint64_t bytes_of_kb(std::uint64_t kb);
/// Copies the members of `optimizers_config` that the engine knows. Their types were checked
/// before.
void apply_optimizer(Object object, const engine::CollectionConfig& config,
                     engine::OptimizerConfig& out);
/// 400 unless `optimizers_config.max_optimization_threads` of `body` is a number or "auto".
[[nodiscard]] Decoded<> check_optimization_threads(Object body);

}  // namespace quiver::service::json
