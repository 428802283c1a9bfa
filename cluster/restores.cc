#include "cluster/restores.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/io/file_tree.h"
#include "base/observe/failure.h"
#include "base/observe/log.h"
#include "cluster/copies.h"

namespace quiver::cluster {
namespace {

using engine::SnapshotReader;
using engine::SnapshotUse;

constexpr std::string_view kEnding = ".snapshot";
constexpr std::string_view kPart = ".part";
constexpr std::chrono::seconds kFetchPatience{1};

std::string file_of(const std::string& id) { return id + std::string(kEnding); }
std::string part_of(const std::string& id) { return id + std::string(kPart); }

/// Ids come from other nodes, too, and are names of files here.
Result<> check_id(std::string_view id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::size_t kLength = 32;
  if (id.size() == kLength && id.find_first_not_of(kDigits) == std::string_view::npos) return {};
  return fail(Code::kInvalidArgument, fmt::format("`{}` is no id of a collection", id));
}

SnapshotUse shared_use(std::string id, bool must_fit) {
  return {SnapshotUse::Kind::kShared, std::move(id), must_fit};
}

}  // namespace

Restores::Draft::Draft(Restores& owner, std::string id, std::string name,
                       std::unique_ptr<engine::SnapshotReceiver> receiver,
                       std::unique_ptr<WritableFile> file)
    : owner_(owner),
      id_(std::move(id)),
      name_(std::move(name)),
      receiver_(std::move(receiver)),
      file_(std::move(file)) {}

Restores::Draft::~Draft() {
  file_.reset();
  if (!is_complete_) run_logged("removing an archive", [this] { owner_.discard(id_); });
  MutexLock lock(owner_.mutex_);
  owner_.drafts_.erase(id_);
}

Result<> Restores::Draft::write(std::string_view bytes) {
  QV_TRY(receiver_->write(bytes));
  return file_->append(as_byte_span(bytes));
}

Result<> Restores::Draft::finish() {
  QV_TRY(auto config, receiver_->check());
  QV_TRY(file_->sync());
  QV_TRY(file_->close());
  QV_TRY(owner_.folder_->rename_file(part_of(id_), file_of(id_)));
  QV_TRY(owner_.folder_->sync());
  is_complete_ = true;
  owner_.keep(id_, {std::move(receiver_), std::move(config)});
  return {};
}

Result<> Restores::start(const std::string& data_dir, engine::Snapshots& local) {
  local_ = &local;
  QV_TRY(folder_, open_real_directory(data_dir + "/restores"));
  QV_TRY(const auto entries, folder_->list());
  for (const auto& entry : entries) {
    if (entry.name.ends_with(kPart)) QV_TRY(folder_->remove_file(entry.name));
  }
  return {};
}

void Restores::stop() {
  std::map<std::string, std::shared_ptr<Fetch>> fetches;
  std::map<std::string, Unpacked> unpacked;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    fetches.swap(fetches_);
    changed_.notify_all();
  }
  for (auto& [id, fetch] : fetches) fetch->thread.join();
  MutexLock lock(mutex_);
  unpacked.swap(unpacked_);
}

Result<std::unique_ptr<Restores::Draft>> Restores::begin(std::string id, const std::string& name,
                                                         const std::string& checksum,
                                                         bool must_fit) {
  QV_TRY(check_id(id));
  if (folder_ == nullptr) return fail(Code::kUnavailable, "this node is starting");
  QV_TRY(auto receiver,
         local_->receive_as(shared_use(id, must_fit), {name, std::nullopt}, checksum));
  QV_TRY(auto file, folder_->create_file(part_of(id)));
  {
    MutexLock lock(mutex_);
    if (stopped_) return fail(Code::kUnavailable, "this node is stopping");
    drafts_.insert(id);
  }
  return std::make_unique<Draft>(*this, std::move(id), name, std::move(receiver), std::move(file));
}

Result<bool> Restores::obtain(const std::string& id, const std::string& name,
                              const std::string& peer, bool must_fit) {
  QV_TRY(check_id(id));
  if (folder_ == nullptr) return fail(Code::kUnavailable, "this node is starting");
  const auto deadline = std::chrono::steady_clock::now() + kFetchPatience;
  std::shared_ptr<Fetch> ended;
  {
    MutexLock lock(mutex_);
    if (stopped_) return fail(Code::kUnavailable, "this node is stopping");
    if (unpacked_.contains(id)) return true;
    auto& slot = fetches_[id];
    if (slot == nullptr) {
      slot = std::make_shared<Fetch>();
      slot->thread = std::thread([this, one = slot.get(), id, name, peer, must_fit] {
        auto outcome = guarded([&] { return fetch(id, name, peer, must_fit); });
        MutexLock inside(mutex_);
        one->outcome = std::move(outcome);
        one->is_over = true;
        changed_.notify_all();
      });
    }
    ended = slot;
    while (!ended->is_over && !stopped_) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) return false;
      changed_.wait_for(mutex_, left);
    }
    if (stopped_) return fail(Code::kUnavailable, "this node is stopping");
    const auto found = fetches_.find(id);
    if (found == fetches_.end() || found->second != ended) return false;  // another call took it
    fetches_.erase(found);
  }
  ended->thread.join();
  QV_TRY(std::move(ended->outcome));
  return true;
}

