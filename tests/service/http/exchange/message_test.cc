#include "service/http/exchange/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace quiver::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kTrace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(RequestId, IsShortAndVisible) {
  EXPECT_TRUE(is_request_id("a-1/~!"));
  EXPECT_TRUE(is_request_id(std::string(128, 'x')));
  for (const std::string& text :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\n"),
        std::string("\xc3\xa4"), std::string("\x7f")}) {
    EXPECT_FALSE(is_request_id(text)) << text;
  }
}

TEST(Head, RepeatsTheIdsOfTheRequest) {
  Request request;
  request.request_id = "r-1";
  request.traceparent = kTrace;
  std::string head;
  append_head(head, request, Response(), false);
  EXPECT_THAT(head, HasSubstr("\r\nx-request-id: r-1\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\ntraceparent: " + std::string(kTrace) + "\r\n"));
  request.clear();
  head.clear();
  append_head(head, request, Response(), false);
  EXPECT_THAT(head, Not(HasSubstr("x-request-id")));
  EXPECT_THAT(head, Not(HasSubstr("traceparent")));
}

TEST(Head, TellsBrowsersWhatTheyMaySend) {
  Request request;
  Response response;
  response.allow = "GET, HEAD, PUT";
  const auto head_of = [&](bool cors) {
    std::string head;
    append_head(head, request, response, cors);
    return head;
  };
  EXPECT_THAT(head_of(false), Not(HasSubstr("access-control")));
  EXPECT_THAT(head_of(true), HasSubstr("\r\naccess-control-allow-origin: *\r\n"));
  EXPECT_THAT(head_of(true), HasSubstr("\r\naccess-control-expose-headers: *\r\n"));
  EXPECT_THAT(head_of(true), Not(HasSubstr("access-control-allow-methods")));
  request.is_preflight = true;
  EXPECT_THAT(head_of(true), HasSubstr("\r\naccess-control-allow-methods: GET, HEAD, PUT\r\n"));
  EXPECT_THAT(head_of(true), HasSubstr("\r\naccess-control-allow-headers: *\r\n"));
  request.requested_headers = "authorization, content-type";
  EXPECT_THAT(head_of(true),
              HasSubstr("\r\naccess-control-allow-headers: authorization, content-type\r\n"));
}

TEST(HeaderList, HasNamesAndCommas) {
  EXPECT_TRUE(is_header_list("authorization,Content-Type, x_y9"));
  EXPECT_FALSE(is_header_list("a\r\nb: c"));
  EXPECT_FALSE(is_header_list("a:b"));
  EXPECT_FALSE(is_header_list(std::string(1025, 'a')));
}

}  // namespace
}  // namespace quiver::service
