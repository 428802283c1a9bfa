// A JSON array of numbers read straight to floats: a query vector is most of a query's bytes, and a
// tree of them costs more than a small search.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quiver::service::json {

/// Reads the array at the head of `text` (its first byte is '[') into `out`, each value the float
/// nearest to the nearest double, as the tree gives it. Returns the array's length in bytes;
/// nullopt, with `out` in no particular state, if it is empty or holds anything but numbers that
/// are finite floats: the tree then says what is wrong.
[[nodiscard]] std::optional<std::size_t> read_float_array(std::string_view text,
                                                          std::vector<float>& out);

/// The dense query vector of `body`, an object with the vector under `member`, or under
/// `inner_member` in the object there. In its place the body is left with `[0]`. nullopt, with the
/// body as it was, if what is there is not a plain array of numbers or is not found quickly.
[[nodiscard]] std::optional<std::vector<float>> take_query_vector(std::string& body,
                                                                  std::string_view member,
                                                                  std::string_view inner_member);

}  // namespace quiver::service::json