/// What is complete here after a restart is unpacked again.
Result<> Restores::fetch(const std::string& id, const std::string& name, const std::string& peer,
                         bool must_fit) {
  if (has(id)) {
    QV_TRY(auto unpacked, unpack(id, name));
    keep(id, std::move(unpacked));
    return {};
  }
  QV_TRY(const auto draft, begin(id, name, "", must_fit));
  QV_TRY(receive_copy(peers_, peer, kOpenArchive, id, [&](std::string_view piece) -> Result<> {
    {
      MutexLock lock(mutex_);
      if (stopped_) return fail(Code::kUnavailable, "this node is stopping");
    }
    return draft->write(piece);
  }));
  return draft->finish();
}

Result<engine::CollectionConfig> Restores::config(const std::string& id) {
  MutexLock lock(mutex_);
  const auto found = unpacked_.find(id);
  if (found != unpacked_.end()) return found->second.config;
  return fail(Code::kNotFound, fmt::format("the archive {} is not on this node", id));
}

Result<std::unique_ptr<SnapshotReader>> Restores::read(const std::string& id) const {
  QV_TRY(check_id(id));
  if (!has(id)) return fail(Code::kNotFound, fmt::format("archive {} is not on this node", id));
  return engine::open_archive(path_of(id));
}

bool Restores::has(const std::string& id) const {
  return folder_ != nullptr && folder_->exists(file_of(id));
}

Result<Restores::Unpacked> Restores::unpack(const std::string& id, const std::string& name) {
  QV_TRY(const auto reader, read(id));
  QV_TRY(auto receiver, local_->receive_as(shared_use(id, false), {name, std::nullopt}, ""));
  QV_TRY(engine::copy_archive(*reader, *receiver));
  QV_TRY(auto config, receiver->check());
  return Unpacked{std::move(receiver), std::move(config)};
}

Result<> Restores::install(const std::string& id, const std::string& name) {
  Unpacked unpacked;
  {
    MutexLock lock(mutex_);
    const auto found = unpacked_.find(id);
    if (found != unpacked_.end()) {
      unpacked = std::move(found->second);
      unpacked_.erase(found);
    }
  }
  if (unpacked.receiver == nullptr) {
    QV_TRY(unpacked, unpack(id, name));
  }
  return unpacked.receiver->finish();
}

std::vector<std::string> Restores::ids() const {
  std::vector<std::string> ids;
  if (folder_ == nullptr) return ids;
  const auto entries = folder_->list();
  if (!entries) return ids;
  MutexLock lock(mutex_);
  for (const auto& [name, kind] : *entries) {
    if (!name.ends_with(kEnding)) continue;
    std::string id = name.substr(0, name.size() - kEnding.size());
    const auto fetch = fetches_.find(id);
    const bool is_fetched = fetch != fetches_.end() && !fetch->second->is_over;
    if (!drafts_.contains(id) && !is_fetched) ids.push_back(std::move(id));
  }
  return ids;
}

void Restores::remove(const std::string& id) {
  Unpacked unpacked;  // removed outside the lock
  {
    MutexLock lock(mutex_);
    const auto fetch = fetches_.find(id);
    if (fetch != fetches_.end() && fetch->second->is_over) {
      fetch->second->thread.join();
      fetches_.erase(fetch);
    }
    const auto found = unpacked_.find(id);
    if (found != unpacked_.end()) {
      unpacked = std::move(found->second);
      unpacked_.erase(found);
    }
  }
  if (auto removed = folder_->remove_file(file_of(id)); !removed) {
    log_warning("removing the archive of a snapshot: {}", removed.error().message());
  }
}

std::string Restores::path_of(const std::string& id) const {
  return fmt::format("{}/{}", folder_->path(), file_of(id));
}

void Restores::keep(const std::string& id, Unpacked unpacked) {
  MutexLock lock(mutex_);
  if (!stopped_) unpacked_[id] = std::move(unpacked);
}

void Restores::discard(const std::string& id) {
  if (!folder_->exists(part_of(id))) return;
  if (auto removed = folder_->remove_file(part_of(id)); !removed) {
    log_warning("removing a part of an archive: {}", removed.error().message());
  }
}

}  // namespace quiver::cluster
