#include <fmt/format.h>

#include <cmath>

#include "service/json/decode/decode_parts.h"
#include "service/json/request_rules.h"

namespace quiver::service::json {
namespace {

using engine::DenseVector;
using engine::MultiVector;
using engine::NamedVector;
using engine::SparseVector;
using engine::VectorValue;

/// Appends the numbers of `array`. The hot loop of every upsert.
Decoded<> append_floats(Array array, const Path& path, std::vector<float>& out) {
  // A vector that already holds rows grows by itself. Room for one row at a time would move all the
  // others each time.
  if (out.empty()) out.reserve(array.size());
  std::size_t i = 0;
  for (const Element item : array) {
    double value = 0;
    if (item.get(value) != simdjson::SUCCESS) [[unlikely]] {
      return wrong_type(item, path.item(i), "a 32-bit float");
    }
    const auto narrow = static_cast<float>(value);
    if (!std::isfinite(narrow)) [[unlikely]] {
      return wrong_type(item, path.item(i), "a finite 32-bit float");
    }
    out.push_back(narrow);
    ++i;
  }
  return {};
}

bool is_matrix(Array array) {
  const auto first = array.begin();
  return first != array.end() && (*first).is_array();
}

/// Appends row after row. Checks their number and that they have one length.
Decoded<VectorValue> decode_matrix(Array array, const Path& path) {
  MultiVector multi;
  for (const Element row : array) {
    QV_TRY(const Array values, get_array(row, path.item(multi.n_tokens)));
    QV_TRY(add_row(multi, values.size(), path));
    QV_TRY(append_floats(values, path.item(multi.n_tokens - 1), multi.values));
  }
  return VectorValue(std::move(multi));
}

Decoded<VectorValue> decode_sparse(Object object, const Path& path) {
  SparseVector sparse;
  const Path at_indices = path.member("indices");
  QV_TRY(const Element indices, require(object, "indices", path));
  QV_TRY(const Array index_array, get_array(indices, at_indices));
  sparse.indices.reserve(index_array.size());
  for (const Element item : index_array) {
    QV_TRY(const auto index, get_u32(item, at_indices.item(sparse.indices.size())));
    sparse.indices.push_back(index);
  }
  const Path at_values = path.member("values");
  QV_TRY(const Element values, require(object, "values", path));
  QV_TRY(const Array value_array, get_array(values, at_values));
  QV_TRY(append_floats(value_array, at_values, sparse.values));
  QV_TRY(finish_sparse(sparse, path));
  return VectorValue(std::move(sparse));
}

Decoded<VectorValue> decode_array(Array array, const Path& path) {
  if (is_matrix(array)) return decode_matrix(array, path);
  DenseVector dense;
  QV_TRY(append_floats(array, path, dense));
  return VectorValue(std::move(dense));
}

Decoded<VectorValue> decode_any(Element element, const Path& path, payload::TokenUse use) {
  if (element.is_array()) return decode_array(as_array(element), path);
  if (!element.is_object()) {
    return wrong_type(element, path, "an array of numbers, an array of such arrays, or an object");
  }
  const Object object = as_object(element);
  if (is_inference(object)) return decode_document(object, path, use);
  return decode_sparse(object, path);
}

}  // namespace

bool is_inference(Object object) {
  const auto model = find(object, "model");
  return model && model->is_string();
}

bool is_sparse(Object object) { return find(object, "indices") && find(object, "values"); }

Decoded<VectorValue> decode_vector(Element element, const Path& path) {
  return decode_any(element, path, payload::TokenUse::kQuery);
}

Decoded<VectorValue> decode_stored_vector(Element element, const Path& path) {
  if (element.is_array() && as_array(element).size() == 0) {
    return validation_error(path.member("vector"), "dense vector must not be empty");
  }
  return decode_any(element, path, payload::TokenUse::kDocument);
}

Decoded<std::vector<NamedVector>> decode_vectors(Element element, const Path& path) {
  std::vector<NamedVector> vectors;
  if (!element.is_object() || is_inference(as_object(element))) {
    QV_TRY(auto value, decode_stored_vector(element, path));
    vectors.push_back(NamedVector{"", std::move(value)});
    return vectors;
  }
  const Object object = as_object(element);
  const Path any_name = path.member("?");
  for (const auto [name, value] : object) {
    QV_TRY(auto vector, decode_stored_vector(value, any_name));
    vectors.push_back(NamedVector{std::string(name), std::move(vector)});
  }
  return vectors;
}

}  // namespace quiver::service::json
