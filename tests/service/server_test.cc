#include "service/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/gzipped.h"
#include "tests/service/fake_database.h"
#include "tests/service/http_client.h"

namespace quiver::service {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ServerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.port = 0;
    options.io_threads = 2;
    auto server = Server::start(std::move(options), database_, metrics_);
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = *std::move(server);
  }
  HttpAnswer call(std::string_view method, std::string_view target, std::string_view body = "",
                  std::string_view headers = "") {
    HttpClient client(server_->port());
    return client.request(method, target, body, headers);
  }
  void create(std::string_view name, std::string_view metadata = "{}") {
    const auto answer =
        call("PUT", "/collections/" + std::string(name),
             R"({"vectors":{"size":2,"distance":"Dot"},"metadata":)" + std::string(metadata) + "}");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  void expect_error(const HttpAnswer& answer, int status, std::string_view text) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_THAT(answer.body,
                StartsWith(R"({"status":{"error":")" + std::string(text) + R"("},"time":)"));
  }

  FakeDatabase database_;
  MetricsRegistry metrics_;
  std::unique_ptr<Server> server_;
};

constexpr std::string_view kQuery = R"({"query":[1,2],"limit":2})";

TEST_F(ServerTest, AnswersVersionAndHealth) {
  start();
  EXPECT_EQ(call("GET", "/").body,
            R"({"title":"quiver - vector search engine","version":"0.1.0"})");
  EXPECT_EQ(call("GET", "/healthz").body, "healthz check passed");
  EXPECT_EQ(call("GET", "/livez").body, "healthz check passed");
  EXPECT_EQ(call("GET", "/readyz").body, "all shards are ready");
}

TEST_F(ServerTest, UpsertsAndQueries) {
  start();
  create("c");
  const auto put = call("PUT", "/collections/c/points?wait=true",
                        R"({"points":[{"id":1,"vector":[1,0],"payload":{"a":1.0}},
                                      {"id":"5C56C793-69F3-4FBF-87E6-C4BF54C28C26","vector":[0,1]},
                                      {"id":18446744073709551615,"vector":[0.25,0.3]}]})");
  EXPECT_THAT(
      put.body,
      StartsWith(R"({"result":{"operation_id":1,"status":"completed"},"status":"ok","time":)"));
  const auto found = call("POST", "/collections/c/points/query", kQuery);
  EXPECT_THAT(
      found.body,
      StartsWith(
          R"({"result":{"points":[{"id":"5c56c793-69f3-4fbf-87e6-c4bf54c28c26","version":1,"score":2.0},{"id":1,"version":1,"score":1.0}]},"status":"ok","time":)"));
  const auto batch = call("POST", "/collections/c/points/query/batch",
                          R"({"searches":[{"query":[1,0],"limit":1,"with_payload":true}]})");
  EXPECT_THAT(
      batch.body,
      StartsWith(
          R"({"result":[{"points":[{"id":1,"version":1,"score":1.0,"payload":{"a":1.0}}]}],)"));
  const auto search = call("POST", "/collections/c/points/search", R"({"vector":[1,0],"limit":1})");
  EXPECT_THAT(search.body, StartsWith(R"({"result":[{"id":1,"version":1,"score":1.0}],)"));
}

TEST_F(ServerTest, ReadsPoints) {
  start();
  create("c");
  EXPECT_THAT(
      call(
          "PUT", "/collections/c/points",
          R"({"batch":{"ids":[1,2,3],"vectors":[[1,0],[0,1],[0.5,0.1]],"payloads":[{"a":1},null,{}]}})")
          .body,
      HasSubstr("acknowledged"));
  call("POST", "/collections/c/points/delete?wait=true", R"({"points":[2]})");
  EXPECT_THAT(call("GET", "/collections/c/points/3").body,
              StartsWith(R"({"result":{"id":3,"payload":{},"vector":[0.5,0.1]},)"));
  expect_error(call("GET", "/collections/c/points/2"), 404,
               "Not found: Point with id 2 does not exists!");
  expect_error(call("GET", "/collections/c/points/x"), 400,
               R"(Wrong input: Can not recognize \"x\" as point id)");
  EXPECT_THAT(
      call("POST", "/collections/c/points/scroll", R"({"limit":1,"with_payload":false})").body,
      StartsWith(R"({"result":{"points":[{"id":1}],"next_page_offset":3},)"));
  EXPECT_THAT(
      call("POST", "/collections/c/points/scroll", R"({"offset":3})").body,
      StartsWith(R"({"result":{"points":[{"id":3,"payload":{}}],"next_page_offset":null},)"));
  EXPECT_THAT(call("POST", "/collections/c/points/count", "{}").body,
              StartsWith(R"({"result":{"count":2},)"));
  EXPECT_THAT(call("POST", "/collections/c/points", R"({"ids":[3,9,1]})").body,
              StartsWith(R"({"result":[{"id":3,"payload":{}},{"id":1,"payload":{"a":1}}],)"));
}

