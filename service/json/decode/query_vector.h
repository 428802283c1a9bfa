// A query's vector read straight to floats: it is most of a query's bytes, and a tree of them costs
// more than a small search.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/model/vector.h"

namespace quiver::service::json {

/// The query vector of `body`, an object with the vector under `member`, or under `inner_member` in
/// the object there: dense if it is an array of numbers, a multi-vector if it is one of such arrays
/// of one length, each value the float nearest to the nearest double. In its place the body is left
/// with `[0]`. nullopt, with the body as it was, if what is there is neither (the tree then says
/// what is wrong), holds what is no finite float, or is not found quickly.
[[nodiscard]] std::optional<engine::VectorValue> take_query_vector(std::string& body,
                                                                   std::string_view member,
                                                                   std::string_view inner_member);

}  // namespace quiver::service::json
