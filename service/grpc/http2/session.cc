// The only file that knows nghttp2.
#include "service/grpc/http2/session.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace quiver::service::http2 {
namespace {

/// Stream 0 is the connection.
constexpr StreamId kConnection = 0;
/// A client that makes the library queue more acknowledgements is disconnected.
constexpr std::size_t kMaxQueuedAcks = 1000;

struct Stream {
  std::size_t n_header_bytes = 0;
  bool is_request_whole = false;
  std::string unsent;  ///< the first `n_sent` bytes are gone
  std::size_t n_sent = 0;
  bool is_answering = false;
  bool is_answer_whole = false;
  std::vector<Header> trailers;
};

/// Exceptions (for lack of memory) must not pass through the library: the connection ends.
template <class Work>
int shielded(Work work) noexcept {
  try {
    return work();
  } catch (...) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
}

nghttp2_nv as_field(const Header& header) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  // The library copies both.
  return {bytes(header.name), bytes(header.value), header.name.size(), header.value.size(),
          NGHTTP2_NV_FLAG_NONE};
}

std::vector<nghttp2_nv> as_fields(const std::vector<Header>& headers) {
  std::vector<nghttp2_nv> fields;
  fields.reserve(headers.size());
  for (const auto& header : headers) fields.push_back(as_field(header));
  return fields;
}

class Nghttp2Session final : public Session {
 public:
  Nghttp2Session(Receiver& receiver, const Limits& limits) : receiver_(receiver), limits_(limits) {
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_max_outbound_ack(option, kMaxQueuedAcks);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_session_server_new2(&session_, callbacks(), this, option);
    nghttp2_option_del(option);
    announce_limits();
  }
  ~Nghttp2Session() override { nghttp2_session_del(session_); }
  Nghttp2Session(const Nghttp2Session&) = delete;
  Nghttp2Session& operator=(const Nghttp2Session&) = delete;

  Result<> take(std::string_view bytes) override {
    const auto n = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (n >= 0) return {};
    return fail(Code::kInvalidArgument,
                fmt::format("malformed HTTP/2: {}", nghttp2_strerror(static_cast<int>(n))));
  }

  void gather(std::string& out, std::size_t enough_bytes) override {
    while (out.size() < enough_bytes) {
      const std::uint8_t* bytes = nullptr;
      const auto n = nghttp2_session_mem_send(session_, &bytes);
      if (n <= 0) return;
      out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
    }
  }

  void begin_answer(StreamId id, const std::vector<Header>& headers) override {
    Stream* stream = find(id);
    if (stream == nullptr || stream->is_answering) return;
    set_answering(*stream);
    const auto fields = as_fields(headers);
    nghttp2_data_provider provider{};
    provider.source.ptr = stream;
    provider.read_callback = read_answer;
    nghttp2_submit_response(session_, id, fields.data(), fields.size(), &provider);
  }

  void send(StreamId id, std::string bytes) override {
    Stream* stream = find(id);
    if (stream == nullptr) return;
    if (stream->unsent.empty()) {
      stream->unsent = std::move(bytes);
    } else {
      stream->unsent.append(bytes);
    }
    nghttp2_session_resume_data(session_, id);
  }

  void end_answer(StreamId id, std::vector<Header> trailers) override {
    Stream* stream = find(id);
    if (stream == nullptr) return;
    stream->trailers = std::move(trailers);
    stream->is_answer_whole = true;
    nghttp2_session_resume_data(session_, id);
  }

  void answer_headers(StreamId id, const std::vector<Header>& headers) override {
    Stream* stream = find(id);
    if (stream == nullptr || stream->is_answering) return;
    set_answering(*stream);
    const auto fields = as_fields(headers);
    nghttp2_submit_response(session_, id, fields.data(), fields.size(), nullptr);
  }

  void refuse(StreamId id) override {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  }

  void ping() override { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

  void announce_end() override {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                          nullptr, 0);
  }

  [[nodiscard]] bool has_begun() const override { return has_begun_; }
  [[nodiscard]] bool has_unsent_answers() const override { return n_answering_ > 0; }

 private:
  static Nghttp2Session& of(void* user_data) { return *static_cast<Nghttp2Session*>(user_data); }

