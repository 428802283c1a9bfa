#include "service/tracing/trace_context.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quiver::service::tracing {
namespace {

constexpr std::string_view kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Traceparent, IsThatOfTheStandard) {
  EXPECT_TRUE(is_traceparent(kTrace));
  EXPECT_EQ(trace_id_of(kTrace), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(trace_id_of(""), "");
  EXPECT_TRUE(is_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later"));
  for (const auto* text : {"",
                           "x",
                           "00",
                           "-------------------------------------------------------",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-later",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
                           " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "FF-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0A",
                           "00-4bf92f3577b34da6a3ce929d0e0e473-600f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
                           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-+1",
                           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01later",
                           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-\x01"}) {
    EXPECT_FALSE(is_traceparent(text)) << text;
    EXPECT_FALSE(parse_traceparent(text)) << text;
  }
  const std::string long_one = "cc" + std::string(kTrace.substr(2)) + "-" + std::string(200, 'x');
  EXPECT_FALSE(is_traceparent(long_one));
  EXPECT_FALSE(is_traceparent(std::string_view("00-4bf92f3577b34da6a3ce929d0e0e4736\0", 36)));
}

TEST(Traceparent, IsReadAndWritten) {
  const auto context = parse_traceparent(kTrace);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, (TraceId{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736}));
  EXPECT_EQ(context->span_id, 0x00f067aa0ba902b7U);
  EXPECT_TRUE(context->is_sampled);
  EXPECT_EQ(to_traceparent(*context), kTrace);
  EXPECT_EQ(to_hex(context->trace_id), trace_id_of(kTrace));
  EXPECT_EQ(to_bytes(context->span_id), std::string("\x00\xf0\x67\xaa\x0b\xa9\x02\xb7", 8));
  EXPECT_EQ(to_bytes(context->trace_id).substr(0, 3), "\x4b\xf9\x2f");
  EXPECT_EQ(to_bytes(context->trace_id).size(), 16U);
}

TEST(Traceparent, OnlyTheLastFlagSaysSampled) {
  const std::string base(kTrace.substr(0, kTrace.size() - 2));
  for (const auto* flags : {"00", "02", "fe"}) {
    EXPECT_FALSE(parse_traceparent(base + flags)->is_sampled) << flags;
  }
  for (const auto* flags : {"01", "03", "ff"}) {
    const auto context = parse_traceparent(base + flags);
    EXPECT_TRUE(context->is_sampled) << flags;
    EXPECT_EQ(to_traceparent(*context), kTrace) << "unknown flags are not passed on";
  }
}

TEST(Tracestate, IsOneListOfSeveralHeaders) {
  std::string list;
  append_tracestate(list, "a=1");
  append_tracestate(list, "");
  append_tracestate(list, "b=2,c@d=\t3");
  EXPECT_EQ(list, "a=1,b=2,c@d=\t3");
  for (const std::string& bad : {std::string("e=\n"), std::string("e=\xc3\xa4"),
                                 std::string("e=\0", 3), std::string(520, 'x')}) {
    append_tracestate(list, bad);
    EXPECT_EQ(list, "a=1,b=2,c@d=\t3");
  }
}

TEST(Ids, AreRandomAndNotZero) {
  std::set<std::string> traces;
  std::set<SpanId> spans;
  for (int i = 0; i < 1000; ++i) {
    traces.insert(to_hex(random_trace_id()));
    spans.insert(random_span_id());
  }
  EXPECT_EQ(traces.size(), 1000U);
  EXPECT_EQ(spans.size(), 1000U);
  EXPECT_FALSE(spans.contains(0));
  EXPECT_EQ(traces.begin()->size(), 32U);
}

}  // namespace
}  // namespace quiver::service::tracing
