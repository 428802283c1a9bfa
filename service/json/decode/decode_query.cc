// Queries in both spellings, retrieve, scroll and count.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <system_error>

#include "engine/indexing/index_params.h"
#include "engine/model/query_report.h"
#include "service/api/query_rules.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"
#include "service/json/decode/query_vector.h"
#include "service/json/request_rules.h"

namespace quiver::service::json {
namespace {

using engine::Query;
using engine::QueryKind;

/// Parameters under `params.multi` that the index does not own: without an index they mean the
/// same.
constexpr std::string_view kTokenWeights = "token_weights";

/// Reads `params.<index name>`, the parameters of one index type, except the one named `but`. The
/// index checks them.
Decoded<> decode_index_params(Object object, const Path& path, std::string_view but,
                              KeyValues& out) {
  for (const auto [name, value] : object) {
    if (name == but) continue;
    QV_TRY(auto given, decode_param(value, path.member(name)));
    if (given) out[std::string(name)] = *std::move(given);
  }
  return {};
}

bool is_common_param(std::string_view name) {
  return name == "quantization" || name == "acorn" || name == "idf";
}

/// Parameters that stock clients send for quantized collections. `rescore` is checked and has no
/// effect, since returned scores are always exact.
Decoded<> decode_quantization(Element element, const Path& path, engine::SearchParams& params) {
  QV_TRY(const Object object, get_object(element, path));
  if (const auto ignore = find(object, "ignore")) {
    QV_TRY(params.ignore_codes, get_bool(*ignore, path.member("ignore")));
  }
  if (const auto rescore = find(object, "rescore")) {
    QV_TRY(get_bool(*rescore, path.member("rescore")));
  }
  if (const auto oversampling = find(object, "oversampling")) {
    const Path here = path.member("oversampling");
    QV_TRY(params.oversampling, get_f64(*oversampling, here));
    if (*params.oversampling < 1)
      return out_of_range(here, to_json(*oversampling), "1.0 or larger");
  }
  return {};
}

Decoded<std::optional<double>> decode_share(Object object, std::string_view name,
                                            const Path& path) {
  const auto element = find(object, name);
  if (!element || element->is_null()) return std::nullopt;
  const Path here = path.member(name);
  QV_TRY(const double share, get_f64(*element, here));
  if (share > 0 && share <= 1) return share;
  return out_of_range(here, to_json(*element), "above 0 and at most 1");
}

/// The members `recall` and `recall_each`.
Decoded<engine::RecallTarget> decode_recall_target(Object object, const Path& path) {
  engine::RecallTarget target;
  QV_TRY(target.mean, decode_share(object, "recall", path));
  QV_TRY(target.each, decode_share(object, "recall_each", path));
  return target;
}

bool asks_for_recall(const Query& query) {
  return !query.params.target.is_none() ||
         std::any_of(query.prefetch.begin(), query.prefetch.end(), asks_for_recall);
}

void share_report(const std::shared_ptr<engine::RecallReport>& report, Query& query) {
  query.recall = report;
  for (Query& prefetch : query.prefetch) share_report(report, prefetch);
}

/// "global" or {"corpus": filter}.
Decoded<std::shared_ptr<const payload::Filter>> decode_idf(Element element, const Path& path) {
  if (element.is_string()) {
    if (as_string(element) == "global") return nullptr;
    return format_error(path,
                        fmt::format("unknown variant `{}`, expected `global`", as_string(element)));
  }
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element corpus, require(object, "corpus", path));
  QV_TRY(auto filter, decode_filter(corpus, path.member("corpus")));
  return std::make_shared<const payload::Filter>(std::move(filter));
}

Decoded<engine::LookupFrom> decode_lookup(Element element, const Path& path) {
  engine::LookupFrom lookup;
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element collection, require(object, "collection", path));
  QV_TRY(lookup.collection, get_string(collection, path.member("collection")));
  if (const auto vector = find(object, "vector")) {
    QV_TRY(lookup.vector, get_string(*vector, path.member("vector")));
  }
  QV_TRY(lookup.shards, decode_shards(object, path));
  return lookup;
}

