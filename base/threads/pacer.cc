#include "base/threads/pacer.h"

#include <ctime>
#include <thread>

namespace quiver {
namespace {

using std::chrono::nanoseconds;

/// Time between two looks at what the others do. Ten writes in a second are still seen.
constexpr nanoseconds kWindow = std::chrono::milliseconds(20);
/// Others work if they use more than this part of one core: 1 / 100. An idle server uses less.
constexpr int kIdlePart = 100;

nanoseconds read_clock(clockid_t id) {
  timespec time{};
  ::clock_gettime(id, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

}  // namespace

void Pacer::rest() {
  const nanoseconds pause = end_step(now());
  if (pause > nanoseconds::zero()) std::this_thread::sleep_for(pause);
}

nanoseconds Pacer::end_step(const Times& end) {
  const nanoseconds elapsed = end.clock - looked_at_.clock;
  if (elapsed >= kWindow) {
    const nanoseconds others = (end.process - end.own) - (looked_at_.process - looked_at_.own);
    others_work_ = others * kIdlePart > elapsed;
    looked_at_ = end;
  }
  const nanoseconds worked = end.own - step_start_;
  step_start_ = end.own;
  return others_work_ ? worked : nanoseconds::zero();
}

Pacer::Times Pacer::now() {
  return {read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_THREAD_CPUTIME_ID),
          read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

}  // namespace quiver
