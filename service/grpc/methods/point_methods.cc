// Reads of points, except searches, and all changes.
#include "service/api/points.h"

#include "service/grpc/messages/decode.h"
#include "service/grpc/messages/encode.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/methods/params.h"

namespace quiver::service::rpc {
namespace {

using engine::Operation;
using UpdateResults = std::vector<engine::UpdateResult>;

Decoded<> answer_records(Rpc& rpc, std::vector<engine::Record> records) {
  return answer_with<qdrant::GetResponse>(rpc, [&](qdrant::GetResponse& response) -> Decoded<> {
    for (auto& record : records) QV_TRY(set_retrieved(record, *response.add_result()));
    return {};
  });
}

Decoded<> get(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::GetPoints>());
  return with_readable(
      rpc, *request, [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
        QV_TRY(read_params(call, *request));
        QV_TRY(auto decoded, decode_get(*request));
        api::retrieve(call, target, std::move(decoded),
                      answer_by<std::vector<engine::Record>>(call, answer_records));
        return {};
      });
}

Decoded<> answer_page(Rpc& rpc, engine::ScrollPage page) {
  return answer_with<qdrant::ScrollResponse>(
      rpc, [&](qdrant::ScrollResponse& response) -> Decoded<> {
        for (auto& record : page.points) QV_TRY(set_retrieved(record, *response.add_result()));
        if (page.next) set_id(*page.next, *response.mutable_next_page_offset());
        return {};
      });
}

Decoded<> scroll(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::ScrollPoints>());
  return with_readable(rpc, *request,
                       [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                         QV_TRY(read_params(call, *request));
                         QV_TRY(auto decoded, decode_scroll(*request));
                         api::scroll(call, target, std::move(decoded),
                                     answer_by<engine::ScrollPage>(call, answer_page));
                         return {};
                       });
}

Decoded<> answer_count(Rpc& rpc, std::uint64_t count) {
  return answer_with<qdrant::CountResponse>(rpc, [&](qdrant::CountResponse& response) -> Decoded<> {
    response.mutable_result()->set_count(count);
    return {};
  });
}

Decoded<> count(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::CountPoints>());
  return with_readable(
      rpc, *request, [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
        QV_TRY(read_params(call, *request));
        QV_TRY(auto decoded, decode_count(*request));
        api::count(call, target, std::move(decoded), answer_by<std::uint64_t>(call, answer_count));
        return {};
      });
}

Decoded<> answer_change(Rpc& rpc, const UpdateResults& results) {
  using Response = qdrant::PointsOperationResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    const auto result = results.empty() ? engine::UpdateResult() : results.front();
    set_result(result, *response.mutable_result());
    return {};
  });
}

Decoded<> answer_changes(Rpc& rpc, const UpdateResults& results) {
  using Response = qdrant::UpdateBatchResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    for (const auto& result : results) set_result(result, *response.add_result());
    return {};
  });
}

template <class Request, Decoded<Operation> (*decode)(const Request&)>
Decoded<> change(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<Request>());
  return with_collection(rpc, request->collection_name(),
                         [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           QV_TRY(write_params(call, *request));
                           QV_TRY(auto operation, decode(*request));
                           std::vector<Operation> operations;
                           operations.push_back(std::move(operation));
                           api::update(call, target, std::move(operations), ack_of(*request),
                                       answer_by<UpdateResults>(call, answer_change));
                           return {};
                         });
}

Decoded<> update_batch(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::UpdateBatchPoints>());
  return with_collection(rpc, request->collection_name(),
                         [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           QV_TRY(write_params(call, *request));
                           QV_TRY(auto operations, decode(*request));
                           api::update(call, target, std::move(operations), ack_of(*request),
                                       answer_by<UpdateResults>(call, answer_changes));
                           return {};
                         });
}

}  // namespace

void add_read_methods(Methods& methods) {
  methods.insert(methods.end(), {{"/qdrant.Points/Get", Callers::kWithKey, get, {}},
                                 {"/qdrant.Points/Scroll", Callers::kWithKey, scroll, {}},
                                 {"/qdrant.Points/Count", Callers::kWithKey, count, {}}});
}

void add_change_methods(Methods& methods) {
  using api::WhenOverloaded;
  const auto add = [&](std::string_view name, Handler handler,
                       WhenOverloaded when_overloaded = WhenOverloaded::kRefused) {
    methods.push_back(
        {name, Callers::kWithKey, handler, {}, api::Effect::kChange, when_overloaded});
  };
  add("/qdrant.Points/Upsert", change<qdrant::UpsertPoints, decode>);
  add("/qdrant.Points/Delete", change<qdrant::DeletePoints, decode>, WhenOverloaded::kServed);
  add("/qdrant.Points/UpdateVectors", change<qdrant::UpdatePointVectors, decode>);
  add("/qdrant.Points/DeleteVectors", change<qdrant::DeletePointVectors, decode>,
      WhenOverloaded::kServed);
  add("/qdrant.Points/SetPayload", change<qdrant::SetPayloadPoints, decode_set_payload>);
  add("/qdrant.Points/OverwritePayload",
      change<qdrant::SetPayloadPoints, decode_overwrite_payload>);
  add("/qdrant.Points/DeletePayload", change<qdrant::DeletePayloadPoints, decode>,
      WhenOverloaded::kServed);
  add("/qdrant.Points/ClearPayload", change<qdrant::ClearPayloadPoints, decode>,
      WhenOverloaded::kServed);
  add("/qdrant.Points/UpdateBatch", update_batch, WhenOverloaded::kServed);
}

}  // namespace quiver::service::rpc
