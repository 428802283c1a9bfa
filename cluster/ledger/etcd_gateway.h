// Sends requests to one of etcd's members, over kept-alive connections and within a deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "payload/json/document.h"
#include "service/client/server_connection.h"

namespace quiver::cluster::etcd {

/// Whether a request may be sent to another member if the outcome is not known.
enum class Repeat : std::uint8_t { kNo, kYes };

/// Thread-safe. A call takes an idle connection or opens one, so no call waits for another.
class Gateway {
 public:
  /// `timeout`: for a whole call, all members together.
  Gateway(std::vector<client::Endpoint> members, std::chrono::milliseconds timeout);

  /// The answer to a POST. Tries the members one after another, beginning with the one that
  /// answered last, until one was asked. Errors as in `Ledger`: kUnavailable, not
  /// kDeadlineExceeded, of a request that may be repeated.
  [[nodiscard]] Result<payload::Value> post(std::string_view path, std::string_view body,
                                            Repeat repeat);

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Connection = std::unique_ptr<client::ServerConnection>;
  struct Member {
    client::Endpoint endpoint;
    std::vector<Connection> idle = {};
  };
  /// When one member must have accepted a connection, and when it must have answered.
  struct Limits {
    Time connected, answered;
  };

  [[nodiscard]] Limits limits(Time end, std::size_t n_left, Repeat repeat) const;
  [[nodiscard]] Result<payload::Value> ask(std::size_t member, std::string_view path,
                                           std::string_view body, Limits limits);
  [[nodiscard]] Connection take(std::size_t member);
  void give_back(std::size_t member, Connection connection);

  const std::chrono::milliseconds timeout_;
  std::atomic<std::size_t> preferred_ = 0;
  Mutex mutex_;
  std::vector<Member> members_ QV_GUARDED_BY(mutex_);
  const std::size_t n_members_;
};

}  // namespace quiver::cluster::etcd
