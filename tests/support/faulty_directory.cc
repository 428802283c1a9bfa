// `FaultState::mutex` guards the rules and counters, and every FaultNode. It is held across the
// call to the inner directory, so that model and directory never differ; only tests wait.

#include "tests/support/faulty_directory.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace quiver {

using NodeMap = std::map<std::string, std::shared_ptr<FaultNode>, std::less<>>;

/// Model of a file or directory that was used through this class. Names of the inner directory
/// without a node are durable as they are.
struct FaultNode {
  explicit FaultNode(EntryKind k) : kind(k) {}

  EntryKind kind;
  // File: all its bytes, of which the first `n_synced` are durable. While `has_content` is false,
  // the content is unknown and durable.
  bool has_content = false;
  std::vector<std::byte> content;
  std::size_t n_synced = 0;
  // Directory: names as programs see them, and as they were at the last sync.
  NodeMap live;
  NodeMap durable;
};

struct FaultState {
  struct ActiveRule {
    FaultRule rule;
    std::uint64_t n_seen = 0;
  };

  Mutex mutex;
  std::vector<ActiveRule> rules QV_GUARDED_BY(mutex);
  std::array<std::uint64_t, 9> n_operations QV_GUARDED_BY(mutex){};
  bool is_power_cut QV_GUARDED_BY(mutex) = false;
  std::uint64_t n_cuts QV_GUARDED_BY(mutex) = 0;

  /// Counts a changing call; returns the error if it must fail.
  Result<> enter(FileOperation operation, std::string_view what, const std::string& path)
      QV_REQUIRES(mutex);
  /// Counts a reading call; returns the error if it must fail.
  Result<> enter_reading(FileOperation operation, std::string_view what, const std::string& path)
      QV_REQUIRES(mutex);

 private:
  /// The error number of the rule that applies; 0 if none does.
  int next_error(FileOperation operation) QV_REQUIRES(mutex);
};

Result<> FaultState::enter(FileOperation operation, std::string_view what,
                           const std::string& path) {
  ++n_operations[static_cast<std::size_t>(operation)];
  ++n_operations[static_cast<std::size_t>(FileOperation::kAny)];
  if (is_power_cut) {
    return fail(Code::kUnavailable, fmt::format("cannot {} `{}`: the power is cut", what, path));
  }
  const int error_number = next_error(operation);
  if (error_number != 0) return fail(file_error(error_number, what, path));
  return {};
}

Result<> FaultState::enter_reading(FileOperation operation, std::string_view what,
                                   const std::string& path) {
  ++n_operations[static_cast<std::size_t>(operation)];
  const int error_number = next_error(operation);
  if (error_number != 0) return fail(read_error(error_number, what, path));
  return {};
}

int FaultState::next_error(FileOperation operation) {
  const bool changes = operation != FileOperation::kOpen && operation != FileOperation::kRead;
  int error_number = 0;
  for (auto& [rule, n_seen] : rules) {
    const bool is_any = rule.operation == FileOperation::kAny && changes;
    if (!is_any && rule.operation != operation) continue;
    ++n_seen;
    if (n_seen >= rule.nth && n_seen - rule.nth < rule.n_times) error_number = rule.error_number;
  }
  return error_number;
}

