// Payload indexes: their types and the parameters of each type.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "payload/text/splitting.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/decode/shape.h"

namespace quiver::service::json {
namespace {

using enum ValueType;
using payload::FieldIndex;
using payload::IndexKind;

constexpr std::string_view kMemories[] = {"cold", "cached", "pinned"};
constexpr std::string_view kStemmers[] = {"snowball", "none"};

constexpr ShapeMember kType = {.name = "type", .type = kString};
constexpr ShapeMember kOnDisk = {.name = "on_disk", .type = kBool};
constexpr ShapeMember kMemory = {.name = "memory", .type = kString, .values = kMemories};
constexpr ShapeMember kEnableHnsw = {.name = "enable_hnsw", .type = kBool};
constexpr ShapeMember kIsTenant = {.name = "is_tenant", .type = kBool};
constexpr ShapeMember kIsPrincipal = {.name = "is_principal", .type = kBool};
constexpr ShapeMember kNested = {
    .name = "nested", .refused = "indexes of an array's objects one by one are not supported"};

constexpr ShapeMember kStemmer[] = {
    {.name = "type", .type = kString, .values = kStemmers, .required = true},
    {.name = "language", .type = kString, .values = payload::kStemmerLanguages},
};
constexpr Shape kStemmerShape = {kStemmer};

constexpr ShapeMember kPlain[] = {kType, kOnDisk, kMemory, kEnableHnsw, kNested};
constexpr ShapeMember kKeyword[] = {
    kType, kOnDisk, kMemory, kEnableHnsw, kIsTenant, {.name = "prefix", .type = kBool}, kNested};
constexpr ShapeMember kUuid[] = {kType, kOnDisk, kMemory, kEnableHnsw, kIsTenant, kNested};
constexpr ShapeMember kOrdered[] = {kType, kOnDisk, kMemory, kEnableHnsw, kIsPrincipal, kNested};
constexpr ShapeMember kInteger[] = {kType,
                                    kOnDisk,
                                    kMemory,
                                    kEnableHnsw,
                                    kIsPrincipal,
                                    {.name = "lookup", .type = kBool},
                                    {.name = "range", .type = kBool},
                                    kNested};
constexpr ShapeMember kText[] = {
    kType,
    kOnDisk,
    kMemory,
    kEnableHnsw,
    {.name = "tokenizer", .type = kString},
    {.name = "min_token_len", .type = kUnsigned},
    {.name = "max_token_len", .type = kUnsigned},
    {.name = "lowercase", .type = kBool},
    {.name = "ascii_folding", .type = kBool},
    {.name = "phrase_matching", .type = kBool},
    {.name = "stopwords"},
    {.name = "stemmer", .type = kObject, .shape = &kStemmerShape},
    {.name = "scoring"},
    {.name = "synonyms"},
    kNested,
};

constexpr Shape kPlainShape = {kPlain};
constexpr Shape kKeywordShape = {kKeyword};
constexpr Shape kUuidShape = {kUuid};
constexpr Shape kOrderedShape = {kOrdered};
constexpr Shape kIntegerShape = {kInteger};
constexpr Shape kTextShape = {kText};

/// The position of a name in `names`.
Decoded<std::size_t> decode_name(Element element, const Path& path,
                                 std::span<const std::string_view> names) {
  QV_TRY(const auto text, get_string(element, path));
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  return format_error(path, fmt::format("unknown variant `{}`, expected one of `{}`", text,
                                        fmt::join(names, "`, `")));
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

/// Appends the named language.
Decoded<> read_stopword_language(Element element, const Path& path, payload::Stopwords& out) {
  QV_TRY(const auto i, decode_name(element, path, payload::kStopwordLanguages));
  out.languages.push_back(static_cast<payload::StopwordLanguage>(i));
  return {};
}

/// A language, or {languages, custom}.
Decoded<> read_stopwords(Element element, const Path& path, payload::Stopwords& out) {
  if (element.is_string()) return read_stopword_language(element, path, out);
  QV_TRY(const Object object, get_object(element, path));
  if (const auto languages = find(object, "languages")) {
    QV_TRY(const Array array, get_array(*languages, path.member("languages")));
    for (const Element language : array) {
      QV_TRY(read_stopword_language(language, path.member("languages"), out));
    }
  }
  if (const auto custom = find(object, "custom")) {
    QV_TRY(const Array array, get_array(*custom, path.member("custom")));
    for (const Element word : array) {
      QV_TRY(const auto text, get_string(word, path.member("custom")));
      out.custom.emplace_back(text);
    }
  }
  out.normalize();
  return {};
}

/// {"type": "snowball", "language": …} or {"type": "none"}.
Decoded<> read_stemmer(Element element, const Path& path, payload::TextOptions& text) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element type, require(object, "type", path));
  QV_TRY(const auto kind, decode_name(type, path.member("type"), kStemmers));
  if (kStemmers[kind] == "none") return {};
  QV_TRY(const Element language, require(object, "language", path));
  QV_TRY(const auto i, decode_name(language, path.member("language"), payload::kStemmerLanguages));
  text.stemmer = static_cast<payload::StemmerLanguage>(i);
  return {};
}

/// 400 unless the tokenizer makes one piece of the word.
Decoded<> check_synonym(std::string_view word, payload::Tokenizer tokenizer, const Path& path) {
  std::size_t n_pieces = 0;
  bool is_whole = true;
  payload::split(word, tokenizer, [&](const payload::Piece& piece) {
    ++n_pieces;
    is_whole = piece.text == word;
  });
  if (n_pieces == 1 && is_whole) return {};
  return format_error(path, fmt::format("`{}` is no single word of the tokenizer, but {} words{}",
                                        word, n_pieces, is_whole ? "" : " and other characters"));
}

/// Groups of words: [["car", "automobile"], …].
Decoded<> read_synonyms(Element element, const Path& path, payload::TextOptions& text) {
  QV_TRY(const Array groups, get_array(element, path));
  std::size_t n_words = 0;
  for (const Element group : groups) {
    const Path here = path.item(text.synonyms.size());
    QV_TRY(auto words, decode_strings(group, here));
    for (const auto& word : words) QV_TRY(check_synonym(word, text.tokenizer, here));
    n_words += words.size();
    text.synonyms.push_back(std::move(words));
  }
  if (n_words <= payload::TextOptions::kMaxSynonyms) return {};
  return validation_error(path, fmt::format("{} words, must be at most {}", n_words,
                                            payload::TextOptions::kMaxSynonyms));
}

/// `true`, `false`, or {"type": "bm25"}.
Decoded<bool> decode_scoring(Element element, const Path& path) {
  if (!element.is_object()) return get_bool(element, path);
  QV_TRY(const Element type, require(as_object(element), "type", path));
  QV_TRY(const auto name, get_string(type, path.member("type")));
  if (name == "bm25") return true;
  return format_error(path.member("type"),
                      fmt::format("unknown variant `{}`, expected `bm25`", name));
}

}  // namespace

