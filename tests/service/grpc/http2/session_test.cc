// A server's session against a client's, both in memory.
#include "service/grpc/http2/session.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace quiver::service::http2 {
namespace {

/// Notes what arrives.
class Notes final : public Receiver {
 public:
  struct Request {
    std::map<std::string, std::string> headers;
    std::string body;
    bool has_headers = false, is_whole = false, is_closed = false;
  };

  void header(StreamId id, std::string_view name, std::string_view value) override {
    requests[id].headers[std::string(name)] = std::string(value);
  }
  void headers_end(StreamId id) override { requests[id].has_headers = true; }
  void body(StreamId id, std::string_view bytes) override { requests[id].body += bytes; }
  void request_end(StreamId id) override { requests[id].is_whole = true; }
  void closed(StreamId id) override { requests[id].is_closed = true; }

  std::map<StreamId, Request> requests;
};

/// A client of nghttp2's.
class Client {
 public:
  struct Answer {
    std::map<std::string, std::string> headers;
    std::string body;
    bool is_closed = false;
    std::uint32_t reason = 0;
  };

  explicit Client(std::int32_t window_bytes = 65535) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                           static_cast<std::uint32_t>(window_bytes)};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &window, 1);
  }
  ~Client() { nghttp2_session_del(session_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  StreamId ask(std::string body,
               const std::vector<std::pair<std::string, std::string>>& more = {}) {
    std::vector<std::pair<std::string, std::string>> headers = {
        {":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/a.B/C"}};
    headers.insert(headers.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> fields;
    for (auto& [name, value] : headers) {
      fields.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                        reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                        NGHTTP2_NV_FLAG_NONE});
    }
    auto& kept = *bodies_.emplace_back(std::make_unique<std::string>(std::move(body)));
    nghttp2_data_provider provider{};
    provider.source.ptr = &kept;
    provider.read_callback = read_body;
    return nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &provider,
                                  nullptr);
  }
  void cancel(StreamId id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }

  [[nodiscard]] std::string bytes() {
    std::string out;
    const std::uint8_t* data = nullptr;
    for (ssize_t n = 0; (n = nghttp2_session_mem_send(session_, &data)) > 0;) {
      out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
    }
    return out;
  }
  void take(std::string_view bytes) {
    const auto n = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ASSERT_EQ(n, static_cast<ssize_t>(bytes.size()));
  }

  std::map<StreamId, Answer> answers;

 private:
  static Client& of(void* user) { return *static_cast<Client*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t n_name, const std::uint8_t* value, std::size_t n_value,
                       std::uint8_t, void* user) {
    of(user)
        .answers[frame->hd.stream_id]
        .headers[std::string(reinterpret_cast<const char*>(name), n_name)] =
        std::string(reinterpret_cast<const char*>(value), n_value);
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, StreamId id, const std::uint8_t* bytes,
                     std::size_t n, void* user) {
    of(user).answers[id].body.append(reinterpret_cast<const char*>(bytes), n);
    return 0;
  }
  static int on_close(nghttp2_session*, StreamId id, std::uint32_t reason, void* user) {
    of(user).answers[id].is_closed = true;
    of(user).answers[id].reason = reason;
    return 0;
  }
  static ssize_t read_body(nghttp2_session*, StreamId, std::uint8_t* out, std::size_t n_out,
                           std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& body = *static_cast<std::string*>(source->ptr);
    const std::size_t n = std::min(n_out, body.size());
    std::memcpy(out, body.data(), n);
    body.erase(0, n);
    if (body.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  }

  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<std::string>> bodies_;
};

