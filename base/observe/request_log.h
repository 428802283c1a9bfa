// One JSON line for each answered request, and a warning for each slow one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace quiver {

struct RequestLogOptions {
  std::string file;    ///< lines are appended to it, it is created if missing; empty: none
  double slow_ms = 0;  ///< requests that take at least this long are logged as warnings; 0: none
};

/// Views into a request and its answer.
struct RequestFacts {
  std::string_view transport;   ///< "rest" or "grpc"
  std::string_view method;      ///< "POST"; empty with gRPC
  std::string_view endpoint;    ///< pattern of the path, or the name of the gRPC method
  std::string_view collection;  ///< as the caller wrote it; empty: none
  int status = 0;               ///< of HTTP, or of gRPC
  double seconds = 0;           ///< from the parsed request to the answer
  std::uint64_t answer_bytes = 0;
  std::string_view request_id;
  std::string_view trace_id;
  std::string_view remote;  ///< address of the caller
};

/// Call at start, before requests are answered. kUnavailable, with the reason, if the file cannot
/// be opened for writing.
[[nodiscard]] Result<> set_up_request_log(const RequestLogOptions& options);
/// True if requests are logged in any way. Costs one load.
[[nodiscard]] bool logs_requests() noexcept;
/// Thread-safe. A line is written by one call, so lines of several threads or processes do not mix.
/// A line that cannot be written is lost, and the log of the process says so once a minute.
void log_request(const RequestFacts& facts) noexcept;

/// The line of a request, with its end. `now_ms`: milliseconds since 1970.
[[nodiscard]] std::string request_line(std::int64_t now_ms, const RequestFacts& facts,
                                       double slow_ms);

}  // namespace quiver
