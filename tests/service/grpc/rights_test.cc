// Which right each method of gRPC needs, and that every kind of caller gets what it may. The table
// of REST is in tests/service/handlers/rights_test.cc.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/changes.pb.h"
#include "proto/collections.pb.h"
#include "proto/searches.pb.h"
#include "proto/snapshots.pb.h"
#include "service/api/runtime.h"
#include "service/grpc/methods/methods.h"
#include "tests/patience.h"
#include "tests/service/fake_database.h"

namespace quiver::service::rpc {
namespace {

using Level = access::Principal::Level;
using access::Access;
using access::Grant;

/// A right, and a valid request as text.
struct Needed {
  Access right;
  std::string request;
};

const std::map<std::string_view, Needed>& needs() {
  using enum Access;
  static const std::string c = R"(collection_name: "c" )";
  static const std::string selector = c + "points { points { ids { num: 1 } } } ";
  static const std::string selected = c + "points_selector { points { ids { num: 1 } } } ";
  static const std::string example = c + "limit: 1 positive { num: 1 } ";
  static const std::string grouped = R"(group_by: "k" group_size: 1 )";
  static const std::map<std::string_view, Needed> kNeeds = {
      {"/qdrant.Collections/Get", {kRead, c}},
      {"/qdrant.Collections/List", {kAny, ""}},
      {"/qdrant.Collections/Create",
       {kManage, R"(collection_name: "new" vectors_config { params { size: 2 distance: Dot } })"}},
      {"/qdrant.Collections/Update", {kManage, c}},
      {"/qdrant.Collections/Delete", {kManage, c}},
      {"/qdrant.Collections/UpdateAliases",
       {kManage, R"(actions { delete_alias { alias_name: "a" } })"}},
      {"/qdrant.Collections/ListCollectionAliases", {kRead, c}},
      {"/qdrant.Collections/ListAliases", {kAny, ""}},
      {"/qdrant.Collections/CollectionExists", {kRead, c}},
      {"/qdrant.Collections/CollectionClusterInfo", {kReadExtras, c}},
      {"/qdrant.Collections/UpdateCollectionClusterSetup",
       {kManage, c + R"(create_shard_key { shard_key { keyword: "a" } })"}},
      {"/qdrant.Collections/CreateShardKey",
       {kManage, c + R"(request { shard_key { keyword: "a" } })"}},
      {"/qdrant.Collections/DeleteShardKey",
       {kManage, c + R"(request { shard_key { keyword: "a" } })"}},
      {"/qdrant.Collections/ListShardKeys", {kRead, c}},
      {"/qdrant.Points/Upsert", {kWrite, c}},
      {"/qdrant.Points/Delete", {kWrite, selector}},
      {"/qdrant.Points/Get", {kRead, c}},
      {"/qdrant.Points/UpdateVectors",
       {kWrite, c + "points { id { num: 1 } vectors { vector { dense { data: 1 } } } }"}},
      {"/qdrant.Points/DeleteVectors", {kWrite, selected + R"(vectors { names: "" })"}},
      {"/qdrant.Points/SetPayload", {kWrite, selected}},
      {"/qdrant.Points/OverwritePayload", {kWrite, selected}},
      {"/qdrant.Points/DeletePayload", {kWrite, selected + R"(keys: "k")"}},
      {"/qdrant.Points/ClearPayload", {kWrite, selector}},
      {"/qdrant.Points/UpdateBatch", {kWrite, c + "operations { upsert {} }"}},
      {"/qdrant.Points/CreateFieldIndex",
       {kWriteExtras, c + R"(field_name: "k" field_type: FieldTypeKeyword)"}},
      {"/qdrant.Points/DeleteFieldIndex", {kWriteExtras, c + R"(field_name: "k")"}},
      {"/qdrant.Points/CreateVectorName",
       {kWriteExtras, c + R"(vector_name: "v" dense_config { size: 2 distance: Dot })"}},
      {"/qdrant.Points/DeleteVectorName", {kWriteExtras, c + R"(vector_name: "v")"}},
      {"/qdrant.Points/Scroll", {kRead, c}},
      {"/qdrant.Points/Count", {kRead, c}},
      {"/qdrant.Points/Facet", {kRead, c + R"(key: "k")"}},
      {"/qdrant.Points/Query", {kRead, c}},
      {"/qdrant.Points/QueryBatch", {kRead, c + "query_points {}"}},
      {"/qdrant.Points/QueryGroups", {kRead, c + R"(group_by: "k")"}},
      {"/qdrant.Points/Search", {kRead, c + "vector: 1 limit: 1"}},
      {"/qdrant.Points/SearchBatch", {kRead, c + "search_points { vector: 1 limit: 1 }"}},
      {"/qdrant.Points/SearchGroups", {kRead, c + "vector: 1 limit: 1 " + grouped}},
      {"/qdrant.Points/SearchMatrixPairs", {kRead, c}},
      {"/qdrant.Points/SearchMatrixOffsets", {kRead, c}},
      {"/qdrant.Points/Recommend", {kRead, example}},
      {"/qdrant.Points/RecommendBatch",
       {kRead, c + "recommend_points { limit: 1 positive { num: 1 } }"}},
      {"/qdrant.Points/RecommendGroups", {kRead, example + grouped}},
      {"/qdrant.Points/Discover", {kRead, c + "limit: 1 target { single { id { num: 1 } } }"}},
      {"/qdrant.Points/DiscoverBatch",
       {kRead, c + "discover_points { limit: 1 target { single { id { num: 1 } } } }"}},
      {"/qdrant.Snapshots/Create", {kWriteExtras, c}},
      {"/qdrant.Snapshots/List", {kReadExtras, c}},
      {"/qdrant.Snapshots/Delete", {kWriteExtras, c + R"(snapshot_name: "s")"}},
      {"/qdrant.Snapshots/CreateFull", {kManage, ""}},
      {"/qdrant.Snapshots/ListFull", {kGlobalRead, ""}},
      {"/qdrant.Snapshots/DeleteFull", {kManage, R"(snapshot_name: "s")"}},
      {"/qdrant.Qdrant/HealthCheck", {kOpen, ""}},
      {"/grpc.health.v1.Health/Check", {kOpen, ""}},
  };
  return kNeeds;
}

/// The bytes of a request of `method`.
std::string bytes_of(const Method& method, const std::string& text) {
  std::string name(method.name.substr(1));
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* known = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  EXPECT_NE(known, nullptr) << name;
  if (known == nullptr) return {};
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  const std::unique_ptr<google::protobuf::Message> message(
      factory->GetPrototype(known->input_type())->New());
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, message.get())) << name;
  return message->SerializeAsString();
}