Decoded<QueryKind> decode_nearest(Element element, const Path& path) {
  QV_TRY(auto vector, decode_query_vector(element, path));
  return QueryKind(engine::Nearest{std::move(vector)});
}

Decoded<QueryKind> decode_nearest_object(Object object, Element vector, const Path& path) {
  QV_TRY(auto kind, decode_nearest(vector, path.member("nearest")));
  if (const auto mmr = find(object, "mmr")) {
    QV_TRY(std::get<engine::Nearest>(kind).mmr, decode_mmr(*mmr, path.member("mmr")));
  }
  return kind;
}

Decoded<QueryKind> decode_sample(Element element, const Path& path) {
  QV_TRY(const auto name, get_string(element, path));
  if (name == "random") return QueryKind(engine::Sample{});
  return format_error(path, fmt::format("unknown variant `{}`, expected `random`", name));
}

/// {"key": boost, …} or ["key", …].
Decoded<std::vector<engine::TextKey>> decode_text_keys(Element element, const Path& path) {
  std::vector<engine::TextKey> keys;
  if (element.is_array()) {
    QV_TRY(const auto names, decode_strings(element, path));
    for (const auto& name : names) keys.push_back({name, 1});
  } else {
    QV_TRY(const Object object, get_object(element, path));
    for (const auto [name, value] : object) {
      QV_TRY(const double boost, get_f64(value, path.member(name)));
      keys.push_back({std::string(name), boost});
    }
  }
  QV_TRY(check_text_keys(keys, path));
  return keys;
}

Decoded<payload::Expansion> decode_expansion(Object object, const Path& path) {
  payload::Expansion expansion;
  if (const auto fuzzy = find(object, "fuzzy")) {
    QV_TRY(expansion.max_distance, get_u32(*fuzzy, path.member("fuzzy")));
  }
  if (const auto prefix = find(object, "prefix")) {
    QV_TRY(expansion.last_is_prefix, get_bool(*prefix, path.member("prefix")));
  }
  if (const auto most = find(object, "max_expansions")) {
    QV_TRY(expansion.max_words, get_u32(*most, path.member("max_expansions")));
  }
  QV_TRY(check_expansion(expansion, path));
  return expansion;
}

/// A number of words, or a share of them as "75%".
Decoded<payload::MinimumWords> decode_minimum(Element element, const Path& path) {
  if (!element.is_string()) {
    QV_TRY(const auto count, get_u32(element, path));
    return payload::MinimumWords{count, 0};
  }
  QV_TRY(const std::string_view text, get_string(element, path));
  std::uint32_t percent = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || last + 1 != end || *last != '%' || percent > 100) {
    return out_of_range(path, to_json(element), R"(a number of words, or "0%" to "100%")");
  }
  return payload::MinimumWords{0, percent};
}

Decoded<payload::WordRules> decode_word_rules(Object object, const Path& path) {
  payload::WordRules rules;
  if (const auto required = find(object, "required")) {
    QV_TRY(rules.required, decode_strings(*required, path.member("required")));
  }
  if (const auto excluded = find(object, "excluded")) {
    QV_TRY(rules.excluded, decode_strings(*excluded, path.member("excluded")));
  }
  if (const auto minimum = find(object, "minimum_should_match")) {
    QV_TRY(rules.minimum, decode_minimum(*minimum, path.member("minimum_should_match")));
  }
  QV_TRY(check_word_rules(rules, path));
  return rules;
}

