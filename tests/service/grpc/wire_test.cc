#include "service/grpc/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "proto/health.pb.h"

namespace quiver::service::rpc {
namespace {

std::string framed(std::string_view text, bool is_compressed = false) {
  std::string out(1, is_compressed ? '\1' : '\0');
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((text.size() >> shift) & 0xFF);
  return out += text;
}

std::string value_of(const std::vector<http2::Header>& headers, std::string_view name) {
  for (const auto& header : headers) {
    if (header.name == name) return header.value;
  }
  return "(none)";
}

TEST(MessageReader, CutsMessagesWhereverThePiecesEnd) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> wanted;
    std::string stream;
    for (int i = 0; i < 5; ++i) {
      wanted.emplace_back(random() % 40, static_cast<char>('a' + i));
      stream += framed(wanted.back(), i % 2 == 1);
    }
    MessageReader reader(40);
    std::vector<std::string> found;
    for (std::string_view rest = stream; !rest.empty();) {
      std::string_view piece = rest.substr(0, 1 + random() % 30);
      rest.remove_prefix(piece.size());
      while (!piece.empty()) {
        ASSERT_TRUE(reader.take(piece));
        if (!reader.has_message()) continue;
        auto message = reader.release();
        EXPECT_EQ(message.is_compressed, found.size() % 2 == 1);
        found.push_back(message.bytes);
      }
    }
    EXPECT_EQ(found, wanted);
    EXPECT_FALSE(reader.is_within());
  }
}

TEST(MessageReader, KnowsThatAMessageIsNotWhole) {
  MessageReader reader(100);
  const std::string text = framed("abc");
  for (std::size_t n = 1; n < text.size(); ++n) {
    MessageReader part(100);
    std::string_view bytes = std::string_view(text).substr(0, n);
    ASSERT_TRUE(part.take(bytes));
    EXPECT_TRUE(part.is_within()) << n;
  }
  EXPECT_FALSE(reader.is_within());
}

TEST(MessageReader, RefusesALongMessageByItsPrefix) {
  MessageReader reader(10);
  const std::string text = framed("eleven byte");
  std::string_view bytes = std::string_view(text).substr(0, 5);
  const auto taken = reader.take(bytes);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().status, 413);
  EXPECT_NE(taken.error().text.find("may have 10 bytes, this one has 11"), std::string::npos);
}

TEST(RequestHeadTest, KeepsOnlyTracesThatAreOnes) {
  constexpr std::string_view kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  RequestHead head;
  head.set("traceparent", "x");
  EXPECT_EQ(head.traceparent, "");
  head.set("traceparent", kTrace);
  head.set("tracestate", "a=1");
  head.set("tracestate", "b=2");
  head.set("tracestate", "c=\n");
  head.set(":authority", "localhost:6334");
  EXPECT_EQ(head.traceparent, kTrace);
  EXPECT_EQ(head.tracestate, "a=1,b=2");
  EXPECT_EQ(head.authority, "localhost:6334");
}

TEST(Timeout, HasDigitsAndAUnit) {
  EXPECT_DOUBLE_EQ(parse_timeout("2H").value(), 7200);
  EXPECT_DOUBLE_EQ(parse_timeout("3M").value(), 180);
  EXPECT_DOUBLE_EQ(parse_timeout("99999999S").value(), 99999999);
  EXPECT_DOUBLE_EQ(parse_timeout("250m").value(), 0.25);
  EXPECT_DOUBLE_EQ(parse_timeout("5u").value(), 5e-6);
  EXPECT_DOUBLE_EQ(parse_timeout("7n").value(), 7e-9);
  for (const char* bad : {"", "S", "5", "5s", "-5S", "+5S", "5 S", "999999999S", "5SS", "1.5S"}) {
    EXPECT_FALSE(parse_timeout(bad)) << bad;
  }
}

TEST(Trailers, HoldTextOfAnyKind) {
  const Status status{3, "100 % \n Köln", false};
  EXPECT_EQ(value_of(trailers_of(status), "grpc-status"), "3");
  EXPECT_EQ(value_of(trailers_of(status), "grpc-message"), "100 %25 %0A K%C3%B6ln");
  EXPECT_EQ(value_of(trailers_of({}), "grpc-message"), "(none)");
}

TEST(Trailers, NameTheTimeToWaitOnlyIfItWasTooEarly) {
  EXPECT_EQ(value_of(only_trailers({8, "x", true}, 5), "retry-after"), "5");
  EXPECT_EQ(value_of(only_trailers({8, "x", true}, 0), "retry-after"), "(none)");
  EXPECT_EQ(value_of(only_trailers({8, "x", false}, 5), "retry-after"), "(none)");
}

TEST(Trailers, StayWithinTheLimitsOfClients) {
  EXPECT_LE(value_of(trailers_of({3, std::string(100'000, '\xC3'), false}), "grpc-message").size(),
            6000U);
}

TEST(Frame, IsCompressedOnlyIfThatHelps) {
  grpc::health::v1::HealthCheckRequest message;
  message.set_service("short");
  EXPECT_EQ(as_frame(message, true), framed(message.SerializeAsString()));
  message.set_service(std::string(1000, 'x'));
  EXPECT_EQ(as_frame(message, false), framed(message.SerializeAsString()));
  const std::string small = as_frame(message, true);
  EXPECT_EQ(small[0], '\1');
  EXPECT_LT(small.size(), 100U);
}

}  // namespace
}  // namespace quiver::service::rpc