class TestRpc final : public Rpc {
 public:
  TestRpc(api::Runtime& runtime, const Method& method, const access::Principal& principal,
          std::string request)
      : Rpc(runtime, method), request_(std::move(request)) {
    begin("");
    set_principal(principal);
  }
  [[nodiscard]] std::optional<double> seconds_left() const override { return std::nullopt; }
  void answer(const google::protobuf::MessageLite&) override { ended_.set_value({}); }
  void error(Status status) noexcept override { ended_.set_value(std::move(status)); }

  /// How the call ends.
  Status call() {
    auto ended = ended_.get_future();
    run([this](Rpc& rpc) { return rpc.method().handler(rpc); });
    if (ended.wait_for(quiver::patience(std::chrono::seconds(10))) != std::future_status::ready) {
      ADD_FAILURE() << method().name << " does not answer";
      std::abort();  // the call must outlive its handler
    }
    return ended.get();
  }

 protected:
  Decoded<> parse(google::protobuf::MessageLite& message) override {
    if (message.ParseFromString(request_)) return {};
    return bad_request("no such message");
  }

 private:
  const std::string request_;
  std::promise<Status> ended_;
};

/// A caller, and the rights that it has in collection `c`.
struct Caller {
  std::string name;
  access::Principal principal;
  std::vector<Access> rights;
};

access::Principal granted(const std::string& collection, Grant grant) {
  auto claims = std::make_shared<access::Principal::Claims>();
  claims->grants.push_back({collection, grant});
  return access::Principal(Level::kCollections, access::KeyKind::kNone, std::move(claims));
}

std::vector<Caller> callers() {
  using enum Access;
  const std::vector<Access> all(std::begin(access::kAllAccess), std::end(access::kAllAccess));
  return {{"a managing caller", access::Principal(Level::kManage), all},
          {"a reading caller",
           access::Principal(Level::kGlobalRead),
           {kOpen, kAny, kRead, kReadExtras, kGlobalRead}},
          {"r", granted("c", Grant::kRead), {kOpen, kAny, kRead, kReadExtras}},
          {"prw", granted("c", Grant::kPointsReadWrite), {kOpen, kAny, kRead, kWrite}},
          {"rw",
           granted("c", Grant::kReadWrite),
           {kOpen, kAny, kRead, kReadExtras, kWrite, kWriteExtras}},
          {"another collection", granted("d", Grant::kReadWrite), {kOpen, kAny}},
          {"nobody", access::Principal(), {kOpen}}};
}

class RpcRights : public ::testing::Test {
 protected:
  void make_collection() {
    engine::CollectionConfig config;
    config.client_settings = "{}";
    EXPECT_TRUE(database_.create_collection("c", std::move(config)));
  }

  FakeDatabase database_;
  MetricsRegistry metrics_;
  api::Runtime runtime_{api::Options(), database_, metrics_};
};

TEST_F(RpcRights, EachCallerGetsWhatItMayAndNoMore) {
  const auto is_denied = [](const Status& status) {
    return status.code == static_cast<int>(Code::kPermissionDenied) ||
           status.code == static_cast<int>(Code::kUnauthenticated);
  };
  for (const Method& method : all_methods()) {
    const auto found = needs().find(method.name);
    ASSERT_NE(found, needs().end()) << method.name << " is not in this test's table of rights";
    const auto& [right, text] = found->second;
    EXPECT_EQ(method.callers == Callers::kAll, right == Access::kOpen) << method.name;
    const std::string request = bytes_of(method, text);
    for (const auto& caller : callers()) {
      if (!database_.exists("c")) make_collection();
      const bool may =
          std::find(caller.rights.begin(), caller.rights.end(), right) != caller.rights.end();
      const Status status = TestRpc(runtime_, method, caller.principal, request).call();
      EXPECT_EQ(!is_denied(status), may)
          << method.name << " for " << caller.name << ": " << status.code << " " << status.text;
    }
  }
}

TEST_F(RpcRights, WhatNeedsARightToChangeSaysWhatItChanges) {
  using enum Access;
  for (const Method& method : all_methods()) {
    const Access right = needs().at(method.name).right;
    const bool may_change = right == kWrite || right == kWriteExtras || right == kManage;
    const bool is_of_this_node = method.name.starts_with("/qdrant.Snapshots/");
    const bool changes = !api::changes_nothing_shared(method.effect);
    EXPECT_EQ(changes, may_change && !is_of_this_node) << method.name;
  }
}

TEST_F(RpcRights, TheTableNamesMethodsThatExist) {
  const auto methods = all_methods();
  for (const auto& [name, needed] : needs()) {
    EXPECT_TRUE(std::any_of(methods.begin(), methods.end(), [&name = name](const Method& method) {
      return method.name == name;
    })) << name;
  }
}

}  // namespace
}  // namespace quiver::service::rpc
