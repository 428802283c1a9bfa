#include "app/load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "app/client/http.h"
#include "app/load/bodies.h"
#include "app/load/recall.h"
#include "app/load/report.h"
#include "app/load/server.h"

namespace quiver::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HttpTest, Urls) {
  EXPECT_EQ(parse_url("http://127.0.0.1:80/")->port, 80);
  EXPECT_EQ(parse_url("http://host")->port, 6333);
  EXPECT_EQ(parse_url("http://[::1]")->host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:7")->port, 7);
  for (const char* wrong : {"", "host:1", "https://host", "http://", "http://h:x", "http://h/a"}) {
    EXPECT_FALSE(parse_url(wrong)) << wrong;
  }
  EXPECT_EQ(escape_segment("a b/ü.x"), "a%20b%2F%C3%BC.x");
}

void feed(ResponseReader& reader, std::string_view bytes) {
  std::memcpy(reader.reserve(bytes.size()), bytes.data(), bytes.size());
  reader.commit(bytes.size());
}

TEST(HttpTest, ResponsesAreCutHoweverTheyArrive) {
  const std::string stream =
      "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
      "HTTP/1.1 404 Not Found\r\nX: y\r\nContent-Length: 0\r\n\r\n"
      "HTTP/1.1 200 OK\r\nCONTENT-LENGTH:3\r\n\r\nabc";
  for (std::size_t chunk = 1; chunk <= stream.size(); ++chunk) {
    ResponseReader reader;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < stream.size(); at += chunk) {
      feed(reader, std::string_view(stream).substr(at, chunk));
      for (auto next = reader.next(); next && next->has_value(); next = reader.next()) {
        found.push_back(std::to_string((*next)->status) + std::string((*next)->body));
      }
    }
    EXPECT_THAT(found, ElementsAre("200hello", "404", "200abc")) << chunk;
  }
}