Decoded<> read_text_options(Object object, const Path& path, payload::TextOptions& text) {
  if (const auto tokenizer = find(object, "tokenizer")) {
    const Path here = path.member("tokenizer");
    QV_TRY(const auto i, decode_name(*tokenizer, here, payload::kTokenizerNames));
    text.tokenizer = static_cast<payload::Tokenizer>(i);
  }
  QV_TRY(text.lowercase, decode_bool(object, "lowercase", path, text.lowercase));
  QV_TRY(text.min_token_len, decode_length(object, "min_token_len", path));
  QV_TRY(text.max_token_len, decode_length(object, "max_token_len", path));
  if (const auto stopwords = find(object, "stopwords")) {
    text.stopwords = {};
    QV_TRY(read_stopwords(*stopwords, path.member("stopwords"), text.stopwords));
  }
  QV_TRY(text.ascii_folding, decode_bool(object, "ascii_folding", path, false));
  if (const auto stemmer = find(object, "stemmer")) {
    text.stemmer.reset();
    QV_TRY(read_stemmer(*stemmer, path.member("stemmer"), text));
  }
  if (const auto synonyms = find(object, "synonyms")) {
    text.synonyms.clear();
    QV_TRY(read_synonyms(*synonyms, path.member("synonyms"), text));
  }
  return {};
}

namespace {

/// Reads the parameters of a text index.
Decoded<> read_text_params(Object object, const Path& path, FieldIndex& index) {
  QV_TRY(read_text_options(object, path, index.text));
  QV_TRY(index.text.phrase_matching, decode_bool(object, "phrase_matching", path, false));
  if (const auto scoring = find(object, "scoring")) {
    QV_TRY(index.scoring, decode_scoring(*scoring, path.member("scoring")));
  }
  return {};
}

/// Checks that an integer index serves lookups or ranges.
Decoded<> check_integer_params(Object object, const Path& path, FieldIndex& index) {
  QV_TRY(const bool lookup, decode_bool(object, "lookup", path, true));
  if (lookup || index.range) return {};
  return validation_error(path.member("lookup"),
                          "Validation error: the 'lookup' and 'range' capabilities can't be both "
                          "disabled");
}

/// The parameters of a type of index.
struct KindParams {
  const Shape& shape;  ///< members they may have; clients that read them back refuse other names
  /// Checks members beyond the shape, and reads those that change the index. Null if none do.
  Decoded<> (*read)(Object object, const Path& path, FieldIndex& index) = nullptr;
};

KindParams params_of(IndexKind kind) {
  switch (kind) {
    case IndexKind::kKeyword:
      return {kKeywordShape};
    case IndexKind::kInteger:
      return {kIntegerShape, check_integer_params};
    case IndexKind::kUuid:
      return {kUuidShape};
    case IndexKind::kFloat:
    case IndexKind::kDatetime:
      return {kOrderedShape};
    case IndexKind::kText:
      return {kTextShape, read_text_params};
    case IndexKind::kBool:
    case IndexKind::kGeo:
      break;
  }
  return {kPlainShape};
}

Decoded<IndexKind> decode_kind(Element element, const Path& path) {
  QV_TRY(const auto i, decode_name(element, path, payload::kIndexKindNames));
  return static_cast<IndexKind>(i);
}

Decoded<> decode_schema(Element element, const Path& path, FieldIndex& index) {
  if (element.is_string()) {
    QV_TRY(index.kind, decode_kind(element, path));
    index.client_settings = to_json(element);
    return {};
  }
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element type, require(object, "type", path));
  QV_TRY(index.kind, decode_kind(type, path.member("type")));
  QV_TRY(index.range, decode_bool(object, "range", path, true));
  const KindParams params = params_of(index.kind);
  if (params.read != nullptr) QV_TRY(params.read(object, path, index));
  return append_shaped(index.client_settings, object, params.shape, path);
}

}  // namespace

Decoded<FieldIndex> decode_index(std::string& body) {
  const Path root;
  FieldIndex index;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(const Element name, require(object, "field_name", root));
  QV_TRY(const auto key, get_string(name, root.member("field_name")));
  index.key = key;
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

}  // namespace quiver::service::json
