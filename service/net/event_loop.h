// A thread's event loop and the connections on it.
#pragma once

#include <boost/asio/io_context.hpp>
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

/// `connections` and `stopping` belong to its thread.
struct EventLoop {
  boost::asio::io_context context{1};
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
