#include "service/tracing/otlp.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/traces.pb.h"

namespace quiver::service::tracing {
namespace {

const Resource kResource = {
    .service_name = "quiver", .service_version = "1.2.3", .instance_id = "i-1", .host_name = "box"};

RequestSpan request() {
  RequestSpan span;
  span.context = {{1, 2}, 3, true};
  span.parent_id = 4;
  span.tracestate = "a=1";
  span.name = "GET /x";
  span.start_ns = 1'000;
  span.end_ns = 9'000;
  span.set("http.route", "/x");
  span.set("http.response.status_code", 500);
  span.set("left.out", "");
  span.is_error = true;
  span.stages.add({"Search", SpanKind::kInternal, 5, 2'000, 3'000});
  span.stages.add({"Forward", SpanKind::kClient, 6, 3'000, 4'000});
  return span;
}

traces::ExportRequest decoded(const SpanBatch& batch) {
  traces::ExportRequest message;
  EXPECT_TRUE(message.ParseFromString(encode_spans(kResource, batch)));
  return message;
}

TEST(Otlp, ARequestIsASpanWithStagesAsChildren) {
  const auto message = decoded({request()});
  ASSERT_EQ(message.resource_spans_size(), 1);
  EXPECT_EQ(message.resource_spans(0).resource().attributes(0).value().text(), "quiver");
  const auto& spans = message.resource_spans(0).scope_spans(0).spans();
  ASSERT_EQ(spans.size(), 3);
  const auto& server = spans[0];
  EXPECT_EQ(server.trace_id(), to_bytes(TraceId{1, 2}));
  EXPECT_EQ(server.span_id(), to_bytes(SpanId{3}));
  EXPECT_EQ(server.parent_span_id(), to_bytes(SpanId{4}));
  EXPECT_EQ(server.trace_state(), "a=1");
  EXPECT_EQ(server.kind(), traces::Span::KIND_SERVER);
  EXPECT_EQ(server.flags(), 0x301U);
  EXPECT_EQ(server.status().code(), traces::Status::CODE_ERROR);
  EXPECT_EQ(server.end_time_unix_nano(), 9'000U);
  ASSERT_EQ(server.attributes_size(), 2);
  EXPECT_EQ(server.attributes(0).value().text(), "/x");
  EXPECT_EQ(server.attributes(1).value().number(), 500);
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ(spans[i].parent_span_id(), server.span_id());
    EXPECT_EQ(spans[i].trace_id(), server.trace_id());
    EXPECT_EQ(spans[i].flags(), 0x101U);
  }
  EXPECT_EQ(spans[1].kind(), traces::Span::KIND_INTERNAL);
  EXPECT_EQ(spans[2].kind(), traces::Span::KIND_CLIENT);
}

TEST(Otlp, ARootHasNoParent) {
  RequestSpan root = request();
  root.parent_id = 0;
  root.is_error = false;
  const auto message = decoded({root});
  const auto& span = message.resource_spans(0).scope_spans(0).spans(0);
  EXPECT_EQ(span.parent_span_id(), "");
  EXPECT_EQ(span.flags(), 0x101U);
  EXPECT_FALSE(span.has_status());
}

TEST(Otlp, HostileTextsAreCutAndBecomeUtf8) {
  RequestSpan span = request();
  span.set("url.path", "/\xff\xfe" + std::string(100'000, 'x'));
  const auto message = decoded({span});
  const auto& texts = message.resource_spans(0).scope_spans(0).spans(0).attributes();
  const std::string& path = texts[texts.size() - 1].value().text();
  EXPECT_LE(path.size(), 3 * 256U);
  EXPECT_TRUE(path.starts_with("/\xEF\xBF\xBD\xEF\xBF\xBDx")) << path;
}

TEST(Otlp, AnAnswerMayRejectSpans) {
  traces::ExportAnswer answer;
  EXPECT_EQ(rejected_spans(answer.SerializeAsString()), 0U);
  answer.mutable_partial_success()->set_rejected_spans(7);
  EXPECT_EQ(rejected_spans(answer.SerializeAsString()), 7U);
  answer.mutable_partial_success()->set_rejected_spans(-7);
  EXPECT_EQ(rejected_spans(answer.SerializeAsString()), 0U);
  EXPECT_EQ(rejected_spans("{\"partialSuccess\":{}}"), 0U);
}

}  // namespace
}  // namespace quiver::service::tracing
