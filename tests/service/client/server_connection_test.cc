#include "service/client/server_connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/clock.h"
#include "tests/patience.h"
#include "tests/service/client/listener.h"

namespace quiver::client {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST(ServerConnectionTest, ADeadlineEndsTheWaitForAnAnswer) {
  const Listener hangs;
  ServerConnection connection(hangs.endpoint(), "");
  const Stopwatch watch;
  connection.set_deadline(std::chrono::steady_clock::now() + milliseconds(200));
  const auto answer = connection.exchange("GET", "/", "");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kUnavailable);
  EXPECT_NE(answer.error().message().find("it takes too long"), std::string::npos)
      << answer.error().to_string();
  EXPECT_GE(watch.seconds(), 0.15);
  EXPECT_LT(watch.seconds(), 30) << "the endpoint's limit is a minute";
}

TEST(ServerConnectionTest, AnInterruptionEndsTheWaitForAnAnswer) {
  const Listener hangs;
  ServerConnection connection(hangs.endpoint(), "");
  connection.interrupt();  // nothing to break yet
  std::atomic<bool> has_ended = false;
  std::thread asks([&] {
    EXPECT_FALSE(connection.exchange("GET", "/", "")) << "the endpoint's limit is a minute";
    has_ended = true;
  });
  EXPECT_TRUE(comes_true([&] {
    connection.interrupt();
    return has_ended.load();
  }));
  asks.join();
  std::thread server([&] {
    { const Socket interrupted = hangs.accept(); }
    hangs.answer_once(kOk);
  });
  EXPECT_TRUE(connection.exchange("GET", "/", "")) << "it connects anew";
  server.join();
}

TEST(ServerConnectionTest, AnAnswerThatComesInDropsEndsAtTheDeadline) {
  const Listener listener;
  std::thread server([&] {
    const Socket client = listener.accept();
    while (send(client.fd(), "HTTP", 1, MSG_NOSIGNAL) > 0) {
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  {
    ServerConnection connection(listener.endpoint(), "");
    connection.set_deadline(std::chrono::steady_clock::now() + milliseconds(200));
    EXPECT_FALSE(connection.exchange("GET", "/", ""));
  }
  server.join();
}

TEST(ServerConnectionTest, AConnectionThatTheServerWillCloseIsNotUsedAgain) {
  const Listener listener;
  std::thread server([&] {
    const Socket first = listener.accept();  // stays open, as if its end were still on its way
    constexpr std::string_view kLast =
        "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
    send(first.fd(), kLast.data(), kLast.size(), MSG_NOSIGNAL);
    listener.answer_once(kOk);
  });
  ServerConnection connection(listener.endpoint(), "");
  EXPECT_EQ(connection.exchange("GET", "/", "").value().status, 413);
  EXPECT_EQ(connection.exchange("GET", "/", "").value().status, 200);
  server.join();
}

TEST(ServerConnectionTest, TheEndpointLimitsEachReceive) {
  const Listener hangs;
  Endpoint endpoint = hangs.endpoint();
  endpoint.timeout = milliseconds(100);
  ServerConnection connection(endpoint, "");
  EXPECT_FALSE(connection.exchange("GET", "/", ""));
}

TEST(ServerConnectionTest, ConnectsAnewIfTheServerHasClosed) {
  const Listener listener;
  ServerConnection connection(listener.endpoint(), "");
  for (int i = 0; i < 2; ++i) {
    std::thread server([&] { listener.answer_once(kOk); });
    ASSERT_TRUE(connection.ensure_connected());
    const auto answer = connection.exchange("GET", "/", "");
    EXPECT_EQ(answer ? answer->body : answer.error().to_string(), "ok") << i;
    server.join();
  }
}

TEST(ServerConnectionTest, RefusedIsKnownBeforeSending) {
  Endpoint nobody;
  { nobody = Listener().endpoint(); }
  ServerConnection connection(nobody, "");
  const auto connected = connection.ensure_connected();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace quiver::client
