// Searches.
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/model/query_report.h"
#include "service/api/queries.h"
#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/encode.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/methods/params.h"
#include "service/json/encode/encode.h"

namespace quiver::service::rpc {
namespace {

using api::Records;
using engine::Query;
using Report = std::shared_ptr<const engine::QueryReport>;

/// Adds the report, if one was asked for and the answer has a place for it.
template <class Response>
void add_report(const Report& report, Response& response) {
  if constexpr (requires { response.mutable_explain(); }) {
    if (report == nullptr) return;
    json::Writer out(*response.mutable_explain());
    json::write_query_report(out, *report);
  }
}

template <class Response>
Decoded<> add_points(Records& records, Response& response) {
  response.mutable_result()->Reserve(static_cast<int>(records.size()));
  for (auto& record : records) QV_TRY(set_scored(record, *response.add_result()));
  return {};
}

template <class Response>
Decoded<> answer_points(Rpc& rpc, Records records, const Report& report) {
  return answer_with<Response>(rpc, [&](Response& response) {
    add_report(report, response);
    return add_points(records, response);
  });
}

template <class Response>
Decoded<> answer_lists(Rpc& rpc, std::vector<Records> lists, std::span<const Report> reports) {
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (auto running = rpc.check_cancel(); !running) {
        return fail(rpc.with_timeout(std::move(running).error()));
      }
      auto& result = *response.add_result();
      add_report(reports[i], result);
      QV_TRY(add_points(lists[i], result));
    }
    return {};
  });
}

template <class Request, class Response, Decoded<Query> (*decode)(const Request&)>
Decoded<> run_query(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<Request>());
  return with_readable(rpc, *request, [request](Rpc& call, OpenCollection target) -> Decoded<> {
    QV_TRY(read_params(call, *request));
    QV_TRY(auto query, decode(*request));
    auto answer = [report = Report(query.report)](Rpc& answered, Records records) {
      return answer_points<Response>(answered, std::move(records), report);
    };
    api::query(call, std::move(target), std::move(query),
               answer_by<Records>(call, std::move(answer)));
    return {};
  });
}

/// `list`: the queries of the batch. Each names a collection, too; that of the batch counts.
template <class Response, class Batch, class Query, Decoded<engine::Query> (*decode)(const Query&)>
Decoded<> run_batch(Rpc& rpc,
                    const google::protobuf::RepeatedPtrField<Query>& (Batch::*list)() const) {
  QV_TRY(const auto* request, rpc.request<Batch>());
  return with_readable(
      rpc, *request, [request, list](Rpc& call, OpenCollection target) -> Decoded<> {
        QV_TRY(read_params(call, *request));
        std::vector<engine::Query> queries;
        std::vector<Report> reports;
        for (const auto& one : (request->*list)()) {
          auto query = decode(one);
          if (!query) return fail(in_search(queries.size(), std::move(query).error()));
          reports.push_back(query->report);
          queries.push_back(*std::move(query));
        }
        auto answer = [reports = std::move(reports)](Rpc& answered, std::vector<Records> lists) {
          return answer_lists<Response>(answered, std::move(lists), reports);
        };
        api::query_batch(call, std::move(target), std::move(queries),
                         answer_by<std::vector<Records>>(call, std::move(answer)));
        return {};
      });
}

Decoded<> run_query_batch(Rpc& rpc) {
  using Batch = qdrant::QueryBatchPoints;
  return run_batch<qdrant::QueryBatchResponse, Batch, qdrant::QueryPoints, decode_query>(
      rpc, &Batch::query_points);
}

Decoded<> run_search_batch(Rpc& rpc) {
  using Batch = qdrant::SearchBatchPoints;
  return run_batch<qdrant::SearchBatchResponse, Batch, qdrant::SearchPoints, decode_search>(
      rpc, &Batch::search_points);
}

Decoded<> run_recommend_batch(Rpc& rpc) {
  using Batch = qdrant::RecommendBatchPoints;
  return run_batch<qdrant::RecommendBatchResponse, Batch, qdrant::RecommendPoints,
                   decode_recommend>(rpc, &Batch::recommend_points);
}

Decoded<> run_discover_batch(Rpc& rpc) {
  using Batch = qdrant::DiscoverBatchPoints;
  return run_batch<qdrant::DiscoverBatchResponse, Batch, qdrant::DiscoverPoints, decode_discover>(
      rpc, &Batch::discover_points);
}

}  // namespace

void add_query_methods(Methods& methods) {
  const auto add = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}});
  };
  add("/qdrant.Points/Query", run_query<qdrant::QueryPoints, qdrant::QueryResponse, decode_query>);
  add("/qdrant.Points/QueryBatch", run_query_batch);
  add("/qdrant.Points/Search",
      run_query<qdrant::SearchPoints, qdrant::SearchResponse, decode_search>);
  add("/qdrant.Points/SearchBatch", run_search_batch);
  add("/qdrant.Points/Recommend",
      run_query<qdrant::RecommendPoints, qdrant::RecommendResponse, decode_recommend>);
  add("/qdrant.Points/RecommendBatch", run_recommend_batch);
  add("/qdrant.Points/Discover",
      run_query<qdrant::DiscoverPoints, qdrant::DiscoverResponse, decode_discover>);
  add("/qdrant.Points/DiscoverBatch", run_discover_batch);
}

}  // namespace quiver::service::rpc
