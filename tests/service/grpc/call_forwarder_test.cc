// Changes over gRPC that reach a node which does not lead.
#include "service/grpc/call_forwarder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "proto/changes.pb.h"
#include "proto/collections.pb.h"
#include "service/api/forwarded_calls.h"
#include "service/grpc/call.h"
#include "service/peer/peer_client.h"
#include "service/peer/peer_server.h"
#include "tests/gzipped.h"
#include "tests/patience.h"
#include "tests/service/fake_node.h"

namespace quiver::service::rpc {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Hands messages over within the process.
class DirectPeers final : public cluster::PeerClient {
 public:
  Result<std::string> call(const std::string& peer, std::string_view verb,
                           std::string_view body) override {
    EXPECT_EQ(verb, api::kForwardedCallVerb);
    if (peer == "broken")
      return fail(Code::kDeadlineExceeded, "no answer: the outcome is not known");
    if (peer != "leader" || front == nullptr) return fail(Code::kUnavailable, "refused");
    return answer_forwarded(*front, body);
  }
  GrpcFront* front = nullptr;
};

/// A node without sockets.
struct CallMember {
  CallMember(cluster::NodeId id, cluster::PeerClient& peers, const std::string& key = "")
      : node(id), runtime(options(id, peers, key), node.local, metrics) {}
  api::Options options(cluster::NodeId, cluster::PeerClient& peers, const std::string& key) {
    api::Options options;
    options.api_key = key;
    options.cluster.node = &node;
    options.cluster.peers = &peers;
    options.cluster.leader_patience = milliseconds(300);
    return options;
  }

  FakeNode node;
  MetricsRegistry metrics;
  api::Runtime runtime;
  BodyBudget memory{std::size_t{1} << 30};
  GrpcFront front{GrpcLimits(), runtime, memory};
};

/// Makes one call and waits for its reply.
class OneCall final : public CallOwner {
 public:
  UnaryCall::Reply call(GrpcFront& front, std::string_view method, std::string message,
                        RequestHead head = {}, bool is_compressed = false) {
    const auto* route = front.find(method);
    EXPECT_NE(route, nullptr) << method;
    const std::string remote = "test";
    UnaryCall call(*this, {}, front, *route, std::move(head), remote);
    call.take({std::move(message), is_compressed});
    call.request_end();
    MutexLock lock(mutex_);
    while (!is_finished_) wake_.wait(mutex_);
    return std::move(call.reply());
  }
  void started(UnaryCall&) override {}
  void finished(UnaryCall&) noexcept override {
    MutexLock lock(mutex_);
    is_finished_ = true;
    wake_.notify_all();
  }
  void send(http2::StreamId, std::string) override {}
  void end(http2::StreamId, const Status&) override {}

 private:
  Mutex mutex_;
  CondVar wake_;
  bool is_finished_ QV_GUARDED_BY(mutex_) = false;
};

std::string creation() {
  qdrant::CreateCollection create;
  create.set_collection_name("c");
  create.mutable_vectors_config()->mutable_params()->set_size(2);
  create.mutable_vectors_config()->mutable_params()->set_distance(qdrant::Dot);
  return create.SerializeAsString();
}

constexpr std::string_view kCreate = "/qdrant.Collections/Create";

class CallForwarderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    peers_.front = &leader_.front;
    follower_.node.follow("http://unused", "leader");
  }
  UnaryCall::Reply create(RequestHead head = {}) {
    return OneCall().call(follower_.front, kCreate, creation(), std::move(head));
  }

  DirectPeers peers_;
  CallMember leader_{1, peers_};
  CallMember follower_{2, peers_};
};

TEST_F(CallForwarderTest, TheLeaderMakesChangesAndItsAnswerIsReturned) {
  const auto made = create();
  EXPECT_EQ(made.status.code, 0) << made.status.text;
  qdrant::CollectionOperationResponse response;
  ASSERT_GT(made.frame.size(), 5U);
  ASSERT_TRUE(response.ParseFromString(made.frame.substr(5)));
  EXPECT_TRUE(response.result());
  EXPECT_TRUE(leader_.node.local.exists("c"));
  EXPECT_FALSE(follower_.node.local.exists("c"));
  const auto again = create();
  EXPECT_EQ(again.status.code, static_cast<int>(Code::kAlreadyExists));
  EXPECT_THAT(again.status.text, HasSubstr("Collection `c` already exists!"));
}

TEST_F(CallForwarderTest, ReadsStay) {
  ASSERT_EQ(create().status.code, 0);
  qdrant::GetCollectionInfoRequest request;
  request.set_collection_name("c");
  const auto read =
      OneCall().call(follower_.front, "/qdrant.Collections/Get", request.SerializeAsString());
  EXPECT_EQ(read.status.code, static_cast<int>(Code::kNotFound));
}

