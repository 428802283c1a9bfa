// One gRPC client: frames in, calls, frames out.
//
// Everything runs on the thread of its event loop, except that calls may finish on other threads.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "service/grpc/call.h"
#include "service/grpc/front.h"
#include "service/grpc/http2/session.h"
#include "service/grpc/wire.h"
#include "service/net/event_loop.h"
#include "service/net/stream.h"

namespace quiver::service::rpc {

class GrpcConnection final : public LoopConnection,
                             public std::enable_shared_from_this<GrpcConnection>,
                             private http2::Receiver,
                             public CallOwner {
 public:
  GrpcConnection(EventLoop& loop, std::unique_ptr<Stream> stream, GrpcFront& front);

  /// Serves until the client leaves, an error, a timeout or a stop, and all calls have ended.
  static boost::asio::awaitable<void> serve(std::shared_ptr<GrpcConnection> self);

  void tick() override;
  void stop() override;
  void abort() override;

 private:
  using ErrorCode = boost::system::error_code;
  using StreamId = http2::StreamId;

  /// A stream from its first header until it is closed and its call has ended.
  struct Incoming {
    explicit Incoming(std::size_t max_message_bytes) : reader(max_message_bytes) {}
    RequestHead head;
    MessageReader reader;
    std::unique_ptr<IncomingCall> call;  ///< null before the headers end, and after a refusal
    std::size_t n_body_bytes = 0;        ///< held for it
  };

  // What arrives.
  boost::asio::awaitable<void> read_frames();
  /// False if the connection is over.
  [[nodiscard]] bool take(std::string_view bytes);
  void fit_buffer(std::size_t n_read);
  void header(StreamId id, std::string_view name, std::string_view value) override;
  void headers_end(StreamId id) override;
  void body(StreamId id, std::string_view bytes) override;
  void request_end(StreamId id) override;
  void closed(StreamId id) override;
  void begin_call(StreamId id, Incoming& incoming);
  Decoded<> take_body(Incoming& incoming, std::string_view bytes);
  /// Ends the stream with an error; what the client still sends of it is dropped.
  void refuse(StreamId id, const Status& status);
  Result<> hold(Incoming& incoming, std::size_t n_bytes);
  void forget(StreamId id);

  // Answers.
  void started(UnaryCall& call) override;
  void finished(UnaryCall& call) noexcept override;
  void send(StreamId id, std::string frame) override;
  void end(StreamId id, const Status& status) override;
  /// Delivers the answers of calls that finished on other threads.
  void deliver_finished();
  void deliver(UnaryCall& call) noexcept;
  void send_reply(UnaryCall& call);
  /// Sends what there is, as far as it goes without waiting.
  void flush() noexcept;
  void flush_or_throw();
  [[nodiscard]] bool has_unsent();
  boost::asio::awaitable<void> write_rest(std::shared_ptr<GrpcConnection> self);

  void leave() noexcept;
  void close_if_done();
  void linger();
  boost::asio::awaitable<void> wait_for_calls();
  void wake();
  [[nodiscard]] bool is_stalled();

  EventLoop& loop_;
  std::unique_ptr<Stream> stream_;
  GrpcFront& front_;
  const std::string remote_;
  std::unique_ptr<http2::Session> session_;
  std::unordered_map<StreamId, Incoming> incoming_;
  BodyMemory memory_;  ///< of all messages
  std::size_t n_body_bytes_ = 0;
  std::size_t n_running_ = 0;  ///< calls that another thread may use
  std::vector<char> buffer_;
  std::string unsent_;  ///< frames; the first `n_sent_` bytes are gone
  std::size_t n_sent_ = 0;
  bool is_taking_ = false;   ///< frames that arrived are being handled
  bool is_writing_ = false;  ///< `write_rest` waits for the client
  bool is_over_ = false;
  bool is_aborting_ = false;
  bool has_last_answers_ = false;  ///< some were sent since the server stops
  bool is_lingering_ = false;      ///< all is sent, and the client has not closed yet
  unsigned lingered_s_ = 0;        ///< ticks since then
  unsigned silent_s_ = 0;          ///< ticks since bytes arrived
  unsigned stalled_s_ = 0;         ///< ticks since bytes left, while some should
  boost::asio::steady_timer* waiter_ = nullptr;

  Mutex mutex_;
  UnaryCall* finished_ QV_GUARDED_BY(mutex_) = nullptr;  ///< a list
  bool is_delivery_posted_ QV_GUARDED_BY(mutex_) = false;
};

}  // namespace quiver::service::rpc