  void announce_limits() {
    const std::array settings = {
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.max_streams},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.stream_window_bytes},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.max_header_bytes},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_FRAME_SIZE, limits_.max_frame_bytes}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, kConnection,
                                          limits_.connection_window_bytes);
  }

  Stream* find(StreamId id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : &found->second;
  }

  void set_answering(Stream& stream) {
    stream.is_answering = true;
    ++n_answering_;
  }

  // Callbacks of the library.

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    return shielded([&] {
      if (is_request(*frame)) of(self).streams_.try_emplace(frame->hd.stream_id);
      return 0;
    });
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t n_name, const std::uint8_t* value, std::size_t n_value,
                       std::uint8_t /*flags*/, void* self) {
    Nghttp2Session& session = of(self);
    Stream* stream = session.find(frame->hd.stream_id);
    if (stream == nullptr || !is_request(*frame)) return 0;
    constexpr std::size_t kFieldOverhead = 32;  // RFC 9113, 6.5.2
    stream->n_header_bytes += n_name + n_value + kFieldOverhead;
    if (stream->n_header_bytes > session.limits_.max_header_bytes) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // resets the stream
    }
    return shielded([&] {
      session.receiver_.header(frame->hd.stream_id, {reinterpret_cast<const char*>(name), n_name},
                               {reinterpret_cast<const char*>(value), n_value});
      return 0;
    });
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    of(self).has_begun_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    return shielded([&] { return of(self).take_frame(*frame); });
  }

  int take_frame(const nghttp2_frame& frame) {
    const StreamId id = frame.hd.stream_id;
    Stream* stream = find(id);
    if (stream == nullptr) return 0;
    const bool is_end = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    stream->is_request_whole = is_end;
    if (is_request(frame)) receiver_.headers_end(id);
    if (is_end && find(id) != nullptr) receiver_.request_end(id);
    return 0;
  }

  static int on_body(nghttp2_session*, std::uint8_t /*flags*/, StreamId id,
                     const std::uint8_t* bytes, std::size_t n, void* self) {
    if (of(self).find(id) == nullptr) return 0;
    return shielded([&] {
      of(self).receiver_.body(id, {reinterpret_cast<const char*>(bytes), n});
      return 0;
    });
  }

  static int on_close(nghttp2_session*, StreamId id, std::uint32_t /*reason*/, void* self) {
    Nghttp2Session& session = of(self);
    const auto found = session.streams_.find(id);
    if (found == session.streams_.end()) return 0;
    if (found->second.is_answering) --session.n_answering_;
    session.streams_.erase(found);
    return shielded([&] {
      session.receiver_.closed(id);
      return 0;
    });
  }

  /// A client that is still sending need not go on, once the answer is there (RFC 9113, 8.1).
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* self) {
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    const Stream* stream = of(self).find(frame->hd.stream_id);
    if (stream == nullptr || stream->is_request_whole) return 0;
    return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                     NGHTTP2_NO_ERROR);
  }

  static ssize_t read_answer(nghttp2_session* session, StreamId id, std::uint8_t* out,
                             std::size_t n_out, std::uint32_t* flags, nghttp2_data_source* source,
                             void* /*self*/) {
    auto& stream = *static_cast<Stream*>(source->ptr);
    const std::size_t n = std::min(n_out, stream.unsent.size() - stream.n_sent);
    if (n == 0 && !stream.is_answer_whole) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(out, stream.unsent.data() + stream.n_sent, n);
    stream.n_sent += n;
    if (stream.n_sent < stream.unsent.size()) return static_cast<ssize_t>(n);
    stream.unsent.clear();
    stream.n_sent = 0;
    if (!stream.is_answer_whole) return static_cast<ssize_t>(n);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const int submitted = shielded([&] {
      const auto fields = as_fields(stream.trailers);
      return nghttp2_submit_trailer(session, id, fields.data(), fields.size());
    });
    if (submitted != 0) return NGHTTP2_ERR_CALLBACK_FAILURE;
    return static_cast<ssize_t>(n);
  }

  static bool is_request(const nghttp2_frame& frame) {
    return frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
  }

  /// Made once; they hold no state.
  static const nghttp2_session_callbacks* callbacks() {
    static const nghttp2_session_callbacks* const all = [] {
      nghttp2_session_callbacks* made = nullptr;
      nghttp2_session_callbacks_new(&made);
      nghttp2_session_callbacks_set_on_begin_headers_callback(made, on_begin_headers);
      nghttp2_session_callbacks_set_on_header_callback(made, on_header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(made, on_frame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_body);
      nghttp2_session_callbacks_set_on_stream_close_callback(made, on_close);
      nghttp2_session_callbacks_set_on_frame_send_callback(made, on_sent);
      return made;
    }();
    return all;
  }

  Receiver& receiver_;
  const Limits limits_;
  nghttp2_session* session_ = nullptr;
  /// Addresses of elements stay; `read_answer` keeps them.
  std::unordered_map<StreamId, Stream> streams_;
  std::size_t n_answering_ = 0;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<Session> Session::make(Receiver& receiver, const Limits& limits) {
  return std::make_unique<Nghttp2Session>(receiver, limits);
}

}  // namespace quiver::service::http2
