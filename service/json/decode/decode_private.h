// Decodes requests about private sums, as decode.h says.
#pragma once

#include <string>
#include <vector>

#include "engine/model/private_sums.h"
#include "service/json/error.h"

namespace quiver::service::json {

struct PrivateSumStart {
  engine::PrivateSumRequest request;
  std::string text;  ///< the body in compact form
};
[[nodiscard]] Decoded<PrivateSumStart> decode_private_sum(std::string& body);
/// {"budget": {"epsilon", "delta"}}
[[nodiscard]] Decoded<engine::PrivacyAmount> decode_private_budget(std::string& body);
/// {"vectors": [[…], …]}
[[nodiscard]] Decoded<std::vector<std::vector<float>>> decode_private_queries(std::string& body);

/// 422 for a name that no private sum can have.
[[nodiscard]] Decoded<> check_private_name(std::string_view name);

}  // namespace quiver::service::json
