// Asking which points to score next.
#include <fmt/format.h>

#include <algorithm>

#include "engine/model/proposals.h"
#include "service/json/decode/decode.h"
#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::ProposalRequest;
using engine::ScoredPoint;

constexpr std::uint64_t kMaxBest = engine::kMaxScoredPoints;
constexpr double kMaxExplore = 100;

Decoded<std::uint64_t> decode_between(Object object, std::string_view name, const Path& path,
                                      std::uint64_t otherwise, std::uint64_t most) {
  QV_TRY(const auto value, decode_at_least(object, name, path, 1, otherwise));
  if (value <= most) return value;
  return out_of_range(path.member(name), std::to_string(value), fmt::format("{} or smaller", most));
}

Decoded<double> decode_not_negative(Element element, const Path& path, double most) {
  QV_TRY(const double value, get_f64(element, path));
  if (value >= 0 && value <= most) return value;
  return out_of_range(path, to_json(element), fmt::format("from 0 to {}", most));
}

Decoded<ScoredPoint> decode_scored_point(Element element, const Path& path) {
  ScoredPoint point;
  QV_TRY(const Object object, get_object(element, path));
  QV_TRY(check_members(object, path, {"id", "score"}));
  QV_TRY(const Element id, require(object, "id", path));
  QV_TRY(point.id, decode_id(id, path.member("id")));
  QV_TRY(const Element score, require(object, "score", path));
  QV_TRY(point.score, get_f64(score, path.member("score")));
  return point;
}

Decoded<std::vector<ScoredPoint>> decode_scored(Element element, const Path& path) {
  QV_TRY(const Array array, get_array(element, path));
  if (array.size() > engine::kMaxScoredPoints) {
    return out_of_range(path, fmt::format("of {} points", array.size()),
                        fmt::format("{} or fewer", engine::kMaxScoredPoints));
  }
  std::vector<ScoredPoint> scored;
  for (const Element item : array) {
    QV_TRY(auto point, decode_scored_point(item, path.item(scored.size())));
    scored.push_back(std::move(point));
  }
  std::ranges::sort(scored, {}, &ScoredPoint::id);
  const auto twice = std::ranges::adjacent_find(scored, {}, &ScoredPoint::id);
  if (twice != scored.end()) {
    return out_of_range(path, fmt::format("with point {} twice", twice->id.to_string()),
                        "each point once");
  }
  return scored;
}

Decoded<> decode_searches(Object object, const Path& path, ProposalRequest& request) {
  if (const auto query = find(object, "query"); query && !query->is_null()) {
    QV_TRY(request.query, decode_query_vector(*query, path.member("query")));
  }
  if (const auto prefetch = find(object, "prefetch")) {
    const Path here = path.member("prefetch");
    QV_TRY(request.prefetch, decode_prefetches(*prefetch, here));
    if (request.prefetch.size() > engine::kMaxProposalPrefetches) {
      return out_of_range(here, fmt::format("of {} prefetches", request.prefetch.size()),
                          fmt::format("{} or fewer", engine::kMaxProposalPrefetches));
    }
  }
  if (const auto params = find(object, "params"); params && !params->is_null()) {
    QV_TRY(request.params, decode_search_params(*params, path.member("params")));
  }
  QV_TRY(request.filter, decode_optional_filter(object, "filter", path));
  return {};
}

Decoded<> decode_model(Object object, const Path& path, ProposalRequest& request) {
  if (const auto explore = find(object, "explore")) {
    QV_TRY(request.explore, decode_not_negative(*explore, path.member("explore"), kMaxExplore));
  }
  if (const auto ridge = find(object, "ridge"); ridge && !ridge->is_null()) {
    QV_TRY(request.ridge.ridge, decode_not_negative(*ridge, path.member("ridge"), 1e30));
  }
  if (const auto intercept = find(object, "intercept")) {
    QV_TRY(request.ridge.has_intercept, get_bool(*intercept, path.member("intercept")));
  }
  return {};
}

}  // namespace

Decoded<ProposalRequest> decode_proposals(std::string& body) {
  const Path root;
  ProposalRequest request;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root,
                       {"basis", "query", "prefetch", "filter", "params", "scored", "n", "limit",
                        "explore", "ridge", "intercept", "with_payload", "shard_key"}));
  if (const auto basis = find(object, "basis")) {
    QV_TRY(request.basis, get_string(*basis, root.member("basis")));
  }
  QV_TRY(decode_searches(object, root, request));
  if (const auto scored = find(object, "scored")) {
    QV_TRY(request.scored, decode_scored(*scored, root.member("scored")));
  }
  QV_TRY(request.n, decode_between(object, "n", root, request.n, engine::kMaxProposals));
  QV_TRY(request.limit, decode_between(object, "limit", root, request.limit, kMaxBest));
  QV_TRY(decode_model(object, root, request));
  QV_TRY(request.with_payload, decode_with_payload(object, root, payload::Selector::none()));
  QV_TRY(request.shards, decode_shards(object, root));
  return request;
}

}  // namespace quiver::service::json
