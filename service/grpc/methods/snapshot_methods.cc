// Snapshots of collections and of everything: made, listed, deleted. Archives travel by HTTP.
#include "service/api/snapshots.h"

#include <utility>

#include "proto/snapshots.pb.h"
#include "service/api/names.h"
#include "service/grpc/methods/methods.h"
#include "service/grpc/methods/params.h"

namespace quiver::service::rpc {
namespace {

using api::SnapshotDescription;
using api::SnapshotScope;
using Descriptions = std::vector<SnapshotDescription>;

/// The collection that a request names, or everything if requests of its type name none.
template <class Request>
Decoded<SnapshotScope> scope_of(Rpc& rpc, const Request& request) {
  if constexpr (requires { request.collection_name(); }) {
    rpc.set_collection(request.collection_name());
    const auto checked = api::check_collection_name(request.collection_name());
    const Path root;
    if (!checked) {
      return validation_error(root.member("collection_name"), checked.error().message());
    }
    return SnapshotScope{request.collection_name(), std::nullopt};
  } else {
    return SnapshotScope();
  }
}

void set_description(const SnapshotDescription& snapshot, qdrant::SnapshotDescription& out) {
  out.set_name(snapshot.name);
  out.mutable_creation_time()->set_seconds(static_cast<std::int64_t>(snapshot.created_at_s));
  out.set_size(static_cast<std::int64_t>(snapshot.size_bytes));
  if (!snapshot.checksum.empty()) out.set_checksum(snapshot.checksum);
}

Decoded<> answer_created(Rpc& rpc, const SnapshotDescription& snapshot) {
  using Response = qdrant::CreateSnapshotResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    set_description(snapshot, *response.mutable_snapshot_description());
    return {};
  });
}

Decoded<> answer_list(Rpc& rpc, const Descriptions& snapshots) {
  using Response = qdrant::ListSnapshotsResponse;
  return answer_with<Response>(rpc, [&](Response& response) -> Decoded<> {
    for (const auto& snapshot : snapshots) {
      set_description(snapshot, *response.add_snapshot_descriptions());
    }
    return {};
  });
}

template <class Request>
Decoded<> create_snapshot(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<Request>());
  QV_TRY(auto scope, scope_of(rpc, *request));
  api::create_snapshot(rpc, std::move(scope), answer_by<SnapshotDescription>(rpc, answer_created));
  return {};
}

template <class Request>
Decoded<> list_snapshots(Rpc& rpc) {
  QV_TRY(const auto* request, rpc.request<Request>());
  QV_TRY(auto scope, scope_of(rpc, *request));
  api::list_snapshots(rpc, std::move(scope), answer_by<Descriptions>(rpc, answer_list));
  return {};
}

template <class Request>
Decoded<> delete_snapshot(Rpc& rpc) {
  using Response = qdrant::DeleteSnapshotResponse;
  QV_TRY(const auto* request, rpc.request<Request>());
  QV_TRY(auto scope, scope_of(rpc, *request));
  auto answer = [](Rpc& call) {
    return answer_with<Response>(call, [](Response&) -> Decoded<> { return {}; });
  };
  api::delete_snapshot(rpc, std::move(scope), request->snapshot_name(), answer_done(rpc, answer));
  return {};
}

}  // namespace

void add_snapshot_methods(Methods& methods) {
  const auto add = [&](std::string_view name, Handler handler) {
    methods.push_back({name, Callers::kWithKey, handler, {}, api::Effect::kHere});
  };
  add("/qdrant.Snapshots/Create", create_snapshot<qdrant::CreateSnapshotRequest>);
  add("/qdrant.Snapshots/List", list_snapshots<qdrant::ListSnapshotsRequest>);
  add("/qdrant.Snapshots/Delete", delete_snapshot<qdrant::DeleteSnapshotRequest>);
  add("/qdrant.Snapshots/CreateFull", create_snapshot<qdrant::CreateFullSnapshotRequest>);
  add("/qdrant.Snapshots/ListFull", list_snapshots<qdrant::ListFullSnapshotsRequest>);
  add("/qdrant.Snapshots/DeleteFull", delete_snapshot<qdrant::DeleteFullSnapshotRequest>);
}

}  // namespace quiver::service::rpc
