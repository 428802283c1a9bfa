// A thread's event loop and the connections on it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <unordered_set>

namespace quiver::service {

/// A connection as its event loop knows it. Everything runs on the loop's thread.
class LoopConnection {
 public:
  /// Called once a second: closes a connection that has been silent for too long.
  virtual void tick() = 0;
  /// Takes no further request; those that are being answered may end.
  virtual void stop() = 0;
  /// Cancels the work for requests and closes the connection.
  virtual void abort() = 0;

 protected:
  ~LoopConnection() = default;
};

/// A turn of a loop: all requests that were ready at one look at the sockets. The loop's thread.
class LoopTurn {
 public:
  explicit LoopTurn(boost::asio::io_context& context) : context_(context) {}

  /// A request is about to be handled. True if the loop has been busy with others of this turn for
  /// so long that something short should not be done here.
  [[nodiscard]] bool is_late() {
    const auto now = std::chrono::steady_clock::now();
    if (!is_open_) {
      is_open_ = true;
      begin_ = now;
      // Runs after everything that is ready now.
      boost::asio::post(context_, [this] { is_open_ = false; });
    }
    return now - begin_ > kMaxBusy;
  }

 private:
  /// Work of half a dozen small queries. A hop to another thread costs about a tenth of one.
  static constexpr std::chrono::microseconds kMaxBusy{500};

  boost::asio::io_context& context_;
  bool is_open_ = false;
  std::chrono::steady_clock::time_point begin_;
};

/// `connections`, `stopping` and `turn` belong to its thread.
struct EventLoop {
  boost::asio::io_context context{1};
  LoopTurn turn{context};
  std::unordered_set<LoopConnection*> connections;
  bool stopping = false;
};

/// Puts a connection among those of its loop, as long as this lives.
class LoopMembership {
 public:
  LoopMembership(EventLoop& loop, LoopConnection& connection)
      : loop_(loop), connection_(connection) {
    loop_.connections.insert(&connection_);
  }
  LoopMembership(const LoopMembership&) = delete;
  LoopMembership& operator=(const LoopMembership&) = delete;
  ~LoopMembership() { loop_.connections.erase(&connection_); }

 private:
  EventLoop& loop_;
  LoopConnection& connection_;
};

}  // namespace quiver::service
