// Collections, their aliases and payload indexes.
#include "service/api/collections.h"

#include <fmt/format.h>

#include <utility>

#include "proto/answers.pb.h"
#include "service/api/aliases.h"
#include "service/api/names.h"
#include "service/grpc/messages/configs.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/methods/params.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"

namespace quiver::service::rpc {
namespace {

Decoded<> check_name(Rpc& rpc, const std::string& name) {
  rpc.set_collection(name);
  const auto checked = api::check_collection_name(name);
  if (checked) return {};
  const Path root;
  return validation_error(root.member("collection_name"), checked.error().message());
}

Decoded<> answer_operation(Rpc& rpc, bool result) {
  using Response = qdrant::CollectionOperationResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    response.set_result(result);
    return {};
  });
}

api::Done<> answer_true(Rpc& rpc) {
  return answer_done(rpc, [](Rpc& call) { return answer_operation(call, true); });
}

Decoded<> list_collections(Rpc& rpc) {
  using Response = qdrant::ListCollectionsResponse;
  QV_TRY(rpc.request<qdrant::ListCollectionsRequest>());
  QV_TRY(const auto names, api::collection_names(rpc));
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    for (const auto& name : names) response.add_collections()->set_name(name);
    return {};
  });
}

Decoded<> collection_exists(Rpc& rpc) {
  using Response = qdrant::CollectionExistsResponse;
  QV_TRY(const auto* request, rpc.request<qdrant::CollectionExistsRequest>());
  QV_TRY(check_name(rpc, request->collection_name()));
  QV_TRY(const bool exists, api::collection_exists(rpc, request->collection_name()));
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    response.mutable_result()->set_exists(exists);
    return {};
  });
}

Decoded<> collection_info(Rpc& rpc) {
  using Response = qdrant::GetCollectionInfoResponse;
  QV_TRY(const auto* request, rpc.request<qdrant::GetCollectionInfoRequest>());
  return with_collection(
      rpc, request->collection_name(), [](Rpc& call, const OpenCollection& target) -> Decoded<> {
        QV_TRY(const auto info, api::collection_info(call, target));
        std::string text;
        json::Writer out(text);
        json::write_collection_info(out, info);
        return answer_with<Response>(
            call, [&](Response& response) { return set_info(text, *response.mutable_result()); });
      });
}

Decoded<> create_collection(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::CreateCollection>());
  QV_TRY(check_name(rpc, request->collection_name()));
  return on_executor(rpc, rpc.runtime().blocking(), [request](Rpc& call) -> Decoded<> {
    QV_TRY(auto body, json_of(*request));
    QV_TRY(auto config, json::decode_collection(body, call.runtime().options().creation));
    api::create_collection(call, request->collection_name(), std::move(config), answer_true(call));
    return {};
  });
}

Decoded<> update_collection(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::UpdateCollection>());
  rpc.set_collection(request->collection_name());
  return on_executor(rpc, rpc.runtime().blocking(), [request](Rpc& call) -> Decoded<> {
    QV_TRY(api::check_exists(call, request->collection_name()));
    QV_TRY(auto body, json_of(*request));
    QV_TRY(auto patch, json::CollectionPatch::decode(body));
    auto change = [patch = std::move(patch)](engine::CollectionConfig& config) {
      return patch.apply(config);
    };
    api::update_collection(call, request->collection_name(), std::move(change), answer_true(call));
    return {};
  });
}

Decoded<> delete_collection(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::DeleteCollection>());
  rpc.set_collection(request->collection_name());
  api::drop_collection(rpc, request->collection_name(), answer_by<bool>(rpc, answer_operation));
  return {};
}

Decoded<> answer_aliases(Rpc& rpc, const std::vector<engine::Alias>& aliases) {
  using Response = qdrant::ListAliasesResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    for (const auto& alias : aliases) {
      auto& out = *response.add_aliases();
      out.set_alias_name(alias.alias);
      out.set_collection_name(alias.collection);
    }
    return {};
  });
}

Decoded<> list_aliases(Rpc& rpc) {
  QV_TRY(rpc.request<qdrant::ListAliasesRequest>());
  QV_TRY(const auto aliases, api::list_aliases(rpc, std::nullopt));
  return answer_aliases(rpc, aliases);
}

Decoded<> list_collection_aliases(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::ListCollectionAliasesRequest>());
  QV_TRY(const auto aliases, api::list_aliases(rpc, request->collection_name()));
  return answer_aliases(rpc, aliases);
}

Decoded<> check_alias(const std::string& name, const Path& path) {
  if (api::is_collection_name(name)) return {};
  return validation_error(path, fmt::format("value \"{}\" invalid, no name for an alias", name));
}

