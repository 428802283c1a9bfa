// How verbs run their work and answer: here, on an executor, or stoppable on a thread that
// computes.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
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

/// Calls `work()` on a thread of `wanted`, or of `Runtime::waiting` if the call waits for other
/// machines; on this one if the call runs there already. If the executor takes no more tasks, calls
/// `refuse` with kUnavailable instead.
template <class Work, class Refuse>
void run_on(Executor& wanted, Call& call, Work work, Refuse refuse) {
  Executor& executor = call.waits() ? call.runtime().waiting() : wanted;
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

/// Takes a refusal over into the call.
[[nodiscard]] inline Error refused(Call& call, load::Refusal refusal) {
  call.set_retry_after(refusal.retry_after_s);
  return std::move(refusal.error);
}

/// Calls `work(Result<>)` on a thread that computes, by what is known of the work: with an error if
/// the call waited for too long. On this thread if the call runs on one already. If the call would
/// wait too long, or the server is closing, calls `refuse` with the error at once instead. A call
/// that waits for other machines has threads of its own.
template <class Work, class Refuse>
void run_computing(Call& call, const load::Work& kind, Work work, Refuse refuse) {
  if (call.waits()) {
    auto wait = [work = std::move(work)]() mutable { work(Result<>()); };
    return run_on(call.runtime().waiting(), call, std::move(wait), std::move(refuse));
  }
  load::Lane& lane = call.runtime().load().lane_of(kind);
  if (call.runs_on(lane.executor()) || call.runs_on(call.runtime().expensive())) {
    return work(Result<>());
  }
  auto admitted = lane.admit(kind, call.patience(), std::chrono::steady_clock::now());
  if (admitted.refusal) return refuse(refused(call, *std::move(admitted.refusal)));
  call.trace().enter_stage("Wait");
  auto task = [&call, &lane, ticket = std::move(admitted.ticket),
               work = std::move(work)]() mutable {
    call.enter(lane.executor());
    call.trace().leave_stage();
    auto late = ticket.begin(std::chrono::steady_clock::now());
    if (late) return work(fail(refused(call, *std::move(late))));
    work(Result<>());
  };
  if (!lane.executor().post(Priority::kHigh, std::move(task))) {
    refuse(Error(Code::kUnavailable, "the server is closing"));
  }
}

/// As `answer`, on a thread that computes.
template <class T, class Work>
void answer_computing(Call& call, const load::Work& kind, Done<T> done, Work work) {
  auto refuse = [done](Error error) { done(fail(std::move(error))); };
  auto answer_there = [&call, done = std::move(done),
                       work = std::move(work)](Result<> begun) mutable {
    if (!begun) return done(fail(std::move(begun).error()));
    answer_traced(call, done, work);
  };
  run_computing(call, kind, std::move(answer_there), std::move(refuse));
}

/// As `answer_computing`, with a `work(const Cancel&)` that the deadline or `Call::cancel` stops.
template <class T, class Work>
void compute(Call& call, const load::Work& kind, Done<T> done, Work work) {
  auto cancel = std::make_shared<const Cancel>(call.deadline());
  call.set_cancel(cancel);
  auto stoppable = [work = std::move(work), cancel]() mutable { return work(*cancel); };
  answer_computing(call, kind, std::move(done), std::move(stoppable));
}

}  // namespace quiver::service::api
