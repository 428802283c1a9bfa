#include "service/api/points.h"

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"

namespace quiver::service::api {
namespace {

using engine::Record;

using Operations = std::vector<engine::Operation>;
using UpdateDone = Done<std::vector<engine::UpdateResult>>;

Result<> start_update(Call& call, const OpenCollection& target, Operations operations,
                      engine::Ack ack, const UpdateDone& done) {
  QV_TRY(call.check_access(Access::kWrite, target.name));
  QV_TRY(check_limits(call, target, operations));
  call.trace().enter_stage("Write");  // until the request ends
  return target.collection->update(std::move(operations), ack, done);
}

/// As `start_update`; an exception is an error.
Result<> try_to_start(Call& call, const OpenCollection& target, Operations operations,
                      engine::Ack ack, const UpdateDone& done) noexcept {
  try {
    return start_update(call, target, std::move(operations), ack, done);
  } catch (...) {
    return fail(call.error_of_exception());
  }
}

/// On the compute executor.
void start_later(Call& call, const OpenCollection& target, Operations operations, engine::Ack ack,
                 const UpdateDone& done) {
  auto start = [&call, target, operations = std::move(operations), ack, done]() mutable {
    const auto started = try_to_start(call, target, std::move(operations), ack, done);
    if (!started) done(fail(started.error()));
  };
  auto refuse = [done](Error error) { done(fail(std::move(error))); };
  run_on(call.runtime().compute(), call, std::move(start), std::move(refuse));
}

}  // namespace

void retrieve(Call& call, const OpenCollection& target, engine::RetrieveRequest request,
              Done<std::vector<Record>> done) {
  call.set_operation("Retrieve");
  auto read = [&call, target, request = std::move(request)]() -> Result<std::vector<Record>> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->retrieve(request);
  };
  answer_on(call.runtime().compute(), call, std::move(done), std::move(read));
}

void scroll(Call& call, const OpenCollection& target, engine::ScrollRequest request,
            Done<engine::ScrollPage> done) {
  call.set_operation("Scroll");
  auto read = [&call, target, request = std::move(request)]() -> Result<engine::ScrollPage> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->scroll(request, Cancel(call.deadline()));
  };
  answer_on(call.runtime().compute(), call, std::move(done), std::move(read));
}

void count(Call& call, const OpenCollection& target, engine::CountRequest request,
           Done<std::uint64_t> done) {
  call.set_operation("Count");
  auto read = [&call, target, request = std::move(request)]() -> Result<std::uint64_t> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request.filter));
    return target.collection->count(request, Cancel(call.deadline()));
  };
  answer_on(call.runtime().compute(), call, std::move(done), std::move(read));
}

void update(Call& call, const OpenCollection& target, std::vector<engine::Operation> operations,
            engine::Ack ack, Done<std::vector<engine::UpdateResult>> done) {
  if (operations.empty()) return done(std::vector<engine::UpdateResult>());
  if (is_slow_to_check(target, operations)) {
    return start_later(call, target, std::move(operations), ack, done);
  }
  const auto started = start_update(call, target, std::move(operations), ack, done);
  if (!started) done(fail(started.error()));
}

}  // namespace quiver::service::api
