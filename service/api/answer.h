// How verbs run their work and answer: here, on an executor, or stoppable on the compute executor.
#pragma once

#include <memory>
#include <utility>

#include "service/api/call.h"
#include "service/api/runtime.h"

namespace quiver::service::api {

/// Calls `done` with the outcome of `work()`, which returns a Result<T>. An exception of `work` is
/// an error.
template <class T, class Work>
void answer(Call& call, const Done<T>& done, Work&& work) {
  auto outcome = [&]() noexcept -> Result<T> {
    try {
      Result<T> result = work();
      if (!result) return fail(call.with_timeout(std::move(result).error()));
      return result;
    } catch (...) {
      return fail(call.error_of_exception());
    }
  };
  done(outcome());
}

/// As `answer`; the work is a stage of the call's trace.
template <class T, class Work>
void answer_traced(Call& call, const Done<T>& done, Work&& work) {
  answer(call, done, [&] {
    const tracing::StageScope stage(call.trace(), call.work_stage());
    return work();
  });
}

/// Calls `work()` on a thread of `executor`, on this one if the call runs there already. If the
/// executor takes no more tasks, calls `refuse` with kUnavailable instead.
template <class Work, class Refuse>
void run_on(Executor& executor, Call& call, Work work, Refuse refuse) {
  if (call.runs_on(executor)) return work();
  call.trace().enter_stage("Wait");
  auto task = [&executor, &call, work = std::move(work)]() mutable {
    call.enter(executor);
    call.trace().leave_stage();
    work();
  };
  if (!executor.post(Priority::kHigh, std::move(task))) {
    refuse(Error(Code::kUnavailable, "the server is closing"));
  }
}

/// As `answer`, on a thread of `executor`.
template <class T, class Work>
void answer_on(Executor& executor, Call& call, Done<T> done, Work work) {
  auto refuse = [done](Error error) { done(fail(std::move(error))); };
  auto answer_there = [&call, done = std::move(done), work = std::move(work)]() mutable {
    answer_traced(call, done, work);
  };
  run_on(executor, call, std::move(answer_there), std::move(refuse));
}

/// As `answer_on` the compute executor, with a `work(const Cancel&)` that the deadline or
/// `Call::cancel` stops.
template <class T, class Work>
void compute(Call& call, Done<T> done, Work work) {
  auto cancel = std::make_shared<const Cancel>(call.deadline());
  call.set_cancel(cancel);
  auto stoppable = [work = std::move(work), cancel]() mutable { return work(*cancel); };
  answer_on(call.runtime().compute(), call, std::move(done), std::move(stoppable));
}

}  // namespace quiver::service::api