TEST_F(ServerTest, Collections) {
  start();
  create("c");
  expect_error(call("PUT", "/collections/c", R"({"vectors":{"size":2,"distance":"Dot"}})"), 409,
               "Wrong input: Collection `c` already exists!");
  expect_error(call("GET", "/collections/missing"), 404,
               "Not found: Collection `missing` doesn't exist!");
  EXPECT_THAT(call("GET", "/collections").body,
              StartsWith(R"({"result":{"collections":[{"name":"c"}]},)"));
  EXPECT_THAT(call("GET", "/collections/c/exists").body,
              StartsWith(R"({"result":{"exists":true},)"));
  EXPECT_THAT(
      call("PATCH", "/collections/c", R"({"optimizers_config":{"max_optimization_threads":0}})")
          .body,
      StartsWith(R"({"result":true,)"));
  EXPECT_THAT(call("GET", "/collections/c").body, HasSubstr(R"("max_optimization_threads":0})"));
  EXPECT_THAT(call("POST", "/collections/aliases",
                   R"({"actions":[{"create_alias":{"collection_name":"c","alias_name":"al"}}]})")
                  .body,
              StartsWith(R"({"result":true,)"));
  EXPECT_THAT(call("GET", "/collections/c/aliases").body,
              StartsWith(R"({"result":{"aliases":[{"alias_name":"al","collection_name":"c"}]},)"));
  EXPECT_EQ(call("GET", "/collections/al").status, 200);
  EXPECT_THAT(call("DELETE", "/collections/c").body, StartsWith(R"({"result":true,)"));
  EXPECT_THAT(call("DELETE", "/collections/c").body, StartsWith(R"({"result":false,)"));
}

TEST_F(ServerTest, PayloadIndexes) {
  start();
  create("c");
  EXPECT_THAT(
      call("PUT", "/collections/c/index?wait=true",
           R"({"field_name":"a.b","field_schema":{"type":"integer","lookup":true,"range":false}})")
          .body,
      HasSubstr("completed"));
  EXPECT_THAT(
      call("GET", "/collections/c").body,
      HasSubstr(
          R"("payload_schema":{"a.b":{"data_type":"integer","params":{"type":"integer","lookup":true,"range":false},"points":0}})"));
  EXPECT_EQ(call("DELETE", "/collections/c/index/a.b?wait=true").status, 200);
  expect_error(
      call("PUT", "/collections/c/index", R"({"field_name":"a","field_schema":"strange"})"), 400,
      "Format error in JSON body: field_schema: unknown variant `strange`, expected one of "
      "`keyword`, `integer`, `float`, `bool`, `geo`, `datetime`, `uuid`, `text`");
}

TEST_F(ServerTest, HostileNames) {
  start();
  const std::string body = R"({"vectors":{"size":2,"distance":"Dot"}})";
  expect_error(
      call("PUT", "/collections/..", body), 422,
      R"(Validation error in path parameters: [name: value \"..\" invalid, must not be \".\" or \"..\"])");
  expect_error(
      call("PUT", "/collections/a%2Fb", body), 422,
      R"(Validation error in path parameters: [name: collection name cannot contain \"/\" char])");
  expect_error(
      call("PUT", "/collections/a%00b", body), 422,
      R"(Validation error in path parameters: [name: collection name cannot contain \"\\u0000\" char])");
  expect_error(call("PUT", "/collections/" + std::string(256, 'x'), body), 422,
               "Validation error in path parameters: [name: value \\\"" + std::string(256, 'x') +
                   R"(\" invalid, must be from 1 to 255 characters])");
  expect_error(call("GET", "/collections/%2e%2e"), 404,
               "Not found: Collection `..` doesn't exist!");
  expect_error(call("GET", "/collections/%ff"), 400,
               "Deserialize error in path parameters: not percent-encoded UTF-8");
  EXPECT_TRUE(database_.collection_names().empty());
}

TEST_F(ServerTest, UnknownPathsAndMethods) {
  start();
  expect_error(call("GET", "/nowhere"), 404, "Not found: there is no endpoint GET /nowhere");
  expect_error(call("GET", "/a/b/c/d/e/f/g/h/i/j"), 404,
               "Not found: there is no endpoint GET /a/b/c/d/e/f/g/h/i/j");
  const auto answer = call("DELETE", "/collections/c/points/payload/clear");
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers.at("allow"), "POST");
  EXPECT_EQ(call("GET", "/healthz/").status, 200);
  EXPECT_EQ(call("OPTIONS", "/collections/c").status, 204);
}

