// One client: reads requests one after another, has them answered, writes the answers in order.
//
// Everything here runs on the thread of its event loop. While an exchange is handled, it belongs to
// the code that will finish it. The connection then uses only its own phase.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/http/exchange/exchange.h"
#include "service/http/options.h"
#include "service/http/request_parser.h"
#include "service/net/event_loop.h"
#include "service/net/stream.h"

namespace quiver::service {

class Connection final : public LoopConnection, private BodyChooser {
 public:
  Connection(EventLoop& loop, std::unique_ptr<Stream> stream, Front& front);

  /// Serves until the client leaves, an error, a timeout or a stop.
  static boost::asio::awaitable<void> serve(std::shared_ptr<Connection> self);

  /// Tells the client that there are too many connections, once it has sent something.
  static boost::asio::awaitable<void> turn_away(std::shared_ptr<Connection> self);
  /// That answer, whole.
  [[nodiscard]] static std::string turned_away_text();

  void tick() override;
  /// A request that has not arrived whole is refused.
  void stop() override;
  void abort() override;

 private:
  enum class Phase : std::uint8_t { kIdle, kReading, kHandling, kWriting, kClosing };
  enum class Parsed : std::uint8_t { kRequest, kMore, kRefused };
  enum class Sent : std::uint8_t { kWhole, kPartly, kFailed };
  using ErrorCode = boost::system::error_code;

  // Requests.
  void begin_request();
  void choose_body() override;
  /// Feeds the parser with what has been read.
  [[nodiscard]] Parsed parse();
  [[nodiscard]] Parsed refuse(ErrorCode ec);
  [[nodiscard]] Parsed refuse(const ApiError& reason);
  /// As `Call::begin`, for the same caller.
  void begin_again();
  void note_broken_off();
  [[nodiscard]] boost::asio::mutable_buffer free_space();
  /// False if the connection is over.
  [[nodiscard]] bool received(std::size_t n, ErrorCode ec);
  void send_continue();
  [[nodiscard]] bool has_piece_for_sink() const;
  /// Gives the sink what has arrived of the body. kRefused if it fails, otherwise `parsed`.
  boost::asio::awaitable<Parsed> feed_sink(Parsed parsed);

  // Answers.
  void handle();
  boost::asio::awaitable<void> suspend();
  /// Calls `work()` on a thread that may block and waits for it. Its exception is its error.
  template <class Work>
  boost::asio::awaitable<Result<>> run_blocking(Work work);
  void count_answer();
  /// Writes the answer, or what goes out of it without waiting.
  [[nodiscard]] Sent begin_answer();
  /// Sends what is left of the answer. False if the connection is over.
  boost::asio::awaitable<bool> send_rest();
  /// As `send_rest`, for `unsent_`.
  boost::asio::awaitable<bool> write_unsent();
  [[nodiscard]] bool has_source() const;
  /// Has the source make the next piece.
  boost::asio::awaitable<Result<>> read_piece();
  /// Makes the first piece of a streamed answer; its error becomes the answer.
  boost::asio::awaitable<void> begin_source();
  /// Sends a streamed answer, whose first piece is there. False if the connection is over.
  boost::asio::awaitable<bool> send_source();
  boost::asio::awaitable<bool> send_pieces();

  boost::asio::awaitable<void> serve_requests();
  boost::asio::awaitable<void> linger();
  [[nodiscard]] double silence_limit_s() const;
  [[nodiscard]] const HttpOptions& options() const;

  EventLoop& loop_;
  std::unique_ptr<Stream> stream_;
  Exchange exchange_;
  std::optional<RequestParser> parser_;
  std::optional<ApiError> sink_error_;  ///< why no sink takes the request's body
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< the unread bytes in `buffer_`
  std::string head_;
  std::array<boost::asio::const_buffer, 3> unsent_;  ///< unsent bytes of the answer, in order
  std::vector<char> piece_;                          ///< current piece of a streamed answer
  std::size_t n_in_piece_ = 0;                       ///< bytes; 0: the answer ends
  Phase phase_ = Phase::kIdle;
  unsigned silent_s_ = 0;  ///< ticks in this phase; while reading a body, since the last bytes
  bool refused_ = false;   ///< the client may still send bytes that will not be read
};

}  // namespace quiver::service
