// The field into which a join writes vectors.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "base/result.h"
#include "engine/model/config.h"

namespace quiver::engine {

/// kInvalidArgument, saying what is there, unless the field is dense with `dim` dimensions.
[[nodiscard]] inline Result<> check_takes_vectors(const FieldSchema& field, std::uint32_t dim) {
  if (field.kind == FieldKind::kDense && field.dim == dim) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("vectors of {} dimensions do not go into the {} field `{}` of {}", dim,
                          kind_name(field.kind), field.name, field.dim));
}

}  // namespace quiver::engine
