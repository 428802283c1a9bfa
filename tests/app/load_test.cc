#include "app/load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "app/load/bodies.h"
#include "app/load/http.h"
#include "app/load/npy.h"
#include "app/load/report.h"

namespace quiver::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(const std::string& header, std::string_view data) {
  std::string padded = header;
  padded.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  padded.back() = '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(padded.size() & 0xFF);
  bytes += static_cast<char>(padded.size() >> 8);
  return bytes + padded + std::string(data);
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<float> row(const NpyMatrix& matrix, std::size_t i) {
  std::vector<float> out(matrix.dim());
  matrix.row(i, out);
  return out;
}

TEST(NpyTest, ReadsTheThreeTypes) {
  const std::vector<float> f32 = {1, 2.5, -3, 4, 5, 6};
  const auto a = NpyMatrix::parse(
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", bytes_of(f32)), "a");
  ASSERT_TRUE(a) << a.error().message();
  EXPECT_EQ(a->n_rows(), 2U);
  EXPECT_THAT(row(*a, 0), ElementsAre(1, 2.5, -3));
  EXPECT_THAT(row(*a, 1), ElementsAre(4, 5, 6));

  const std::vector<std::uint16_t> f16 = {0x3C00, 0xC000};
  const auto b = NpyMatrix::parse(
      npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2), }", bytes_of(f16)), "b");
  ASSERT_TRUE(b) << b.error().message();
  EXPECT_THAT(row(*b, 0), ElementsAre(1, -2));

  const std::vector<std::uint8_t> u8 = {0, 255};
  const auto c = NpyMatrix::parse(
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1), }", bytes_of(u8)), "c");
  ASSERT_TRUE(c) << c.error().message();
  EXPECT_THAT(row(*c, 1), ElementsAre(255));
}

TEST(NpyTest, RefusesWhatItCannotRead) {
  const std::string data(24, '\0');
  for (const char* header : {
           "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }",
           "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 9999999999), }",
           "{}",
       }) {
    EXPECT_FALSE(NpyMatrix::parse(npy(header, data), "x")) << header;
  }
  const std::string good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(NpyMatrix::parse(good.substr(0, size), "x")) << size;
  }
  EXPECT_FALSE(NpyMatrix::open("/nonexistent.npy"));
}

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

TEST(BodiesTest, Query) {
  LoadOptions options;
  const std::vector<float> vector = {0.5, -1};
  EXPECT_EQ(query_body(options, vector), R"({"query":[0.5,-1.0],"limit":10})");
  options.vector_name = "v";
  options.params = R"({"exact":true})";
  options.filter = R"({"must":[]})";
  options.with_payload = true;
  options.k = 3;
  EXPECT_EQ(query_body(options, vector),
            R"({"query":[0.5,-1.0],"limit":3,"using":"v","params":{"exact":true},)"
            R"("filter":{"must":[]},"with_payload":true})");
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
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("cpu_us":25.0)"));
  report.n_points = 1000;
  report.server_cpu_s.reset();
  report.loop.first_error = "status 500: \"x\"";
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("points_per_s":500.0)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("cpu_us":null)"));
  EXPECT_THAT(to_json(report, options), HasSubstr(R"("first_error":"status 500: \"x\"")"));
}

}  // namespace
}  // namespace quiver::app
