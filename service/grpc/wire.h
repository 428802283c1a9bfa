// How a call looks on the wire: gRPC over HTTP/2
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/grpc/http2/session.h"
#include "service/grpc/rpc.h"

namespace quiver::service::rpc {

/// The headers of a request that mean something here.
struct RequestHead {
  std::string http_method, path, content_type;
  std::string timeout;   ///< "250m"; "": none
  std::string encoding;  ///< of compressed messages; "": identity
  std::optional<std::string> api_key, authorization;
  std::string request_id;
  std::string traceparent;    ///< a valid one, or ""
  std::string tracestate;     ///< means nothing without `traceparent`
  std::string authority;      ///< the server's address, as the client knows it
  bool is_forwarded = false;  ///< another node sent the call on

  void set(std::string_view name, std::string_view value);
};

/// Seconds of a `grpc-timeout` ("250m": 0.25 s). nullopt if it is none.
[[nodiscard]] std::optional<double> parse_timeout(std::string_view text);

/// A message as it was sent.
struct WireMessage {
  std::string bytes;
  bool is_compressed = false;
};

/// Cuts the bytes of a request into messages: one byte (compressed or not), four bytes of length
/// (big-endian), then the message.
class MessageReader {
 public:
  explicit MessageReader(std::size_t max_message_bytes) : max_bytes_(max_message_bytes) {}

  /// Takes bytes up to the end of a message at most, and drops them from `bytes`. 413 if the
  /// message is longer than allowed.
  [[nodiscard]] Decoded<> take(std::string_view& bytes);
  [[nodiscard]] bool has_message() const { return is_whole_; }
  /// The message. The next one may follow.
  [[nodiscard]] WireMessage release();
  /// True if a message has begun and is not whole.
  [[nodiscard]] bool is_within() const { return !is_whole_ && !prefix_.empty(); }

 private:
  Decoded<> begin_message();

  std::size_t max_bytes_;
  std::string prefix_;
  std::size_t size_ = 0;
  bool is_whole_ = false;
  WireMessage message_;
};

/// The message with its prefix, compressed if that is asked and makes it smaller.
[[nodiscard]] std::string as_frame(const google::protobuf::MessageLite& message, bool compress);

/// The headers before messages.
[[nodiscard]] std::vector<http2::Header> answer_head(bool compress);
/// What ends a call. `retry_after_s` counts for a status that came too early; 0: never.
[[nodiscard]] std::vector<http2::Header> trailers_of(const Status& status,
                                                     std::uint32_t retry_after_s = 0);
/// As `trailers_of`, for a call that ends without a message.
[[nodiscard]] std::vector<http2::Header> only_trailers(const Status& status,
                                                       std::uint32_t retry_after_s = 0);

}  // namespace quiver::service::rpc
