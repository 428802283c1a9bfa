#include "cluster/hedged_reads.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "base/observe/failure.h"

namespace quiver::cluster {

/// What the threads of one read share; it lives until the last answer.
class HedgedReads::Race {
 public:
  Race(Ask ask, std::atomic<std::size_t>& n_busy) : ask_(std::move(ask)), n_busy_(n_busy) {}

  void begin() QV_EXCLUDES(mutex_) {
    ++n_busy_;
    MutexLock lock(mutex_);
    ++n_open_;
  }
  void run(const NodeAddress& node) QV_EXCLUDES(mutex_) {
    bool is_good = false;
    run_logged("asking another node", [&] { is_good = ask_(node); });
    end(is_good);
  }
  void end(bool is_good) QV_EXCLUDES(mutex_) {
    --n_busy_;
    MutexLock lock(mutex_);
    --n_open_;
    is_won_ = is_won_ || is_good;
    changed_.notify_all();
  }

  enum class State : std::uint8_t { kWon, kLost, kLate };
  /// kLost: all that were asked have failed. kLate: some have not answered in this time.
  State wait_for(std::chrono::nanoseconds time) QV_EXCLUDES(mutex_) {
    const auto end = std::chrono::steady_clock::now() + time;
    MutexLock lock(mutex_);
    while (!is_won_ && n_open_ != 0) {
      const auto left = end - std::chrono::steady_clock::now();
      if (left.count() <= 0) return State::kLate;
      changed_.wait_for(mutex_, left);
    }
    return is_won_ ? State::kWon : State::kLost;
  }

 private:
  const Ask ask_;
  std::atomic<std::size_t>& n_busy_;
  Mutex mutex_;
  CondVar changed_;
  int n_open_ QV_GUARDED_BY(mutex_) = 0;
  bool is_won_ QV_GUARDED_BY(mutex_) = false;
};

bool HedgedReads::ask(const std::vector<NodeAddress>& nodes,
                      std::optional<std::chrono::nanoseconds> patience, const Ask& ask) {
  constexpr std::chrono::hours kForever{1};
  if (saved_ < kMostSaved) ++saved_;
  // No read waits for a thread.
  if (!patience || nodes.size() < 2 || n_busy_ >= kThreads) return std::ranges::any_of(nodes, ask);
  const auto race = std::make_shared<Race>(ask, n_busy_);
  std::chrono::nanoseconds time = *patience;
  for (std::size_t next = 0; next < nodes.size();) {
    race->begin();
    const auto run = [race, node = nodes[next++]] { race->run(node); };  // here after the stop
    if (!executor_.post(Priority::kHigh, run)) run();
    Race::State state = race->wait_for(next < nodes.size() ? time : kForever);
    if (state == Race::State::kLate && !may_hedge()) {
      time = kForever;
      state = race->wait_for(time);
    }
    if (state == Race::State::kWon) return true;
  }
  return false;
}

bool HedgedReads::may_hedge() {
  int saved = saved_;
  while (saved >= kReadsForOne) {
    if (saved_.compare_exchange_weak(saved, saved - kReadsForOne)) return true;
  }
  return false;
}

}  // namespace quiver::cluster