Decoded<engine::AliasAction> decode_action(const qdrant::AliasOperations& action,
                                           const Path& path) {
  switch (action.action_case()) {
    case qdrant::AliasOperations::kCreateAlias: {
      const auto& create = action.create_alias();
      const Path here = path.member("create_alias");
      QV_TRY(check_alias(create.alias_name(), here.member("alias_name")));
      return engine::AliasAction(
          engine::CreateAlias{create.collection_name(), create.alias_name()});
    }
    case qdrant::AliasOperations::kRenameAlias: {
      const auto& rename = action.rename_alias();
      const Path here = path.member("rename_alias");
      QV_TRY(check_alias(rename.new_alias_name(), here.member("new_alias_name")));
      return engine::AliasAction(
          engine::RenameAlias{rename.old_alias_name(), rename.new_alias_name()});
    }
    case qdrant::AliasOperations::kDeleteAlias:
      return engine::AliasAction(engine::DeleteAlias{action.delete_alias().alias_name()});
    case qdrant::AliasOperations::ACTION_NOT_SET:
      break;
  }
  return format_error(path, "missing action");
}

Decoded<> update_aliases(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::ChangeAliases>());
  const Path root;
  const Path at_actions = root.member("actions");
  std::vector<engine::AliasAction> actions;
  for (const auto& action : request->actions()) {
    QV_TRY(auto decoded, decode_action(action, at_actions.item(actions.size())));
    actions.push_back(std::move(decoded));
  }
  api::update_aliases(rpc, std::move(actions), answer_true(rpc));
  return {};
}

Decoded<> answer_index_change(Rpc& rpc, engine::Ack ack) {
  using Response = qdrant::PointsOperationResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    auto& result = *response.mutable_result();
    result.set_operation_id(0);
    result.set_status(ack == engine::Ack::kVisible ? qdrant::Completed : qdrant::Acknowledged);
    return {};
  });
}

Decoded<> create_index(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::CreateFieldIndexCollection>());
  return with_collection(
      rpc, request->collection_name(),
      [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
        QV_TRY(auto body, json_of(*request));
        QV_TRY(auto index, json::decode_index(body));
        const auto ack = ack_of(*request);
        auto write = [ack](Rpc& created) { return answer_index_change(created, ack); };
        api::create_index(call, target, std::move(index), ack, answer_done(call, write));
        return {};
      });
}

Decoded<> drop_index(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::DeleteFieldIndexCollection>());
  return with_collection(rpc, request->collection_name(),
                         [request](Rpc& call, const OpenCollection& target) -> Decoded<> {
                           auto write = [ack = ack_of(*request)](Rpc& dropped, bool) {
                             return answer_index_change(dropped, ack);
                           };
                           api::drop_index(call, target, request->field_name(),
                                           answer_by<bool>(call, write));
                           return {};
                         });
}

Decoded<> create_vector(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::CreateVectorNameRequest>());
  rpc.set_collection(request->collection_name());
  return on_executor(rpc, rpc.runtime().blocking(), [request](Rpc& call) -> Decoded<> {
    QV_TRY(api::check_exists(call, request->collection_name()));
    QV_TRY(auto body, json_of(*request));
    QV_TRY(auto creation, json::VectorCreation::decode(request->vector_name(), body));
    auto add = [creation = std::move(creation)](engine::CollectionConfig& config) {
      return creation.apply(config);
    };
    auto write = [ack = ack_of(*request)](Rpc& made) { return answer_index_change(made, ack); };
    api::create_vector(call, request->collection_name(), std::move(add), answer_done(call, write));
    return {};
  });
}

Decoded<> delete_vector(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<qdrant::DeleteVectorNameRequest>());
  rpc.set_collection(request->collection_name());
  const json::VectorDeletion deletion(request->vector_name());
  auto remove = [deletion](engine::CollectionConfig& config) { return deletion.apply(config); };
  auto write = [ack = ack_of(*request)](Rpc& made) { return answer_index_change(made, ack); };
  api::delete_vector(rpc, request->collection_name(), std::move(remove), answer_done(rpc, write));
  return {};
}

}  // namespace

void add_collection_methods(Methods& methods) {
  const auto add = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}});
  };
  const auto here = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}, api::Effect::kHere});
  };
  const auto change = [&](std::string_view name, Handler handler, api::Effect effect) {
    methods.push_back({name, Callers::kWithKey, handler, {}, effect});
  };
  constexpr auto kCatalog = api::Effect::kCatalog;
  add("/qdrant.Collections/Get", collection_info);
  add("/qdrant.Collections/List", list_collections);
  change("/qdrant.Collections/Create", create_collection, kCatalog);
  change("/qdrant.Collections/Update", update_collection, api::Effect::kChange);
  change("/qdrant.Collections/Delete", delete_collection, kCatalog);
  change("/qdrant.Collections/UpdateAliases", update_aliases, kCatalog);
  here("/qdrant.Collections/ListCollectionAliases", list_collection_aliases);
  add("/qdrant.Collections/ListAliases", list_aliases);
  here("/qdrant.Collections/CollectionExists", collection_exists);
}

void add_index_methods(Methods& methods) {
  const auto change = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}, api::Effect::kChange});
  };
  change("/qdrant.Points/CreateFieldIndex", create_index);
  change("/qdrant.Points/DeleteFieldIndex", drop_index);
  change("/qdrant.Points/CreateVectorName", create_vector);
  change("/qdrant.Points/DeleteVectorName", delete_vector);
}

}  // namespace quiver::service::rpc
