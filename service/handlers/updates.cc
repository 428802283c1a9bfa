// Everything that changes points.
#include <fmt/format.h>

#include "service/api/points.h"
#include "service/binary/ragged.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service {
namespace {

using engine::Operation;
using engine::UpdateResult;
using UpdateResults = std::vector<UpdateResult>;

Decoded<> write_result(Exchange& x, const UpdateResults& results) {
  auto out = x.begin_result();
  json::write_update_result(out, results.empty() ? UpdateResult() : results.front());
  x.end_result();
  return {};
}

Decoded<> write_result_list(Exchange& x, const UpdateResults& results) {
  auto out = x.begin_result();
  out.begin_array();
  for (const auto& result : results) json::write_update_result(out, result);
  out.end_array();
  x.end_result();
  return {};
}

Decoded<Answer> update_by(Exchange& x, const OpenCollection& collection, Operation operation) {
  QV_TRY(const auto ack, write_params(x));
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  api::update(x, collection, std::move(operations), ack, answer_by<UpdateResults>(x, write_result));
  return Answer::kLater;
}

template <Decoded<Operation> (*decode)(std::string&)>
Decoded<Answer> run_one(Exchange& x, OpenCollection collection) {
  QV_TRY(auto operation, decode(x.request.body));
  return update_by(x, collection, std::move(operation));
}

Decoded<Answer> run_list(Exchange& x, OpenCollection collection) {
  QV_TRY(auto operations, json::decode_operations(x.request.body));
  if (operations.empty()) {
    x.result_raw("[]");
    return Answer::kReady;
  }
  QV_TRY(const auto ack, write_params(x));
  api::update(x, collection, std::move(operations), ack,
              answer_by<UpdateResults>(x, write_result_list));
  return Answer::kLater;
}

Decoded<> check_ragged_type(const Request& request) {
  const std::string_view type = request.content_type;
  if (type.substr(0, type.find(';')) == kRaggedType) return {};
  return fail(ApiError(415, fmt::format("Bad request: content-type `{}` is not supported, must be "
                                        "`{}`",
                                        type, kRaggedType)));
}

/// The multi-vector of this name.
Decoded<FieldSchema> ragged_field(const OpenCollection& collection, const std::string& name) {
  QV_TRY(auto field, api::vector_field(collection, name));
  QV_TRY(check_takes_ragged(field));
  return field;
}

/// The multi-vectors that the parameters `using` name: the unnamed one if there are none.
Decoded<std::vector<FieldSchema>> ragged_fields(const Exchange& x,
                                                const OpenCollection& collection) {
  auto names = query_parameters(x.target.query, "using");
  if (names.empty()) names.emplace_back();
  std::vector<FieldSchema> fields;
  for (const auto& name : names) {
    QV_TRY(fields.emplace_back(), ragged_field(collection, name));
  }
  return fields;
}

Decoded<engine::Upsert> decode_ragged_upsert(const Exchange& x, const OpenCollection& collection) {
  QV_TRY(const auto fields, ragged_fields(x, collection));
  if (has_ragged_points(x.request.body)) return decode_ragged_points(x.request.body, fields);
  engine::Upsert upsert;
  QV_TRY(upsert.points, decode_ragged(x.request.body, fields.front(), RaggedPayloads::kTaken));
  return upsert;
}

Decoded<engine::UpdateVectors> decode_ragged_update(const Exchange& x,
                                                    const OpenCollection& collection) {
  QV_TRY(const auto fields, ragged_fields(x, collection));
  engine::UpdateVectors update;
  QV_TRY(update.points, decode_ragged(x.request.body, fields.front(), RaggedPayloads::kRefused));
  return update;
}

template <auto decode>
Decoded<Answer> run_ragged(Exchange& x, OpenCollection collection) {
  QV_TRY(check_ragged_type(x.request));
  QV_TRY(auto change, decode(x, collection));
  return update_by(x, collection, std::move(change));
}

}  // namespace

void add_update_routes(Routes& routes) {
  const auto add = [&](Method method, std::string_view pattern, Handler handler,
                       WhenOverloaded when_overloaded = WhenOverloaded::kRefused) {
    routes.push_back(
        {method, pattern, Access::kWrite, handler, Effect::kChange, nullptr, when_overloaded});
  };
  add(Method::kPut, "/collections/{collection_name}/points",
      with_body<run_one<json::decode_upsert>>);
  add(Method::kPost, "/collections/{collection_name}/points/delete",
      with_body<run_one<json::decode_delete_points>>, WhenOverloaded::kServed);
  add(Method::kPost, "/collections/{collection_name}/points/payload",
      with_body<run_one<json::decode_set_payload>>);
  add(Method::kPut, "/collections/{collection_name}/points/payload",
      with_body<run_one<json::decode_overwrite_payload>>);
  add(Method::kPost, "/collections/{collection_name}/points/payload/delete",
      with_body<run_one<json::decode_delete_payload>>, WhenOverloaded::kServed);
  add(Method::kPost, "/collections/{collection_name}/points/payload/clear",
      with_body<run_one<json::decode_clear_payload>>, WhenOverloaded::kServed);
  add(Method::kPut, "/collections/{collection_name}/points/vectors",
      with_body<run_one<json::decode_update_vectors>>);
  add(Method::kPost, "/collections/{collection_name}/points/vectors/delete",
      with_body<run_one<json::decode_delete_vectors>>, WhenOverloaded::kServed);
  add(Method::kPost, "/collections/{collection_name}/points/batch", with_body<run_list>,
      WhenOverloaded::kServed);
  add(Method::kPut, "/v1/collections/{collection_name}/points/ragged",
      with_body<run_ragged<decode_ragged_upsert>>);
  add(Method::kPut, "/v1/collections/{collection_name}/points/vectors/ragged",
      with_body<run_ragged<decode_ragged_update>>);
}

}  // namespace quiver::service
