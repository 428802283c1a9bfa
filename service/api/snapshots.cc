#include "service/api/snapshots.h"

#include "service/api/answer.h"

namespace quiver::service::api {
namespace {

tl::unexpected<Error> no_snapshots() { return fail(Code::kUnimplemented, "snapshots"); }

}  // namespace

void create_snapshot(Call& call, SnapshotScope /*scope*/, Done<SnapshotDescription> done) {
  auto create = []() -> Result<SnapshotDescription> { return no_snapshots(); };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(create));
}

void list_snapshots(Call& call, SnapshotScope /*scope*/,
                    Done<std::vector<SnapshotDescription>> done) {
  auto list = []() -> Result<std::vector<SnapshotDescription>> { return no_snapshots(); };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(list));
}

void delete_snapshot(Call& call, SnapshotScope /*scope*/, std::string /*name*/, Done<> done) {
  auto remove = []() -> Result<> { return no_snapshots(); };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(remove));
}

void read_snapshot(Call& call, SnapshotScope /*scope*/, std::string /*name*/,
                   Done<std::unique_ptr<SnapshotReader>> done) {
  auto read = []() -> Result<std::unique_ptr<SnapshotReader>> { return no_snapshots(); };
  answer_on(call.runtime().blocking(), call, std::move(done), std::move(read));
}

void stream_snapshot(Call& call, SnapshotScope /*scope*/,
                     Done<std::unique_ptr<SnapshotReader>> done) {
  auto read = []() -> Result<std::unique_ptr<SnapshotReader>> { return no_snapshots(); };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(read));
}

void recover_snapshot(Call& call, SnapshotScope /*scope*/, SnapshotRecovery /*recovery*/,
                      Done<> done) {
  auto recover = []() -> Result<> { return no_snapshots(); };
  answer_on(call.runtime().long_running(), call, std::move(done), std::move(recover));
}

Result<std::unique_ptr<SnapshotUpload>> upload_snapshot(Call& call, SnapshotScope /*scope*/,
                                                        std::string /*checksum*/) {
  QV_TRY(call.check_access(Access::kWrite));
  return no_snapshots();
}

}  // namespace quiver::service::api
