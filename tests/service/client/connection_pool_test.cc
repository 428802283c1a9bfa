#include "service/client/connection_pool.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/service/client/listener.h"

namespace quiver::client {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kHead = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n";
constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nX-Name:  value\r\ncontent-length: 1\r\n\r\n";

/// Answers requests of `kHead` with a number each, over one connection.
void answer(const Socket& client, int n_requests) {
  for (int i = 0; i < n_requests; ++i) {
    std::string request;
    while (request.size() < kHead.size() + 2) {
      std::array<char, 256> bytes;
      const auto n = recv(client.fd(), bytes.data(), bytes.size(), 0);
      if (n <= 0) return;
      request.append(bytes.data(), static_cast<std::size_t>(n));
    }
    const std::string text = std::string(kAnswer) + std::to_string(i);
    EXPECT_EQ(send(client.fd(), text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
  }
}

TEST(ConnectionPoolTest, KeepsConnectionsForLaterCalls) {
  const Listener listener;
  std::thread server([&] { answer(listener.accept(), 2); });
  ConnectionPool pool({});
  const auto first = pool.exchange(listener.endpoint(), kHead, "ab");
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->body, "0");
  EXPECT_EQ(find_header(first->head, "x-name"), "value");
  EXPECT_EQ(find_header(first->head, "x-nam"), std::nullopt);
  EXPECT_EQ(pool.exchange(listener.endpoint(), kHead, "ab").value().body, "1");
  server.join();
}

TEST(ConnectionPoolTest, OpensAnotherConnectionForOneThatWasClosed) {
  const Listener listener;
  ConnectionPool pool({});
  for (int i = 0; i < 2; ++i) {
    std::thread server([&] { answer(listener.accept(), 1); });
    EXPECT_EQ(pool.exchange(listener.endpoint(), kHead, "ab").value().body, "0");
    server.join();
  }
}

TEST(ConnectionPoolTest, TellsWhetherTheRequestMayBeDone) {
  ConnectionPool pool({.connect = milliseconds(200), .answer = milliseconds(200)});
  const auto refused = pool.exchange({.host = "127.0.0.1", .port = 1}, kHead, "ab");
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  const Listener listener;
  Endpoint silent = listener.endpoint();
  silent.silence = std::chrono::seconds(1);
  const auto late = pool.exchange(silent, kHead, "ab");
  EXPECT_EQ(late.error().code(), Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace quiver::client
