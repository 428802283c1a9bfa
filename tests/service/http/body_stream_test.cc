// Bodies that are streamed in either direction, over a socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "service/http/connection.h"
#include "service/http/front.h"
#include "service/net/listener.h"
#include "tests/patience.h"
#include "tests/service/fake_database.h"
#include "tests/service/http_client.h"

namespace quiver::service {
namespace {

namespace asio = boost::asio;
using ::testing::HasSubstr;
using ::testing::StartsWith;

char byte_at(std::uint64_t position) { return static_cast<char>('a' + position % 23); }

std::string text_of(std::size_t n_bytes) {
  std::string text(n_bytes, ' ');
  for (std::size_t i = 0; i < n_bytes; ++i) text[i] = byte_at(i);
  return text;
}

/// What the routes of the test do, and what happened to their bodies.
struct Scene {
  std::uint64_t n_bytes = 0;                ///< of the source
  std::optional<std::uint64_t> size;        ///< that it declares
  std::optional<std::uint64_t> fails_from;  ///< bytes after which source or sink fails
  std::chrono::milliseconds pause{0};       ///< before each piece

  std::atomic<std::uint64_t> n_passed = 0;  ///< bytes through source or sink
  std::atomic<std::size_t> longest = 0;     ///< bytes of the longest piece
  std::atomic<int> n_alive = 0;             ///< sources and sinks
  std::atomic<bool> is_intact = true;       ///< what the sink took is `text_of`
};
Scene* scene = nullptr;

Result<> check_place() {
  std::this_thread::sleep_for(scene->pause);
  if (!scene->fails_from || scene->n_passed < *scene->fails_from) return {};
  return fail(Code::kInternal, "the test was asked to fail");
}

class TestSource final : public BodySource {
 public:
  TestSource() { ++scene->n_alive; }
  ~TestSource() override { --scene->n_alive; }
  std::optional<std::uint64_t> size() const override { return scene->size; }
  Result<std::size_t> read(std::span<char> out) override {
    QV_TRY(check_place());
    const std::uint64_t position = scene->n_passed;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), scene->n_bytes - position));
    for (std::size_t i = 0; i < n; ++i) out[i] = byte_at(position + i);
    scene->n_passed += n;
    return n;
  }
};

class TestSink final : public BodySink {
 public:
  TestSink() { ++scene->n_alive; }
  ~TestSink() override { --scene->n_alive; }
  Result<> write(std::string_view bytes) override {
    QV_TRY(check_place());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != byte_at(scene->n_passed + i)) scene->is_intact = false;
    }
    scene->n_passed += bytes.size();
    scene->longest = std::max(scene->longest.load(), bytes.size());
    return {};
  }
};

Decoded<Answer> answer_from_source(Exchange& x) {
  x.response.content_type = "application/octet-stream";
  x.response.source = std::make_unique<TestSource>();
  return Answer::kReady;
}

Decoded<std::unique_ptr<BodySink>> make_test_sink(Exchange& x) {
  if (x.captures[0] == "throws") throw std::runtime_error("the test was asked to throw");
  if (x.captures[0] == "none") return fail(ApiError(404, "Not found: no such sink"));
  return std::make_unique<TestSink>();
}

Decoded<Answer> answer_about_sink(Exchange& x) {
  x.result_raw(std::to_string(scene->n_passed));
  return Answer::kReady;
}

Decoded<Answer> answer_about_body(Exchange& x) {
  x.result_raw(std::to_string(x.request.body.size()));
  return Answer::kReady;
}

std::vector<RouteDeclaration> routes() {
  return {{Method::kGet, "/source", Access::kRead, answer_from_source},
          {Method::kPut, "/sink/{name}", Access::kWrite, answer_about_sink, Effect::kLocal,
           make_test_sink},
          {Method::kPut, "/body", Access::kWrite, answer_about_body}};
}

