#include "service/api/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/observe/failure.h"
#include "engine/collection.h"
#include "service/api/answer.h"
#include "service/api/limits.h"
#include "service/api/names.h"

namespace quiver::service::api {
namespace {

using engine::Query;
using Queries = std::vector<Query>;

bool has_lookup(const Query& query) {
  return query.lookup_from || std::any_of(query.prefetch.begin(), query.prefetch.end(), has_lookup);
}

/// The caller must be allowed to read every collection that a query looks into.
Result<> check_lookups(const Call& call, const Query& query) {
  if (query.lookup_from) {
    QV_TRY(call.check_access(Access::kRead, query.lookup_from->collection));
  }
  for (const Query& prefetch : query.prefetch) QV_TRY(check_lookups(call, prefetch));
  return {};
}

load::Work work_of(const engine::QueryCost& cost) {
  load::Work work{load::Verb::kQuery, cost.read_bytes};
  if (cost.is_parallel()) {
    work.known_class = load::WorkClass::kExpensive;
  } else if (cost.can_share_pass) {
    // The times of such searches are those of whole passes.
    work.known_class = load::WorkClass::kCheap;
  }
  // A device does the work; its groups gather in one place.
  if (cost.is_for_device()) work.known_class = load::WorkClass::kCheap;
  return work;
}

using PlannedPtr = std::shared_ptr<const engine::PlannedQuery>;

/// A call whose query the batcher answers.
class WaitingCall final : public engine::SearchWaiter {
 public:
  WaitingCall(Call& call, Done<Records> done, load::Ticket ticket)
      : call_(call), done_(std::move(done)), ticket_(std::move(ticket)) {
    call_.trace().enter_stage("Wait");
  }

  void use_cancel(std::shared_ptr<const Cancel> cancel) noexcept override {
    call_.set_cancel(std::move(cancel));
  }
  void begin() noexcept override {
    call_.trace().enter_stage(call_.work_stage());
    // A search that is too late ends by itself at once; then this says why.
    run_logged("a query", [&] {
      late_ = ticket_.begin(std::chrono::steady_clock::now(), load::LateBy::kDeadline);
    });
  }
  void answer(Result<Records> records) noexcept override {
    call_.trace().leave_stage();
    if (!records && late_) records = quiver::fail(refused(call_, *std::exchange(late_, {})));
    run_logged("a query", [&] { api::answer(call_, done_, [&] { return std::move(records); }); });
  }
  void fail(std::exception_ptr exception) noexcept override {
    auto rethrow = [&]() -> Result<Records> { std::rethrow_exception(exception); };
    run_logged("a query", [&] { api::answer(call_, done_, rethrow); });
  }

