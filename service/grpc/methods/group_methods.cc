// Searches for groups, facets and distance matrices.
#include "service/api/groups.h"

#include <fmt/format.h>

#include <utility>

#include "service/api/facets.h"
#include "service/api/matrix.h"
#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/encode.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/methods/params.h"

namespace quiver::service::rpc {
namespace {

using engine::GroupsQuery;
using Groups = std::vector<engine::PointGroup>;
using FacetHits = std::vector<engine::FacetHit>;

Decoded<engine::GroupLookup> decode_group_lookup(const qdrant::WithLookup& lookup,
                                                 const Path& path) {
  engine::GroupLookup decoded;
  decoded.collection = lookup.collection();
  if (lookup.has_with_payload()) {
    QV_TRY(decoded.with_payload,
           decode_with_payload(lookup.with_payload(), path.member("with_payload")));
  }
  decoded.with_vector = decode_with_vectors(lookup.with_vectors());
  return decoded;
}

Decoded<> check_group_key(const std::string& key, const Path& path) {
  const auto parsed = payload::JsonPath::parse(key);
  if (parsed) return {};
  return format_error(path, parsed.error().message());
}

/// The newer request may leave the size out, the older ones may not.
template <class Request>
bool has_group_size(const Request& request) {
  if constexpr (requires { request.has_group_size(); }) return request.has_group_size();
  return true;
}

template <class Request, Decoded<engine::Query> (*decode)(const Request&)>
Decoded<GroupsQuery> decode_groups(const Request& request) {
  const Path root;
  GroupsQuery groups;
  QV_TRY(groups.query, decode(request));
  groups.group_by = request.group_by();
  QV_TRY(check_group_key(groups.group_by, root.member("group_by")));
  if (has_group_size(request)) {
    groups.group_size = request.group_size();
    QV_TRY(check_positive(groups.group_size, root.member("group_size")));
  }
  if (request.has_with_lookup()) {
    QV_TRY(groups.with_lookup,
           decode_group_lookup(request.with_lookup(), root.member("with_lookup")));
  }
  return groups;
}

void set_group_id(const std::string& value, qdrant::GroupId& out) { out.set_string_value(value); }
void set_group_id(std::uint64_t value, qdrant::GroupId& out) { out.set_unsigned_value(value); }
void set_group_id(std::int64_t value, qdrant::GroupId& out) { out.set_integer_value(value); }

template <class Response>
Decoded<> answer_groups(Rpc& rpc, Groups groups) {
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    auto& result = *response.mutable_result();
    for (auto& group : groups) {
      if (auto running = rpc.check_cancel(); !running) {
        return fail(rpc.with_timeout(std::move(running).error()));
      }
      auto& out = *result.add_groups();
      std::visit([&](const auto& value) { set_group_id(value, *out.mutable_id()); }, group.id);
      for (auto& hit : group.hits) QV_TRY(set_scored(hit, *out.add_hits()));
      if (group.lookup) QV_TRY(set_retrieved(*group.lookup, *out.mutable_lookup()));
    }
    return {};
  });
}

template <class Request, class Response, Decoded<engine::Query> (*decode)(const Request&)>
Decoded<> run_groups(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<Request>());
  return with_readable(rpc, *request, [request](Rpc& call, OpenCollection target) -> Decoded<> {
    QV_TRY(read_params(call, *request));
    auto decoded = decode_groups<Request, decode>(*request);
    if (!decoded) return fail(std::move(decoded).error());
    api::query_groups(call, std::move(target), *std::move(decoded),
                      answer_by<Groups>(call, answer_groups<Response>));
    return {};
  });
}

void set_facet_value(const std::string& value, qdrant::FacetValue& out) {
  out.set_string_value(value);
}
void set_facet_value(std::int64_t value, qdrant::FacetValue& out) { out.set_integer_value(value); }
void set_facet_value(bool value, qdrant::FacetValue& out) { out.set_bool_value(value); }

Decoded<> answer_facet(Rpc& rpc, const FacetHits& hits) {
  return answer_with<qdrant::FacetResponse>(rpc, [&](qdrant::FacetResponse& response) -> Decoded<> {
    for (const auto& hit : hits) {
      auto& out = *response.add_hits();
      std::visit([&](const auto& value) { set_facet_value(value, *out.mutable_value()); },
                 hit.value);
      out.set_count(hit.count);
    }
    return {};
  });
}

