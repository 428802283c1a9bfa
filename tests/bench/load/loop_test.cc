#include "bench/load/loop.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/load/server.h"
#include "service/client/server_connection.h"

namespace quiver::bench {
namespace {

using testing::HasSubstr;

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
constexpr std::string_view kBad = "HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad";

/// Answers requests (heads that end with an empty line, no bodies) on loopback, one thread per
/// connection. `answer` gets the number of the request; an empty text closes the connection.
class StubServer {
 public:
  explicit StubServer(std::function<std::string_view(int)> answer) : answer_(std::move(answer)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, any, size) != 0 || listen(listener_, 64) != 0 ||
        getsockname(listener_, any, &size) != 0) {
      ADD_FAILURE() << "cannot listen on loopback";
    }
    endpoint_ = {"127.0.0.1", ntohs(address.sin_port)};
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~StubServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    for (std::thread& thread : threads_) thread.join();
  }
  StubServer(const StubServer&) = delete;
  StubServer& operator=(const StubServer&) = delete;

  [[nodiscard]] const client::Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] int n_requests() const { return n_requests_; }

 private:
  void accept_all() {
    while (true) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      threads_.emplace_back([this, fd] { serve(client::Socket(fd)); });
    }
  }
  void serve(const client::Socket& socket) {
    std::string pending;
    char buffer[4096];
    while (true) {
      const ssize_t n = recv(socket.fd(), buffer, sizeof buffer, 0);
      if (n <= 0) return;
      pending.append(buffer, static_cast<std::size_t>(n));
      for (auto end = pending.find("\r\n\r\n"); end != std::string::npos;
           end = pending.find("\r\n\r\n")) {
        pending.erase(0, end + 4);
        const std::string_view answer = answer_(n_requests_++);
        if (answer.empty()) return;
        if (send(socket.fd(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
      }
    }
  }

  std::function<std::string_view(int)> answer_;
  int listener_ = -1;
  client::Endpoint endpoint_;
  std::atomic<int> n_requests_ = 0;
  std::vector<std::thread> threads_;  // owned by the acceptor until it ends
  std::thread acceptor_;
};

/// `n` equal requests; every third call says kLater first.
class CountedSource final : public RequestSource {
 public:
  explicit CountedSource(int n) : left_(n) {}
  State next(RequestText& request) override {
    if (++calls_ % 3 == 0) return State::kLater;
    if (left_-- <= 0) return State::kEnd;
    request = request_;
    return State::kReady;
  }

 private:
  int left_;
  int calls_ = 0;
  RequestText request_ = std::make_shared<const std::string>("GET / HTTP/1.1\r\n\r\n");
};

TEST(LoopTest, EveryRequestIsAnsweredOnce) {
  for (const std::uint32_t connections : {1U, 3U}) {
    for (const std::uint32_t pipeline : {1U, 4U}) {
      StubServer server([](int) { return kOk; });
      CountedSource source(200);
      const auto result =
          run_loop(server.endpoint(), source, {.connections = connections, .pipeline = pipeline});
      ASSERT_TRUE(result) << result.error().message();
      EXPECT_EQ(result->latencies_us.size(), 200U);
      EXPECT_EQ(result->n_errors, 0U);
      EXPECT_EQ(server.n_requests(), 200);
      EXPECT_GT(result->n_starved, 0U);
      EXPECT_GT(result->seconds, 0);
    }
  }
}

/// `n` requests; records when each was taken.
class TimedSource final : public RequestSource {
 public:
  explicit TimedSource(int n) : left_(n) {}
  State next(RequestText& request) override {
    if (left_-- <= 0) return State::kEnd;
    request = request_;
    return State::kReady;
  }

 private:
  int left_;
  RequestText request_ = std::make_shared<const std::string>("GET / HTTP/1.1\r\n\r\n");
};

TEST(LoopTest, AnOpenLoopSendsByTheClock) {
  StubServer server([](int) { return kOk; });
  TimedSource source(200);
  const auto result = run_loop(server.endpoint(), source, {.connections = 4, .rate = 2000});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->latencies_us.size(), 200U);
  EXPECT_EQ(result->waits_us.size(), 200U);
  EXPECT_GT(result->seconds, 0.05);  // a tenth of a second on average; a closed loop takes less
}

TEST(LoopTest, AnOpenLoopCountsTheWaitBehindASlowAnswer) {
  constexpr auto kPause = std::chrono::milliseconds(200);
  StubServer server([&](int i) {
    if (i == 0) std::this_thread::sleep_for(kPause);
    return kOk;
  });
  TimedSource source(50);
  const auto result = run_loop(server.endpoint(), source, {.connections = 1, .rate = 1000});
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->latencies_us.size(), 50U);
  // All arrived while the first was answered, most of them early.
  const auto n_slow = std::count_if(result->latencies_us.begin(), result->latencies_us.end(),
                                    [](double us) { return us > 50e3; });
  EXPECT_GT(n_slow, 25);
  EXPECT_GT(result->waits_us.back(), 50e3);
}