/// A string, or {"query": …, "scoring": {"bm25": {"k": …, "b": …}}}; of our own also "fields",
/// "fuzzy", "prefix", "max_expansions", "required", "excluded" and "minimum_should_match".
Decoded<QueryKind> decode_text_match(Element element, const Path& path) {
  engine::TextMatch match;
  if (element.is_string()) {
    QV_TRY(match.text, get_string(element, path));
    return QueryKind(std::move(match));
  }
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(const Element text, require(object, "query", path));
  QV_TRY(match.text, get_string(text, path.member("query")));
  if (const auto scoring = find(object, "scoring")) {
    const Path here = path.member("scoring");
    QV_TRY(const Object scorers, get_object(*scoring, here));
    QV_TRY(const Element bm25, require(scorers, "bm25", here));
    const Path at_bm25 = here.member("bm25");
    QV_TRY(const Object params, get_object(bm25, at_bm25));
    QV_TRY(read_bm25_params(params, at_bm25, match.params));
  }
  if (const auto fields = find(object, "fields")) {
    QV_TRY(match.keys, decode_text_keys(*fields, path.member("fields")));
  }
  QV_TRY(match.expansion, decode_expansion(object, path));
  QV_TRY(match.rules, decode_word_rules(object, path));
  return QueryKind(std::move(match));
}

struct ExampleQuery {
  std::string_view name;
  Decoded<QueryKind> (*decode)(Element, const Path&);
};
constexpr ExampleQuery kExampleQueries[] = {
    {"recommend", decode_recommend_query},
    {"discover", decode_discover},
    {"context", decode_context},
    {"relevance_feedback", decode_relevance_feedback},
};

/// The kind of query that an object under `query` asks for, by its one member.
Decoded<QueryKind> decode_query_object(Element element, const Path& path) {
  const Object object = as_object(element);
  if (const auto nearest = find(object, "nearest")) {
    return decode_nearest_object(object, *nearest, path);
  }
  if (find(object, {"fusion", "rrf", "linear"})) return decode_fusion(object, path);
  if (const auto order_by = find(object, "order_by")) {
    QV_TRY(auto order, decode_order_by(*order_by, path.member("order_by")));
    return QueryKind(std::move(order));
  }
  if (const auto sample = find(object, "sample")) {
    return decode_sample(*sample, path.member("sample"));
  }
  for (const auto& [name, decode] : kExampleQueries) {
    if (const auto query = find(object, name)) return decode(*query, path.member(name));
  }
  if (find(object, "formula")) return decode_formula(object, path);
  const auto text = find(object, "text");
  if (text && !find(object, "model")) return decode_text_match(*text, path.member("text"));
  if (find(object, {"text", "image", "object"})) return decode_nearest(element, path);
  if (is_sparse(object)) return decode_nearest(element, path);
  return format_error(path, "the object is no known kind of query");
}

Decoded<QueryKind> decode_kind(Element element, const Path& path) {
  if (!element.is_object()) return decode_nearest(element, path);
  return decode_query_object(element, path);
}

bool has_some(Element prefetch) { return !prefetch.is_array() || as_array(prefetch).size() != 0; }

/// The members that queries, prefetches and searches share.
Decoded<> decode_common(Object object, const Path& path, Query& query) {
  QV_TRY(query.shards, decode_shards(object, path));
  QV_TRY(query.filter, decode_optional_filter(object, "filter", path));
  if (const auto params = find(object, "params")) {
    QV_TRY(query.params, decode_search_params(*params, path.member("params")));
  }
  if (const auto threshold = find(object, "score_threshold")) {
    QV_TRY(query.score_threshold, get_f32(*threshold, path.member("score_threshold")));
  }
  QV_TRY(query.limit, decode_at_least(object, "limit", path, 1, query.limit));
  return {};
}

Decoded<> decode_answer(Object object, const Path& path, Query& query) {
  QV_TRY(query.offset, decode_at_least(object, "offset", path, 0, 0));
  QV_TRY(query.with_payload, decode_with_payload(object, path, payload::Selector::none()));
  QV_TRY(query.with_vector, decode_with_vector(object, path));
  return {};
}

