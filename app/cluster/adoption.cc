#include "app/cluster/adoption.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "app/cluster/answer.h"
#include "app/cluster/requests.h"
#include "payload/json/document.h"
#include "service/client/server_connection.h"

namespace quiver::app {
namespace {

using payload::Object;
using payload::Value;

/// The `result` of an answer.
Result<Value> result_of(client::ServerConnection& server, std::string_view method,
                        const std::string& target, std::string_view body) {
  QV_TRY(const client::HttpResponse answer, server.exchange(method, target, body));
  if (answer.status != 200) return fail(Code::kUnavailable, client::error_text(answer));
  QV_TRY(const Value document, payload::parse_json(answer.body));
  const Value* result = document.find("result");
  if (result != nullptr) return *result;
  return fail(Code::kInvalidArgument, "the answer has no result");
}

Result<> check_is_alone(client::ServerConnection& server, const std::string& path) {
  QV_TRY(const Value shards, result_of(server, "GET", path + "/cluster", ""));
  const Value* alone = shards.find("alone");
  if (alone != nullptr && alone->as_bool() != nullptr && *alone->as_bool()) return {};
  return fail(Code::kFailedPrecondition,
              "it is one of the cluster already, or the server belongs to no cluster");
}

/// A collection of a node alone takes no changes, so the snapshot has all of it.
Result<> adopt(client::ServerConnection& server, const std::string& name) {
  const std::string path = "/collections/" + client::escape_segment(name);
  QV_TRY(check_is_alone(server, path));
  QV_TRY(const Value made, result_of(server, "POST", path + "/snapshots", ""));
  const std::string snapshot = text_member(made, "name");
  const Value location(Object{{"location", Value(snapshot)}});
  const auto restored =
      result_of(server, "PUT", path + "/snapshots/recover?wait=true", payload::to_json(location));
  const auto removed =
      result_of(server, "DELETE", path + "/snapshots/" + client::escape_segment(snapshot), "");
  if (!restored) return fail(restored.error());
  if (removed) return {};
  return fail(removed.error().with_context("it is adopted, and its snapshot is left"));
}

}  // namespace

Result<> run_cluster_adopt(const ClusterStatusOptions& options) {
  QV_TRY(const auto connection, connect_to(options));
  for (const auto& name : options.collections) {
    const auto adopted = adopt(*connection, name);
    if (!adopted) {
      return fail(adopted.error().with_context(fmt::format("collection `{}`", name)));
    }
    std::fputs(fmt::format("{}: is one of the cluster now\n", name).c_str(), stdout);
  }
  return {};
}

}  // namespace quiver::app