TEST_F(ServerTest, EndpointsThatAreNotBuiltSaySo) {
  start();
  create("c");
  for (const auto* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    for (const auto& [path, feature] :
         {std::pair("/collections/missing/shards/0/snapshot/partial/create", "partial snapshots"),
          std::pair("/collections/c/debug", "diagnostics"),
          std::pair("/stacktrace", "diagnostics")}) {
      expect_error(call(method, path), 501,
                   std::string("Not implemented: ") + feature + ": " + method + " " + path +
                       " is not supported");
    }
  }
  EXPECT_EQ(call("OPTIONS", "/stacktrace").status, 501);
  EXPECT_EQ(call("HEAD", "/stacktrace").status, 501);
  EXPECT_EQ(call("GET", "/collections/c/points/1").status, 404) << "an id, not a name";
}

TEST_F(ServerTest, EndpointsThatAreNotBuiltNeedAKeyToo) {
  ServerOptions options;
  options.api_key = "secret";
  start(options);
  EXPECT_EQ(call("GET", "/stacktrace").status, 401);
  EXPECT_EQ(call("GET", "/stacktrace", "", "api-key: secret\r\n").status, 501);
}

TEST_F(ServerTest, TelemetryTellsMoreByLevels) {
  start();
  create("secret");
  call("PUT", "/collections/secret/points", R"({"points":[{"id":1,"vector":[1,2]}]})");
  const auto level = [&](const std::string& number) {
    const auto answer = call("GET", "/telemetry?details_level=" + number);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body;
  };
  EXPECT_THAT(level("0"), HasSubstr(R"("collections":{"number_of_collections":1},)"));
  EXPECT_THAT(level("0"), HasSubstr(R"("PUT /collections/{collection_name}/points":{"200":{)"
                                    R"("count":1,"avg_duration_micros":)"));
  EXPECT_THAT(level("0"), Not(HasSubstr("last_responded")));
  EXPECT_THAT(call("GET", "/telemetry").body, Not(HasSubstr("\"memory\"")));
  EXPECT_THAT(
      level("1"),
      HasSubstr(
          R"("collections":[{"vectors":1,"optimizers_status":"ok","params":{"vectors":{"size":2,)"));
  for (const auto* part : {"features", "system", "memory", "hardware", "search_pool", "quota",
                           "last_responded", "cluster", "startup"}) {
    EXPECT_THAT(level("1"), HasSubstr("\"" + std::string(part) + "\":"));
  }
  EXPECT_THAT(level("2"), HasSubstr(R"([{"id":"secret","init_time_ms":0,"config":{"params":)"));
  EXPECT_THAT(level("2"), Not(HasSubstr("\"shards\"")));
  EXPECT_THAT(level("3"), HasSubstr(R"("optimizations":{"status":"ok","optimizations":{"count":2,)"
                                    R"("avg_duration_micros":1500000.0,)"));
  EXPECT_THAT(level("3"), HasSubstr(R"("total_optimized_points":30,)"));
  EXPECT_THAT(level("3"), HasSubstr(R"("num_vectors_by_name":{"":1})"));
  EXPECT_THAT(level("3"), Not(HasSubstr("\"segments\"")));
  EXPECT_THAT(level("10"), HasSubstr(R"("segment_type":"plain","num_vectors":1,"num_points":1,)"));
  EXPECT_THAT(level("10"), HasSubstr(R"("size":2,"distance":"Dot","storage_type":"Memory",)"
                                     R"("index":{"type":"plain","options":{}})"));
}

TEST_F(ServerTest, TelemetryHidesNamesOnRequest) {
  start();
  ASSERT_EQ(call("PUT", "/collections/secret",
                 R"({"vectors":{"field":{"size":2,"distance":"Dot"}},
                     "metadata":{"owner":"nobody"}})")
                .status,
            200);
  call("PUT", "/collections/secret/index", R"({"field_name":"key","field_schema":"keyword"})");
  const auto shown = call("GET", "/telemetry?details_level=10&anonymize=false").body;
  const auto hidden = call("GET", "/telemetry?details_level=10&anonymize=true").body;
  for (const auto* name : {"secret", "\"field\"", "\"key\":{\"data_type\"", "owner"}) {
    EXPECT_THAT(shown, HasSubstr(name));
    EXPECT_THAT(hidden, Not(HasSubstr(name)));
  }
}

TEST_F(ServerTest, TelemetryChecksItsParameters) {
  start();
  EXPECT_EQ(call("GET", "/telemetry?details_level=much").status, 400);
  EXPECT_EQ(call("GET", "/telemetry?anonymize=perhaps").status, 400);
  EXPECT_EQ(call("GET", "/telemetry?per_collection=true&timeout=5").status, 200);
  EXPECT_EQ(call("GET", "/telemetry?timeout=0").status, 422);
}

TEST_F(ServerTest, NamesBetweenCommasMayHaveSpacesAround) {
  start();
  create("c");
  const std::string path = "/collections/c/optimizations?with=";
  const auto answer = call("GET", path + "queued%20,%20%20completed%20,idle_segments");
  EXPECT_EQ(answer.status, 200) << answer.body;
  for (const auto* part : {"\"queued\":[]", "\"completed\":[]", "\"idle_segments\":[]"}) {
    EXPECT_THAT(answer.body, HasSubstr(part));
  }
  EXPECT_EQ(call("GET", path + "queued%20completed").status, 400);
  EXPECT_EQ(call("GET", path + "queued,%20").status, 400);
}

