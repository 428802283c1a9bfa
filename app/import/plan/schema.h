// The target collection of an import: how to create it, and whether an existing one fits.
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

/// Options for decoding a creation body. The shard limit is the largest possible: the server
/// applies its own.
inline constexpr engine::CreationOptions kAnyCollection{
    .optimizer = {}, .max_shard_number = engine::kMaxShardNumber};

/// kInvalidArgument for an unknown word in --metric or --dtype.
[[nodiscard]] Result<> check_words(const ImportOptions& options);

/// The JSON body that creates a collection for these sources. Without flags, the metric is cosine
/// and the type of values that of the file.
[[nodiscard]] Result<std::string> creation_body(const ImportOptions& options,
                                                const std::vector<ColumnReader>& columns);

/// Parses the fields of a creation body, or of `config.params` in a collection's description.
[[nodiscard]] Result<std::vector<FieldSchema>> parse_fields(std::string body);

/// kFailedPrecondition unless each column has a field of its name, kind and dimension.
[[nodiscard]] Result<> check_fields(const std::vector<FieldSchema>& fields,
                                    const std::vector<ColumnReader>& columns,
                                    std::string_view collection);

/// kFailedPrecondition unless the fields of `columns` have the metrics and types of --metric and
/// --dtype. Without columns it checks all dense and multi fields.
[[nodiscard]] Result<> check_flags(const std::vector<FieldSchema>& fields,
                                   const std::vector<ColumnReader>& columns,
                                   const ImportOptions& options);

/// kFailedPrecondition unless each field of `wanted` is in `fields` with the same kind, dimension,
/// type and metric.
[[nodiscard]] Result<> check_same(const std::vector<FieldSchema>& fields,
                                  const std::vector<FieldSchema>& wanted,
                                  std::string_view collection);

}  // namespace quiver::app
