// Counts, statistics and histograms of payload values.
#include "service/api/aggregates.h"

#include <string>
#include <utility>
#include <vector>

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

using Aggregates = std::vector<engine::Aggregate>;

Decoded<> write_aggregates(Exchange& x, const std::vector<std::string>& names,
                           const Aggregates& aggregates) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("aggregations");
  out.begin_object();
  for (std::size_t i = 0; i < aggregates.size(); ++i) {
    out.escaped_key(names[i]);
    json::write_aggregate(out, aggregates[i]);
  }
  out.end_object();
  out.end_object();
  x.end_result();
  return {};
}

Decoded<Answer> run_aggregate(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_aggregate(x.request.body));
  std::vector<std::string> names;
  for (const auto& [name, aggregation] : request.aggregations) names.push_back(name);
  const auto write = [names = std::move(names)](Exchange& exchange, const Aggregates& aggregates) {
    return write_aggregates(exchange, names, aggregates);
  };
  api::aggregate(x, collection, std::move(request), answer_by<Aggregates>(x, write));
  return Answer::kLater;
}

}  // namespace

void add_aggregate_routes(Routes& routes) {
  routes.push_back({Method::kPost, "/v1/collections/{collection_name}/aggregate", Access::kRead,
                    with_body<run_aggregate>});
}

}  // namespace quiver::service
