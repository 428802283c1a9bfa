// Searches for groups, facets and distance matrices.
#include "service/api/groups.h"

#include "service/api/facets.h"
#include "service/api/matrix.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

using Groups = std::vector<engine::PointGroup>;
using FacetHits = std::vector<engine::FacetHit>;

Decoded<> write_groups(Exchange& x, const Groups& groups) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("groups");
  out.begin_array();
  for (const auto& group : groups) {
    if (auto running = x.check_cancel(); !running) {
      return fail(x.with_timeout(std::move(running).error()));
    }
    json::write_group(out, group);
  }
  out.end_array();
  out.end_object();
  x.end_result();
  return {};
}

using DecodeGroups = Decoded<engine::GroupsQuery> (*)(std::string&);

template <DecodeGroups decode>
Decoded<Answer> run_groups(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto query, decode(x.request.body));
  api::query_groups(x, std::move(collection), std::move(query), answer_by<Groups>(x, write_groups));
  return Answer::kLater;
}

Decoded<> write_facet(Exchange& x, const FacetHits& hits) {
  auto out = x.begin_result();
  json::write_facet_hits(out, hits);
  x.end_result();
  return {};
}

Decoded<Answer> run_facet(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_facet(x.request.body));
  api::facet(x, collection, std::move(request), answer_by<FacetHits>(x, write_facet));
  return Answer::kLater;
}

using WriteMatrix = void (*)(json::Writer&, const engine::DistanceMatrix&);

template <WriteMatrix write>
Decoded<> write_matrix(Exchange& x, const engine::DistanceMatrix& matrix) {
  auto out = x.begin_result();
  write(out, matrix);
  x.end_result();
  return {};
}

template <WriteMatrix write>
Decoded<Answer> run_matrix(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_matrix(x.request.body));
  api::distance_matrix(x, collection, std::move(request),
                       answer_by<engine::DistanceMatrix>(x, write_matrix<write>));
  return Answer::kLater;
}

}  // namespace

void add_group_routes(Routes& routes) {
  const auto add = [&](std::string_view pattern, Handler handler) {
    routes.push_back({Method::kPost, pattern, Access::kRead, handler});
  };
  add("/collections/{collection_name}/points/query/groups",
      with_body<run_groups<json::decode_query_groups>>);
  add("/collections/{collection_name}/points/search/groups",
      with_body<run_groups<json::decode_search_groups>>);
  add("/collections/{collection_name}/points/recommend/groups",
      with_body<run_groups<json::decode_recommend_groups>>);
  add("/collections/{collection_name}/facet", with_body<run_facet>);
  add("/collections/{collection_name}/points/search/matrix/pairs",
      with_body<run_matrix<json::write_matrix_pairs>>);
  add("/collections/{collection_name}/points/search/matrix/offsets",
      with_body<run_matrix<json::write_matrix_offsets>>);
}

}  // namespace quiver::service