Decoded<Query> decode_query_core(Object object, const Path& path) {
  Query query;
  QV_TRY(decode_common(object, path, query));
  if (const auto using_field = find(object, "using")) {
    QV_TRY(query.using_field, get_string(*using_field, path.member("using")));
  }
  if (const auto lookup = find(object, "lookup_from")) {
    QV_TRY(query.lookup_from, decode_lookup(*lookup, path.member("lookup_from")));
  }
  const auto kind = find(object, "query");
  if (const auto prefetch = find(object, "prefetch")) {
    if (!kind && has_some(*prefetch)) return fail(api::prefetches_without_query());
    QV_TRY(query.prefetch, decode_prefetches(*prefetch, path.member("prefetch")));
  }
  if (kind) {
    QV_TRY(query.kind, decode_kind(*kind, path.member("query")));
  }
  QV_TRY(api::check_combination(query));
  return query;
}

Decoded<Query> decode_prefetch(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  if (find(object, "shard_key")) {
    return format_error(path, "a prefetch has no `shard_key`, that of its query counts");
  }
  return decode_query_core(object, path);
}

/// Room for a report, if `explain` is true.
Decoded<std::shared_ptr<engine::QueryReport>> decode_explain_flag(Object object, const Path& path) {
  const auto explain = find(object, "explain");
  if (!explain) return nullptr;
  QV_TRY(const bool is_asked, get_bool(*explain, path.member("explain")));
  return is_asked ? std::make_shared<engine::QueryReport>() : nullptr;
}

Decoded<Query> decode_query_element(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  const Path internal = path.member("internal");
  QV_TRY(auto query, decode_query_core(object, internal));
  QV_TRY(decode_answer(object, internal, query));
  QV_TRY(query.highlight, decode_optional_highlight(object, internal));
  QV_TRY(query.report, decode_explain_flag(object, internal));
  if (asks_for_recall(query)) share_report(std::make_shared<engine::RecallReport>(), query);
  return query;
}

/// `[…]` asks the unnamed field, `{"name", "vector"}` a named one.
Decoded<> decode_search_vector(Element element, const Path& path, Query& query) {
  if (!element.is_object()) {
    QV_TRY(auto vector, decode_vector(element, path));
    query.kind = engine::Nearest{std::move(vector)};
    return {};
  }
  const Object object = as_object(element);
  QV_TRY(const Element name, require(object, "name", path));
  QV_TRY(query.using_field, get_string(name, path.member("name")));
  QV_TRY(const Element value, require(object, "vector", path));
  QV_TRY(auto vector, decode_vector(value, path.member("vector")));
  query.kind = engine::Nearest{std::move(vector)};
  return {};
}

Decoded<Query> decode_search_element(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  Query query;
  QV_TRY(const Element vector, require(object, "vector", path));
  QV_TRY(decode_search_vector(vector, path.member("vector"), query));
  if (!find(object, {"limit", "top"})) return missing_field(path, "limit");
  QV_TRY(query.limit, decode_at_least(object, "top", path, 1, query.limit));
  QV_TRY(decode_common(object, path, query));
  QV_TRY(decode_answer(object, path, query));
  return query;
}

/// The members that the older recommendations and discoveries share.
Decoded<> decode_older(Object object, const Path& path, Query& query) {
  if (const auto using_field = find(object, "using")) {
    QV_TRY(query.using_field, get_string(*using_field, path.member("using")));
  }
  if (const auto lookup = find(object, "lookup_from")) {
    QV_TRY(query.lookup_from, decode_lookup(*lookup, path.member("lookup_from")));
  }
  if (!find(object, {"limit", "top"})) return missing_field(path, "limit");
  QV_TRY(query.limit, decode_at_least(object, "top", path, 1, query.limit));
  QV_TRY(decode_common(object, path, query));
  return decode_answer(object, path, query);
}

Decoded<Query> decode_recommend_element(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  Query query;
  QV_TRY(decode_older(object, path, query));
  QV_TRY(auto recommend, decode_recommend(element, path));
  QV_TRY(api::check_older(recommend));
  query.kind = std::move(recommend);
  return query;
}

