// Parameters of payload indexes by type.
#include "service/json/decode/shape.h"

namespace quiver::service::json {
namespace {

using enum ValueType;
using payload::IndexKind;

constexpr std::string_view kMemories[] = {"cold", "cached", "pinned"};
constexpr std::string_view kStemmers[] = {"snowball"};
constexpr std::string_view kStemmerLanguages[] = {
    "arabic",  "armenian", "danish",    "dutch",   "english",   "finnish",    "french",
    "german",  "greek",    "hungarian", "italian", "norwegian", "portuguese", "romanian",
    "russian", "spanish",  "swedish",   "tamil",   "turkish"};

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
    {.name = "language", .type = kString, .values = kStemmerLanguages, .required = true},
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
    {.name = "scoring", .refused = "ranking by the words of a text (BM25) is not supported"},
    kNested,
};

constexpr Shape kPlainShape = {kPlain};
constexpr Shape kKeywordShape = {kKeyword};
constexpr Shape kUuidShape = {kUuid};
constexpr Shape kOrderedShape = {kOrdered};
constexpr Shape kIntegerShape = {kInteger};
constexpr Shape kTextShape = {kText};

}  // namespace

const Shape& index_shape(IndexKind kind) {
  switch (kind) {
    case IndexKind::kKeyword:
      return kKeywordShape;
    case IndexKind::kInteger:
      return kIntegerShape;
    case IndexKind::kUuid:
      return kUuidShape;
    case IndexKind::kFloat:
    case IndexKind::kDatetime:
      return kOrderedShape;
    case IndexKind::kText:
      return kTextShape;
    case IndexKind::kBool:
    case IndexKind::kGeo:
      break;
  }
  return kPlainShape;
}

}  // namespace quiver::service::json
