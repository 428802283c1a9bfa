// The ways to keep and index vectors that `quiver advise` tries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "base/schema.h"

namespace quiver::bench::advise {

/// An index type with build parameters; `flat` is none: all rows are compared.
struct IndexWay {
  std::string type = "flat";
  KeyValues build;
};

/// A type of stored values with an index.
struct Way {
  DType dtype = DType::kF32;
  IndexWay index;
};

/// What a server does unless it is told otherwise.
[[nodiscard]] Way default_way();

/// Indexes with different numbers of bytes, without `flat`, those first that are advised most
/// often: time may not suffice for all. `dim`: of the vectors. A new index type is added here.
[[nodiscard]] std::vector<IndexWay> index_ways(std::uint32_t dim);

/// All types of stored values, also those that cannot hold every vector.
[[nodiscard]] std::vector<DType> row_types();

/// How many search parameters to measure.
enum class Efforts : std::uint8_t { kFew, kMany };
/// Search parameters of an index type, from fast to thorough. An unknown type has its defaults
/// only.
[[nodiscard]] std::vector<KeyValues> efforts_of(std::string_view index_type, Efforts efforts);

/// "none", "ivf", "ivf refine_bits=0 spill=false".
[[nodiscard]] std::string index_text(const IndexWay& index);
/// "turbo8, ivf refine_bits=0"; row types as requests spell them.
[[nodiscard]] std::string way_text(const Way& way);
/// "effort=128"; "" for none.
[[nodiscard]] std::string params_text(const KeyValues& params);

}  // namespace quiver::bench::advise