/// A discovery without a target is a context query.
Decoded<Query> decode_discover_element(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  Query query;
  QV_TRY(decode_older(object, path, query));
  const auto context = find(object, "context");
  if (find(object, "target")) {
    QV_TRY(query.kind, decode_discover(element, path));
    return query;
  }
  if (!context || !has_some(*context)) {
    return fail(api::discovers_nothing());
  }
  QV_TRY(query.kind, decode_context(*context, path.member("context")));
  return query;
}

using ElementDecoder = Decoded<Query> (*)(Element, const Path&);

Decoded<std::vector<Query>> decode_searches(std::string& body, ElementDecoder decode) {
  QV_TRY(const Object object, parse_object_body(body));
  const Path root;
  const Path searches = root.member("searches");
  QV_TRY(const Element element, require(object, "searches", root));
  QV_TRY(const Array array, get_array(element, searches));
  std::vector<Query> queries;
  queries.reserve(array.size());
  for (const Element item : array) {
    auto query = decode(item, searches.item(queries.size()));
    if (!query) return fail(in_search(queries.size(), std::move(query).error()));
    queries.push_back(*std::move(query));
  }
  return queries;
}

/// As `decode`, but reads a plain query vector without the tree.
Decoded<Query> decode_one(std::string& body, ElementDecoder decode, std::string_view member,
                          std::string_view inner_member) {
  auto vector = take_query_vector(body, member, inner_member);
  QV_TRY(const Element element, parse_body(body));
  QV_TRY(auto query, decode(element, Path()));
  if (!vector) return query;
  auto* nearest = std::get_if<engine::Nearest>(&query.kind);
  if (nearest == nullptr) nearest = &query.kind.emplace<engine::Nearest>();
  nearest->vector = *std::move(vector);
  return query;
}

}  // namespace

Decoded<std::vector<Query>> decode_prefetches(Element element, const Path& path) {
  std::vector<Query> prefetches;
  if (!element.is_array()) {
    QV_TRY(auto prefetch, decode_prefetch(element, path));
    prefetches.push_back(std::move(prefetch));
    return prefetches;
  }
  for (const Element item : as_array(element)) {
    QV_TRY(auto prefetch, decode_prefetch(item, path.item(prefetches.size())));
    prefetches.push_back(std::move(prefetch));
  }
  return prefetches;
}

Decoded<engine::DeviceChoice> decode_device(Element element, const Path& path) {
  QV_TRY(const auto text, get_string(element, path));
  return device_choice_of(text, path);
}

Decoded<engine::SearchParams> decode_search_params(Element element, const Path& path) {
  engine::SearchParams params;
  QV_TRY(const Object object, get_object(element, path));
  if (const auto exact = find(object, "exact")) {
    QV_TRY(params.exact, get_bool(*exact, path.member("exact")));
  }
  if (const auto indexed_only = find(object, "indexed_only")) {
    QV_TRY(params.indexed_only, get_bool(*indexed_only, path.member("indexed_only")));
  }
  if (find(object, "hnsw_ef")) {
    QV_TRY(params.hnsw_ef, decode_at_least(object, "hnsw_ef", path, 1, 1));
  }
  QV_TRY(params.target, decode_recall_target(object, path));
  if (!params.target.is_none() && (params.hnsw_ef || params.exact)) {
    return format_error(path,
                        "`recall` chooses how a search is done: it cannot be given together "
                        "with `hnsw_ef` or `exact`");
  }
  if (const auto quantization = find(object, "quantization")) {
    QV_TRY(decode_quantization(*quantization, path.member("quantization"), params));
  }
  if (const auto device = find(object, "device")) {
    QV_TRY(params.device, decode_device(*device, path.member("device")));
  }
  if (const auto idf = find(object, "idf")) {
    QV_TRY(params.idf_corpus, decode_idf(*idf, path.member("idf")));
  }
  for (const auto [name, value] : object) {
    const Path here = path.member(name);
    if (engine::is_params_group(name) && !value.is_null()) QV_TRY(get_object(value, here));
    if (!value.is_object() || is_common_param(name)) continue;
    const std::string_view but = name == "multi" ? kTokenWeights : "";
    if (const auto weights = find(as_object(value), but)) {
      QV_TRY(params.token_weights, decode_floats(*weights, here.member(but)));
      if (params.token_weights.empty()) {
        return out_of_range(here.member(but), "[]", "a number for each token of the query");
      }
    }
    QV_TRY(decode_index_params(as_object(value), here, but, params.index[std::string(name)]));
  }
  return params;
}

