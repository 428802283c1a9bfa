// Handling a request on the thread of an executor.
#pragma once

#include <utility>

#include "service/api/answer.h"
#include "service/http/exchange/exchange.h"

namespace quiver::service {

/// Calls `work(x)`, which returns a Decoded<Answer>, on a thread of `executor`.
template <class F>
Decoded<Answer> on_executor(Exchange& x, Executor& executor, F work) {
  auto work_there = [&x, work = std::move(work)]() mutable { x.run(work); };
  auto refuse = [&x](const Error& error) {
    x.run([&error](Exchange&) -> Decoded<Answer> { return fail(error); });
  };
  api::run_on(executor, x, std::move(work_there), std::move(refuse));
  return Answer::kLater;
}

/// Calls `work(x)` on a thread that computes, by what is known of the work. 429 if it would wait
/// too long for one.
template <class F>
Decoded<Answer> on_compute(Exchange& x, const api::load::Work& kind, F work) {
  auto refuse = [&x](const Error& error) {
    x.run([&error](Exchange&) -> Decoded<Answer> { return fail(error); });
  };
  auto work_there = [&x, work = std::move(work)](const Result<>& begun) mutable {
    if (begun) return x.run(work);
    x.run([&begun](Exchange&) -> Decoded<Answer> { return fail(begun.error()); });
  };
  api::run_computing(x, kind, std::move(work_there), std::move(refuse));
  return Answer::kLater;
}

}  // namespace quiver::service
