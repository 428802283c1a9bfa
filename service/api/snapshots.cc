#include "service/api/snapshots.h"

#include <fmt/format.h>

#include <utility>

#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "service/api/answer.h"
#include "service/api/names.h"
#include "service/api/snapshot_location.h"
#include "service/client/download.h"

namespace quiver::service::api {
namespace {

using engine::Snapshots;

Result<Snapshots*> snapshots_of(const Runtime& runtime) {
  Snapshots* snapshots = runtime.database().snapshots();
  if (snapshots == nullptr) return fail(Code::kUnimplemented, "snapshots");
  return snapshots;
}

/// The database's snapshots, if the caller may read those of `scope`.
Result<Snapshots*> readable(Call& call, const SnapshotScope& scope) {
  const bool is_all = scope.collection.empty();
  QV_TRY(call.check_access(is_all ? Access::kGlobalRead : Access::kReadExtras, scope.collection));
  return snapshots_of(call.runtime());
}

/// The same for a caller that makes or deletes some.
Result<Snapshots*> writable(Call& call, const SnapshotScope& scope) {
  const bool is_all = scope.collection.empty();
  QV_TRY(call.check_access(is_all ? Access::kManage : Access::kWriteExtras, scope.collection));
  return snapshots_of(call.runtime());
}

/// The same for a caller that replaces what is there by a snapshot.
Result<Snapshots*> restorable(Call& call) {
  QV_TRY(call.check_access(Access::kManage));
  return snapshots_of(call.runtime());
}

Result<> fetch_snapshot(const Options& options, Snapshots& snapshots, const SnapshotScope& scope,
                        const HttpLocation& from, const SnapshotRecovery& recovery) {
  if (!options.recovers_from_urls) {
    return fail(Code::kPermissionDenied,
                "Snapshot recovery from remote URLs is disabled in the configuration");
  }
  QV_TRY(check_host(from.host, options.snapshot_url_hosts));
  QV_TRY(auto receiver, snapshots.receive(scope, recovery.checksum));
  Result<> written;
  const auto take = [&](std::string_view bytes) { return written = receiver->write(bytes); };
  const client::Endpoint endpoint{from.host, from.port, from.is_tls};
  auto fetched = client::download(endpoint, from.target, recovery.api_key, take);
  if (written && !fetched && fetched.error().code() == Code::kUnavailable) {
    return fail(Code::kFailedPrecondition,
                fmt::format("cannot fetch the snapshot: {}", fetched.error().message()));
  }
  QV_TRY(std::move(fetched));
  return receiver->finish();
}

Result<> recover_now(const Options& options, Snapshots& snapshots, const SnapshotScope& scope,
                     const SnapshotRecovery& recovery) {
  if (scope.shard) QV_TRY(snapshots.check_scope(scope));
  QV_TRY(check_collection_name(scope.collection));
  QV_TRY(const auto location, parse_location(recovery.location));
  if (const auto* file = std::get_if<FileLocation>(&location)) {
    return snapshots.recover(scope, file->path, recovery.checksum);
  }
  return fetch_snapshot(options, snapshots, scope, std::get<HttpLocation>(location), recovery);
}

/// Runs `work`, for which nobody waits.
Result<> run_later(Executor& executor, std::string_view what, std::function<Result<>()> work) {
  auto task = [what, work = std::move(work)] {
    const auto done = guarded(work);
    if (!done) log_error("{}: {}", what, done.error().message());
  };
  if (executor.post(Priority::kHigh, std::move(task))) return {};
  return fail(Code::kUnavailable, "the server is closing");
}

/// A snapshot whose files cannot be read is removed: whoever started it sees it go.
Result<> complete_or_remove(Snapshots& snapshots, const SnapshotScope& scope,
                            const std::string& name) {
  const auto completed = snapshots.complete(scope, name, Cancel());
  if (completed) return {};
  const Code code = completed.error().code();
  const bool is_closing = code == Code::kCancelled;
  if (!is_closing && code != Code::kNotFound) QV_TRY(snapshots.remove(scope, name));
  return fail(completed.error());
}

}  // namespace

/// If nobody waits any more, the checksum is computed all the same.
void create_snapshot(Call& call, SnapshotScope scope, Done<SnapshotDescription> done) {
  const auto cancel = std::make_shared<const Cancel>();
  call.set_cancel(cancel);
  auto create = [&call, scope = std::move(scope), cancel]() -> Result<SnapshotDescription> {
    QV_TRY(Snapshots* const snapshots, writable(call, scope));
    QV_TRY(const auto created, snapshots->create(scope));
    auto completed = snapshots->complete(scope, created.name, *cancel);
    if (completed || completed.error().code() != Code::kCancelled) return completed;
    auto complete = [snapshots, scope, name = created.name]() -> Result<> {
      QV_TRY(snapshots->complete(scope, name, Cancel()));
      return {};
    };
    QV_TRY(run_later(call.runtime().long_running(), "reading a snapshot", std::move(complete)));
    return completed;
  };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(create));
}

