// Payload indexes, aliases, and the names and ids of paths.
#include <fmt/format.h>

#include <algorithm>

#include "service/api/names.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/decode/shape.h"

namespace quiver::service::json {
namespace {

using engine::AliasAction;
using payload::FieldIndex;
using payload::IndexKind;
using payload::Tokenizer;

template <class T>
struct Named {
  std::string_view name;
  T value;
};

constexpr Named<IndexKind> kKinds[] = {
    {"keyword", IndexKind::kKeyword}, {"integer", IndexKind::kInteger},
    {"float", IndexKind::kFloat},     {"bool", IndexKind::kBool},
    {"geo", IndexKind::kGeo},         {"datetime", IndexKind::kDatetime},
    {"uuid", IndexKind::kUuid},       {"text", IndexKind::kText},
};
constexpr Named<Tokenizer> kTokenizers[] = {
    {"word", Tokenizer::kWord},
    {"whitespace", Tokenizer::kWhitespace},
    {"prefix", Tokenizer::kPrefix},
    {"multilingual", Tokenizer::kMultilingual},
};

template <class T, std::size_t n>
Decoded<T> decode_name(Element element, const Path& path, const Named<T> (&table)[n]) {
  QV_TRY(const auto text, get_string(element, path));
  std::string known;
  for (const auto& [name, value] : table) {
    if (name == text) return value;
    known += fmt::format("{}`{}`", known.empty() ? "" : ", ", name);
  }
  return format_error(path, fmt::format("unknown variant `{}`, expected one of {}", text, known));
}

Decoded<bool> decode_bool(Object object, std::string_view name, const Path& path, bool otherwise) {
  const auto element = find(object, name);
  if (!element) return otherwise;
  return get_bool(*element, path.member(name));
}

Decoded<std::uint32_t> decode_length(Object object, std::string_view name, const Path& path) {
  const auto element = find(object, name);
  if (!element) return std::uint32_t{0};
  return get_u32(*element, path.member(name));
}

Decoded<payload::TextOptions> decode_text_options(Object object, const Path& path) {
  payload::TextOptions options;
  if (const auto tokenizer = find(object, "tokenizer")) {
    QV_TRY(options.tokenizer, decode_name(*tokenizer, path.member("tokenizer"), kTokenizers));
  }
  QV_TRY(options.lowercase, decode_bool(object, "lowercase", path, options.lowercase));
  QV_TRY(options.phrase_matching,
         decode_bool(object, "phrase_matching", path, options.phrase_matching));
  QV_TRY(options.min_token_len, decode_length(object, "min_token_len", path));
  QV_TRY(options.max_token_len, decode_length(object, "max_token_len", path));
  return options;
}

constexpr std::string_view kStopwordLanguages[] = {
    "arabic",   "azerbaijani", "basque",   "bengali",   "catalan",    "chinese",
    "danish",   "dutch",       "english",  "finnish",   "french",     "german",
    "greek",    "hebrew",      "hinglish", "hungarian", "indonesian", "italian",
    "japanese", "kazakh",      "nepali",   "norwegian", "portuguese", "romanian",
    "russian",  "slovene",     "spanish",  "swedish",   "tajik",      "turkish"};

Decoded<> check_stopword_language(Element element, const Path& path) {
  QV_TRY(const auto language, get_string(element, path));
  const auto* end = std::end(kStopwordLanguages);
  if (std::find(std::begin(kStopwordLanguages), end, language) != end) return {};
  return format_error(path, fmt::format("unknown variant `{}`, expected one of `{}`", language,
                                        fmt::join(kStopwordLanguages, "`, `")));
}

/// A language, or {languages, custom}.
Decoded<> check_stopwords(Element element, const Path& path) {
  if (element.is_string()) return check_stopword_language(element, path);
  QV_TRY(const Object object, get_object(element, path));
  if (const auto languages = find(object, "languages")) {
    QV_TRY(const Array array, get_array(*languages, path.member("languages")));
    for (const Element language : array) {
      QV_TRY(check_stopword_language(language, path.member("languages")));
    }
  }
  if (const auto custom = find(object, "custom")) {
    QV_TRY(const Array array, get_array(*custom, path.member("custom")));
    for (const Element word : array) {
      QV_TRY(get_string(word, path.member("custom")));
    }
  }
  return {};
}

/// Of an integer index: for lookups or ranges.
Decoded<> check_is_good_for_something(Object object, const FieldIndex& index, const Path& path) {
  QV_TRY(const bool lookup, decode_bool(object, "lookup", path, true));
  if (lookup || index.range) return {};
  return validation_error(path.member("lookup"),
                          "the 'lookup' and 'range' capabilities can't be both disabled");
}

Decoded<> decode_schema(Element element, const Path& path, FieldIndex& index) {
  if (element.is_string()) {
    QV_TRY(index.kind, decode_name(element, path, kKinds));
    index.client_settings = to_json(element);
    return {};
  }
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element type, require(object, "type", path));
  QV_TRY(index.kind, decode_name(type, path.member("type"), kKinds));
  QV_TRY(index.range, decode_bool(object, "range", path, true));
  if (index.kind == IndexKind::kInteger) QV_TRY(check_is_good_for_something(object, index, path));
  if (index.kind == IndexKind::kText) {
    QV_TRY(index.text, decode_text_options(object, path));
    if (const auto stopwords = find(object, "stopwords")) {
      QV_TRY(check_stopwords(*stopwords, path.member("stopwords")));
    }
  }
  return append_shaped(index.client_settings, object, index_shape(index.kind), path);
}

Decoded<std::string> decode_member_string(Object object, std::string_view name, const Path& path) {
  QV_TRY(const Element element, require(object, name, path));
  QV_TRY(const auto text, get_string(element, path.member(name)));
  return std::string(text);
}

Decoded<AliasAction> decode_alias_action(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  if (const auto value = find(object, "create_alias")) {
    const Path here = path.member("create_alias");
    QV_TRY(const Object create, get_object(*value, here));
    engine::CreateAlias action;
    QV_TRY(action.collection, decode_member_string(create, "collection_name", here));
    QV_TRY(action.alias, decode_member_string(create, "alias_name", here));
    if (!api::is_collection_name(action.alias)) {
      return validation_error(
          here.member("alias_name"),
          fmt::format("value \"{}\" invalid, no name for an alias", action.alias));
    }
    return AliasAction(std::move(action));
  }
  if (const auto value = find(object, "delete_alias")) {
    const Path here = path.member("delete_alias");
    QV_TRY(const Object remove, get_object(*value, here));
    QV_TRY(auto alias, decode_member_string(remove, "alias_name", here));
    return AliasAction(engine::DeleteAlias{std::move(alias)});
  }
  if (const auto value = find(object, "rename_alias")) {
    const Path here = path.member("rename_alias");
    QV_TRY(const Object rename, get_object(*value, here));
    QV_TRY(auto old_alias, decode_member_string(rename, "old_alias_name", here));
    QV_TRY(auto new_alias, decode_member_string(rename, "new_alias_name", here));
    if (!api::is_collection_name(new_alias)) {
      return validation_error(here.member("new_alias_name"),
                              fmt::format("value \"{}\" invalid, no name for an alias", new_alias));
    }
    return AliasAction(engine::RenameAlias{std::move(old_alias), std::move(new_alias)});
  }
  return format_error(path,
                      "unknown action, expected one of `create_alias`, `delete_alias`, "
                      "`rename_alias`");
}

/// `named`: what is wrong with the name of a collection, if anything.
Decoded<> path_name(const Result<>& named) {
  if (named) return {};
  return fail(ApiError(422, fmt::format("Validation error in path parameters: [name: {}]",
                                        named.error().message())));
}

}  // namespace