TEST(HttpTest, ResponsesWithoutLengthAreErrors) {
  for (const char* text : {"HTTP/1.1 200 OK\r\n\r\n", "hello\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    ResponseReader reader;
    feed(reader, text);
    EXPECT_FALSE(reader.next()) << text;
  }
}

dataset::Vectors vectors_of(FieldKind kind, std::uint32_t dim, std::vector<float> values,
                            std::vector<std::uint64_t> offsets = {},
                            std::vector<std::uint32_t> indices = {}) {
  dataset::Vectors vectors;
  vectors.shape.kind = kind;
  vectors.shape.dim = dim;
  vectors.batch.n_rows = offsets.empty() ? values.size() / dim : offsets.size() - 1;
  vectors.batch.values = std::move(values);
  vectors.batch.offsets = std::move(offsets);
  vectors.batch.indices = std::move(indices);
  return vectors;
}

TEST(BodiesTest, Query) {
  LoadOptions options;
  const auto dense = vectors_of(FieldKind::kDense, 2, {9, 9, 0.5, -1});
  EXPECT_EQ(query_body(options, dense, 1), R"({"query":[0.5,-1.0],"limit":10})");
  options.vector_name = "v";
  options.params = R"({"exact":true})";
  options.filter = R"({"must":[]})";
  options.with_payload = true;
  options.k = 3;
  EXPECT_EQ(query_body(options, dense, 1),
            R"({"query":[0.5,-1.0],"limit":3,"using":"v","params":{"exact":true},)"
            R"("filter":{"must":[]},"with_payload":true})");
}

TEST(BodiesTest, QueriesOfOtherKinds) {
  const auto sparse =
      vectors_of(FieldKind::kSparse, 0, {9, 0.5, 1.5}, {0, 1, 3, 3}, {4, 7, 4000000000});
  EXPECT_EQ(query_body({}, sparse, 1),
            R"({"query":{"indices":[7,4000000000],"values":[0.5,1.5]},"limit":10})");
  EXPECT_EQ(query_body({}, sparse, 2), R"({"query":{"indices":[],"values":[]},"limit":10})");
  const auto multi = vectors_of(FieldKind::kMulti, 2, {9, 9, 1, 2, 3, 4}, {0, 1, 3});
  EXPECT_EQ(query_body({}, multi, 1), R"({"query":[[1.0,2.0],[3.0,4.0]],"limit":10})");
}

TEST(RecallTest, HitsOfAnAnswer) {
  EXPECT_THAT(hits_of(R"({"result":{"points":[{"id":31,"score":1.5,"payload":{"id":7,"score":9}},)"
                      R"({"id":"ab","version":1,"score":1},{"id":0,"score":-0.5}]}})"),
              ElementsAre(ScoredId{31, 1.5}, ScoredId{-1, 1}, ScoredId{0, -0.5}));
  EXPECT_TRUE(hits_of(R"({"result":{"points":[]}})").empty());
  EXPECT_TRUE(hits_of(R"({"status":{"error":"x"}})").empty());
}

TEST(RecallTest, HitsThatAreInTheTruthOrTieWithItsLast) {
  const std::vector<std::int64_t> truth = {1, 2, 3, 4};
  const auto recall = [&](std::vector<ScoredId> hits, std::optional<double> last_score) {
    return recall_of(hits, truth, last_score);
  };
  EXPECT_EQ(recall({{4, 5}, {9, 4}, {1, 9}}, std::nullopt), 0.5);
  EXPECT_EQ(recall({{4, 5}, {3, 7}, {2, 8}, {1, 9}}, std::nullopt), 1);
  EXPECT_EQ(recall({}, 5), 0);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 5}}, std::nullopt), 0.75);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 5}}, 5), 1);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 4.999999}}, 5), 1);
  EXPECT_EQ(recall({{1, 9}, {2, 8}, {3, 7}, {9, 4.9}}, 5), 0.75);
  EXPECT_EQ(recall({{1, 9e-9}, {2, 8e-9}, {3, 7e-9}, {9, 4.9e-9}}, 5e-9), 0.75);
  EXPECT_EQ(recall({{1, 1}, {1, 1}, {9, 5}, {9, 5}}, 5), 0.5);  // each point once
  EXPECT_EQ(recall({{1, 1}, {2, 2}, {3, 3}, {8, 5}, {9, 5}}, 5), 1);
}

TEST(RecallTest, OfFewerMatchesThanK) {
  const std::vector<std::int64_t> truth = {7, 2, -1, -1};
  EXPECT_THAT(matches(truth), ElementsAre(7, 2));
  EXPECT_EQ(recall_of(std::vector<ScoredId>{{-1, 3}, {2, 2}}, matches(truth), std::nullopt), 0.5);
  EXPECT_EQ(recall_of({}, matches(std::span(truth).subspan(2)), std::nullopt), 1);
}

TEST(ServerTest, WorkInTheBackground) {
  EXPECT_FALSE(is_not_green(R"({"result":{"status":"green","points_count":3}})"));
  EXPECT_TRUE(is_not_green(R"({"result":{"status":"yellow"}})"));
  EXPECT_FALSE(is_not_green(""));
  EXPECT_FALSE(names_running(R"({"result":{"running":[],"completed":[{}]}})"));
  EXPECT_TRUE(names_running(R"({"result":{"running":[{}]}})"));
  EXPECT_FALSE(names_running(R"({"status":{"error":"Not found"}})"));
}

TEST(BodiesTest, Upsert) {
  const std::vector<float> vector = {0.5};
  UpsertBody body("");
  body.add(1, vector, R"({"a":1})");
  body.add(2, vector, "");
  EXPECT_EQ(body.finish(),
            R"({"points":[{"id":1,"vector":[0.5],"payload":{"a":1}},{"id":2,"vector":[0.5]}]})");
  EXPECT_EQ(body.finish(), R"({"points":[]})");
  UpsertBody named("n\"x");
  named.add(7, vector, "");
  EXPECT_EQ(named.finish(), R"({"points":[{"id":7,"vector":{"n\"x":[0.5]}}]})");
}

