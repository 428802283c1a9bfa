// How long other nodes take to answer reads, so that a slow one is asked last.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "cluster/node.h"

namespace quiver::cluster {

/// Of each node the last few times are kept; the least of them tells how fast it is, whatever it
/// was asked. One that was asked and has answered nothing for as long is slow meanwhile.
/// Thread-safe.
class AnswerTimes {
 public:
  using Clock = std::chrono::steady_clock;

  /// Before a read is sent to `node`.
  void begin(const NodeAddress& node, Clock::time_point now = Clock::now()) QV_EXCLUDES(mutex_);
  /// `took`: until the answer; nullopt: there was none, or an error. That counts as a second,
  /// so that a node that refuses everything at once is not the fastest.
  void note(const NodeAddress& node, std::optional<Clock::duration> took,
            Clock::time_point now = Clock::now()) QV_EXCLUDES(mutex_);
  /// Puts slow nodes behind the others: those that take 20 ms longer than three times the fastest,
  /// or than one of which nothing is known. One that was not asked for 30 s comes first once, as it
  /// may be fast again. Returns the time from which on an answer is late, if the first node may be
  /// late: it is tried again, or an answer of it was late within 30 s.
  std::optional<Clock::duration> order(std::vector<NodeAddress>& nodes,
                                       Clock::time_point now = Clock::now()) const
      QV_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kKept = 4;

  struct Times {
    std::array<Clock::duration, kKept> last{};  ///< 0: none
    std::size_t next = 0;                       ///< the oldest
    Clock::time_point asked_at;
    std::optional<Clock::time_point> late_at;  ///< the last late answer
    int n_open = 0;                            ///< questions without an answer
    Clock::time_point silent_since;            ///< if there are any

    /// 0 until there are kKept.
    [[nodiscard]] Clock::duration least() const;
  };

  /// Of the fastest node that was ever asked.
  [[nodiscard]] Clock::duration least_of_all() const QV_REQUIRES(mutex_);
  [[nodiscard]] const Times* find(const NodeAddress& node) const QV_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, Times> of_ QV_GUARDED_BY(mutex_);  ///< by address for other nodes
};

}  // namespace quiver::cluster