void start_snapshot(Call& call, SnapshotScope scope, Done<SnapshotDescription> done) {
  auto create = [&call, scope = std::move(scope)]() -> Result<SnapshotDescription> {
    QV_TRY(Snapshots* const snapshots, writable(call, scope));
    QV_TRY(auto created, snapshots->create(scope));
    auto complete = [snapshots, scope, name = created.name] {
      return complete_or_remove(*snapshots, scope, name);
    };
    QV_TRY(run_later(call.runtime().long_running(), "creating a snapshot", std::move(complete)));
    return created;
  };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(create));
}

void list_snapshots(Call& call, SnapshotScope scope, Done<std::vector<SnapshotDescription>> done) {
  auto list = [&call, scope = std::move(scope)]() -> Result<std::vector<SnapshotDescription>> {
    QV_TRY(Snapshots* const snapshots, readable(call, scope));
    return snapshots->list(scope);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(list));
}

void delete_snapshot(Call& call, SnapshotScope scope, std::string name, Done<> done) {
  auto remove = [&call, scope = std::move(scope), name = std::move(name)]() -> Result<> {
    QV_TRY(Snapshots* const snapshots, writable(call, scope));
    return snapshots->remove(scope, name);
  };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(remove));
}

Result<> start_deletion(Call& call, SnapshotScope scope, std::string name) {
  QV_TRY(Snapshots* const snapshots, writable(call, scope));
  auto remove = [snapshots, scope = std::move(scope), name = std::move(name)] {
    return snapshots->remove(scope, name);
  };
  return run_later(call.runtime().blocking(), "deleting a snapshot", std::move(remove));
}

void read_snapshot(Call& call, SnapshotScope scope, std::string name,
                   Done<std::unique_ptr<SnapshotReader>> done) {
  auto read = [&call, scope = std::move(scope),
               name = std::move(name)]() -> Result<std::unique_ptr<SnapshotReader>> {
    QV_TRY(Snapshots* const snapshots, readable(call, scope));
    return snapshots->open(scope, name);
  };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(read));
}

void stream_snapshot(Call& call, SnapshotScope scope, Done<std::unique_ptr<SnapshotReader>> done) {
  auto read = [&call, scope = std::move(scope)]() -> Result<std::unique_ptr<SnapshotReader>> {
    QV_TRY(Snapshots* const snapshots, writable(call, scope));
    return snapshots->stream(scope);
  };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(read));
}

void recover_snapshot(Call& call, SnapshotScope scope, SnapshotRecovery recovery, Done<> done) {
  auto recover = [&call, scope = std::move(scope), recovery = std::move(recovery)]() -> Result<> {
    QV_TRY(Snapshots* const snapshots, restorable(call));
    return recover_now(call.runtime().options(), *snapshots, scope, recovery);
  };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(recover));
}

Result<> start_recovery(Call& call, SnapshotScope scope, SnapshotRecovery recovery) {
  QV_TRY(Snapshots* const snapshots, restorable(call));
  auto recover = [&options = call.runtime().options(), snapshots, scope = std::move(scope),
                  recovery = std::move(recovery)] {
    return recover_now(options, *snapshots, scope, recovery);
  };
  return run_later(call.runtime().long_running(), "recovering a snapshot", std::move(recover));
}

Result<std::unique_ptr<SnapshotUpload>> upload_snapshot(Call& call, SnapshotScope scope,
                                                        std::string checksum) {
  QV_TRY(Snapshots* const snapshots, restorable(call));
  QV_TRY(check_collection_name(scope.collection));
  return snapshots->receive(scope, checksum);
}

void finish_upload(Call& call, std::shared_ptr<SnapshotUpload> upload, Done<> done) {
  auto finish = [&call, upload = std::move(upload)]() -> Result<> {
    QV_TRY(call.check_access(Access::kManage));
    return upload->finish();
  };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(finish));
}

Result<> start_finishing(Call& call, std::shared_ptr<SnapshotUpload> upload) {
  QV_TRY(call.check_access(Access::kManage));
  auto finish = [upload = std::move(upload)] { return upload->finish(); };
  return run_later(call.runtime().long_running(), "recovering an uploaded snapshot",
                   std::move(finish));
}

}  // namespace quiver::service::api