 private:
  Call& call_;
  Done<Records> done_;
  load::Ticket ticket_;
  std::optional<load::Refusal> late_;
};

void run_together(Call& call, OpenCollection target, const load::Work& kind, PlannedPtr planned,
                  Done<Records> done) {
  const load::WorkClass work = call.runtime().load().class_of(kind);
  auto admitted = call.runtime().load().lane(work).admit(kind, call.patience(),
                                                         std::chrono::steady_clock::now());
  if (admitted.refusal) return done(fail(refused(call, *std::move(admitted.refusal))));
  engine::Batcher::Search search;
  search.source = std::move(target.collection);
  search.planned = std::move(planned);
  search.cancel = std::make_shared<const Cancel>(call.deadline());
  search.waiter = std::make_unique<WaitingCall>(call, std::move(done), std::move(admitted.ticket));
  call.runtime().batcher(work).add(std::move(search));
}

void run_on_compute(Call& call, const load::Work& kind, PlannedPtr planned, Done<Records> done) {
  auto search = [planned = std::move(planned)](const Cancel& cancel) {
    return planned->run(cancel);
  };
  compute(call, kind, std::move(done), std::move(search));
}

/// A lookup may open collections, so that such a query is planned on the compute executor.
void look_up_and_query(Call& call, OpenCollection target, Query query, Done<Records> done) {
  const load::Work kind{load::Verb::kBatch, n_rows(target)};
  auto search = [&call, target = std::move(target),
                 query = std::move(query)](const Cancel& cancel) mutable -> Result<Records> {
    QV_TRY(resolve_lookups(call, target.name, query));
    return target.collection->query(query, cancel);
  };
  compute(call, kind, std::move(done), std::move(search));
}

bool can_be_mended(const Error& error) {
  switch (error.code()) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kFailedPrecondition:
    case Code::kNotFound:
      return true;
    default:
      return false;
  }
}

Error with_search(std::size_t index, const Error& error) {
  const std::string name = fmt::format("searches[{}]", index);
  if (error.message().find(name) != std::string::npos) return error;
  return error.with_context("in " + name);
}

/// The engine says what is wrong, but not with which search: it is the first one that fails alone
/// as the batch did. Only done for errors that the caller can mend, and for no longer than the
/// batch itself may take.
Error name_search(const engine::Collection& collection, const Queries& queries,
                  const Cancel& cancel, const Error& error) {
  if (!can_be_mended(error)) return error;
  for (std::size_t i = 0; i < queries.size() && cancel.check(); ++i) {
    const auto alone = collection.query(queries[i], cancel);
    if (!alone && alone.error().message() == error.message()) return with_search(i, error);
  }
  return error;
}

Result<std::vector<Records>> answer_batch(Call& call, const OpenCollection& target,
                                          Queries& queries, const Cancel& cancel) {
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const auto resolved = resolve_lookups(call, target.name, queries[i]);
    if (!resolved) return fail(with_search(i, resolved.error()));
  }
  auto answers = target.collection->query_batch(queries, cancel);
  if (answers) return answers;
  return fail(name_search(*target.collection, queries, cancel, answers.error()));
}

}  // namespace

Result<> resolve_lookups(Call& call, std::string_view collection, Query& query) {
  if (!has_lookup(query)) return {};
  QV_TRY(check_lookups(call, query));
  return call.runtime().database().resolve_lookups(std::string(collection), query);
}

void query(Call& call, OpenCollection target, Query query, Done<Records> done) {
  call.set_operation("Search");
  if (const auto allowed = call.check_access(Access::kRead, target.name); !allowed) {
    return done(fail(allowed.error()));
  }
  if (const auto allowed = check_limits(call, target, query); !allowed) {
    return done(fail(allowed.error()));
  }
  if (has_lookup(query)) {
    return look_up_and_query(call, std::move(target), std::move(query), std::move(done));
  }
  auto planned = target.collection->plan(std::move(query));
  const engine::QueryCost& cost = planned->cost();
  const load::Work kind = work_of(cost);
  if (cost.is_small() && !call.others_wait()) {
    return answer_traced(call, done, [&] { return planned->run(Cancel(call.deadline())); });
  }
  if (cost.can_share_pass && planned->query().report == nullptr) {
    return run_together(call, std::move(target), kind, std::move(planned), std::move(done));
  }
  run_on_compute(call, kind, std::move(planned), std::move(done));
}

void query_batch(Call& call, OpenCollection target, Queries queries,
                 Done<std::vector<Records>> done) {
  call.set_operation("Search");
  const load::Work kind{load::Verb::kBatch, n_rows(target) * queries.size()};
  auto search = [&call, target = std::move(target), queries = std::move(queries)](
                    const Cancel& cancel) mutable -> Result<std::vector<Records>> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, queries));
    return answer_batch(call, target, queries, cancel);
  };
  compute(call, kind, std::move(done), std::move(search));
}

void explain(Call& call, const OpenCollection& target, engine::ExplainRequest request,
             Done<std::vector<engine::Explanation>> done) {
  call.set_operation("Search");
  auto search = [&call, target, request = std::move(request)](
                    const Cancel& cancel) -> Result<std::vector<engine::Explanation>> {
    QV_TRY(call.check_access(Access::kRead, target.name));
    QV_TRY(check_limits(call, target, request));
    return target.collection->explain(request, cancel);
  };
  compute(call, {load::Verb::kLong}, std::move(done), std::move(search));
}

}  // namespace quiver::service::api