Decoded<FieldIndex> decode_index(std::string& body) {
  const Path root;
  FieldIndex index;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(index.key, decode_member_string(object, "field_name", root));
  if (auto parsed = payload::JsonPath::parse(index.key); !parsed) {
    return format_error(root.member("field_name"), parsed.error().message());
  }
  const auto schema = find(object, {"field_schema", "field_type"});
  if (!schema) {
    return wrong_input(
        "Can't auto-detect field type, please specify `field_schema` in the request");
  }
  QV_TRY(decode_schema(*schema, root.member("field_schema"), index));
  return index;
}

Decoded<std::vector<AliasAction>> decode_alias_actions(std::string& body) {
  const Path root;
  const Path at_actions = root.member("actions");
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element element, require(object, "actions", root));
  QV_TRY(const Array array, get_array(element, at_actions));
  std::vector<AliasAction> actions;
  for (const Element item : array) {
    QV_TRY(auto action, decode_alias_action(item, at_actions.item(actions.size())));
    actions.push_back(std::move(action));
  }
  return actions;
}

Decoded<PointId> parse_path_id(std::string_view text) {
  if (const auto id = PointId::parse(text)) return *id;
  return wrong_input(fmt::format("Can not recognize \"{}\" as point id", text));
}

Decoded<> check_name_length(std::string_view name) {
  return path_name(api::check_name_length(name));
}

Decoded<> check_collection_name(std::string_view name) {
  return path_name(api::check_collection_name(name));
}

}  // namespace quiver::service::json
