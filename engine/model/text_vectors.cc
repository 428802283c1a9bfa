#include "engine/model/text_vectors.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/model/text_settings.h"
#include "payload/json/path.h"

namespace quiver::engine {
namespace {

using payload::Array;
using payload::Object;
using payload::Value;

tl::unexpected<Error> bad_text_vectors() {
  return fail(Code::kDataLoss,
              "stored collection configuration: `text_vectors` is not what a server writes");
}

Value value_of(const std::string& name, const TextVectorField& field) {
  Array keys;
  for (const auto& key : field.keys) keys.push_back(Value(key));
  const auto& text = field.model.analysis;
  const auto tokenizer = payload::kTokenizerNames[static_cast<std::size_t>(text.tokenizer)];
  return Value(Object{{"field", Value(name)},
                      {"keys", Value(std::move(keys))},
                      {"k", Value(field.model.params.k)},
                      {"b", Value(field.model.params.b)},
                      {"mean_length", Value(field.model.mean_length)},
                      {"tokenizer", Value(std::string(tokenizer))},
                      {"lowercase", Value(text.lowercase)},
                      {"min_token_len", Value(std::uint64_t{text.min_token_len})},
                      {"max_token_len", Value(std::uint64_t{text.max_token_len})},
                      {"analysis", analysis_of(text)}});
}

Result<double> read_number(const Value& object, std::string_view name) {
  const Value* member = object.find(name);
  const double* number = member == nullptr ? nullptr : member->as_double();
  if (number == nullptr) return bad_text_vectors();
  return *number;
}

Result<payload::TextOptions> read_options(const Value& object) {
  payload::TextOptions text;
  const Value* tokenizer = object.find("tokenizer");
  const std::string* name = tokenizer == nullptr ? nullptr : tokenizer->as_string();
  const Value* lowercase = object.find("lowercase");
  const bool* is_lower = lowercase == nullptr ? nullptr : lowercase->as_bool();
  const auto least = object.find_unsigned("min_token_len");
  const auto most = object.find_unsigned("max_token_len");
  const Value* analysis = object.find("analysis");
  if (name == nullptr || is_lower == nullptr || !least || !most || analysis == nullptr) {
    return bad_text_vectors();
  }
  const auto found = std::ranges::find(payload::kTokenizerNames, *name);
  if (found == payload::kTokenizerNames.end()) return bad_text_vectors();
  text.tokenizer = static_cast<payload::Tokenizer>(found - payload::kTokenizerNames.begin());
  text.lowercase = *is_lower;
  text.min_token_len = static_cast<std::uint32_t>(*least);
  text.max_token_len = static_cast<std::uint32_t>(*most);
  read_analysis(*analysis, text);
  return text;
}

Result<std::vector<std::string>> read_keys(const Value& object) {
  std::vector<std::string> keys;
  const Value* list = object.find("keys");
  const Array* array = list == nullptr ? nullptr : list->as_array();
  if (array == nullptr || array->empty()) return bad_text_vectors();
  for (const Value& key : *array) {
    const std::string* text = key.as_string();
    if (text == nullptr || !payload::JsonPath::parse(*text)) return bad_text_vectors();
    keys.push_back(*text);
  }
  return keys;
}

Result<TextVectorField> read_text_vector(const Value& object) {
  TextVectorField field;
  QV_TRY(field.keys, read_keys(object));
  QV_TRY(field.model.params.k, read_number(object, "k"));
  QV_TRY(field.model.params.b, read_number(object, "b"));
  QV_TRY(field.model.mean_length, read_number(object, "mean_length"));
  QV_TRY(field.model.analysis, read_options(object));
  return field;
}

}  // namespace

Value to_value(const TextVectorFields& fields) {
  Array array;
  for (const auto& [name, field] : fields) array.push_back(value_of(name, field));
  return Value(std::move(array));
}

Result<TextVectorFields> read_text_vectors(const Value& value) {
  TextVectorFields fields;
  const Array* array = value.as_array();
  if (array == nullptr) return bad_text_vectors();
  for (const Value& object : *array) {
    const Value* name = object.find("field");
    const std::string* text = name == nullptr ? nullptr : name->as_string();
    if (text == nullptr) return bad_text_vectors();
    QV_TRY(fields[*text], read_text_vector(object));
  }
  return fields;
}

}  // namespace quiver::engine
