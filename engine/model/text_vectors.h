// Sparse fields whose vectors the server makes of texts in the payload, on every write.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "payload/bm25/text_vector.h"
#include "payload/json/document.h"

namespace quiver::engine {

/// The texts under all keys of a point count as one text.
struct TextVectorField {
  std::vector<std::string> keys;  ///< payload paths, at least one
  payload::TextVectorModel model;

  bool operator==(const TextVectorField&) const = default;
};
/// By the name of the sparse field.
using TextVectorFields = std::map<std::string, TextVectorField, std::less<>>;

/// As they are stored in the catalog.
[[nodiscard]] payload::Value to_value(const TextVectorFields& fields);
/// kDataLoss if `value` is not what `to_value` writes.
[[nodiscard]] Result<TextVectorFields> read_text_vectors(const payload::Value& value);

}  // namespace quiver::engine