namespace {

/// The node of `name`, created (as durable) if needed; nullptr if `inner` has no such name.
std::shared_ptr<FaultNode> node_of(const Directory& inner, FaultNode& directory,
                                   std::string_view name) {
  const auto found = directory.live.find(name);
  if (found != directory.live.end()) return found->second;
  if (!inner.exists(name)) return nullptr;
  const bool is_directory = inner.open_subdirectory(name).has_value();
  auto node = std::make_shared<FaultNode>(is_directory ? EntryKind::kDirectory : EntryKind::kFile);
  directory.live.emplace(name, node);
  directory.durable.emplace(name, node);
  return node;
}

/// Reads unknown content, so that it can be restored after `name` is gone from `inner`.
Result<> capture(const Directory& inner, FaultNode& directory, std::string_view name) {
  const auto node = node_of(inner, directory, name);
  if (!node) return {};
  if (node->kind == EntryKind::kDirectory) {
    QV_TRY(const auto below, inner.open_subdirectory(name));
    QV_TRY(const auto entries, below->list());
    for (const auto& entry : entries) QV_TRY(capture(*below, *node, entry.name));
  } else if (!node->has_content) {
    QV_TRY(node->content, inner.read_file(name));
    node->n_synced = node->content.size();
    node->has_content = true;
  }
  return {};
}

Result<> remove_entry(Directory& inner, const std::string& name, EntryKind kind) {
  return kind == EntryKind::kFile ? inner.remove_file(name) : inner.remove_subdirectory(name);
}

Result<> rename_entry(Directory& inner, const std::string& from, const std::string& to,
                      EntryKind kind) {
  return kind == EntryKind::kFile ? inner.rename_file(from, to)
                                  : inner.rename_subdirectory(from, to);
}

/// Removes names that are not durable and moves renamed files out of the way. Returns where the
/// moved ones are.
Result<std::map<const FaultNode*, std::string>> clear_names(Directory& inner,
                                                            const FaultNode& directory) {
  std::set<const FaultNode*> durable;
  for (const auto& [name, node] : directory.durable) durable.insert(node.get());
  std::map<const FaultNode*, std::string> moved;
  for (const auto& [name, node] : directory.live) {
    const auto in_place = directory.durable.find(name);
    if (!durable.contains(node.get())) {
      QV_TRY(remove_entry(inner, name, node->kind));
    } else if (in_place == directory.durable.end() || in_place->second != node) {
      const std::string aside = fmt::format("restore-{}", moved.size());
      QV_TRY(rename_entry(inner, name, aside, node->kind));
      moved.emplace(node.get(), aside);
    }
  }
  return moved;
}

/// Makes `inner` equal to the durable state of `directory`.
Result<> restore(Directory& inner, FaultNode& directory);

Result<> restore_file(Directory& inner, const std::string& name, FaultNode& file) {
  if (!file.has_content) return {};
  const bool is_there = inner.exists(name);
  if (is_there && file.content.size() == file.n_synced) return {};
  if (is_there) QV_TRY(inner.remove_file(name));
  file.content.resize(file.n_synced);
  return inner.write_file(name, file.content);
}

Result<> restore_entry(Directory& inner, const std::string& name, FaultNode& node) {
  if (node.kind == EntryKind::kFile) return restore_file(inner, name, node);
  if (!inner.exists(name)) node.live.clear();  // nothing of it remains
  QV_TRY(const auto below, inner.subdirectory(name));
  return restore(*below, node);
}

Result<> restore(Directory& inner, FaultNode& directory) {
  QV_TRY(const auto moved, clear_names(inner, directory));
  for (const auto& [name, node] : directory.durable) {
    const auto aside = moved.find(node.get());
    if (aside != moved.end()) QV_TRY(rename_entry(inner, aside->second, name, node->kind));
    QV_TRY(restore_entry(inner, name, *node));
  }
  directory.live = directory.durable;
  return {};
}

/// Makes durable what a power cut leaves by chance: each directory has all of its new names or
/// none, each file some of its bytes.
void keep_some(FaultNode& node, Loss loss, std::mt19937_64& random) {
  if (node.kind == EntryKind::kFile) {
    const std::size_t n_unsynced = node.content.size() - node.n_synced;
    if (loss == Loss::kSomeUnsynced) node.n_synced += random() % (n_unsynced + 1);
    return;
  }
  for (const auto& [name, below] : node.live) keep_some(*below, loss, random);
  if (loss == Loss::kNamesOnly || random() % 2 == 0) node.durable = node.live;
}

class FaultyReadableFile final : public ReadableFile {
 public:
  FaultyReadableFile(std::unique_ptr<ReadableFile> inner, std::shared_ptr<FaultState> state,
                     std::string path)
      : inner_(std::move(inner)), state_(std::move(state)), path_(std::move(path)) {}

  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  Result<> read(std::uint64_t offset, std::span<std::byte> out) override {
    MutexLock lock(state_->mutex);
    QV_TRY(state_->enter_reading(FileOperation::kRead, "read", path_));
    return inner_->read(offset, out);
  }

 private:
  Result<std::shared_ptr<const MappedFile>> map_whole() override { return inner_->map(); }

