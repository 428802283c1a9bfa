// Which right each endpoint needs, and that a server demands it of every kind of caller.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/access/base64url.h"
#include "service/access/token.h"
#include "service/handlers/handlers.h"
#include "service/server.h"
#include "tests/service/fake_database.h"
#include "tests/service/http_client.h"

namespace quiver::service {
namespace {

using access::encode_base64url;

/// What Qdrant demands (its tests/consensus_tests/auth_tests), and what our additions do. Endpoints
/// that are not built may stand here.
const std::map<std::string, Access>& rights() {
  static const std::map<std::string, Access> kRights = [] {
    std::map<std::string, Access> all = {
        {"GET /", Access::kOpen},
        {"GET /healthz", Access::kOpen},
        {"GET /dashboard", Access::kOpen},
        {"GET /dashboard/{file}", Access::kOpen},
        {"GET /dashboard/{folder}/{file}", Access::kOpen},
        {"GET /livez", Access::kOpen},
        {"GET /readyz", Access::kOpen},
        {"GET /metrics", Access::kGlobalRead},
        {"GET /telemetry", Access::kAny},
        {"GET /issues", Access::kAny},
        {"DELETE /issues", Access::kManage},
        {"GET /cluster", Access::kGlobalRead},
        {"GET /cluster/telemetry", Access::kAny},
        {"POST /cluster/recover", Access::kManage},
        {"DELETE /cluster/peer/{peer_id}", Access::kManage},
        {"POST /v1/cluster/nodes/{peer_id}/drain", Access::kManage},
        {"DELETE /v1/cluster/nodes/{peer_id}/drain", Access::kManage},
        {"GET /cluster/metadata/keys", Access::kGlobalRead},
        {"GET /cluster/metadata/keys/{key}", Access::kGlobalRead},
        {"PUT /cluster/metadata/keys/{key}", Access::kManage},
        {"DELETE /cluster/metadata/keys/{key}", Access::kManage},
        {"GET /v1/gpu", Access::kGlobalRead},
        {"GET /v1/scrub", Access::kGlobalRead},
        {"POST /v1/scrub", Access::kManage},
        {"GET /quotas", Access::kGlobalRead},
        {"PUT /quotas", Access::kManage},
        {"POST /audit/logs", Access::kManage},
        {"GET /logger", Access::kGlobalRead},
        {"POST /logger", Access::kManage},
        {"GET /aliases", Access::kAny},
        {"GET /collections", Access::kAny},
        {"POST /collections/aliases", Access::kManage},
        {"GET /snapshots", Access::kGlobalRead},
        {"POST /snapshots", Access::kManage},
        {"GET /snapshots/{snapshot_name}", Access::kGlobalRead},
        {"DELETE /snapshots/{snapshot_name}", Access::kManage},
    };
    const std::pair<const char*, Access> of_collections[] = {
        {"GET ", Access::kRead},
        {"PUT ", Access::kManage},
        {"PATCH ", Access::kManage},
        {"DELETE ", Access::kManage},
        {"GET /exists", Access::kRead},
        {"GET /optimizations", Access::kRead},
        {"GET /aliases", Access::kRead},
        {"GET /cluster", Access::kReadExtras},
        {"POST /cluster", Access::kManage},
        {"GET /memory", Access::kRead},
        {"GET /memory", Access::kRead},
        {"GET /shards", Access::kRead},
        {"PUT /shards", Access::kManage},
        {"POST /shards/delete", Access::kManage},
        {"PUT /index", Access::kWriteExtras},
        {"DELETE /index/{field_name}", Access::kWriteExtras},
        {"PUT /vectors/{vector_name}", Access::kWriteExtras},
        {"DELETE /vectors/{vector_name}", Access::kWriteExtras},
        {"GET /snapshots", Access::kReadExtras},
        {"POST /snapshots", Access::kWriteExtras},
        {"GET /snapshots/{snapshot_name}", Access::kReadExtras},
        {"DELETE /snapshots/{snapshot_name}", Access::kWriteExtras},
        {"POST /snapshots/upload", Access::kManage},
        {"PUT /snapshots/recover", Access::kManage},
        {"GET /shards/{shard_id}/snapshots", Access::kReadExtras},
        {"POST /shards/{shard_id}/snapshots", Access::kWriteExtras},
        {"GET /shards/{shard_id}/snapshots/{snapshot_name}", Access::kReadExtras},
        {"DELETE /shards/{shard_id}/snapshots/{snapshot_name}", Access::kWriteExtras},
        {"POST /shards/{shard_id}/snapshots/upload", Access::kManage},
        {"PUT /shards/{shard_id}/snapshots/recover", Access::kManage},
        {"GET /shards/{shard_id}/snapshot", Access::kWriteExtras},
        {"POST /facet", Access::kRead},
        {"GET /points/{id}", Access::kRead},
        {"POST /points", Access::kRead},
        {"PUT /points", Access::kWrite},
        {"POST /points/batch", Access::kWrite},
        {"POST /points/delete", Access::kWrite},
        {"PUT /points/vectors", Access::kWrite},
        {"POST /points/vectors/delete", Access::kWrite},
        {"POST /points/payload", Access::kWrite},
        {"PUT /points/payload", Access::kWrite},
        {"POST /points/payload/delete", Access::kWrite},
        {"POST /points/payload/clear", Access::kWrite},
        {"POST /points/scroll", Access::kRead},
        {"POST /points/count", Access::kRead},
        {"POST /points/search", Access::kRead},
        {"POST /points/search/batch", Access::kRead},
        {"POST /points/search/groups", Access::kRead},
        {"POST /points/search/matrix/pairs", Access::kRead},
        {"POST /points/search/matrix/offsets", Access::kRead},
        {"POST /points/recommend", Access::kRead},
        {"POST /points/recommend/batch", Access::kRead},
        {"POST /points/recommend/groups", Access::kRead},
        {"POST /points/discover", Access::kRead},
        {"POST /points/discover/batch", Access::kRead},
        {"POST /points/query", Access::kRead},
        {"POST /points/query/batch", Access::kRead},
        {"POST /points/query/groups", Access::kRead},
    };
    const std::pair<const char*, Access> additions[] = {
        {"GET /ttl", Access::kRead},
        {"PUT /ttl", Access::kManage},
        {"DELETE /ttl", Access::kManage},
        {"GET /quotas", Access::kRead},
        {"PUT /quotas", Access::kManage},
        {"DELETE /quotas", Access::kManage},
        {"GET /indexes", Access::kRead},
        {"PATCH /indexes", Access::kManage},
        {"POST /aggregate", Access::kRead},
        {"POST /points/explain", Access::kRead},
        {"POST /fusions/learn", Access::kRead},
        {"POST /points/propose", Access::kRead},
        {"POST /points/projection", Access::kRead},
        {"GET /recall", Access::kRead},
        {"POST /recall/calibrate", Access::kManage},
        {"POST /jobs", Access::kWriteExtras},
        {"GET /jobs", Access::kRead},
        {"GET /jobs/{job_id}", Access::kRead},
        {"GET /jobs/{job_id}/result", Access::kRead},
        {"DELETE /jobs/{job_id}", Access::kWriteExtras},
        {"GET /private", Access::kRead},
        {"PUT /private", Access::kManage},
        {"PUT /private/{release_name}", Access::kWriteExtras},
        {"GET /private/{release_name}", Access::kRead},
        {"DELETE /private/{release_name}", Access::kWriteExtras},
        {"POST /private/{release_name}/density", Access::kRead},
        {"PUT /points/ragged", Access::kWrite},
        {"PUT /points/vectors/ragged", Access::kWrite},
    };
    const auto add = [&](std::string_view base, std::string_view text, Access needed) {
      const auto space = text.find(' ');
      all[std::string(text.substr(0, space + 1)) + std::string(base) +
          std::string(text.substr(space + 1))] = needed;
    };
    for (const auto& [text, needed] : of_collections) {
      add("/collections/{collection_name}", text, needed);
    }
    for (const auto& [text, needed] : additions) {
      add("/v1/collections/{collection_name}", text, needed);
    }
    return all;
  }();
  return kRights;
}

std::string name_of(const RouteDeclaration& route) {
  return std::string(to_string(route.method)) + " " + std::string(route.pattern);
}

TEST(Rights, EachRouteNeedsTheRightOfTheTable) {
  for (const auto& route : all_routes()) {
    const auto found = rights().find(name_of(route));
    ASSERT_NE(found, rights().end()) << name_of(route) << " is not in this test's table of rights";
    EXPECT_EQ(to_string(route.access), to_string(found->second)) << name_of(route);
  }
}

TEST(Rights, AboutACollectionNeedOneInThePath) {
  for (const auto& route : all_routes()) {
    if (!access::is_about_a_collection(route.access)) continue;
    EXPECT_NE(route.pattern.find("/{collection_name}"), std::string_view::npos) << name_of(route);
  }
}

constexpr std::string_view kSecret = "secret";

std::string token(const std::string& payload) {
  const std::string text = encode_base64url(R"({"alg":"HS256"})") + "." + encode_base64url(payload);
  return text + "." + encode_base64url(access::hmac_sha256(kSecret, text));
}

std::string grant(const std::string& mode) {
  return token(R"({"access":[{"collection":"c","access":")" + mode + R"("}]})");
}

/// A caller, and the rights that it has in collection `c`.
struct Caller {
  std::string name;
  std::string key;
  std::vector<Access> rights;
};

std::vector<Caller> callers() {
  using enum Access;
  const std::vector<Access> all(std::begin(access::kAllAccess), std::end(access::kAllAccess));
  const std::vector<Access> reading = {kOpen, kAny, kRead, kReadExtras, kGlobalRead};
  return {{"the key", std::string(kSecret), all},
          {"a full token", token("{}"), all},
          {"a managing token", token(R"({"access":"m"})"), all},
          {"the reading key", "reader", reading},
          {"a reading token", token(R"({"access":"r"})"), reading},
          {"r", grant("r"), {kOpen, kAny, kRead, kReadExtras}},
          {"prw", grant("prw"), {kOpen, kAny, kRead, kWrite}},
          {"rw", grant("rw"), {kOpen, kAny, kRead, kReadExtras, kWrite, kWriteExtras}},
          {"another collection",
           token(R"({"access":[{"collection":"d","access":"rw"}]})"),
           {kOpen, kAny}},
          {"no collection", token(R"({"access":[]})"), {kOpen, kAny}}};
}

std::string path_of(std::string_view pattern) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      path += pattern[i];
      continue;
    }
    const auto end = pattern.find('}', i);
    const auto name = pattern.substr(i + 1, end - i - 1);
    path += name == "collection_name" ? "c" : "1";
    i = end;
  }
  return path;
}