/// Passes bytes in pieces of random sizes until neither side has any.
void exchange(Client& client, Session& server, std::mt19937& random) {
  for (bool is_quiet = false; !is_quiet;) {
    const std::string up = client.bytes();
    for (std::string_view rest = up; !rest.empty();) {
      const auto piece = rest.substr(0, 1 + random() % 5000);
      ASSERT_TRUE(server.take(piece));
      rest.remove_prefix(piece.size());
    }
    std::string down;
    server.gather(down, 1 + random() % 100'000);
    client.take(down);
    is_quiet = up.empty() && down.empty();
  }
}

const std::vector<Header> kHead = {{":status", "200"}, {"content-type", "application/grpc"}};
const std::vector<Header> kTrailers = {{"grpc-status", "0"}};

class SessionTest : public ::testing::Test {
 protected:
  void exchange_all() { exchange(client, *server, random); }
  void answer(StreamId id, std::string bytes) {
    server->begin_answer(id, kHead);
    server->send(id, std::move(bytes));
    server->end_answer(id, kTrailers);
  }

  Notes notes;
  Client client;
  std::unique_ptr<Session> server = Session::make(notes, {});
  std::mt19937 random{3};
};

TEST_F(SessionTest, CarriesRequestsAndAnswersOfAllSizes) {
  std::map<StreamId, std::string> sent;
  for (const std::size_t size : {0U, 1U, 5000U, 70'000U, 3'000'000U}) {
    const std::string body(size, static_cast<char>('a' + size % 7));
    sent[client.ask(body, {{"x", "y"}})] = body;
  }
  exchange_all();
  for (const auto& [id, body] : sent) {
    EXPECT_EQ(notes.requests[id].body, body);
    EXPECT_TRUE(notes.requests[id].is_whole);
    EXPECT_EQ(notes.requests[id].headers["x"], "y");
    answer(id, body + "!");
  }
  EXPECT_TRUE(server->has_unsent_answers());
  exchange_all();
  for (const auto& [id, body] : sent) {
    EXPECT_EQ(client.answers[id].body, body + "!");
    EXPECT_EQ(client.answers[id].headers["grpc-status"], "0");
    EXPECT_EQ(client.answers[id].reason, 0U);
    EXPECT_TRUE(notes.requests[id].is_closed);
  }
  EXPECT_FALSE(server->has_unsent_answers());
}

TEST_F(SessionTest, AnAnswerMayGrow) {
  const StreamId id = client.ask("q");
  exchange_all();
  server->begin_answer(id, kHead);
  exchange_all();
  for (int i = 0; i < 3; ++i) {
    server->send(id, std::to_string(i));
    exchange_all();
    EXPECT_FALSE(client.answers[id].is_closed);
  }
  server->end_answer(id, kTrailers);
  exchange_all();
  EXPECT_EQ(client.answers[id].body, "012");
  EXPECT_TRUE(client.answers[id].is_closed);
}

TEST_F(SessionTest, AnEarlyAnswerEndsTheRequest) {
  const StreamId id = client.ask(std::string(50'000'000, 'x'));
  ASSERT_TRUE(server->take(client.bytes()));
  EXPECT_FALSE(notes.requests[id].is_whole);
  server->answer_headers(id, {{":status", "200"}, {"grpc-status", "8"}});
  exchange_all();
  EXPECT_EQ(client.answers[id].headers["grpc-status"], "8");
  EXPECT_TRUE(client.answers[id].is_closed);
  EXPECT_EQ(client.answers[id].reason, static_cast<std::uint32_t>(NGHTTP2_NO_ERROR));
  EXPECT_LT(notes.requests[id].body.size(), 10'000'000U);
}

TEST_F(SessionTest, ACancelledRequestIsClosedAndTakesNoAnswer) {
  const StreamId id = client.ask("q");
  exchange_all();
  client.cancel(id);
  exchange_all();
  EXPECT_TRUE(notes.requests[id].is_closed);
  answer(id, "late");
  exchange_all();
  EXPECT_TRUE(client.answers[id].headers.empty());
  EXPECT_FALSE(server->has_unsent_answers());
}

TEST_F(SessionTest, LongHeadersCostTheRequestOnly) {
  const StreamId bad = client.ask("q", {{"x", std::string(20'000, 'x')}});
  const StreamId good = client.ask("q");
  exchange_all();
  EXPECT_FALSE(notes.requests[bad].is_whole);
  EXPECT_TRUE(client.answers[bad].is_closed);
  EXPECT_TRUE(notes.requests[good].is_whole);
}

TEST_F(SessionTest, RefusedRequestsMayBeSentElsewhere) {
  const StreamId id = client.ask("q");
  exchange_all();
  server->refuse(id);
  exchange_all();
  EXPECT_EQ(client.answers[id].reason, static_cast<std::uint32_t>(NGHTTP2_REFUSED_STREAM));
}

TEST_F(SessionTest, AfterTheAnnouncedEndRunningRequestsAreAnswered) {
  const StreamId id = client.ask("q");
  exchange_all();
  server->announce_end();
  exchange_all();
  answer(id, "done");
  exchange_all();
  EXPECT_EQ(client.answers[id].body, "done");
  const StreamId late = client.ask("another");
  exchange_all();
  EXPECT_FALSE(notes.requests.contains(late));
}

TEST(Session, RefusesWhatIsNotHttp2) {
  Notes notes;
  auto server = Session::make(notes, {});
  EXPECT_FALSE(server->take("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
  EXPECT_FALSE(server->has_begun());
}

TEST(Session, SurvivesDamagedFrames) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    Notes notes;
    auto server = Session::make(notes, {});
    Client client;
    for (int i = 0; i < 4; ++i) client.ask(std::string(random() % 3000, 'x'), {{"a", "b"}});
    std::string bytes = client.bytes();
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    std::string ignored;
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto piece = rest.substr(0, 1 + random() % 700);
      if (!server->take(piece)) break;
      rest.remove_prefix(piece.size());
      for (const auto& [id, request] : notes.requests) {
        server->begin_answer(id, kHead);
        server->send(id, "answer");
        server->end_answer(id, kTrailers);
      }
      server->gather(ignored, 1 << 20);
    }
  }
}

}  // namespace
}  // namespace quiver::service::http2
