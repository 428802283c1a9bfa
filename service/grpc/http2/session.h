// One connection of HTTP/2 (RFC 9113), server side: frames in, frames out. No sockets. The nghttp2
// library stays in session.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace quiver::service::http2 {

using StreamId = std::int32_t;

struct Header {
  std::string name;  ///< lower case
  std::string value;
};

/// What arrives. Called by `Session::take`, but `closed` also by `Session::gather`. A call may
/// answer its stream at once.
class Receiver {
 public:
  /// One header of a request, pseudo headers (":path") included.
  virtual void header(StreamId id, std::string_view name, std::string_view value) = 0;
  virtual void headers_end(StreamId id) = 0;
  virtual void body(StreamId id, std::string_view bytes) = 0;
  virtual void request_end(StreamId id) = 0;
  /// The stream is over, answered or not. Nothing of it follows.
  virtual void closed(StreamId id) = 0;

 protected:
  ~Receiver() = default;
};

struct Limits {
  std::uint32_t max_streams = 1000;                ///< at a time
  std::uint32_t max_header_bytes = 16 << 10;       ///< of one request
  std::uint32_t stream_window_bytes = 1 << 20;     ///< a client may send ahead, in one stream
  std::int32_t connection_window_bytes = 8 << 20;  ///< and in all of them
  std::uint32_t max_frame_bytes = 256 << 10;
};

/// One thread. Calls about a stream that is over do nothing.
class Session {
 public:
  /// `receiver` outlives this.
  [[nodiscard]] static std::unique_ptr<Session> make(Receiver& receiver, const Limits& limits);
  virtual ~Session() = default;

  /// Takes bytes that have arrived. kInvalidArgument if they are not HTTP/2; the connection must
  /// end then, after what `gather` still gives.
  [[nodiscard]] virtual Result<> take(std::string_view bytes) = 0;
  /// Appends frames that should be sent until `out` has about `enough_bytes`.
  virtual void gather(std::string& out, std::size_t enough_bytes) = 0;

  /// The answer of a stream: headers once, bytes any number of times, trailers once, in this order.
  virtual void begin_answer(StreamId id, const std::vector<Header>& headers) = 0;
  virtual void send(StreamId id, std::string bytes) = 0;
  virtual void end_answer(StreamId id, std::vector<Header> trailers) = 0;
  /// An answer that is only headers. What the client still sends is not read.
  virtual void answer_headers(StreamId id, const std::vector<Header>& headers) = 0;
  /// Says that the request was not processed, so that the client may send it elsewhere.
  virtual void refuse(StreamId id) = 0;

  /// Asks the client whether it is still there; any answer arrives through `take`.
  virtual void ping() = 0;
  /// Tells the client to send no further requests.
  virtual void announce_end() = 0;
  /// True once the client has sent a frame.
  [[nodiscard]] virtual bool has_begun() const = 0;
  /// True while a stream has an answer that is not sent whole.
  [[nodiscard]] virtual bool has_unsent_answers() const = 0;
};

}  // namespace quiver::service::http2