TEST_F(CallForwarderTest, CompressedMessagesTravelAsTheyAre) {
  RequestHead head;
  head.encoding = "gzip";
  const auto made = OneCall().call(follower_.front, kCreate, gzipped(creation()), head, true);
  EXPECT_EQ(made.status.code, 0) << made.status.text;
  EXPECT_TRUE(leader_.node.local.exists("c"));
}

TEST_F(CallForwarderTest, KeysTravel) {
  DirectPeers peers;
  CallMember leader(3, peers, "key");
  CallMember follower(4, peers, "key");
  peers.front = &leader.front;
  follower.node.follow("http://unused", "leader");
  EXPECT_EQ(OneCall().call(follower.front, kCreate, creation()).status.code,
            static_cast<int>(Code::kUnauthenticated));
  RequestHead head;
  head.authorization = "Bearer key";
  const auto made = OneCall().call(follower.front, kCreate, creation(), head);
  EXPECT_EQ(made.status.code, 0) << made.status.text;
}

TEST_F(CallForwarderTest, TheLeaderChecksKeys) {
  DirectPeers peers;
  CallMember leader(3, peers, "another key");
  peers_.front = &leader.front;
  const auto refused = create();
  EXPECT_EQ(refused.status.code, static_cast<int>(Code::kUnauthenticated));
}

TEST_F(CallForwarderTest, IsNotForwardedTwice) {
  leader_.node.follow("http://unused", "leader");
  const auto refused = create();
  EXPECT_EQ(refused.status.code, static_cast<int>(Code::kUnavailable));
  EXPECT_THAT(refused.status.text, HasSubstr("the change was not made: "));
  EXPECT_THAT(refused.status.text, HasSubstr("the node does not lead now, the leader is leader"));
}

TEST_F(CallForwarderTest, WaitsForALeader) {
  follower_.node.follow("http://unused", "nobody");
  auto election = std::async(std::launch::async, [this] {
    std::this_thread::sleep_for(milliseconds(100));
    follower_.node.follow("http://unused", "leader");
  });
  EXPECT_EQ(create().status.code, 0);
  EXPECT_TRUE(leader_.node.local.exists("c"));
}

TEST_F(CallForwarderTest, LeadsWhileItWaits) {
  follower_.node.know_no_leader();
  auto election = std::async(std::launch::async, [this] {
    std::this_thread::sleep_for(milliseconds(100));
    follower_.node.lead();
  });
  EXPECT_EQ(create().status.code, 0);
  EXPECT_TRUE(follower_.node.local.exists("c"));
}

TEST_F(CallForwarderTest, GivesUpWithoutALeader) {
  follower_.node.know_no_leader();
  const auto refused = create();
  EXPECT_EQ(refused.status.code, static_cast<int>(Code::kUnavailable));
  EXPECT_THAT(refused.status.text, HasSubstr("the change was not made: nobody leads"));
}

TEST_F(CallForwarderTest, ABrokenConnectionIsNotTriedAgain) {
  follower_.node.follow("http://unused", "broken");
  const auto unknown = create();
  EXPECT_EQ(unknown.status.code, static_cast<int>(Code::kUnavailable));
  EXPECT_THAT(unknown.status.text,
              HasSubstr("the outcome is not known; the operation may be sent again"));
}

TEST(ForwardedCallsTest, ArriveOverThePeerPort) {
  FakeNode node(1);
  MetricsRegistry metrics;
  PeerServerOptions peer_options;
  peer_options.port = 0;
  peer_options.secret = "s";
  const auto peers = PeerServer::start(peer_options, node, metrics).value();
  const std::string address = "127.0.0.1:" + std::to_string(peers->port());
  HttpPeerClient client({.secret = "s", .limits = {}});
  CallMember follower(2, client);
  follower.node.follow("http://unused", address);
  const auto early = OneCall().call(follower.front, kCreate, creation());
  EXPECT_THAT(early.status.text, HasSubstr("the node is starting"));

  ServerOptions options;
  options.port = 0;
  options.io_threads = 1;
  options.cluster.node = &node;
  options.cluster.peers = &client;
  const auto server = Server::start(std::move(options), node.local, metrics).value();
  peers->use(*server);
  const auto made = OneCall().call(follower.front, kCreate, creation());
  EXPECT_EQ(made.status.code, 0) << made.status.text;
  EXPECT_TRUE(node.local.exists("c"));
  EXPECT_TRUE(peers->stop());
}

}  // namespace
}  // namespace quiver::service::rpc