TEST(LoopTest, AnOpenLoopSaysWhatItNeverSent) {
  StubServer server([](int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return kOk;
  });
  class Brief final : public RequestSource {
   public:
    State next(RequestText& request) override {
      if (n_++ == 5) return State::kOutOfTime;
      request = request_;
      return State::kReady;
    }

   private:
    int n_ = 0;
    RequestText request_ = std::make_shared<const std::string>("GET / HTTP/1.1\r\n\r\n");
  };
  Brief source;
  const auto result = run_loop(server.endpoint(), source, {.connections = 1, .rate = 1000});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->latencies_us.size(), 5U);
  // 100 ms at 1,000 per second, minus the five.
  EXPECT_GT(result->n_unsent, 30U);
  // Beyond a million, arrivals are not drawn one by one.
  Brief again;
  const auto flooded = run_loop(server.endpoint(), again, {.connections = 1, .rate = 1e12});
  ASSERT_TRUE(flooded) << flooded.error().message();
  EXPECT_GT(flooded->n_unsent, 30'000'000'000U);
}

std::string ok_of(std::string_view body) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
}

ServerLook look_at(const std::vector<std::string>& answers) {
  StubServer server([&](int i) -> std::string_view { return answers.at(i); });
  return look_at_server(server.endpoint(), {});
}

TEST(ServerLookTest, WorkInTheBackgroundIsSeenByEitherAnswer) {
  const std::string version = ok_of(R"({"commit":"abc"})");
  const std::string green = ok_of(R"({"result":{"status":"green"}})");
  const std::string yellow = ok_of(R"({"result":{"status":"yellow"}})");
  const std::string metrics = ok_of("process_cpu_seconds_total 1.5\n");
  const std::string running = ok_of(R"({"result":{"running":[{}]}})");
  const auto at_rest = look_at({version, green, ok_of(R"({"result":{"running":[]}})"), metrics});
  EXPECT_FALSE(at_rest.background);
  EXPECT_EQ(at_rest.cpu_s, 1.5);
  EXPECT_EQ(at_rest.commit, "abc");
  EXPECT_TRUE(look_at({version, yellow, metrics}).background);
  EXPECT_TRUE(look_at({version, green, running, metrics}).background);
  const std::string bad(kBad);
  const auto silent = look_at({bad, bad, bad, bad});
  EXPECT_FALSE(silent.background);
  EXPECT_EQ(silent.cpu_s, std::nullopt);
  EXPECT_EQ(silent.commit, "");
}

TEST(LoopTest, RefusalsAreCounted) {
  StubServer server([](int i) { return i % 4 == 0 ? kBad : kOk; });
  CountedSource source(100);
  const auto result = run_loop(server.endpoint(), source, {.connections = 2, .pipeline = 2});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->latencies_us.size(), 75U);
  EXPECT_EQ(result->n_errors, 25U);
  EXPECT_EQ(result->first_error, "status 400: bad");
}

TEST(LoopTest, BrokenConnectionsAreReplaced) {
  StubServer server([](int i) { return i == 10 ? std::string_view() : kOk; });
  CountedSource source(50);
  const auto result = run_loop(server.endpoint(), source, LoopOptions());
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ(result->n_errors, 1U);
  EXPECT_EQ(result->latencies_us.size(), 49U);
  EXPECT_THAT(result->first_error, HasSubstr("closed a connection"));
}

TEST(LoopTest, NobodyListens) {
  client::Endpoint endpoint;
  {
    StubServer server([](int) { return kOk; });
    endpoint = server.endpoint();
  }
  CountedSource source(1);
  const auto result = run_loop(endpoint, source, LoopOptions());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(), HasSubstr("cannot connect to 127.0.0.1"));
}

TEST(LoopTest, Fetch) {
  StubServer server([](int) { return kBad; });
  const auto answer = client::fetch(server.endpoint(),
                                    client::request_text("GET", "/", server.endpoint(), "key", ""));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(answer->body, "bad");
}

}  // namespace
}  // namespace quiver::bench
