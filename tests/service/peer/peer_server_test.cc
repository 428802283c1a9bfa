// Messages between nodes, over real sockets.
#include "service/peer/peer_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "service/peer/peer_client.h"
#include "service/peer/peer_error.h"
#include "tests/service/client/listener.h"
#include "tests/service/fake_node.h"
#include "tests/service/http_client.h"

namespace quiver::service {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class PeerServerTest : public ::testing::Test {
 protected:
  PeerServerTest() {
    node_.on_answer = [](std::string_view verb, std::string_view body) -> Result<std::string> {
      if (verb == "fail") return fail(Code::kAborted, "epoch \"3\" is over");
      return std::string(verb) + ":" + std::string(body);
    };
  }
  void start(PeerServerOptions options = {}) {
    options.port = 0;
    options.secret = "s3cret";
    peers_ = PeerServer::start(options, node_, metrics_).value();
    address_ = "127.0.0.1:" + std::to_string(peers_->port());
  }

  FakeNode node_{1};
  MetricsRegistry metrics_;
  std::unique_ptr<PeerServer> peers_;
  std::string address_;
  HttpPeerClient client_{{.secret = "s3cret", .limits = {}}};
};

TEST_F(PeerServerTest, BytesGoThereAndBack) {
  start();
  EXPECT_EQ(client_.call(address_, "append", std::string("a\0b\n\xFF", 5)).value(),
            std::string("append:a\0b\n\xFF", 12));
  EXPECT_EQ(client_.call(address_, "status", "").value(), "status:");
  EXPECT_EQ(client_.call(address_, "with/slash and space", "1").value(), "with/slash and space:1");
}

TEST_F(PeerServerTest, ErrorsKeepCodeAndText) {
  start();
  const auto answer = client_.call(address_, "fail", "");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kAborted);
  EXPECT_EQ(answer.error().message(), "epoch \"3\" is over (node at " + address_ + ")");
  for (int code = 1; code <= 16; ++code) {
    const Error error = peer_error(500, peer_error_json(Error(static_cast<Code>(code), "x\ny")));
    EXPECT_EQ(static_cast<int>(error.code()), code);
    EXPECT_EQ(error.message(), "x\ny");
  }
  EXPECT_EQ(peer_error(500, R"({"code":17,"message":"x"})").code(), Code::kInternal);
  EXPECT_EQ(peer_error(503, "gone").code(), Code::kUnavailable);
}

TEST_F(PeerServerTest, LargeMessages) {
  start();
  std::string body(std::size_t{40} << 20, 'x');
  body += "end";
  const auto answer = client_.call(address_, "v", body);
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(*answer, "v:" + body);
}

TEST_F(PeerServerTest, RefusesMessagesThatAreTooLarge) {
  PeerServerOptions options;
  options.max_message_bytes = 100'000;
  start(options);
  const auto answer = client_.call(address_, "v", std::string(200'000, 'x'));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(client_.call(address_, "v", "x").value(), "v:x");
}

TEST_F(PeerServerTest, StrangersAreRefusedBeforeTheyAreHeard) {
  std::atomic<bool> was_asked = false;
  node_.on_answer = [&](std::string_view, std::string_view) -> Result<std::string> {
    was_asked = true;
    return std::string();
  };
  start();
  for (const std::string secret : {"", "s3cre", "s3cret2", "S3CRET"}) {
    HttpPeerClient stranger({.secret = secret, .limits = {}});
    const auto answer = stranger.call(address_, "v", "body");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::kPermissionDenied);
    EXPECT_THAT(answer.error().message(), HasSubstr("cluster.secret"));
  }
  HttpClient raw(peers_->port());  // announces a body and sends none of it
  raw.send("POST /internal/v1/v HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
  EXPECT_EQ(raw.receive().status, 403);
  EXPECT_FALSE(was_asked);
}

TEST_F(PeerServerTest, HasNoOtherEndpoints) {
  start();
  for (const std::string_view path : {"/", "/collections", "/metrics", "/internal/v1/a/b"}) {
    HttpClient client(peers_->port());
    EXPECT_EQ(client.request("GET", path, "", "x-quiver-secret: s3cret\r\n").status, 404) << path;
  }
}

TEST_F(PeerServerTest, SlowMessagesDoNotHoldUpOthers) {
  std::atomic<bool> may_end = false;
  node_.on_answer = [&](std::string_view verb, std::string_view) -> Result<std::string> {
    while (verb == "slow" && !may_end) std::this_thread::sleep_for(milliseconds(1));
    return std::string(verb);
  };
  start();
  std::vector<std::thread> slow;
  std::atomic<int> n_done = 0;
  for (int i = 0; i < 8; ++i) {
    slow.emplace_back([&] { n_done += client_.call(address_, "slow", "").has_value(); });
  }
  EXPECT_EQ(client_.call(address_, "fast", "").value(), "fast");
  may_end = true;
  for (auto& thread : slow) thread.join();
  EXPECT_EQ(n_done, 8);
}

TEST(PeerClientTest, TellsWhetherANodeWasReached) {
  HttpPeerClient client({.secret = "s", .limits = {.answer = milliseconds(200)}});
  EXPECT_EQ(client.call("127.0.0.1:1", "v", "").error().code(), Code::kUnavailable);
  EXPECT_EQ(client.call("no/host", "v", "").error().code(), Code::kInvalidArgument);
  const client::Listener silent;
  const std::string address = "127.0.0.1:" + std::to_string(silent.endpoint().port);
  const auto answer = client.call(address, "v", "");
  EXPECT_EQ(answer.error().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(answer.error().message(), HasSubstr("the outcome is not known"));
}

}  // namespace
}  // namespace quiver::service
