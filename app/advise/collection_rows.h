// The vectors of a collection, for `quiver advise`.
#pragma once

#include <string>

#include "app/export/options.h"
#include "base/result.h"
#include "base/schema.h"
#include "dataset/vectors.h"

namespace quiver::app {

struct CollectionRows {
  FieldSchema field;
  dataset::Vectors rows;  ///< the points that have the vector, by ascending id
};

/// Reads the dense vectors `field` of `from.collection`; empty: of its only dense field.
/// kInvalidArgument, with the names there are, if there is no such field or no only one.
[[nodiscard]] Result<CollectionRows> read_rows(const ExportOptions& from, const std::string& field);

}  // namespace quiver::app