Decoded<Query> decode_query_members(Element element, const Path& path) {
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(auto query, decode_query_core(object, path));
  QV_TRY(decode_answer(object, path, query));
  QV_TRY(query.highlight, decode_optional_highlight(object, path));
  return query;
}

Decoded<Query> decode_search_members(Element element, const Path& path) {
  return decode_search_element(element, path);
}

Decoded<Query> decode_recommend_members(Element element, const Path& path) {
  return decode_recommend_element(element, path);
}

Decoded<Query> decode_query(std::string& body) {
  return decode_one(body, decode_query_element, "query", "nearest");
}

Decoded<std::vector<Query>> decode_query_batch(std::string& body) {
  return decode_searches(body, decode_query_element);
}

Decoded<Query> decode_search(std::string& body) {
  return decode_one(body, decode_search_element, "vector", "vector");
}

Decoded<std::vector<Query>> decode_search_batch(std::string& body) {
  return decode_searches(body, decode_search_element);
}

Decoded<Query> decode_recommend(std::string& body) {
  QV_TRY(const Element element, parse_body(body));
  return decode_recommend_element(element, Path());
}

Decoded<std::vector<Query>> decode_recommend_batch(std::string& body) {
  return decode_searches(body, decode_recommend_element);
}

Decoded<Query> decode_discover(std::string& body) {
  QV_TRY(const Element element, parse_body(body));
  return decode_discover_element(element, Path());
}

Decoded<std::vector<Query>> decode_discover_batch(std::string& body) {
  return decode_searches(body, decode_discover_element);
}

Decoded<engine::RetrieveRequest> decode_retrieve(std::string& body) {
  const Path root;
  engine::RetrieveRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(request.shards, decode_shards(object, root));
  QV_TRY(const Element ids, require(object, "ids", root));
  QV_TRY(request.ids, decode_ids(ids, root.member("ids")));
  QV_TRY(request.with_payload, decode_with_payload(object, root, payload::Selector::all()));
  QV_TRY(request.with_vector, decode_with_vector(object, root));
  return request;
}

Decoded<engine::ScrollRequest> decode_scroll(std::string& body) {
  const Path root;
  engine::ScrollRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(request.shards, decode_shards(object, root));
  if (const auto offset = find(object, "offset")) {
    QV_TRY(request.offset, decode_id(*offset, root.member("offset")));
  }
  QV_TRY(request.limit, decode_at_least(object, "limit", root, 1, request.limit));
  QV_TRY(request.filter, decode_optional_filter(object, "filter", root));
  QV_TRY(request.with_payload, decode_with_payload(object, root, payload::Selector::all()));
  QV_TRY(request.with_vector, decode_with_vector(object, root));
  QV_TRY(request.highlight, decode_optional_highlight(object, root));
  if (const auto order_by = find(object, "order_by")) {
    QV_TRY(request.order_by, decode_order_by(*order_by, root.member("order_by")));
    QV_TRY(api::check_page(request));
  }
  return request;
}

Decoded<engine::CountRequest> decode_count(std::string& body) {
  const Path root;
  engine::CountRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(request.shards, decode_shards(object, root));
  if (const auto exact = find(object, "exact")) QV_TRY(get_bool(*exact, root.member("exact")));
  QV_TRY(request.filter, decode_optional_filter(object, "filter", root));
  return request;
}

}  // namespace quiver::service::json
