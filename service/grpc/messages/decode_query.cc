// Queries in both spellings, scroll and retrieve.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/model/query_report.h"
#include "service/api/query_rules.h"
#include "service/grpc/messages/decode.h"
#include "service/json/request_rules.h"

namespace quiver::service::rpc {
namespace {

using engine::Query;
using engine::QueryKind;
using engine::QueryVector;
using VectorInputs = google::protobuf::RepeatedPtrField<qdrant::VectorInput>;
using Vectors = google::protobuf::RepeatedPtrField<qdrant::Vector>;

Decoded<engine::SearchParams> decode_params(const qdrant::SearchParams& params, const Path& path) {
  engine::SearchParams decoded;
  decoded.exact = params.exact();
  decoded.indexed_only = params.indexed_only();
  if (params.has_hnsw_ef()) {
    QV_TRY(check_positive(params.hnsw_ef(), path.member("hnsw_ef")));
    decoded.hnsw_ef = params.hnsw_ef();
  }
  const auto& quantization = params.quantization();
  decoded.ignore_codes = quantization.ignore();
  if (quantization.has_oversampling()) {
    decoded.oversampling = quantization.oversampling();
    if (!(*decoded.oversampling >= 1)) {
      const Path here = path.member("quantization");
      return validation_error(
          here.member("oversampling"),
          fmt::format("value {} invalid, must be 1.0 or larger", *decoded.oversampling));
    }
  }
  if (params.has_device()) {
    QV_TRY(decoded.device, json::device_choice_of(params.device(), path.member("device")));
  }
  if (params.idf().has_corpus()) {
    const Path parent = path.member("idf");
    const Path here = parent.member("corpus");
    QV_TRY(auto corpus, decode_filter(params.idf().corpus(), here));
    decoded.idf_corpus = std::make_shared<const payload::Filter>(std::move(corpus));
  }
  return decoded;
}

Decoded<engine::LookupFrom> decode_lookup(const qdrant::LookupLocation& lookup) {
  engine::LookupFrom decoded;
  decoded.collection = lookup.collection_name();
  if (lookup.has_vector_name()) decoded.vector = lookup.vector_name();
  QV_TRY(decoded.shards, decode_shards(lookup));
  return decoded;
}

Decoded<engine::Mmr> decode_mmr(const qdrant::Mmr& mmr, const Path& path) {
  engine::Mmr decoded;
  if (mmr.has_diversity()) decoded.diversity = mmr.diversity();
  if (!(decoded.diversity >= 0 && decoded.diversity <= 1)) {
    return validation_error(
        path.member("diversity"),
        fmt::format("value {} invalid, must be from 0.0 to 1.0", decoded.diversity));
  }
  if (!mmr.has_candidates_limit()) return decoded;
  decoded.candidates_limit = mmr.candidates_limit();
  if (*decoded.candidates_limit > engine::Mmr::kMaxCandidates) {
    return validation_error(path.member("candidates_limit"),
                            fmt::format("value {} invalid, must be {} or smaller",
                                        *decoded.candidates_limit, engine::Mmr::kMaxCandidates));
  }
  return decoded;
}

Decoded<QueryKind> decode_nearest(const qdrant::VectorInput& input, const Path& path) {
  QV_TRY(auto vector, decode_query_vector(input, path));
  return QueryKind(engine::Nearest{std::move(vector)});
}

Decoded<QueryKind> decode_nearest_with_mmr(const qdrant::NearestInputWithMmr& input,
                                           const Path& path) {
  QV_TRY(auto kind, decode_nearest(input.nearest(), path.member("nearest")));
  QV_TRY(std::get<engine::Nearest>(kind).mmr, decode_mmr(input.mmr(), path.member("mmr")));
  return kind;
}

Decoded<QueryKind> decode_rrf(const qdrant::Rrf& rrf, const Path& path) {
  engine::Rrf decoded;
  if (rrf.has_k()) {
    QV_TRY(check_positive(rrf.k(), path.member("k")));
    decoded.k = rrf.k();
  }
  decoded.weights.assign(rrf.weights().begin(), rrf.weights().end());
  return QueryKind(std::move(decoded));
}

Decoded<std::vector<QueryVector>> decode_examples(const VectorInputs& inputs, const Path& path) {
  std::vector<QueryVector> decoded;
  for (const auto& input : inputs) {
    QV_TRY(auto vector, decode_query_vector(input, path.item(decoded.size())));
    decoded.push_back(std::move(vector));
  }
  return decoded;
}

Decoded<engine::RecommendStrategy> decode_strategy(int strategy, const Path& path) {
  switch (strategy) {
    case qdrant::AverageVector:
      return engine::RecommendStrategy::kAverageVector;
    case qdrant::BestScore:
      return engine::RecommendStrategy::kBestScore;
    case qdrant::SumScores:
      return engine::RecommendStrategy::kSumScores;
    default:
      return format_error(path, fmt::format("unknown variant `{}`, expected 0, 1 or 2", strategy));
  }
}

Decoded<QueryKind> decode_recommend_input(const qdrant::RecommendInput& input, const Path& path) {
  engine::Recommend decoded;
  QV_TRY(decoded.positive, decode_examples(input.positive(), path.member("positive")));
  QV_TRY(decoded.negative, decode_examples(input.negative(), path.member("negative")));
  QV_TRY(decoded.strategy, decode_strategy(input.strategy(), path.member("strategy")));
  QV_TRY(json::check_examples(decoded, path));
  return QueryKind(std::move(decoded));
}

Decoded<std::vector<engine::ContextPair>> decode_pairs(const qdrant::ContextInput& context,
                                                       const Path& path) {
  std::vector<engine::ContextPair> decoded;
  for (const auto& pair : context.pairs()) {
    const Path here = path.item(decoded.size());
    QV_TRY(auto positive, decode_query_vector(pair.positive(), here.member("positive")));
    QV_TRY(auto negative, decode_query_vector(pair.negative(), here.member("negative")));
    decoded.push_back({std::move(positive), std::move(negative)});
  }
  return decoded;
}

Decoded<QueryKind> decode_discover_input(const qdrant::DiscoverInput& input, const Path& path) {
  engine::Discover decoded;
  QV_TRY(decoded.target, decode_query_vector(input.target(), path.member("target")));
  QV_TRY(decoded.pairs, decode_pairs(input.context(), path.member("context")));
  return QueryKind(std::move(decoded));
}

Decoded<QueryKind> decode_context(const qdrant::ContextInput& input, const Path& path) {
  engine::Context decoded;
  QV_TRY(decoded.pairs, decode_pairs(input, path));
  return QueryKind(std::move(decoded));
}

Decoded<QueryKind> decode_feedback(const qdrant::RelevanceFeedbackInput& input, const Path& path) {
  engine::RelevanceFeedback decoded;
  QV_TRY(decoded.target, decode_query_vector(input.target(), path.member("target")));
  for (const auto& item : input.feedback()) {
    const Path parent = path.member("feedback");
    const Path here = parent.item(decoded.feedback.size());
    QV_TRY(auto example, decode_query_vector(item.example(), here.member("example")));
    decoded.feedback.push_back({std::move(example), item.score()});
  }
  if (!input.strategy().has_naive()) {
    return format_error(path.member("strategy"), "missing strategy, expected `naive`");
  }
  const auto& naive = input.strategy().naive();
  decoded.a = naive.a();
  decoded.b = naive.b();
  decoded.c = naive.c();
  if (!(decoded.b >= 0)) {
    const Path strategy = path.member("strategy");
    const Path here = strategy.member("naive");
    return validation_error(here.member("b"),
                            fmt::format("value {} invalid, must be 0.0 or larger", decoded.b));
  }
  QV_TRY(json::check_feedback(decoded, path));
  return QueryKind(std::move(decoded));
}

Decoded<payload::Expansion> decode_expansion(const qdrant::TextQuery& text, const Path& path) {
  payload::Expansion expansion;
  expansion.max_distance = text.fuzzy();
  expansion.last_is_prefix = text.prefix();
  if (text.has_max_expansions()) expansion.max_words = text.max_expansions();
  QV_TRY(json::check_expansion(expansion, path));
  return expansion;
}

Decoded<payload::WordRules> decode_word_rules(const qdrant::TextQuery& text, const Path& path) {
  payload::WordRules rules;
  rules.required.assign(text.required().begin(), text.required().end());
  rules.excluded.assign(text.excluded().begin(), text.excluded().end());
  rules.minimum = {text.minimum_should_match(), text.minimum_should_match_percent()};
  if (rules.minimum.percent > 100) {
    return validation_error(
        path.member("minimum_should_match_percent"),
        fmt::format("value {} invalid, must be 0 to 100", rules.minimum.percent));
  }
  QV_TRY(json::check_word_rules(rules, path));
  return rules;
}

Decoded<QueryKind> decode_text(const qdrant::TextQuery& text, const Path& path) {
  engine::TextMatch match;
  match.text = text.query();
  if (text.bm25().has_k()) match.params.k = text.bm25().k();
  if (text.bm25().has_b()) match.params.b = text.bm25().b();
  const Path scoring = path.member("scoring");
  QV_TRY(json::check_bm25(match.params, scoring.member("bm25")));
  for (const auto& [key, boost] : text.fields()) match.keys.push_back({key, boost});
  std::sort(match.keys.begin(), match.keys.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  if (!match.keys.empty()) {
    QV_TRY(json::check_text_keys(match.keys, path.member("fields")));
  }
  QV_TRY(match.expansion, decode_expansion(text, path));
  QV_TRY(match.rules, decode_word_rules(text, path));
  return QueryKind(std::move(match));
}

Decoded<QueryKind> decode_fusion(int fusion, const Path& path) {
  if (fusion == qdrant::RRF) return QueryKind(engine::Rrf{});
  if (fusion == qdrant::DBSF) return QueryKind(engine::Dbsf{});
  return format_error(path, fmt::format("unknown variant `{}`, expected 0 or 1", fusion));
}

Decoded<QueryKind> decode_kind(const qdrant::Query& query, const Path& path) {
  switch (query.variant_case()) {
    case qdrant::Query::kNearest:
      return decode_nearest(query.nearest(), path.member("nearest"));
    case qdrant::Query::kNearestWithMmr:
      return decode_nearest_with_mmr(query.nearest_with_mmr(), path);
    case qdrant::Query::kFusion:
      return decode_fusion(query.fusion(), path.member("fusion"));
    case qdrant::Query::kRrf:
      return decode_rrf(query.rrf(), path.member("rrf"));
    case qdrant::Query::kOrderBy: {
      QV_TRY(auto order, decode_order_by(query.order_by(), path.member("order_by")));
      return QueryKind(std::move(order));
    }
    case qdrant::Query::kSample:
      return QueryKind(engine::Sample{});
    case qdrant::Query::kRecommend:
      return decode_recommend_input(query.recommend(), path.member("recommend"));
    case qdrant::Query::kDiscover:
      return decode_discover_input(query.discover(), path.member("discover"));
    case qdrant::Query::kContext:
      return decode_context(query.context(), path.member("context"));
    case qdrant::Query::kRelevanceFeedback:
      return decode_feedback(query.relevance_feedback(), path.member("relevance_feedback"));
    case qdrant::Query::kFormula: {
      QV_TRY(auto formula, decode_formula(query.formula(), path.member("formula")));
      return QueryKind(std::move(formula));
    }
    case qdrant::Query::kText:
      return decode_text(query.text(), path.member("text"));
    case qdrant::Query::VARIANT_NOT_SET:
      break;
  }
  return format_error(path, "missing kind of query");
}

/// The parts that all requests for queries have under the same names.
template <class Request>
Decoded<> decode_common(const Request& request, const Path& path, Query& query) {
  if (request.has_filter()) {
    QV_TRY(query.filter, decode_filter(request.filter(), path.member("filter")));
  }
  if (request.has_params()) {
    QV_TRY(query.params, decode_params(request.params(), path.member("params")));
  }
  return {};
}

/// The parts that queries and prefetches have under the same names.
template <class Request>
Decoded<> decode_core(const Request& request, const Path& path, Query& query) {
  QV_TRY(decode_common(request, path, query));
  if (request.has_score_threshold()) query.score_threshold = request.score_threshold();
  if (request.has_limit()) {
    QV_TRY(check_positive(request.limit(), path.member("limit")));
    query.limit = request.limit();
  }
  query.using_field = request.using_();
  if (request.has_lookup_from()) {
    QV_TRY(query.lookup_from, decode_lookup(request.lookup_from()));
  }
  if (!request.has_query() && request.prefetch_size() > 0) {
    return fail(api::prefetches_without_query());
  }
  for (const auto& prefetch : request.prefetch()) {
    const Path parent = path.member("prefetch");
    const Path here = parent.item(query.prefetch.size());
    QV_TRY(decode_core(prefetch, here, query.prefetch.emplace_back()));
  }
  if (request.has_query()) {
    QV_TRY(query.kind, decode_kind(request.query(), path.member("query")));
  }
  QV_TRY(api::check_combination(query));
  return {};
}

/// The parts that say which shards are searched and what of the hits is shown.
template <class Request>
Decoded<> decode_shown(const Request& request, const Path& path, Query& query) {
  if (request.has_with_payload()) {
    QV_TRY(query.with_payload,
           decode_with_payload(request.with_payload(), path.member("with_payload")));
  }
  query.with_vector = decode_with_vectors(request.with_vectors());
  QV_TRY(query.shards, decode_shards(request));
  return {};
}

/// The parts that the older requests have under the same names.
template <class Request>
Decoded<Query> decode_older(const Request& request) {
  const Path root;
  Query query;
  QV_TRY(decode_common(request, root, query));
  QV_TRY(check_positive(request.limit(), root.member("limit")));
  query.limit = request.limit();
  if constexpr (requires { request.offset(); }) query.offset = request.offset();
  QV_TRY(decode_shown(request, root, query));
  return query;
}

/// Ids, then vectors.
Decoded<std::vector<QueryVector>> decode_older_examples(const PointIds& ids, const Vectors& vectors,
                                                        const Path& path) {
  std::vector<QueryVector> decoded;
  for (const auto& id : ids) {
    QV_TRY(auto point, decode_id(id, path.item(decoded.size())));
    decoded.emplace_back(point);
  }
  for (const auto& vector : vectors) {
    QV_TRY(auto value, decode_vector(vector, path.item(decoded.size())));
    decoded.emplace_back(std::move(value));
  }
  return decoded;
}

Decoded<QueryVector> decode_example(const qdrant::VectorExample& example, const Path& path) {
  if (example.has_vector()) {
    QV_TRY(auto value, decode_vector(example.vector(), path));
    return QueryVector(std::move(value));
  }
  QV_TRY(const PointId id, decode_id(example.id(), path));
  return QueryVector(id);
}

template <class Request>
Decoded<Query> decode_older_search(const Request& request) {
  const Path root;
  QV_TRY(Query query, decode_older(request));
  const auto* indices = request.has_sparse_indices() ? &request.sparse_indices() : nullptr;
  QV_TRY(auto vector, decode_flat_vector(request.vector(), indices, root.member("vector")));
  query.kind = engine::Nearest{std::move(vector)};
  query.using_field = request.vector_name();
  if (request.has_score_threshold()) query.score_threshold = request.score_threshold();
  return query;
}

template <class Request>
Decoded<Query> decode_older_recommend(const Request& request) {
  const Path root;
  QV_TRY(Query query, decode_older(request));
  engine::Recommend recommend;
  QV_TRY(recommend.positive, decode_older_examples(request.positive(), request.positive_vectors(),
                                                   root.member("positive")));
  QV_TRY(recommend.negative, decode_older_examples(request.negative(), request.negative_vectors(),
                                                   root.member("negative")));
  QV_TRY(recommend.strategy, decode_strategy(request.strategy(), root.member("strategy")));
  QV_TRY(api::check_older(recommend));
  query.kind = std::move(recommend);
  query.using_field = request.using_();
  if (request.has_score_threshold()) query.score_threshold = request.score_threshold();
  if (request.has_lookup_from()) {
    QV_TRY(query.lookup_from, decode_lookup(request.lookup_from()));
  }
  return query;
}

}  // namespace

Decoded<Query> decode_query(const qdrant::QueryPoints& request) {
  const Path root;
  Query query;
  QV_TRY(decode_core(request, root, query));
  if (request.explain()) query.report = std::make_shared<engine::QueryReport>();
  query.offset = request.offset();
  QV_TRY(decode_shown(request, root, query));
  return query;
}

Decoded<Query> decode_query(const qdrant::QueryPointGroups& request) {
  const Path root;
  Query query;
  QV_TRY(decode_core(request, root, query));
  QV_TRY(decode_shown(request, root, query));
  return query;
}

Decoded<Query> decode_search(const qdrant::SearchPoints& request) {
  return decode_older_search(request);
}

Decoded<Query> decode_search(const qdrant::SearchPointGroups& request) {
  return decode_older_search(request);
}

Decoded<Query> decode_recommend(const qdrant::RecommendPoints& request) {
  return decode_older_recommend(request);
}

Decoded<Query> decode_recommend(const qdrant::RecommendPointGroups& request) {
  return decode_older_recommend(request);
}

Decoded<Query> decode_discover(const qdrant::DiscoverPoints& request) {
  const Path root;
  QV_TRY(Query query, decode_older(request));
  std::vector<engine::ContextPair> pairs;
  for (const auto& pair : request.context()) {
    const Path parent = root.member("context");
    const Path here = parent.item(pairs.size());
    QV_TRY(auto positive, decode_example(pair.positive(), here.member("positive")));
    QV_TRY(auto negative, decode_example(pair.negative(), here.member("negative")));
    pairs.push_back({std::move(positive), std::move(negative)});
  }
  if (request.has_target()) {
    QV_TRY(auto target, decode_example(request.target().single(), root.member("target")));
    query.kind = engine::Discover{std::move(target), std::move(pairs)};
  } else if (!pairs.empty()) {
    query.kind = engine::Context{std::move(pairs)};
  } else {
    return fail(api::discovers_nothing());
  }
  query.using_field = request.using_();
  if (request.has_lookup_from()) {
    QV_TRY(query.lookup_from, decode_lookup(request.lookup_from()));
  }
  return query;
}

Decoded<engine::ScrollRequest> decode_scroll(const qdrant::ScrollPoints& request) {
  const Path root;
  engine::ScrollRequest decoded;
  if (request.has_offset()) {
    QV_TRY(decoded.offset, decode_id(request.offset(), root.member("offset")));
  }
  if (request.has_limit()) {
    QV_TRY(check_positive(request.limit(), root.member("limit")));
    decoded.limit = request.limit();
  }
  if (request.has_filter()) {
    QV_TRY(decoded.filter, decode_filter(request.filter(), root.member("filter")));
  }
  if (request.has_with_payload()) {
    QV_TRY(decoded.with_payload,
           decode_with_payload(request.with_payload(), root.member("with_payload")));
  }
  decoded.with_vector = decode_with_vectors(request.with_vectors());
  QV_TRY(decoded.shards, decode_shards(request));
  if (request.has_order_by()) {
    QV_TRY(decoded.order_by, decode_order_by(request.order_by(), root.member("order_by")));
  }
  QV_TRY(api::check_page(decoded));
  return decoded;
}

Decoded<engine::RetrieveRequest> decode_get(const qdrant::GetPoints& request) {
  const Path root;
  engine::RetrieveRequest decoded;
  QV_TRY(decoded.ids, decode_ids(request.ids(), root.member("ids")));
  decoded.with_payload = payload::Selector::none();
  if (request.has_with_payload()) {
    QV_TRY(decoded.with_payload,
           decode_with_payload(request.with_payload(), root.member("with_payload")));
  }
  decoded.with_vector = decode_with_vectors(request.with_vectors());
  QV_TRY(decoded.shards, decode_shards(request));
  return decoded;
}

Decoded<engine::CountRequest> decode_count(const qdrant::CountPoints& request) {
  const Path root;
  engine::CountRequest decoded;
  if (request.has_filter()) {
    QV_TRY(decoded.filter, decode_filter(request.filter(), root.member("filter")));
  }
  QV_TRY(decoded.shards, decode_shards(request));
  return decoded;
}

}  // namespace quiver::service::rpc
