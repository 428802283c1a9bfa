#include "service/tracing/tracer.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "proto/traces.pb.h"
#include "service/tracing/request_trace.h"
#include "tests/patience.h"
#include "tests/service/client/listener.h"
#include "tests/support/failing_allocation.h"

namespace quiver::service::tracing {
namespace {

using client::Listener;
using client::Socket;

constexpr std::string_view kSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr std::string_view kNotSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view kBusy =
    "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

TracingOptions options_for(const Listener& collector) {
  TracingOptions options;
  options.endpoint = "http://127.0.0.1:" + std::to_string(collector.endpoint().port);
  options.headers = "api-key=s";
  options.interval_s = 0.01;
  return options;
}

/// Reads one request from a client of a test.
std::string read_request(const Socket& client) {
  std::string request;
  std::array<char, 4096> part;
  std::size_t size = std::string::npos;
  while (request.size() < size) {
    const ssize_t n = recv(client.fd(), part.data(), part.size(), 0);
    if (n <= 0) break;
    request.append(part.data(), static_cast<std::size_t>(n));
    const auto head = request.find("\r\n\r\n");
    if (head == std::string::npos) continue;
    size = head + 4 + std::stoul(request.substr(request.find("content-length: ") + 16));
  }
  return request;
}

std::string answer_next(const Listener& collector, std::string_view answer) {
  const Socket client = collector.accept();
  std::string request = read_request(client);
  std::ignore = send(client.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
  return request;
}

RequestSpan some_span() {
  RequestSpan span;
  span.context = {random_trace_id(), random_span_id(), true};
  span.name = "GET /x";
  return span;
}

class TracerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Tracer> start(const TracingOptions& options) {
    return Tracer::start(options, Resource(), registry_, "").value();
  }
  std::uint64_t dropped(const char* reason) {
    return registry_.counter("tracing_spans_dropped_total", "", {{"reason", reason}}).value();
  }
  std::uint64_t count(const char* name) { return registry_.counter(name, "").value(); }

  MetricsRegistry registry_;
  Listener collector_;
};

TEST(SamplerTest, KeepsItsShare) {
  const Sampler none(0);
  const Sampler some(0.25);
  const Sampler all(1);
  int n = 0;
  for (int i = 0; i < 10'000; ++i) {
    const TraceId id = random_trace_id();
    EXPECT_FALSE(none.samples(id));
    EXPECT_TRUE(all.samples(id));
    EXPECT_EQ(some.samples(id), some.samples({id.high + 1, id.low})) << "the last bits decide";
    n += some.samples(id) ? 1 : 0;
  }
  EXPECT_GT(n, 2000);
  EXPECT_LT(n, 3000);
}

TEST_F(TracerTest, TheCallerDecidesWhetherItsTraceIsSampled) {
  TracingOptions options = options_for(collector_);
  options.sample_ratio = 0;
  const auto tracer = start(options);
  RequestTrace trace;
  trace.begin(tracer.get(), kSampled);
  EXPECT_TRUE(trace.is_sampled());
  const RequestSpan span = trace.finish();
  EXPECT_EQ(to_hex(span.context.trace_id), trace_id_of(kSampled));
  EXPECT_EQ(span.parent_id, 0x00f067aa0ba902b7U);
  EXPECT_NE(span.context.span_id, span.parent_id);
  EXPECT_FALSE(trace.is_sampled()) << "a request ends once";
  for (const auto parent : {kNotSampled, std::string_view(), std::string_view("nonsense")}) {
    trace.begin(tracer.get(), parent);
    EXPECT_FALSE(trace.is_sampled()) << parent;
  }
  options.sample_ratio = 1;
  const auto always = start(options);
  trace.begin(always.get(), kNotSampled);
  EXPECT_FALSE(trace.is_sampled());
  trace.begin(always.get(), "");
  EXPECT_TRUE(trace.is_sampled());
  EXPECT_EQ(trace.finish().parent_id, 0U);
}

TEST_F(TracerTest, OtherNodesGetTheStageAsTheirParent) {
  const auto tracer = start(options_for(collector_));
  RequestTrace trace;
  trace.begin(nullptr, kSampled);
  EXPECT_EQ(trace.to_pass_on(kSampled), kSampled);
  EXPECT_EQ(trace.to_pass_on(""), "");
  EXPECT_EQ(trace.logged_id(kSampled), trace_id_of(kSampled));
  EXPECT_EQ(trace.logged_id(""), "");

  trace.begin(tracer.get(), kNotSampled);
  const auto passed = parse_traceparent(trace.to_pass_on(kNotSampled));
  ASSERT_TRUE(passed);
  EXPECT_FALSE(passed->is_sampled);
  EXPECT_EQ(to_hex(passed->trace_id), trace_id_of(kNotSampled));

  trace.begin(tracer.get(), "");
  trace.enter_stage("Wait");
  trace.enter_stage("Forward", SpanKind::kClient);
  const auto parent = parse_traceparent(trace.to_pass_on(""));
  trace.leave_stage();
  EXPECT_EQ(trace.logged_id(""), to_hex(parent->trace_id));
  const RequestSpan span = trace.finish();
  ASSERT_EQ(span.stages.all().size(), 2U);
  const Stage& wait = span.stages.all()[0];
  const Stage& forward = span.stages.all()[1];
  EXPECT_EQ(wait.name, "Wait");
  EXPECT_LE(span.start_ns, wait.start_ns);
  EXPECT_LE(wait.end_ns, forward.start_ns);
  EXPECT_LE(forward.end_ns, span.end_ns);
  EXPECT_EQ(parent->span_id, forward.span_id);
}

TEST_F(TracerTest, StagesBeyondTheLastAreLeftOut) {
  const auto tracer = start(options_for(collector_));
  RequestTrace trace;
  trace.begin(tracer.get(), kSampled);
  for (std::size_t i = 0; i < 2 * Stages::kMaxStages; ++i) {
    const StageScope stage(trace, "Wait");
  }
  EXPECT_EQ(trace.finish().n_spans(), 1 + Stages::kMaxStages);
  trace.begin(tracer.get(), kNotSampled);
  trace.enter_stage("Wait");
  trace.begin(tracer.get(), kSampled);
  EXPECT_EQ(trace.finish().n_spans(), 1U);
}

TEST_F(TracerTest, ARequestThatIsNotSampledAllocatesNothing) {
  TracingOptions options = options_for(collector_);
  options.sample_ratio = 0;
  const auto tracer = start(options);
  RequestTrace trace;
  trace.begin(tracer.get(), "");  // makes the thread's generator
  testing_support::fail_allocations(0, 1);
  trace.begin(tracer.get(), "");
  trace.enter_stage("Wait");
  trace.enter_stage("Search");
  trace.leave_stage();
  trace.begin(tracer.get(), kNotSampled);
  trace.enter_stage("Wait");
  EXPECT_THROW(static_cast<void>(std::string(1000, 'x')), std::bad_alloc) << "it was not used up";
}

TEST_F(TracerTest, SpansArePostedWithHeaders) {
  const auto tracer = start(options_for(collector_));
  tracer->add(some_span());
  const std::string request = answer_next(collector_, kOk);
  EXPECT_TRUE(request.starts_with("POST /v1/traces HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("\r\ncontent-type: application/x-protobuf\r\n"), std::string::npos);
  EXPECT_NE(request.find("\r\napi-key: s\r\n"), std::string::npos);
  traces::ExportRequest message;
  ASSERT_TRUE(message.ParseFromString(request.substr(request.find("\r\n\r\n") + 4)));
  EXPECT_EQ(message.resource_spans(0).scope_spans(0).spans_size(), 1);
  EXPECT_TRUE(comes_true([&] { return count("tracing_spans_exported_total") == 1; }));
}

TEST_F(TracerTest, APostThatMaySucceedLaterIsRepeated) {
  const auto tracer = start(options_for(collector_));
  tracer->add(some_span());
  const std::string first = answer_next(collector_, kBusy);
  const std::string second = answer_next(collector_, kOk);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(comes_true([&] { return count("tracing_spans_exported_total") == 1; }));
  EXPECT_EQ(count("tracing_posts_failed_total"), 1U);
  EXPECT_EQ(dropped("not_sent"), 0U);
}

TEST_F(TracerTest, APostThatIsRefusedIsNot) {
  const auto tracer = start(options_for(collector_));
  tracer->add(some_span());
  answer_next(collector_, "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(comes_true([&] { return dropped("not_sent") == 1; }));
  EXPECT_EQ(count("tracing_spans_exported_total"), 0U);
}

TEST_F(TracerTest, WhatACollectorRejectsIsDropped) {
  const auto tracer = start(options_for(collector_));
  tracer->add(some_span());
  traces::ExportAnswer answer;
  answer.mutable_partial_success()->set_rejected_spans(1);
  const std::string body = answer.SerializeAsString();
  answer_next(collector_, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                              "\r\n\r\n" + body);
  EXPECT_TRUE(comes_true([&] { return dropped("not_sent") == 1; }));
}

TEST_F(TracerTest, ACollectorThatHangsCostsSpansOnly) {
  TracingOptions options = options_for(collector_);
  options.max_queued_spans = 10;
  options.timeout_s = 600;
  auto tracer = start(options);
  tracer->add(some_span());
  const Socket client = collector_.accept();
  EXPECT_NE(read_request(client), "") << "from now on the collector is silent";
  for (int i = 0; i < 100; ++i) tracer->add(some_span());
  EXPECT_EQ(dropped("queue_full"), 90U);
  const Stopwatch watch;
  tracer->stop();
  EXPECT_LT(watch.seconds(), 300) << "a post may take 600 s";
  EXPECT_EQ(dropped("not_sent"), 11U);
  tracer->add(some_span());
  EXPECT_EQ(dropped("queue_full"), 91U);
}

TEST_F(TracerTest, TheLastSpansAreSentWhenTheServerEnds) {
  TracingOptions options = options_for(collector_);
  options.interval_s = 3600;
  auto tracer = start(options);
  tracer->add(some_span());
  std::string request;
  std::thread collects([&] { request = answer_next(collector_, kOk); });
  tracer->stop();
  EXPECT_EQ(count("tracing_spans_exported_total") + dropped("not_sent"), 1U);
  const bool was_too_late = count("tracing_spans_exported_total") == 0;  // on a very busy machine
  if (was_too_late) {
    EXPECT_TRUE(client::connect_to(collector_.endpoint()));
  }
  collects.join();
  EXPECT_TRUE(was_too_late || request.starts_with("POST "));
}

TEST_F(TracerTest, WrongOptionsAreErrors) {
  TracingOptions options = options_for(collector_);
  options.endpoint = "otel:4318";
  EXPECT_FALSE(Tracer::start(options, {}, registry_, ""));
  options = options_for(collector_);
  options.headers = "secret";
  EXPECT_FALSE(Tracer::start(options, {}, registry_, ""));
}

}  // namespace
}  // namespace quiver::service::tracing
