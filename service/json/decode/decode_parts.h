// Parts that several bodies share. Only .cc files of this folder include it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/schema.h"
#include "engine/model/operation.h"
#include "engine/model/query.h"
#include "engine/model/text_vectors.h"
#include "payload/bm25/bm25.h"
#include "payload/text/analyzer.h"
#include "payload/text_options.h"
#include "service/json/element.h"

namespace quiver::service::json {

[[nodiscard]] Decoded<PointId> decode_id(Element element, const Path& path);
[[nodiscard]] Decoded<std::vector<PointId>> decode_ids(Element element, const Path& path);

/// An array of numbers, an array of such arrays, or {indices, values}.
[[nodiscard]] Decoded<engine::VectorValue> decode_vector(Element element, const Path& path);
/// `decode_vector` makes query vectors of texts, this one makes vectors to be stored. 422 if the
/// vector is empty.
[[nodiscard]] Decoded<engine::VectorValue> decode_stored_vector(Element element, const Path& path);
/// A number or a string is the id of a point, anything else a vector.
[[nodiscard]] Decoded<engine::QueryVector> decode_query_vector(Element element, const Path& path);
/// Reads the vectors of a point: one vector, or an object of them by name.
[[nodiscard]] Decoded<std::vector<engine::NamedVector>> decode_vectors(Element element,
                                                                       const Path& path);
[[nodiscard]] bool is_sparse(Object object);
/// True for {"text" or the like, "model"}: something of which a vector is to be made.
[[nodiscard]] bool is_inference(Object object);
/// The sparse vector of {"text", "model": "qdrant/bm25", "options"}: decode_document.cc. 400 for
/// other models, images and objects.
[[nodiscard]] Decoded<engine::VectorValue> decode_document(Object object, const Path& path,
                                                           payload::TokenUse use);

/// How texts become tokens: the members `tokenizer`, `lowercase`, `stopwords`, `stemmer` and so on.
/// Options that are not given stay as they are.
[[nodiscard]] Decoded<> read_text_options(Object object, const Path& path,
                                          payload::TextOptions& text);
/// Reads the members `k` and `b`, where they are given.
[[nodiscard]] Decoded<> read_bm25_params(Object object, const Path& path,
                                         payload::Bm25Params& params);

/// What a sparse field makes its vectors of: decode_text_vectors.cc. nullopt: clients send them.
/// 400 for parameters that do not belong together.
[[nodiscard]] Decoded<std::optional<engine::TextVectorField>> decode_text_vectors(Object params,
                                                                                  const Path& path);
/// 400, saying `why`, if `params` ask for such vectors.
[[nodiscard]] Decoded<> refuse_text_vectors(Object params, const Path& path, std::string_view why);

/// `shard_key`: one, several, or one with a fallback.
[[nodiscard]] Decoded<engine::ShardSelector> decode_shards(Object object, const Path& parent);

[[nodiscard]] Decoded<payload::Filter> decode_filter(Element element, const Path& path);
/// nullopt if the member is missing.
[[nodiscard]] Decoded<std::optional<payload::Filter>> decode_optional_filter(Object object,
                                                                             std::string_view name,
                                                                             const Path& path);

[[nodiscard]] Decoded<payload::Selector> decode_with_payload(Object object, const Path& path,
                                                             payload::Selector otherwise);
/// `with_vector`, also spelled `with_vectors`.
[[nodiscard]] Decoded<engine::VectorSelector> decode_with_vector(Object object, const Path& path);
/// `highlight`: decode_highlight.cc. 400 also for an unknown member, 422 out of range.
[[nodiscard]] Decoded<std::optional<engine::Highlight>> decode_optional_highlight(Object object,
                                                                                  const Path& path);
[[nodiscard]] Decoded<engine::OrderBy> decode_order_by(Element element, const Path& path);
[[nodiscard]] Decoded<std::vector<std::string>> decode_strings(Element element, const Path& path);

// Fusions: decode_fusion.cc.

/// A query with a member `fusion`, `rrf` or `linear`.
[[nodiscard]] Decoded<engine::QueryKind> decode_fusion(Object query, const Path& path);
/// 422 for a diversity or a number of candidates out of range. Does not read `using`.
[[nodiscard]] Decoded<engine::Mmr> decode_mmr(Element element, const Path& path);
[[nodiscard]] Decoded<std::vector<float>> decode_floats(Element element, const Path& path);

// Queries by examples: decode_examples.cc.

/// The members `positive`, `negative` and `strategy` of an object, each of which may be missing.
[[nodiscard]] Decoded<engine::Recommend> decode_recommend(Element element, const Path& path);
/// The same as a query: 422 if there are no examples.
[[nodiscard]] Decoded<engine::QueryKind> decode_recommend_query(Element element, const Path& path);
[[nodiscard]] Decoded<engine::QueryKind> decode_discover(Element element, const Path& path);
/// One pair, or a list of them.
[[nodiscard]] Decoded<engine::QueryKind> decode_context(Element element, const Path& path);
[[nodiscard]] Decoded<engine::QueryKind> decode_relevance_feedback(Element element,
                                                                   const Path& path);

/// The members `formula` and `defaults` of a query: decode_formula.cc. 400 for an expression that
/// cannot be read, 422 for the default of something that is no variable.
[[nodiscard]] Decoded<engine::QueryKind> decode_formula(Object query, const Path& path);
/// One condition of a filter.
[[nodiscard]] Decoded<payload::Condition> decode_one_condition(Element element, const Path& path);

/// The members of a query, and of a search in the older form, also of one for groups.
[[nodiscard]] Decoded<engine::Query> decode_query_members(Element element, const Path& path);
[[nodiscard]] Decoded<engine::Query> decode_search_members(Element element, const Path& path);
[[nodiscard]] Decoded<engine::Query> decode_recommend_members(Element element, const Path& path);

/// `prefetch` of a query: one, or a list of them.
[[nodiscard]] Decoded<std::vector<engine::Query>> decode_prefetches(Element element,
                                                                    const Path& path);

/// `params` of a query.
[[nodiscard]] Decoded<engine::SearchParams> decode_search_params(Element element, const Path& path);

/// The value of an index's parameter; nullopt for null.
[[nodiscard]] Decoded<std::optional<ParamValue>> decode_param(Element element, const Path& path);

/// The member as a number, or `otherwise`; 422 if it is less than `min`.
[[nodiscard]] Decoded<std::uint64_t> decode_at_least(Object object, std::string_view name,
                                                     const Path& path, std::uint64_t min,
                                                     std::uint64_t otherwise);
// Vector fields of a collection.
/// 422 if no field can have this name.
[[nodiscard]] Decoded<> check_vector_name(std::string_view name, const Path& path);
[[nodiscard]] Decoded<FieldSchema> decode_dense_field(std::string_view name, Object object,
                                                      const Path& path);
[[nodiscard]] Decoded<FieldSchema> decode_sparse_field(std::string_view name, Object object,
                                                       const Path& path);

/// 422 "value <v> invalid, must be …".
[[nodiscard]] tl::unexpected<ApiError> out_of_range(const Path& path, std::string_view value,
                                                    std::string_view wanted);

}  // namespace quiver::service::json
