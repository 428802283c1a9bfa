#include "service/api/private_sums.h"

#include <memory>
#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"

namespace quiver::service::api {
namespace {

using engine::PrivateSums;

/// Calls `work(sums, cancel)` on a thread of `executor`.
template <class T, class Work>
void with_private_sums(Executor& executor, Call& call, const OpenCollection& target, Access needed,
                       Done<T> done, Work work) {
  auto cancel = std::make_shared<const Cancel>(call.deadline());
  call.set_cancel(cancel);
  auto on_sums = [&call, target, needed, cancel, work = std::move(work)]() mutable -> Result<T> {
    QV_TRY(call.check_access(needed, target.name));
    PrivateSums* const sums = target.collection->private_sums();
    if (sums == nullptr) return fail(Code::kUnimplemented, "this server makes no private sums");
    return work(*sums, *cancel);
  };
  answer_on(executor, call, std::move(done), std::move(on_sums));
}

}  // namespace

void private_report(Call& call, const OpenCollection& target, Done<engine::PrivacyReport> done) {
  with_private_sums(call.runtime().blocking(), call, target, Access::kRead, std::move(done),
                    [](PrivateSums& sums, const Cancel&) { return sums.report(); });
}

void set_private_budget(Call& call, const OpenCollection& target,
                        const engine::PrivacyAmount& budget, Done<> done) {
  with_private_sums(call.runtime().long_running(), call, target, Access::kManage, std::move(done),
                    [budget](PrivateSums& sums, const Cancel& cancel) {
                      return sums.set_budget(budget, cancel);
                    });
}

void make_private_sum(Call& call, const OpenCollection& target, std::string name,
                      engine::PrivateSumRequest request, std::string text,
                      Done<engine::ReleaseDetails> done) {
  call.set_operation("Private sum");
  with_private_sums(call.runtime().long_running(), call, target, Access::kWriteExtras,
                    std::move(done),
                    [name = std::move(name), request = std::move(request), text = std::move(text)](
                        PrivateSums& sums, const Cancel& cancel) {
                      return sums.release(name, request, text, cancel);
                    });
}

void private_sum(Call& call, const OpenCollection& target, std::string name,
                 Done<engine::ReleaseDetails> done) {
  with_private_sums(
      call.runtime().blocking(), call, target, Access::kRead, std::move(done),
      [name = std::move(name)](PrivateSums& sums, const Cancel&) { return sums.details(name); });
}

void estimate_private_sum(Call& call, const OpenCollection& target, std::string name,
                          std::vector<std::vector<float>> vectors,
                          Done<std::vector<engine::PrivateEstimate>> done) {
  with_private_sums(call.runtime().compute(), call, target, Access::kRead, std::move(done),
                    [name = std::move(name), vectors = std::move(vectors)](PrivateSums& sums,
                                                                           const Cancel& cancel) {
                      return sums.estimate(name, vectors, cancel);
                    });
}

void forget_private_sum(Call& call, const OpenCollection& target, std::string name, Done<> done) {
  with_private_sums(call.runtime().long_running(), call, target, Access::kWriteExtras,
                    std::move(done),
                    [name = std::move(name)](PrivateSums& sums, const Cancel& cancel) {
                      return sums.forget(name, cancel);
                    });
}

}  // namespace quiver::service::api
