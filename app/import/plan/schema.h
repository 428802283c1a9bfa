// The collection an import writes to: what to create, and whether what is there fits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/import/plan/column_reader.h"
#include "app/import/plan/options.h"
#include "base/result.h"
#include "base/schema.h"
#include "engine/model/config.h"

namespace quiver::app {

/// For a body that says what a collection is to be: how many shards a server lets it have is for
/// that server to say.
inline constexpr engine::CreationOptions kAnyCollection{
    .optimizer = {}, .max_shard_number = engine::kMaxShardNumber};

/// kInvalidArgument for a --metric or --dtype that is none.
[[nodiscard]] Result<> check_words(const ImportOptions& options);

/// The JSON body that creates a collection for these sources, from flags where they say something:
/// metric cosine, and the type of values as in the file, unless told otherwise.
[[nodiscard]] Result<std::string> creation_body(const ImportOptions& options,
                                                const std::vector<ColumnReader>& columns);

/// The fields in the body of a creation, or in `config.params` of a collection's description.
[[nodiscard]] Result<std::vector<FieldSchema>> parse_fields(std::string body);

/// kFailedPrecondition unless each column has a field of its name, kind and dimension.
[[nodiscard]] Result<> check_fields(const std::vector<FieldSchema>& fields,
                                    const std::vector<ColumnReader>& columns,
                                    std::string_view collection);

/// kFailedPrecondition unless the fields that are imported to have the metrics and types that
/// --metric and --dtype name. Without columns, all dense and multi fields are.
[[nodiscard]] Result<> check_flags(const std::vector<FieldSchema>& fields,
                                   const std::vector<ColumnReader>& columns,
                                   const ImportOptions& options);

/// kFailedPrecondition unless each of `wanted` is among `fields`, of the same kind, dimension, type
/// and metric.
[[nodiscard]] Result<> check_same(const std::vector<FieldSchema>& fields,
                                  const std::vector<FieldSchema>& wanted,
                                  std::string_view collection);

}  // namespace quiver::app