class BodyStreams : public ::testing::Test {
 protected:
  BodyStreams() { scene = &scene_; }
  ~BodyStreams() override {
    asio::post(loop_.context, [this] {
      listener_.close();
      loop_.stopping = true;
      for (LoopConnection* connection : loop_.connections) connection->abort();
    });
    while (n_connections() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    loop_.context.stop();
    thread_.join();
  }
  void start(api::Options options = {}) {
    runtime_.emplace(std::move(options), database_, metrics_);
    if (audit_) runtime_->use(std::move(audit_));
    http_.max_body_bytes = 1000;
    front_.emplace(http_, *runtime_, routes(), std::span<const UnbuiltEndpoint>());
    ASSERT_TRUE(listener_.listen("127.0.0.1", 0));
    asio::co_spawn(loop_.context, accept(), asio::detached);
    asio::co_spawn(loop_.context, tick(), asio::detached);
    thread_ = std::thread([this] { loop_.context.run(); });
  }
  std::size_t n_connections() {
    std::promise<std::size_t> n;
    asio::post(loop_.context, [&] { n.set_value(loop_.connections.size()); });
    return n.get_future().get();
  }
  /// False if bodies are still there after ten seconds.
  bool bodies_end() {
    const auto end = std::chrono::steady_clock::now() + patience(std::chrono::seconds(10));
    while (scene_.n_alive > 0) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  EventLoop loop_;
  Listener listener_{loop_.context};
  FakeDatabase database_;
  MetricsRegistry metrics_;
  std::optional<api::Runtime> runtime_;
  std::optional<Front> front_;
  HttpOptions http_;
  std::unique_ptr<access::AuditLog> audit_;  ///< for `start`
  Scene scene_;

 private:
  asio::awaitable<void> accept() {
    for (;;) {
      Listener::Accepted accepted = co_await listener_.accept(loop_.context);
      if (!accepted.stream) co_return;
      auto connection = std::make_shared<Connection>(loop_, std::move(accepted.stream), *front_);
      asio::co_spawn(loop_.context, Connection::serve(std::move(connection)), asio::detached);
    }
  }
  /// Rarely enough for the limits of silence not to matter.
  asio::awaitable<void> tick() {
    asio::steady_timer timer(loop_.context);
    for (;;) {
      timer.expires_after(std::chrono::milliseconds(300));
      co_await timer.async_wait(asio::use_awaitable);
      for (LoopConnection* connection : loop_.connections) connection->tick();
    }
  }

  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.context.get_executor()};
  std::thread thread_;
};

constexpr std::size_t kLongBytes = (3 << 20) + 17;

TEST_F(BodyStreams, AnAnswerOfUnknownSizeComesInChunks) {
  start();
  scene_.n_bytes = kLongBytes;
  HttpClient client(listener_.port());
  const auto answer = client.request("GET", "/source");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(answer.headers.count("content-length"), 0U);
  EXPECT_EQ(answer.headers.at("content-type"), "application/octet-stream");
  EXPECT_TRUE(answer.is_whole);
  EXPECT_TRUE(answer.body == text_of(kLongBytes));
  EXPECT_EQ(client.request("PUT", "/body", "abc").status, 200) << "the connection goes on";
  EXPECT_EQ(scene_.n_alive, 0);
}

TEST_F(BodyStreams, AnAnswerOfKnownSizeHasALength) {
  start();
  scene_.n_bytes = kLongBytes;
  scene_.size = kLongBytes;
  HttpClient client(listener_.port());
  const auto answer = client.request("GET", "/source");
  EXPECT_EQ(answer.headers.at("content-length"), std::to_string(kLongBytes));
  EXPECT_EQ(answer.headers.count("transfer-encoding"), 0U);
  EXPECT_TRUE(answer.is_whole);
  EXPECT_TRUE(answer.body == text_of(kLongBytes));
  EXPECT_EQ(client.request("PUT", "/body", "abc").status, 200) << "the connection goes on";
}

TEST_F(BodyStreams, AnEmptyAnswerIsWhole) {
  start();
  HttpClient client(listener_.port());
  EXPECT_TRUE(client.request("GET", "/source").is_whole);
  scene_.size = 0;
  EXPECT_TRUE(client.request("GET", "/source").is_whole);
}

TEST_F(BodyStreams, HeadReadsNothing) {
  start();
  scene_.n_bytes = kLongBytes;
  scene_.size = kLongBytes;
  HttpClient client(listener_.port());
  const auto head = client.request("HEAD", "/source");
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(kLongBytes));
  EXPECT_EQ(scene_.n_passed, 0U);
  EXPECT_EQ(client.request("PUT", "/body", "abc").status, 200);
}

