// Reads a query's vector straight to floats. It is most of a query's bytes, and parsing them into a
// tree costs more than a small search.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/model/vector.h"

namespace quiver::service::json {

/// Cuts the query vector out of `body`, an object with the vector under `member`, or under
/// `inner_member` of the object there. `[0]` takes its place. The vector is dense if it is an array
/// of numbers, a multi-vector if it is an array of such arrays of one length. Each value is the
/// float nearest to the nearest double. Returns nullopt and leaves the body unchanged if the vector
/// is missing, if a value is not a finite float, or if it is not in the part of the body that is
/// walked over. The tree then reports errors.
[[nodiscard]] std::optional<engine::VectorValue> take_query_vector(std::string& body,
                                                                   std::string_view member,
                                                                   std::string_view inner_member);

}  // namespace quiver::service::json