Decoded<engine::FacetRequest> decode_facet(const qdrant::FacetCounts& request) {
  const Path root;
  engine::FacetRequest decoded;
  decoded.key = request.key();
  QV_TRY(check_group_key(decoded.key, root.member("key")));
  if (request.has_limit()) {
    decoded.limit = request.limit();
    QV_TRY(check_positive(decoded.limit, root.member("limit")));
  }
  if (request.has_filter()) {
    QV_TRY(decoded.filter, decode_filter(request.filter(), root.member("filter")));
  }
  QV_TRY(decoded.shards, decode_shards(request));
  return decoded;
}

Decoded<> run_facet(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::FacetCounts>());
  return with_readable(
      rpc, *request, [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
        QV_TRY(read_params(call, *request));
        QV_TRY(auto decoded, decode_facet(*request));
        api::facet(call, target, std::move(decoded), answer_by<FacetHits>(call, answer_facet));
        return {};
      });
}

Decoded<engine::MatrixRequest> decode_matrix(const qdrant::SearchMatrixPoints& request) {
  constexpr std::uint64_t kFewest = 2;
  const Path root;
  engine::MatrixRequest decoded;
  if (request.has_sample()) decoded.sample = request.sample();
  if (decoded.sample < kFewest) {
    return validation_error(root.member("sample"), fmt::format("value {} invalid, must be {} or "
                                                               "larger",
                                                               decoded.sample, kFewest));
  }
  if (request.has_limit()) decoded.limit = request.limit();
  QV_TRY(check_positive(decoded.limit, root.member("limit")));
  decoded.using_field = request.using_();
  if (request.has_filter()) {
    QV_TRY(decoded.filter, decode_filter(request.filter(), root.member("filter")));
  }
  QV_TRY(decoded.shards, decode_shards(request));
  return decoded;
}

Decoded<> answer_pairs(Rpc& rpc, const engine::DistanceMatrix& matrix) {
  using Response = qdrant::SearchMatrixPairsResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    auto& result = *response.mutable_result();
    for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
      for (const auto& entry : matrix.rows[row]) {
        auto& pair = *result.add_pairs();
        set_id(matrix.ids[row], *pair.mutable_a());
        set_id(matrix.ids[entry.column], *pair.mutable_b());
        pair.set_score(entry.score);
      }
    }
    return {};
  });
}

Decoded<> answer_offsets(Rpc& rpc, const engine::DistanceMatrix& matrix) {
  using Response = qdrant::SearchMatrixOffsetsResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    auto& result = *response.mutable_result();
    for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
      for (const auto& entry : matrix.rows[row]) {
        result.add_offsets_row(row);
        result.add_offsets_col(entry.column);
        result.add_scores(entry.score);
      }
    }
    for (const auto& id : matrix.ids) set_id(id, *result.add_ids());
    return {};
  });
}

template <Decoded<> (*answer)(Rpc&, const engine::DistanceMatrix&)>
Decoded<> run_matrix(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::SearchMatrixPoints>());
  return with_readable(rpc, *request,
                       [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                         QV_TRY(read_params(call, *request));
                         QV_TRY(auto decoded, decode_matrix(*request));
                         api::distance_matrix(call, target, std::move(decoded),
                                              answer_by<engine::DistanceMatrix>(call, answer));
                         return {};
                       });
}

}  // namespace

void add_group_methods(Methods& methods) {
  const auto add = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}});
  };
  add("/qdrant.Points/QueryGroups",
      run_groups<qdrant::QueryPointGroups, qdrant::QueryGroupsResponse, decode_query>);
  add("/qdrant.Points/SearchGroups",
      run_groups<qdrant::SearchPointGroups, qdrant::SearchGroupsResponse, decode_search>);
  add("/qdrant.Points/RecommendGroups",
      run_groups<qdrant::RecommendPointGroups, qdrant::RecommendGroupsResponse, decode_recommend>);
  add("/qdrant.Points/Facet", run_facet);
  add("/qdrant.Points/SearchMatrixPairs", run_matrix<answer_pairs>);
  add("/qdrant.Points/SearchMatrixOffsets", run_matrix<answer_offsets>);
}

}  // namespace quiver::service::rpc
