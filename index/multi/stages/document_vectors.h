// The documents' vectors of a first stage, as a dense column that exists during a build.
#pragma once

#include "base/io/file.h"
#include "base/result.h"
#include "encoders/set_encoder.h"
#include "index/index.h"

namespace quiver::index::multi {

/// Encodes the documents of `column` as f16 vectors of metric Dot, in file `name` of `out`, which
/// the caller removes. Memory: some 10 MB besides the mapped file.
[[nodiscard]] Result<FieldColumn> encode_documents(const FieldColumn& column,
                                                   const encoders::SetEncoder& encoder,
                                                   const BuildContext& context, Directory& out,
                                                   std::string_view name);

/// Schema of that column.
[[nodiscard]] FieldSchema vector_schema(std::uint32_t dim);

}  // namespace quiver::index::multi
