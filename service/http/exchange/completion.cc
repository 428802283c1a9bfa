#include "service/http/exchange/completion.h"

namespace quiver::service {

void Completion::finish() {
  // `finish` and `wait` run on two threads; the later one posts the resumption.
  if (state_.exchange(State::kFinished, std::memory_order_acq_rel) == State::kWaiting) {
    post_(std::move(resume_));
  }
}

void Completion::wait(Task resume) {
  resume_ = std::move(resume);
  State expected = State::kRunning;
  if (!state_.compare_exchange_strong(expected, State::kWaiting, std::memory_order_acq_rel)) {
    post_(std::move(resume_));
  }
}

}  // namespace quiver::service
