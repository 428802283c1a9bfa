#include "service/api/points.h"

#include <algorithm>
#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"
#include "service/api/strict/checks.h"

namespace quiver::service::api {
namespace {

using engine::Record;

using Operations = std::vector<engine::Operation>;
using UpdateDone = Done<std::vector<engine::UpdateResult>>;

/// Deletions make room, so they wait as long as it takes.
Deadline update_deadline(const Call& call, const Operations& operations) {
  if (!std::any_of(operations.begin(), operations.end(), strict::stores_data)) {
    return Deadline::none();
  }
  return call.asked_deadline();
}

Result<> start_update(Call& call, const OpenCollection& target, Operations operations,
                      engine::Ack ack, const UpdateDone& done) {
  QV_TRY(call.check_access(Access::kWrite, target.name));
  QV_TRY(check_limits(call, target, operations));
  call.trace().enter_stage("Write");  // until the request ends
  const engine::UpdateTerms terms(ack, update_deadline(call, operations));
  return target.collection->update(std::move(operations), terms, done);
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

/// Rows that the answer may depend on.
std::uint64_t scrolled_rows(const OpenCollection& target, const engine::ScrollRequest& request) {
  return request.filter || request.order_by ? n_rows(target) : request.limit;
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
  const load::Work kind{load::Verb::kRetrieve, request.ids.size()};
  auto read = [&call, target, request = std::move(request)]() -> Result<std::vector<Record>> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->retrieve(request);
  };
  answer_computing(call, kind, std::move(done), std::move(read));
}

void scroll(Call& call, const OpenCollection& target, engine::ScrollRequest request,
            Done<engine::ScrollPage> done) {
  call.set_operation("Scroll");
  const load::Work kind{load::Verb::kScroll, scrolled_rows(target, request)};
  auto read = [&call, target, request = std::move(request)]() -> Result<engine::ScrollPage> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->scroll(request, Cancel(call.deadline()));
  };
  answer_computing(call, kind, std::move(done), std::move(read));
}

void count(Call& call, const OpenCollection& target, engine::CountRequest request,
           Done<std::uint64_t> done) {
  call.set_operation("Count");
  const load::Work kind{load::Verb::kCount, request.filter ? n_rows(target) : 0};
  auto read = [&call, target, request = std::move(request)]() -> Result<std::uint64_t> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request.filter));
    return target.collection->count(request, Cancel(call.deadline()));
  };
  answer_computing(call, kind, std::move(done), std::move(read));
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
