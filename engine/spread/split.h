// An update in parts, one for each part of a collection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/model/operation.h"

namespace quiver::engine {

/// The operations of a request that one part gets.
struct PartOperations {
  std::vector<std::size_t> numbers;  ///< positions of the operations in the request
  std::vector<Operation> operations;
};

/// One for each part. An operation by a filter is for all parts.
[[nodiscard]] std::vector<PartOperations> split_by_part(std::vector<Operation> operations,
                                                        std::uint32_t n_parts);

}  // namespace quiver::engine