TEST_F(ServerTest, HeadHasNoBody) {
  start();
  HttpClient client(server_->port());
  const auto head = client.request("HEAD", "/healthz");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "20");
  EXPECT_EQ(client.request("GET", "/healthz").body, "healthz check passed");
}

TEST_F(ServerTest, Pipelining) {
  start();
  create("c");
  HttpClient client(server_->port());
  std::string requests;
  constexpr int kRequests = 50;
  for (int i = 0; i < kRequests; ++i) {
    requests += i % 2 == 0 ? "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"
                           : "POST /collections/c/points/count HTTP/1.1\r\nhost: "
                             "x\r\ncontent-length: 2\r\n\r\n{}";
  }
  client.send(requests);
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_THAT(client.receive().body,
                StartsWith(i % 2 == 0 ? "healthz check passed" : R"({"result":{"count":0})"));
  }
}

TEST_F(ServerTest, ChunkedBodyInPieces) {
  start();
  create("c");
  HttpClient client(server_->port());
  const std::string request =
      "POST /collections/c/points/query HTTP/1.1\r\nhost: x\r\ntransfer-encoding: "
      "chunked\r\n\r\n9\r\n{\"query\":\r\n7;x=y\r\n[1,2]} \r\n0\r\n\r\n";
  for (const char c : request) {
    client.send(std::string_view(&c, 1));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(ServerTest, ExpectContinue) {
  start();
  create("c");
  HttpClient client(server_->port());
  client.send(
      "POST /collections/c/points/count HTTP/1.1\r\nhost: x\r\nexpect: "
      "100-continue\r\ncontent-length: 2\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("{}");
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(ServerTest, Http10AndClose) {
  start();
  HttpClient old(server_->port());
  old.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200);
  EXPECT_TRUE(old.is_closed());
  HttpClient kept(server_->port());
  kept.send("GET /healthz HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.receive().headers.at("connection"), "keep-alive");
  EXPECT_EQ(kept.request("GET", "/healthz", "", "connection: close\r\n").headers.at("connection"),
            "close");
  EXPECT_TRUE(kept.is_closed());
}

TEST_F(ServerTest, LimitsAndMalformedRequests) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  options.max_header_bytes = 2000;
  start(options);
  create("c");
  expect_error(call("POST", "/collections/c/points/count", std::string(1001, ' ')), 413,
               "Payload too large: a body may have 1000 bytes, the content-length is 1001; "
               "`service.max_request_size_mb` sets the limit");
  HttpClient coded(server_->port());
  coded.send(
      "POST /collections/c/points/scroll HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"
      "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(coded.receive().status, 400);
  EXPECT_TRUE(coded.is_closed()) << "what follows is no request";
  HttpClient chunked(server_->port());
  chunked.send(
      "POST /collections/c/points/count HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n400\r\n" +
      std::string(0x400, ' ') + "\r\n0\r\n\r\n");
  expect_error(chunked.receive(), 413,
               "Payload too large: a body may have 1000 bytes; "
               "`service.max_request_size_mb` sets the limit");
  EXPECT_EQ(call("GET", "/healthz", "", "x: " + std::string(3000, 'y') + "\r\n").status, 431);
  HttpClient broken(server_->port());
  broken.send("this is not http\r\n\r\n");
  EXPECT_EQ(broken.receive().status, 400);
  EXPECT_TRUE(broken.is_closed());
  EXPECT_EQ(call("POST", "/collections/c/points/count", "{}", "content-encoding: br\r\n").status,
            415);
}

TEST_F(ServerTest, ErrorsOfTheBody) {
  start();
  create("c");
  expect_error(call("PUT", "/collections/c/points", R"({"points":[{"id":1,"vector":[1,2,3]}]})"),
               400, "Wrong input: Vector dimension error: expected dim: 2, got 3");
  expect_error(
      call("POST", "/collections/c/points/query", R"({"query":[1,2],"limit":0})"), 422,
      "Validation error in JSON body: [internal.limit: value 0 invalid, must be 1 or larger]");
  EXPECT_EQ(call("POST", "/collections/c/points/query", "{").status, 400);
  EXPECT_THAT(call("POST", "/collections/c/points/query", "{").body,
              HasSubstr("Format error in JSON body: "));
  // The connection survives errors.
  HttpClient client(server_->port());
  EXPECT_EQ(client.request("POST", "/collections/c/points/query", "[").status, 400);
  EXPECT_EQ(client.request("POST", "/collections/c/points/query", kQuery).status, 200);
}

TEST_F(ServerTest, QueryParameters) {
  start();
  create("c");
  expect_error(call("POST", "/collections/c/points/query?timeout=0", kQuery), 422,
               "Validation error in query parameters: [timeout: value 0 invalid, must be 1 or "
               "larger]");
  EXPECT_EQ(call("POST", "/collections/c/points/query?timeout=x", kQuery).status, 400);
  EXPECT_EQ(call("POST", "/collections/c/points/query?consistency=majority", kQuery).status, 200);
  EXPECT_EQ(call("POST", "/collections/c/points/query?consistency=0", kQuery).status, 400);
  const std::string upsert = R"({"points":[{"id":1,"vector":[1,2]}]})";
  EXPECT_EQ(call("PUT", "/collections/c/points?ordering=strong", upsert).status, 200);
  EXPECT_EQ(call("PUT", "/collections/c/points?ordering=odd", upsert).status, 400);
  EXPECT_EQ(call("PUT", "/collections/c/points?wait=perhaps", upsert).status, 400);
}

TEST_F(ServerTest, EngineErrors) {
  start();
  create("f", R"({"mode":"full"})");
  create("t", R"({"mode":"throws"})");
  const auto busy = call("PUT", "/collections/f/points", R"({"points":[{"id":1,"vector":[1,2]}]})");
  expect_error(busy, 429, "Rate limiting exceeded: the update queue is full");
  EXPECT_EQ(busy.headers.at("retry-after"), "1");
  expect_error(call("POST", "/collections/t/points/query", kQuery), 500,
               "Service internal error: the fake was asked to throw");
  expect_error(call("POST", "/collections/t/points/query", R"({"query":[1,2],"limit":1000})"), 500,
               "Service internal error: the fake was asked to throw");
}

TEST_F(ServerTest, ApiKeys) {
  ServerOptions options;
  options.api_key = "secret";
  options.read_only_api_key = "reader";
  start(options);
  EXPECT_EQ(call("GET", "/").status, 200);
  EXPECT_EQ(call("GET", "/readyz").status, 200);
  const auto missing = call("GET", "/collections");
  EXPECT_EQ(missing.status, 401);
  EXPECT_EQ(missing.body, "Must provide an API key or an Authorization bearer token");
  EXPECT_THAT(missing.headers.at("content-type"), StartsWith("text/plain"));
  EXPECT_EQ(call("GET", "/collections", "", "api-key: wrong\r\n").body, "Invalid API key or JWT");
  EXPECT_EQ(call("GET", "/collections", "", "api-key: wrong\r\n").status, 401);
  EXPECT_EQ(call("GET", "/collections", "", "api-key: \r\n").status, 401);
  EXPECT_EQ(call("GET", "/collections", "", "Api-Key: secret\r\n").status, 200);
  EXPECT_EQ(call("GET", "/collections", "", "authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(call("GET", "/collections", "", "api-key: reader\r\n").status, 200);
  EXPECT_EQ(call("DELETE", "/collections/c", "", "api-key: reader\r\n").status, 403);
  EXPECT_EQ(call("DELETE", "/collections/c", "", "api-key: secret\r\n").status, 200);
  EXPECT_EQ(call("GET", "/nowhere").status, 401);
}

TEST_F(ServerTest, ConnectionLimit) {
  ServerOptions options;
  options.max_connections = 1;
  start(options);
  HttpClient first(server_->port());
  EXPECT_EQ(first.request("GET", "/healthz").status, 200);
  HttpClient second(server_->port());
  const auto answer = second.receive();
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, EndsWith("\"time\":0.0}"));
  EXPECT_EQ(first.request("GET", "/healthz").status, 200);
}

TEST_F(ServerTest, ClosesSilentConnections) {
  ServerOptions options;
  options.keep_alive_timeout_s = 1;
  options.read_timeout_s = 1;
  start(options);
  HttpClient idle(server_->port());
  HttpClient half(server_->port());
  half.send("GET /healthz HT");
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(half.is_closed());
}

TEST_F(ServerTest, LargeBodiesAndAnswers) {
  start();
  create("c");
  std::string body = R"({"points":[)";
  constexpr int kPoints = 20000;
  for (int i = 0; i < kPoints; ++i) {
    body += (i == 0 ? "" : ",") + (R"({"id":)" + std::to_string(i)) +
            R"(,"vector":[0.125,0.333],"payload":{"text":"some text to make it longer"}})";
  }
  body += "]}";
  HttpClient client(server_->port());
  EXPECT_EQ(client.request("PUT", "/collections/c/points?wait=true", body).status, 200);
  const auto all = client.request("POST", "/collections/c/points/scroll",
                                  R"({"limit":100000,"with_vector":true})");
  EXPECT_EQ(all.status, 200);
  EXPECT_GT(all.body.size(), kPoints * 80U);
  EXPECT_EQ(client.request("GET", "/healthz").status, 200);
}

TEST_F(ServerTest, RefusesTooMuchAtOnce) {
  ServerOptions options;
  options.max_held_body_bytes = 3 << 20;
  start(options);
  create("c");
  const std::string body = "{\"filter\":null" + std::string(2 << 20, ' ') + "}";
  EXPECT_EQ(call("POST", "/collections/c/points/count", body).status, 200);
  HttpClient first(server_->port());
  const std::string head = "POST /collections/c/points/count HTTP/1.1\r\ncontent-length: ";
  first.send(head + std::to_string(body.size()) + "\r\n\r\n" + body.substr(0, body.size() - 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // Until the first body has arrived the second one still fits.
  HttpAnswer refused;
  for (int i = 0; i < 500 && refused.status != 503; ++i) {
    refused = call("POST", "/collections/c/points/count", body);
  }
  expect_error(refused, 503, "Shard temporarily unavailable: too many large requests at once");
  first.send("}");
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(call("POST", "/collections/c/points/count", body).status, 200);
}

TEST_F(ServerTest, CompressedBodies) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  start(options);
  create("c");
  const auto count = [&](const std::string& body, const std::string& encoding) {
    return call("POST", "/collections/c/points/count", body,
                "content-encoding: " + encoding + "\r\n");
  };
  const std::string whole = gzipped("{}");
  for (const auto* encoding : {"gzip", "GZip", "x-gzip", "X-GZIP", "deflate"}) {
    EXPECT_EQ(count(whole, encoding).status, 200) << encoding;
  }
  EXPECT_EQ(count("{}", "Identity").status, 200);
  EXPECT_EQ(count(gzipped("{") + gzipped("") + gzipped("}"), "gzip").status, 200);
  const std::string fits(500, ' ');
  EXPECT_EQ(count(gzipped(fits) + gzipped(fits.substr(2)) + gzipped("{}"), "gzip").status, 200);
  EXPECT_EQ(count(gzipped(fits) + gzipped(fits) + gzipped("{}"), "gzip").status, 413);
  expect_error(count(whole + "x", "gzip"), 400, "Bad request: the body is not whole gzip data");
  EXPECT_EQ(count(whole + whole.substr(0, whole.size() - 1), "gzip").status, 400);
  EXPECT_EQ(count(whole + whole, "deflate").status, 400) << "only gzip has members";
}

TEST_F(ServerTest, CountsCompressedBodiesAsWhatTheyStandFor) {
  ServerOptions options;
  options.max_held_body_bytes = 7 << 20;
  start(options);
  create("c");
  const std::string gzip = "content-encoding: gzip\r\n";
  const std::string path = "/collections/c/points/count";
  HttpClient client(server_->port());
  const std::string fits = gzipped("{}" + std::string(3 << 20, ' '));
  const std::string too_large = gzipped("{}" + std::string(8 << 20, ' '));
  for (int i = 0; i < 5; ++i) {  // no body stays counted
    EXPECT_EQ(client.request("POST", path, fits, gzip).status, 200);
    expect_error(client.request("POST", path, too_large, gzip), 503,
                 "Shard temporarily unavailable: too many large requests at once");
  }
}

TEST_F(ServerTest, StopFinishesWhatIsInFlight) {
  start();
  create("s", R"({"mode":"slow"})");
  HttpClient busy(server_->port());
  HttpClient idle(server_->port());
  EXPECT_EQ(idle.request("GET", "/healthz").status, 200);
  busy.send("POST /collections/s/points/query HTTP/1.1\r\ncontent-length: 28\r\n\r\n" +
            std::string(R"({"query":[1,2],"limit":1000})"));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(server_->stop());
  EXPECT_EQ(busy.receive().status, 200);
  EXPECT_TRUE(busy.is_closed());
  EXPECT_TRUE(idle.is_closed());
}

TEST_F(ServerTest, StopCancelsAfterTheGraceTime) {
  ServerOptions options;
  options.shutdown_grace_s = 0.02;
  start(options);
  create("s", R"({"mode":"slow"})");
  HttpClient busy(server_->port());
  busy.send("POST /collections/s/points/query HTTP/1.1\r\ncontent-length: 28\r\n\r\n" +
            std::string(R"({"query":[1,2],"limit":1000})"));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(server_->stop());
  EXPECT_EQ(busy.receive().status, 408);
}

TEST_F(ServerTest, StopDoesNotWaitForWhatHasNotArrived) {
  ServerOptions options;
  options.shutdown_grace_s = 30;
  start(options);
  create("c");
  HttpClient half_head(server_->port());
  half_head.send("POST /collections/c/points/count HTTP/1.1\r\nhost");
  HttpClient half_body(server_->port());
  half_body.send("POST /collections/c/points/count HTTP/1.1\r\ncontent-length: 9\r\n\r\n{");
  HttpClient unread(server_->port());
  EXPECT_EQ(unread.request("GET", "/healthz").status, 200);
  unread.send("GET /healthz HTTP/1.1\r\n\r\nGET /hea");
  EXPECT_EQ(unread.receive().status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const Stopwatch clock;
  EXPECT_TRUE(server_->stop());
  EXPECT_LT(clock.seconds(), 20);
  for (HttpClient* client : {&half_head, &half_body, &unread}) {
    expect_error(client->receive(), 503, "Shard temporarily unavailable: the server is closing");
    EXPECT_TRUE(client->is_closed());
  }
}

/// The answer is longer than the buffers between server and client.
TEST_F(ServerTest, StopFinishesAnAnswerThatIsBeingWritten) {
  ServerOptions options;
  options.shutdown_grace_s = 30;
  start(options);
  create("c");
  std::string body = R"({"points":[{"id":1,"vector":[1,0],"payload":{"text":")";
  body += std::string(20 << 20, 'x') + R"("}}]})";
  EXPECT_EQ(call("PUT", "/collections/c/points?wait=true", body).status, 200);
  HttpClient slow(server_->port());
  slow.send("GET /collections/c/points/1 HTTP/1.1\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Stopwatch clock;
  auto stopped = std::async(std::launch::async, [&] { return server_->stop().has_value(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto answer = slow.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_GT(answer.body.size(), 20U << 20);
  EXPECT_TRUE(stopped.get());
  EXPECT_LT(clock.seconds(), 20) << "nothing more was to come";
}

TEST_F(ServerTest, StopGivesUpOnWhatDoesNotEnd) {
  ServerOptions options;
  options.shutdown_grace_s = 0.02;
  options.cancel_patience_s = 0.02;
  start(options);
  create("c");
  std::promise<void> inside;
  std::promise<void> go_on;
  database_.before_opening = [&] {
    inside.set_value();
    go_on.get_future().wait();
  };
  HttpClient client(server_->port());
  client.send("GET /collections/c HTTP/1.1\r\n\r\n");
  inside.get_future().wait();
  const auto stopped = server_->stop();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(stopped.error().message(), HasSubstr("1 requests go on"));
  go_on.set_value();
  server_.reset();
  EXPECT_EQ(client.receive().status, 200);
}

/// More collections are being opened than there are threads for it.
TEST_F(ServerTest, TellsOfItselfWhileCollectionsOpen) {
  start();
  create("c");
  std::promise<void> all_inside;
  std::promise<void> go_on;
  const auto released = go_on.get_future().share();
  std::atomic<int> n_inside = 0;
  database_.before_opening = [&] {
    if (++n_inside == 2) all_inside.set_value();
    released.wait();
  };
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server_->port()));
    clients.back()->send("GET /collections/c HTTP/1.1\r\n\r\n");
  }
  all_inside.get_future().wait();
  for (const auto* target : {"/metrics", "/readyz", "/healthz", "/collections", "/aliases",
                             "/telemetry", "/collections/c/exists", "/collections/c/aliases"}) {
    EXPECT_EQ(call("GET", target).status, 200) << target;
  }
  go_on.set_value();
  for (const auto& client : clients) EXPECT_EQ(client->receive().status, 200);
}

/// Somebody may hold a collection that is closed. To open it anew blocks, so no event loop does it.
TEST_F(ServerTest, AClosedCollectionIsOpenedByAThreadThatMayBlock) {
  start();
  create("c");
  std::string thread;
  database_.before_opening = [&] {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    thread = name.data();
  };
  EXPECT_EQ(call("GET", "/collections/c").status, 200);
  EXPECT_THAT(thread, StartsWith("http-block"));
  thread.clear();
  EXPECT_EQ(call("GET", "/collections/c").status, 200);
  EXPECT_EQ(thread, "") << "it is open";
  const auto held = database_.find("c").value();
  database_.close_collections();
  EXPECT_EQ(call("GET", "/collections/c").status, 200);
  EXPECT_THAT(thread, StartsWith("http-block"));
}

TEST_F(ServerTest, AQueryEndsWhenItsClientIsGone) {
  start();
  create("s", R"({"mode":"endless"})");
  {
    HttpClient gone(server_->port());
    gone.send("POST /collections/s/points/query HTTP/1.1\r\ncontent-length: 28\r\n\r\n" +
              std::string(R"({"query":[1,2],"limit":1000})"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  HttpClient client(server_->port());
  const auto was_cancelled = [&] {
    const std::string metrics = client.request("GET", "/metrics").body;
    return metrics.find(R"(status="408")") != std::string::npos;
  };
  for (int i = 0; i < 500 && !was_cancelled(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(was_cancelled());
}

/// Requests that queue while both threads compute.
class QueuedRequests : public ServerTest {
 protected:
  void start_busy(ServerOptions options, const std::string& mode) {
    start(std::move(options));
    create("busy", R"({"mode":"slow"})");
    create("c", mode);
    call("PUT", "/collections/c/points?wait=true",
         R"({"points":[{"id":1,"vector":[1,0]},{"id":2,"vector":[0,1]}]})");
    for (int i = 0; i < 2; ++i) {
      send("/collections/busy/points/query", R"({"query":[1,2],"limit":1000})");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  void send(const std::string& target, const std::string& body, const std::string& headers = "") {
    clients_.push_back(std::make_unique<HttpClient>(server_->port()));
    clients_.back()->send("POST " + target + " HTTP/1.1\r\n" + headers +
                          "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  std::vector<std::unique_ptr<HttpClient>> clients_;
};

TEST_F(QueuedRequests, StayCompressedUntilTheirTurn) {
  ServerOptions options;
  options.max_held_body_bytes = 7 << 20;  // two bodies while they grow
  start_busy(options, "{}");
  const std::string spaces(3 << 19, ' ');
  for (int i = 0; i < 12; ++i) {
    send(i % 2 == 0 ? "/collections/c/points/count" : "/collections/c/points/query",
         gzipped((i % 2 == 0 ? "{}" : R"({"query":[2,1]})") + spaces),
         "content-encoding: gzip\r\n");
  }
  for (const auto& client : clients_) EXPECT_EQ(client->receive().status, 200);
}

/// Queued requests that each search with a vector.
class QueuedSearches : public QueuedRequests {
 protected:
  void ask(const std::string& mode, std::size_t n, double shutdown_grace_s = 10) {
    ServerOptions options;
    options.shutdown_grace_s = shutdown_grace_s;
    start_busy(options, mode);
    for (std::size_t i = 0; i < n; ++i) search(i);
  }
  void search(std::size_t i, const std::string& parameters = "") {
    send("/collections/c/points/query" + parameters,
         i % 2 == 0 ? R"({"query":[2,1],"limit":1000})" : R"({"query":[1,2],"limit":1000})");
  }
  void expect_answer(std::size_t i) {
    const auto answer = clients_[2 + i]->receive();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, StartsWith(i % 2 == 0 ? R"({"result":{"points":[{"id":1,)"
                                                   : R"({"result":{"points":[{"id":2,)"));
  }
  std::size_t largest_batch() { return (*database_.find("c"))->largest_batch(); }
};

TEST_F(QueuedSearches, AreAnsweredTogether) {
  ask(R"({"mode":"shared"})", 20);
  for (std::size_t i = 0; i < 20; ++i) expect_answer(i);
  EXPECT_GE(largest_batch(), 2U);
  EXPECT_LE(largest_batch(), 8U);
}

TEST_F(QueuedSearches, AreAnsweredAloneOnceAClientIsGone) {
  ask(R"({"mode":"shared","pace":"slow"})", 6);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  clients_[2 + 1].reset();
  for (const std::size_t i : {0, 2, 3, 4, 5}) expect_answer(i);
}

TEST_F(QueuedSearches, AreAnsweredByAllThreadsOnceTheTimeOfOneIsOver) {
  ServerOptions options;
  options.query_timeout_s = 5;
  start_busy(options, R"({"mode":"shared","pace":"together"})");
  for (std::size_t i = 0; i < 6; ++i) search(i, i == 3 ? "?timeout=1" : "");
  EXPECT_EQ(clients_[2 + 3]->receive().status, 408);
  for (const std::size_t i : {0, 1, 2, 4, 5}) expect_answer(i);
  EXPECT_GE(largest_batch(), 2U);
}

TEST_F(QueuedSearches, FailEachForItself) {
  ask(R"({"mode":"shared","then":"throws"})", 6);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(clients_[2 + i]->receive().status, 500);
}

TEST_F(QueuedSearches, StopWithTheServer) {
  ask(R"({"mode":"shared","pace":"endless"})", 6, 0.02);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  EXPECT_TRUE(server_->stop());
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(clients_[2 + i]->receive().status, 408);
}

TEST_F(ServerTest, ManyClientsAtOnce) {
  start();
  create("c");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      HttpClient client(server_->port());
      for (int i = 0; i < 200; ++i) {
        const std::string id = std::to_string(t * 1000 + i);
        EXPECT_EQ(client
                      .request("PUT", "/collections/c/points?wait=true",
                               R"({"points":[{"id":)" + id + R"(,"vector":[1,2]}]})")
                      .status,
                  200);
        EXPECT_EQ(client.request("GET", "/collections/c/points/" + id).status, 200);
        EXPECT_EQ(client.request("POST", "/collections/c/points/query", kQuery).status, 200);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(call("POST", "/collections/c/points/count", "{}").body,
              StartsWith(R"({"result":{"count":800},)"));
}

TEST_F(ServerTest, Metrics) {
  start();
  create("c");
  call("POST", "/collections/c/points/query", kQuery);
  const auto answer = call("GET", "/metrics");
  EXPECT_THAT(answer.headers.at("content-type"), StartsWith("text/plain; version=0.0.4"));
  EXPECT_THAT(
      answer.body,
      HasSubstr(
          R"(rest_responses_total{method="POST",endpoint="/collections/{collection_name}/points/query",status="200"} 1)"));
  EXPECT_THAT(answer.body, HasSubstr("rest_responses_duration_seconds_bucket{"));
}

TEST_F(ServerTest, RefusesAnAddressInUse) {
  start();
  ServerOptions options;
  options.port = server_->port();
  const auto second = Server::start(options, database_, metrics_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace quiver::service