TEST_F(BodyStreams, AnOldClientReadsToTheEndOfTheConnection) {
  start();
  scene_.n_bytes = kLongBytes;
  HttpClient client(listener_.port());
  client.send("GET /source HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
  const auto head = client.receive();
  EXPECT_EQ(head.headers.count("transfer-encoding"), 0U);
  EXPECT_EQ(head.headers.at("connection"), "close");
  EXPECT_TRUE(client.receive_rest() == text_of(kLongBytes));
}

TEST_F(BodyStreams, ASlowReaderIsWaitedFor) {
  start();
  constexpr std::size_t kHugeBytes = 100 << 20;
  scene_.n_bytes = kHugeBytes;
  HttpClient client(listener_.port());
  client.send("GET /source HTTP/1.1\r\nhost: x\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(scene_.n_passed, kHugeBytes / 2) << "no more than fits the buffers of the socket";
  const auto answer = client.receive();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_EQ(answer.body.size(), kHugeBytes);
}

TEST_F(BodyStreams, ASourceEndsWhenItsClientLeaves) {
  start();
  scene_.n_bytes = 1ULL << 40;
  {
    HttpClient client(listener_.port());
    client.send("GET /source HTTP/1.1\r\nhost: x\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(bodies_end());
}

TEST_F(BodyStreams, ASlowSourceEndsWhenItsClientLeaves) {
  start();
  scene_.n_bytes = 1ULL << 40;
  scene_.pause = std::chrono::seconds(1);
  {
    HttpClient client(listener_.port());
    client.send("GET /source HTTP/1.1\r\nhost: x\r\n\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(bodies_end());
  EXPECT_LE(scene_.n_passed, 512U << 10) << "the first piece, or the second as well";
}

TEST_F(BodyStreams, AnErrorOfTheFirstPieceIsTheAnswer) {
  start();
  scene_.n_bytes = kLongBytes;
  scene_.fails_from = 0;
  HttpClient client(listener_.port());
  const auto answer = client.request("GET", "/source");
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("Service internal error: the test was asked to fail"));
  EXPECT_EQ(client.request("PUT", "/body", "abc").status, 200) << "the connection goes on";
}

TEST_F(BodyStreams, ALaterErrorLeavesAnIncompleteAnswer) {
  start();
  for (const bool has_size : {false, true}) {
    scene_.n_passed = 0;
    scene_.n_bytes = kLongBytes;
    scene_.fails_from = 1 << 20;
    scene_.size = has_size ? std::optional<std::uint64_t>(kLongBytes) : std::nullopt;
    HttpClient client(listener_.port());
    const auto answer = client.request("GET", "/source");
    EXPECT_EQ(answer.status, 200);
    EXPECT_FALSE(answer.is_whole);
  }
  EXPECT_TRUE(bodies_end());
}

TEST_F(BodyStreams, ASourceOfAnotherSizeThanItSaysLeavesAnIncompleteAnswer) {
  start();
  for (const std::uint64_t size : {kLongBytes + 1, kLongBytes - 1}) {
    scene_.n_passed = 0;
    scene_.n_bytes = kLongBytes;
    scene_.size = size;
    HttpClient client(listener_.port());
    EXPECT_FALSE(client.request("GET", "/source").is_whole);
  }
}

TEST_F(BodyStreams, ABodyOfAnyLengthGoesToItsSink) {
  start();
  HttpClient client(listener_.port());
  const auto answer = client.request("PUT", "/sink/a", text_of(kLongBytes));
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, StartsWith("{\"result\":" + std::to_string(kLongBytes)));
  EXPECT_TRUE(scene_.is_intact);
  EXPECT_LE(scene_.longest, 512U << 10) << "the body is not collected";
  EXPECT_EQ(client.request("PUT", "/body", "abc").status, 200) << "the connection goes on";
  EXPECT_EQ(scene_.n_alive, 0);
  EXPECT_EQ(client.request("PUT", "/body", text_of(1001)).status, 413) << "others have a limit";
}

TEST_F(BodyStreams, ChunksAndSlowSinks) {
  start();
  scene_.pause = std::chrono::milliseconds(5);
  HttpClient client(listener_.port());
  client.send(
      "PUT /sink/a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n"
      "expect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  const std::string text = text_of(1 << 20);
  client.send("8000a\r\n" + text.substr(0, 0x8000a) + "\r\n");
  client.send("7fff6\r\n" + text.substr(0x8000a) + "\r\n0\r\n\r\n");
  EXPECT_THAT(client.receive().body, StartsWith("{\"result\":" + std::to_string(text.size())));
  EXPECT_TRUE(scene_.is_intact);
}

TEST_F(BodyStreams, AnErrorOfTheSinkIsTheAnswer) {
  start();
  scene_.fails_from = 1;
  HttpClient client(listener_.port());
  const auto answer = client.request("PUT", "/sink/a", text_of(kLongBytes));
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, HasSubstr("the test was asked to fail"));
  EXPECT_TRUE(bodies_end());
}

TEST_F(BodyStreams, ASinkMayBeRefused) {
  start();
  HttpClient client(listener_.port());
  const auto answer = client.request("PUT", "/sink/none", text_of(1 << 20));
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(scene_.n_alive, 0);
}

TEST_F(BodyStreams, ASinkNeedsTheRightKey) {
  api::Options options;
  options.api_key = "secret";
  start(options);
  HttpClient client(listener_.port());
  EXPECT_EQ(client.request("PUT", "/sink/a", "abc").status, 401);
  EXPECT_EQ(scene_.n_passed, 0U);
  HttpClient known(listener_.port());  // the refusal ended the first connection
  EXPECT_EQ(known.request("PUT", "/sink/a", "abc", "api-key: secret\r\n").status, 200);
  EXPECT_EQ(scene_.n_passed, 3U);
}

TEST_F(BodyStreams, ASinkEndsWhenItsClientLeaves) {
  start();
  {
    HttpClient client(listener_.port());
    client.send("PUT /sink/a HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n" +
                text_of(kLongBytes));
  }
  EXPECT_TRUE(bodies_end());
  EXPECT_LE(scene_.n_passed, kLongBytes);
}

TEST_F(BodyStreams, AConnectionThatThrowsIsForgotten) {
  start();
  {
    HttpClient client(listener_.port());
    client.send("PUT /sink/throws HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc");
    EXPECT_EQ(client.receive_rest(), "");
  }
  const auto end = std::chrono::steady_clock::now() + patience(std::chrono::seconds(10));
  while (n_connections() > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_F(BodyStreams, IdleTimeIsNotTheNextRequests) {
  http_.keep_alive_timeout_s = 100;
  http_.read_timeout_s = 2;  // ticks, which come every 300 ms
  start();
  HttpClient client(listener_.port());
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  client.send("PUT /body HTTP/1.1\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
  client.send("content-length: 3\r\n\r\nabc");
  EXPECT_EQ(client.receive().status, 200);
}

class AuditedBodies : public BodyStreams {
 protected:
  AuditedBodies() : dir_(::testing::TempDir() + "audited_bodies_test") {
    std::filesystem::remove_all(dir_);
    audit_ = access::AuditLog::open({.enabled = true, .dir = dir_}).value();
  }
  ~AuditedBodies() override { std::filesystem::remove_all(dir_); }
  /// Waits until there is a line.
  [[nodiscard]] std::string line() const {
    std::string text;
    const auto end = std::chrono::steady_clock::now() + patience(std::chrono::seconds(10));
    while (text.empty() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      for (const auto& file : std::filesystem::directory_iterator(dir_)) {
        std::getline(std::ifstream(file.path()) >> std::ws, text);
      }
    }
    return text;
  }

  const std::string dir_;
};

TEST_F(AuditedBodies, AFailedUploadIsAuditedAndCounted) {
  api::Options options;
  options.api_key = "secret";
  start(options);
  scene_.fails_from = 1;
  HttpClient client(listener_.port());
  EXPECT_EQ(client.request("PUT", "/sink/a", text_of(kLongBytes), "api-key: secret\r\n").status,
            500);
  EXPECT_THAT(line(), HasSubstr(R"("verb":"PUT /sink/{name}","caller":"api_key")"));
  EXPECT_THAT(line(), HasSubstr(R"("outcome":"failed","status":500)"));
  EXPECT_THAT(metrics_.render(), HasSubstr(R"(endpoint="/sink/{name}",status="500"} 1)"));
}

TEST_F(AuditedBodies, AnUploadThatWasBrokenOffIsAuditedAndCounted) {
  api::Options options;
  options.api_key = "secret";
  start(options);
  {
    HttpClient client(listener_.port());
    client.send(
        "PUT /sink/a HTTP/1.1\r\nhost: x\r\napi-key: secret\r\ncontent-length: 1000000\r\n\r\n" +
        text_of(1000));
    while (scene_.n_passed == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(line(), HasSubstr(R"("verb":"PUT /sink/{name}","caller":"api_key")"));
  EXPECT_THAT(line(), HasSubstr(R"("outcome":"failed","status":499)"));
  EXPECT_THAT(metrics_.render(), HasSubstr(R"(endpoint="/sink/{name}",status="499"} 1)"));
}

}  // namespace
}  // namespace quiver::service
