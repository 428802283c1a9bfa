#include "engine/write/text_vector_rows.h"

#include <string_view>
#include <utility>
#include <vector>

#include "payload/bm25/text_vector.h"
#include "payload/json/document.h"
#include "payload/json/path.h"

namespace quiver::engine {
namespace {

Result<StoredVector> vector_of(const TextVectorField& field, const payload::Value& document) {
  std::vector<std::string_view> texts;
  for (const auto& key : field.keys) {
    QV_TRY(const auto path, payload::JsonPath::parse(key));
    payload::for_each_element(document, path, [&](const payload::Value& value) {
      if (const auto* text = value.as_string()) texts.push_back(*text);
    });
  }
  auto vector = payload::text_vector(field.model, texts, payload::TokenUse::kDocument);
  if (vector.indices.empty()) return StoredVector();
  return StoredVector(SparseVector{std::move(vector.indices), std::move(vector.values)});
}

}  // namespace

Result<> make_text_vectors(const CollectionConfig& config, Row& row) {
  if (config.text_vectors.empty()) return {};
  QV_TRY(const auto document, payload::parse_json(row.payload));
  for (const auto& [name, field] : config.text_vectors) {
    QV_TRY(const std::size_t number, config.field(name));
    QV_TRY(row.vectors[number], vector_of(field, document));
  }
  return {};
}

}  // namespace quiver::engine
