// Sparse fields whose vectors the server makes of payloads: {"modifier": "bm25", "source": …}.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "payload/json/path.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/request_rules.h"

namespace quiver::service::json {
namespace {

constexpr std::string_view kOwnMembers[] = {"source", "analyzer", "k1", "b", "avg_len"};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The parts of `text` between commas.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  std::size_t first = 0;
  for (;;) {
    const std::size_t end = std::min(text.find(',', first), text.size());
    parts.emplace_back(trimmed(text.substr(first, end - first)));
    if (end == text.size()) return parts;
    first = end + 1;
  }
}

/// "title, body" or ["title", "body"].
Decoded<std::vector<std::string>> decode_source(Element element, const Path& path) {
  std::vector<std::string> keys;
  if (element.is_string()) {
    keys = parts_of(as_string(element));
  } else {
    QV_TRY(keys, decode_strings(element, path));
  }
  if (keys.empty()) return validation_error(path, "names no payload key, must name at least one");
  for (const auto& key : keys) {
    if (auto parsed = payload::JsonPath::parse(key); !parsed) {
      return format_error(path, parsed.error().message());
    }
  }
  return keys;
}

Decoded<payload::TextVectorModel> decode_text_vector_model(Object params, const Path& path) {
  payload::TextVectorModel model;
  if (const auto k = find(params, "k1")) {
    QV_TRY(model.params.k, get_f64(*k, path.member("k1")));
  }
  if (const auto b = find(params, "b")) {
    QV_TRY(model.params.b, get_f64(*b, path.member("b")));
  }
  QV_TRY(check_bm25(model.params, path));
  if (const auto length = find(params, "avg_len")) {
    const Path here = path.member("avg_len");
    QV_TRY(model.mean_length, get_f64(*length, here));
    if (!(model.mean_length > 0)) return out_of_range(here, to_json(*length), "more than 0");
  }
  if (const auto analyzer = find(params, "analyzer")) {
    const Path here = path.member("analyzer");
    QV_TRY(const Object options, get_object(*analyzer, here));
    QV_TRY(read_text_options(options, here, model.analysis));
  }
  return model;
}

bool wants_text_vectors(Object params) {
  const auto modifier = find(params, "modifier");
  return modifier && modifier->is_string() && as_string(*modifier) == "bm25";
}

}  // namespace

Decoded<> refuse_text_vectors(Object params, const Path& path, std::string_view why) {
  if (wants_text_vectors(params)) return wrong_input(fmt::format("{}: {}", path.to_string(), why));
  for (const auto name : kOwnMembers) {
    if (find(params, name)) {
      return wrong_input(fmt::format("{}: {}", path.member(name).to_string(), why));
    }
  }
  return {};
}

Decoded<std::optional<engine::TextVectorField>> decode_text_vectors(Object params,
                                                                    const Path& path) {
  std::optional<engine::TextVectorField> field;
  if (!wants_text_vectors(params)) {
    QV_TRY(refuse_text_vectors(params, path, "is only for sparse vectors with `modifier` `bm25`"));
    return field;
  }
  const auto source = find(params, "source");
  if (!source) {
    return wrong_input(fmt::format(
        "{}: `modifier` `bm25` needs `source`, the payload keys of the texts of which the server "
        "makes the vectors; for vectors that clients send, `modifier` is `idf`",
        path.to_string()));
  }
  field.emplace();
  QV_TRY(field->keys, decode_source(*source, path.member("source")));
  QV_TRY(field->model, decode_text_vector_model(params, path));
  return field;
}

}  // namespace quiver::service::json