  std::unique_ptr<ReadableFile> inner_;
  std::shared_ptr<FaultState> state_;
  std::string path_;
};

class FaultyWritableFile final : public WritableFile {
 public:
  FaultyWritableFile(std::unique_ptr<WritableFile> inner, std::shared_ptr<FaultState> state,
                     std::shared_ptr<FaultNode> node, std::string path, std::uint64_t n_cuts)
      : inner_(std::move(inner)),
        state_(std::move(state)),
        node_(std::move(node)),
        path_(std::move(path)),
        n_cuts_(n_cuts) {}

  Result<> append(Bytes bytes) override {
    MutexLock lock(state_->mutex);
    QV_TRY(check_power("append to"));
    if (auto entered = state_->enter(FileOperation::kAppend, "append to", path_); !entered) {
      if (!state_->is_power_cut) QV_TRY(pass_on(bytes.first(bytes.size() / 2)));
      return entered;
    }
    return pass_on(bytes);
  }
  Result<> sync() override {
    MutexLock lock(state_->mutex);
    QV_TRY(check_power("sync"));
    QV_TRY(state_->enter(FileOperation::kSync, "sync", path_));
    QV_TRY(inner_->sync());
    node_->n_synced = node_->content.size();
    return {};
  }
  Result<> close() override { return inner_->close(); }

 private:
  Result<> pass_on(Bytes bytes) QV_REQUIRES(state_->mutex) {
    QV_TRY(inner_->append(bytes));
    node_->content.insert(node_->content.end(), bytes.begin(), bytes.end());
    return {};
  }
  [[nodiscard]] Result<> check_power(std::string_view what) const QV_REQUIRES(state_->mutex) {
    if (n_cuts_ == state_->n_cuts) return {};
    return fail(Code::kUnavailable,
                fmt::format("cannot {} `{}`: it was open when the power was cut", what, path_));
  }

  std::unique_ptr<WritableFile> inner_;
  std::shared_ptr<FaultState> state_;
  std::shared_ptr<FaultNode> node_;
  std::string path_;
  std::uint64_t n_cuts_;  ///< number of power cuts when it was created
};

std::string path_of(const Directory& directory, std::string_view name) {
  return fmt::format("{}/{}", directory.path(), name);
}

}  // namespace

FaultyDirectory::FaultyDirectory(std::unique_ptr<Directory> inner)
    : FaultyDirectory(std::move(inner), std::make_shared<FaultState>(),
                      std::make_shared<FaultNode>(EntryKind::kDirectory)) {}

FaultyDirectory::FaultyDirectory(std::unique_ptr<Directory> inner,
                                 std::shared_ptr<FaultState> state, std::shared_ptr<FaultNode> node)
    : inner_(std::move(inner)), state_(std::move(state)), node_(std::move(node)) {}

FaultyDirectory::~FaultyDirectory() = default;

void FaultyDirectory::inject(FaultRule rule) {
  MutexLock lock(state_->mutex);
  state_->rules.push_back({rule});
}

void FaultyDirectory::clear_faults() {
  MutexLock lock(state_->mutex);
  state_->rules.clear();
}

std::uint64_t FaultyDirectory::n_operations(FileOperation operation) const {
  MutexLock lock(state_->mutex);
  return state_->n_operations[static_cast<std::size_t>(operation)];
}

void FaultyDirectory::cut_power() {
  MutexLock lock(state_->mutex);
  state_->is_power_cut = true;
}

Result<> FaultyDirectory::drop_unsynced(Loss loss, std::uint64_t seed) {
  MutexLock lock(state_->mutex);
  std::mt19937_64 random(seed);
  if (loss != Loss::kAllUnsynced) keep_some(*node_, loss, random);
  state_->rules.clear();
  state_->is_power_cut = false;
  ++state_->n_cuts;
  return restore(*inner_, *node_);
}

const std::string& FaultyDirectory::path() const { return inner_->path(); }

Result<std::unique_ptr<WritableFile>> FaultyDirectory::do_create_file(std::string_view name) {
  MutexLock lock(state_->mutex);
  const std::string path = path_of(*this, name);
  QV_TRY(state_->enter(FileOperation::kCreate, "create", path));
  QV_TRY(auto file, inner_->create_file(name));
  auto node = std::make_shared<FaultNode>(EntryKind::kFile);
  node->has_content = true;
  node_->live.insert_or_assign(std::string(name), node);
  return std::make_unique<FaultyWritableFile>(std::move(file), state_, std::move(node), path,
                                              state_->n_cuts);
}