TEST(ReportTest, PercentilesByNearestRank) {
  std::vector<double> values(1000);
  std::iota(values.rbegin(), values.rend(), 1.0);
  const Percentiles p = percentiles(values);
  EXPECT_EQ(p.p50, 500);
  EXPECT_EQ(p.p95, 950);
  EXPECT_EQ(p.p99, 990);
  EXPECT_EQ(p.p999, 999);
  EXPECT_EQ(p.max, 1000);
  EXPECT_EQ(percentiles({7}).p50, 7);
  EXPECT_EQ(percentiles({}).max, 0);
}

TEST(ReportTest, CpuSeconds) {
  EXPECT_EQ(cpu_seconds_of("# TYPE process_cpu_seconds_total counter\n"
                           "process_cpu_seconds_total 1.25\nx 3\n"),
            1.25);
  EXPECT_EQ(cpu_seconds_of("a 1\nq_process_cpu_seconds_total 2e1"), 20);
  EXPECT_EQ(cpu_seconds_of("a 1\n"), std::nullopt);
}

TEST(ReportTest, TableAndJson) {
  LoadReport report;
  report.loop.latencies_us = {100, 200, 300, 400};
  report.loop.seconds = 2;
  report.server_cpu_s = 1e-4;
  LoadOptions options;
  options.collection = "c";
  EXPECT_THAT(to_table(report, options), HasSubstr("p50 200  p95 400"));
  EXPECT_THAT(to_table(report, options), HasSubstr("25.00 us per query"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("qps":2.0,"p50_us":200.0)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("cpu_us":25.0,"background":false)"));
  EXPECT_THAT(to_json(report, options),
              HasSubstr(R"("k":10,"recall":null,"recall_p5":null,"short":null)"));
  report.recall = NetworkRecall{.mean = 0.75, .p5 = 0.5, .n_queries = 8, .n_short = 2};
  EXPECT_THAT(to_table(report, options), HasSubstr("0.7500 @10 over 8 queries"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("recall":0.75,"recall_p5":0.5,"short":2)"));
  options.rate = 50;
  report.loop.waits_us = {1, 2, 3, 4};
  EXPECT_THAT(to_table(report, options), HasSubstr("open loop at 50 arrivals/s"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("wait_p50_us":2.0)"));
  report.n_points = 1000;
  report.server_cpu_s.reset();
  report.loop.first_error = "status 500: \"x\"";
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("points_per_s":500.0)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("cpu_us":null)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("first_error":"status 500: \"x\"")"));
}

TEST(ReportTest, JsonSaysWhatWasMeasuredAndWhere) {
  LoadReport report;
  report.loop.latencies_us = {1};
  report.commit = "abc";
  report.calibration_before = {10, 3};
  report.calibration_after = {9.8, 3};
  LoadOptions options;
  options.collection = "c";
  options.params = "{\n\"hnsw_ef\":\n64}";
  EXPECT_THAT(to_json(report, options),
              HasSubstr(R"("data":"c","index":"server","params":{ "hnsw_ef": 64},"k":10)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("commit":"abc","cpu":")"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("date":"1970-01-01T00:00:00Z")"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("disturbed":false,"calibration_before":{)"));
  options.data = "arxiv";
  report.calibration_after.clock_ghz = 2.8;
  report.background = true;
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("data":"arxiv")"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("disturbed":true)"));
  EXPECT_THAT(to_table(report, options), HasSubstr("disturbed      the machine"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("background":true)"));
  report.server_cpu_s = 1e-3;
  EXPECT_THAT(to_table(report, options), HasSubstr("per query, with background work"));
}

}  // namespace
}  // namespace quiver::app
