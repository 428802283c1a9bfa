#include "service/api/points.h"

#include <utility>

#include "engine/collection.h"
#include "service/api/answer.h"

namespace quiver::service::api {
namespace {

using engine::Record;

Result<> start_update(Call& call, const OpenCollection& target,
                      std::vector<engine::Operation> operations, engine::Ack ack,
                      const Done<std::vector<engine::UpdateResult>>& done) {
  QV_TRY(call.check_access(Access::kWrite, target.name));
  return target.collection->update(std::move(operations), ack, done);
}

}  // namespace

void retrieve(Call& call, const OpenCollection& target, engine::RetrieveRequest request,
              Done<std::vector<Record>> done) {
  call.set_operation("Retrieve");
  auto read = [&call, target, request = std::move(request)]() -> Result<std::vector<Record>> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    return target.collection->retrieve(request);
  };
  answer_on(call.runtime().compute(), call, std::move(done), std::move(read));
}

void scroll(Call& call, const OpenCollection& target, engine::ScrollRequest request,
            Done<engine::ScrollPage> done) {
  call.set_operation("Scroll");
  auto read = [&call, target, request = std::move(request)]() -> Result<engine::ScrollPage> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    return target.collection->scroll(request, Cancel(call.deadline()));
  };
  answer_on(call.runtime().compute(), call, std::move(done), std::move(read));
}

void count(Call& call, const OpenCollection& target, std::optional<payload::Filter> filter,
           Done<std::uint64_t> done) {
  call.set_operation("Count");
  auto read = [&call, target, filter = std::move(filter)]() -> Result<std::uint64_t> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    return target.collection->count(filter, Cancel(call.deadline()));
  };
  answer_on(call.runtime().compute(), call, std::move(done), std::move(read));
}

void update(Call& call, const OpenCollection& target, std::vector<engine::Operation> operations,
            engine::Ack ack, Done<std::vector<engine::UpdateResult>> done) {
  if (operations.empty()) return done(std::vector<engine::UpdateResult>());
  const auto started = start_update(call, target, std::move(operations), ack, done);
  if (!started) done(fail(started.error()));
}

}  // namespace quiver::service::api