Result<std::unique_ptr<ReadableFile>> FaultyDirectory::do_open_file(std::string_view name) const {
  {
    MutexLock lock(state_->mutex);
    QV_TRY(state_->enter_reading(FileOperation::kOpen, "open", path_of(*this, name)));
  }
  QV_TRY(auto file, inner_->open_file(name));
  return std::make_unique<FaultyReadableFile>(std::move(file), state_, path_of(*this, name));
}

Result<std::vector<std::byte>> FaultyDirectory::read_file(std::string_view name) const {
  MutexLock lock(state_->mutex);
  QV_TRY(state_->enter_reading(FileOperation::kOpen, "open", path_of(*this, name)));
  QV_TRY(state_->enter_reading(FileOperation::kRead, "read", path_of(*this, name)));
  return inner_->read_file(name);
}

Result<std::uint64_t> FaultyDirectory::file_size(std::string_view name) const {
  return inner_->file_size(name);
}

Result<> FaultyDirectory::remove_file(std::string_view name) {
  MutexLock lock(state_->mutex);
  QV_TRY(state_->enter(FileOperation::kRemove, "remove", path_of(*this, name)));
  QV_TRY(capture(*inner_, *node_, name));
  QV_TRY(inner_->remove_file(name));
  node_->live.erase(std::string(name));
  return {};
}

Result<> FaultyDirectory::rename_file(std::string_view from, std::string_view to) {
  MutexLock lock(state_->mutex);
  QV_TRY(state_->enter(FileOperation::kRename, "rename", path_of(*this, from)));
  QV_TRY(capture(*inner_, *node_, to));
  auto node = node_of(*inner_, *node_, from);
  QV_TRY(inner_->rename_file(from, to));
  node_->live.erase(std::string(from));
  node_->live.insert_or_assign(std::string(to), std::move(node));
  return {};
}

bool FaultyDirectory::exists(std::string_view name) const { return inner_->exists(name); }

Result<std::vector<DirectoryEntry>> FaultyDirectory::list() const { return inner_->list(); }

Result<std::unique_ptr<Directory>> FaultyDirectory::do_subdirectory(std::string_view name) {
  if (inner_->exists(name)) return do_open_subdirectory(name);
  MutexLock lock(state_->mutex);
  QV_TRY(state_->enter(FileOperation::kCreate, "create directory", path_of(*this, name)));
  QV_TRY(auto below, inner_->subdirectory(name));
  auto node = std::make_shared<FaultNode>(EntryKind::kDirectory);
  node_->live.insert_or_assign(std::string(name), node);
  return std::unique_ptr<Directory>(new FaultyDirectory(std::move(below), state_, std::move(node)));
}

Result<std::unique_ptr<Directory>> FaultyDirectory::do_open_subdirectory(
    std::string_view name) const {
  MutexLock lock(state_->mutex);
  QV_TRY(auto below, inner_->open_subdirectory(name));
  auto node = node_of(*inner_, *node_, name);
  return std::unique_ptr<Directory>(new FaultyDirectory(std::move(below), state_, std::move(node)));
}

Result<> FaultyDirectory::remove_subdirectory(std::string_view name) {
  MutexLock lock(state_->mutex);
  QV_TRY(state_->enter(FileOperation::kRemove, "remove directory", path_of(*this, name)));
  QV_TRY(capture(*inner_, *node_, name));
  QV_TRY(inner_->remove_subdirectory(name));
  node_->live.erase(std::string(name));
  return {};
}

Result<> FaultyDirectory::rename_subdirectory(std::string_view from, std::string_view to) {
  MutexLock lock(state_->mutex);
  QV_TRY(state_->enter(FileOperation::kRename, "rename directory", path_of(*this, from)));
  auto node = node_of(*inner_, *node_, from);
  QV_TRY(inner_->rename_subdirectory(from, to));
  node_->live.erase(std::string(from));
  node_->live.insert_or_assign(std::string(to), std::move(node));
  return {};
}

Result<> FaultyDirectory::sync() {
  MutexLock lock(state_->mutex);
  QV_TRY(state_->enter(FileOperation::kDirectorySync, "sync directory", path()));
  QV_TRY(inner_->sync());
  node_->durable = node_->live;
  return {};
}

}  // namespace quiver