class RightsTest : public ::testing::Test {
 protected:
  RightsTest() {
    ServerOptions options;
    options.port = 0;
    options.io_threads = 1;
    options.api_key = kSecret;
    options.read_only_api_key = "reader";
    options.jwt_rbac = true;
    server_ = Server::start(std::move(options), database_, metrics_).value();
  }
  HttpAnswer call(const RouteDeclaration& route, const std::string& headers) {
    HttpClient client(server_->port());
    return client.request(to_string(route.method), path_of(route.pattern), "{}", headers);
  }

  FakeDatabase database_;
  MetricsRegistry metrics_;
  std::unique_ptr<Server> server_;
};

TEST_F(RightsTest, EachCallerGetsWhatItMayAndNoMore) {
  for (const auto& route : all_routes()) {
    for (const auto& caller : callers()) {
      const auto answer = call(route, "api-key: " + caller.key + "\r\n");
      const bool may = std::find(caller.rights.begin(), caller.rights.end(), route.access) !=
                       caller.rights.end();
      EXPECT_EQ(answer.status != 403, may)
          << name_of(route) << " for " << caller.name << ": " << answer.status << answer.body;
      EXPECT_NE(answer.status, 401) << name_of(route) << " for " << caller.name;
    }
  }
}

TEST_F(RightsTest, StrangersGetWhatIsOpen) {
  for (const auto& route : all_routes()) {
    for (const auto* headers : {"", "api-key: wrong\r\n", "authorization: Basic c2VjcmV0\r\n"}) {
      const int status = call(route, headers).status;
      EXPECT_EQ(status != 401, route.access == Access::kOpen) << name_of(route) << status;
    }
  }
}

}  // namespace
}  // namespace quiver::service
