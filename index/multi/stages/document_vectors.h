// The vectors of a stage, one for each document: a dense column, for as long as an index is built.
#pragma once

#include "base/io/file.h"
#include "base/result.h"
#include "encoders/set_encoder.h"
#include "index/index.h"

namespace quiver::index::multi {

/// Encodes the documents of `column` into a file `name` in `out`, which the caller removes; of
/// metric Dot, f16. Memory: some ten megabytes beside the mapped file.
[[nodiscard]] Result<FieldColumn> encode_documents(const FieldColumn& column,
                                                   const encoders::SetEncoder& encoder,
                                                   const BuildContext& context, Directory& out,
                                                   std::string_view name);

/// The schema of that column.
[[nodiscard]] FieldSchema vector_schema(std::uint32_t dim);

}  // namespace quiver::index::multi
