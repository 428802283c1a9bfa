#include "tests/fault/power_cut_fs.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace quiver::fault {

namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

struct Inode {
  std::string bytes;
  std::size_t synced = 0;
};
using InodePtr = std::shared_ptr<Inode>;
using Names = std::map<std::string, InodePtr>;

/// A change of names that happens as one; a null inode removes a name.
struct NameChange {
  std::string directory;
  std::vector<std::pair<std::string, InodePtr>> names;
};

void apply_names(const NameChange& change, Names& to) {
  for (const auto& [name, inode] : change.names) {
    if (inode) {
      to[name] = inode;
    } else {
      to.erase(name);
    }
  }
}

std::string normal(const std::string& path) {
  auto text = std::filesystem::path(path).lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string parent(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

struct DiskState {
  std::function<void(std::uint64_t)> hook;
  std::atomic<std::uint64_t> n_changes{0};

  Mutex mutex;
  Names live QV_GUARDED_BY(mutex);
  Names durable QV_GUARDED_BY(mutex);
  std::vector<NameChange> pending QV_GUARDED_BY(mutex);  // live = durable + pending, in order
  std::set<std::string> directories QV_GUARDED_BY(mutex);
  std::set<std::string> locks QV_GUARDED_BY(mutex);
  std::optional<std::uint64_t> capacity QV_GUARDED_BY(mutex);
  int failing_syncs QV_GUARDED_BY(mutex) = 0;
  int failing_appends QV_GUARDED_BY(mutex) = 0;

  void about_to_change() {
    const std::uint64_t n = ++n_changes;
    if (hook) hook(n);
  }
  void change_names(NameChange change) QV_REQUIRES(mutex) {
    apply_names(change, live);
    pending.push_back(std::move(change));
  }
  void sync_directory(const std::string& directory) QV_REQUIRES(mutex) {
    std::erase_if(pending, [&](const NameChange& change) QV_REQUIRES(mutex) {
      if (change.directory != directory) return false;
      apply_names(change, durable);
      return true;
    });
  }
  [[nodiscard]] std::uint64_t used() QV_REQUIRES(mutex) {
    std::uint64_t bytes = 0;
    std::set<const Inode*> counted;  // a file may have two names
    for (const auto& [name, inode] : live) {
      if (counted.insert(inode.get()).second) bytes += inode->bytes.size();
    }
    return bytes;
  }
};

namespace {

IOStatus not_found(const std::string& path) { return IOStatus::PathNotFound(path); }

Slice copy_out(const std::string& bytes, std::uint64_t offset, std::size_t n, char* scratch) {
  if (offset >= bytes.size()) return {scratch, 0};
  n = std::min<std::size_t>(n, bytes.size() - offset);
  std::memcpy(scratch, bytes.data() + offset, n);
  return {scratch, n};
}

class Writable final : public rocksdb::FSWritableFile {
 public:
  Writable(std::shared_ptr<DiskState> disk, InodePtr inode)
      : disk_(std::move(disk)), inode_(std::move(inode)) {}

  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions& /*o*/, IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    std::size_t fits = data.size();
    IOStatus status = IOStatus::OK();
    if (disk_->failing_appends > 0) {
      --disk_->failing_appends;
      fits /= 2;
      status = IOStatus::IOError("injected: append");
    } else if (disk_->capacity) {
      const std::uint64_t used = disk_->used();
      const std::uint64_t room = *disk_->capacity > used ? *disk_->capacity - used : 0;
      if (room < fits) status = IOStatus::NoSpace("injected: No space left on device");
      fits = std::min<std::size_t>(fits, room);
    }
    inode_->bytes.append(data.data(), fits);
    return status;
  }
  IOStatus Truncate(uint64_t size, const IOOptions& /*o*/, IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    inode_->bytes.resize(size);
    inode_->synced = std::min<std::size_t>(inode_->synced, size);
    return IOStatus::OK();
  }
  IOStatus Sync(const IOOptions& /*o*/, IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    if (disk_->failing_syncs > 0) {
      --disk_->failing_syncs;
      return IOStatus::IOError("injected: sync");
    }
    inode_->synced = inode_->bytes.size();
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }
  IOStatus Close(const IOOptions& /*o*/, IODebugContext* /*d*/) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions& /*o*/, IODebugContext* /*d*/) override { return IOStatus::OK(); }
  uint64_t GetFileSize(const IOOptions& /*o*/, IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    return inode_->bytes.size();
  }

 private:
  std::shared_ptr<DiskState> disk_;
  InodePtr inode_;
};

class Sequential final : public rocksdb::FSSequentialFile {
 public:
  Sequential(std::shared_ptr<DiskState> disk, InodePtr inode)
      : disk_(std::move(disk)), inode_(std::move(inode)) {}
  IOStatus Read(size_t n, const IOOptions& /*o*/, Slice* result, char* scratch,
                IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    *result = copy_out(inode_->bytes, at_, n, scratch);
    at_ += result->size();
    return IOStatus::OK();
  }
  IOStatus Skip(uint64_t n) override {
    at_ += n;
    return IOStatus::OK();
  }

 private:
  std::shared_ptr<DiskState> disk_;
  InodePtr inode_;
  std::uint64_t at_ = 0;
};

class RandomAccess final : public rocksdb::FSRandomAccessFile {
 public:
  RandomAccess(std::shared_ptr<DiskState> disk, InodePtr inode)
      : disk_(std::move(disk)), inode_(std::move(inode)) {}
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& /*o*/, Slice* result, char* scratch,
                IODebugContext* /*d*/) const override {
    MutexLock lock(disk_->mutex);
    *result = copy_out(inode_->bytes, offset, n, scratch);
    return IOStatus::OK();
  }

 private:
  std::shared_ptr<DiskState> disk_;
  InodePtr inode_;
};

/// Rewrites a file in place, at once durable: the most that unsynced writes can leave.
class RandomWrite final : public rocksdb::FSRandomRWFile {
 public:
  RandomWrite(std::shared_ptr<DiskState> disk, InodePtr inode)
      : disk_(std::move(disk)), inode_(std::move(inode)) {}
  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& /*o*/,
                 IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    std::string& bytes = inode_->bytes;
    bytes.resize(std::max<std::size_t>(bytes.size(), offset + data.size()));
    std::memcpy(bytes.data() + offset, data.data(), data.size());
    inode_->synced = bytes.size();
    return IOStatus::OK();
  }
  IOStatus Read(uint64_t offset, size_t n, const IOOptions& /*o*/, Slice* result, char* scratch,
                IODebugContext* /*d*/) const override {
    MutexLock lock(disk_->mutex);
    *result = copy_out(inode_->bytes, offset, n, scratch);
    return IOStatus::OK();
  }
  IOStatus Flush(const IOOptions& /*o*/, IODebugContext* /*d*/) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions& /*o*/, IODebugContext* /*d*/) override { return IOStatus::OK(); }
  IOStatus Fsync(const IOOptions& /*o*/, IODebugContext* /*d*/) override { return IOStatus::OK(); }
  IOStatus Close(const IOOptions& /*o*/, IODebugContext* /*d*/) override { return IOStatus::OK(); }

 private:
  std::shared_ptr<DiskState> disk_;
  InodePtr inode_;
};

class SyncedDirectory final : public rocksdb::FSDirectory {
 public:
  SyncedDirectory(std::shared_ptr<DiskState> disk, std::string path)
      : disk_(std::move(disk)), path_(std::move(path)) {}
  IOStatus Fsync(const IOOptions& /*o*/, IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    disk_->sync_directory(path_);
    return IOStatus::OK();
  }
  IOStatus Close(const IOOptions& /*o*/, IODebugContext* /*d*/) override { return IOStatus::OK(); }

 private:
  std::shared_ptr<DiskState> disk_;
  std::string path_;
};

struct Lock final : rocksdb::FileLock {
  explicit Lock(std::string held) : path(std::move(held)) {}
  std::string path;
};

/// Answers every call of RocksDB on files; other calls go to the real file system.
class MemoryFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  MemoryFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base,
                   std::shared_ptr<DiskState> disk)
      : FileSystemWrapper(base), disk_(std::move(disk)) {}
  const char* Name() const override { return "PowerCutDisk"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& /*f*/,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* /*d*/) override {
    return open_as<Sequential>(path, result);
  }
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& /*f*/,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                               IODebugContext* /*d*/) override {
    return open_as<RandomAccess>(path, result);
  }
  IOStatus NewWritableFile(const std::string& path, const FileOptions& /*f*/,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    auto inode = std::make_shared<Inode>();
    disk_->change_names({parent(normal(path)), {{normal(path), inode}}});
    *result = std::make_unique<Writable>(disk_, std::move(inode));
    return IOStatus::OK();
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& files,
                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                              IODebugContext* debug) override {
    if (open_as<Writable>(path, result).ok()) return IOStatus::OK();
    return NewWritableFile(path, files, result, debug);
  }
  IOStatus ReuseWritableFile(const std::string& /*path*/, const std::string& /*old*/,
                             const FileOptions& /*f*/,
                             std::unique_ptr<rocksdb::FSWritableFile>* /*result*/,
                             IODebugContext* /*d*/) override {
    return IOStatus::NotSupported("ReuseWritableFile");
  }
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions& /*f*/,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                           IODebugContext* /*d*/) override {
    return open_as<RandomWrite>(path, result);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& /*o*/,
                        std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext* /*d*/) override {
    *result = std::make_unique<SyncedDirectory>(disk_, normal(path));
    return IOStatus::OK();
  }

  IOStatus FileExists(const std::string& path, const IOOptions& /*o*/,
                      IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    const std::string name = normal(path);
    const bool found = disk_->live.contains(name) || disk_->directories.contains(name);
    return found ? IOStatus::OK() : IOStatus::NotFound(path);
  }
  IOStatus GetChildren(const std::string& path, const IOOptions& /*o*/,
                       std::vector<std::string>* result, IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    result->clear();
    const std::string directory = normal(path);
    for (const auto& [name, inode] : disk_->live) {
      if (parent(name) == directory) result->push_back(name.substr(directory.size() + 1));
    }
    return IOStatus::OK();
  }
  IOStatus GetChildrenFileAttributes(const std::string& path, const IOOptions& options,
                                     std::vector<rocksdb::FileAttributes>* result,
                                     IODebugContext* debug) override {
    return FileSystem::GetChildrenFileAttributes(path, options, result, debug);
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& /*o*/,
                      IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    const std::string name = normal(path);
    if (!disk_->live.contains(name)) return not_found(path);
    disk_->change_names({parent(name), {{name, nullptr}}});
    return IOStatus::OK();
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& /*o*/,
                      IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    const auto found = disk_->live.find(normal(from));
    if (found == disk_->live.end()) return not_found(from);
    disk_->change_names(
        {parent(normal(to)), {{normal(to), found->second}, {normal(from), nullptr}}});
    return IOStatus::OK();
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& /*o*/,
                    IODebugContext* /*d*/) override {
    disk_->about_to_change();
    MutexLock lock(disk_->mutex);
    const auto found = disk_->live.find(normal(from));
    if (found == disk_->live.end()) return not_found(from);
    disk_->change_names({parent(normal(to)), {{normal(to), found->second}}});
    return IOStatus::OK();
  }
  IOStatus Truncate(const std::string& /*path*/, size_t /*size*/, const IOOptions& /*o*/,
                    IODebugContext* /*d*/) override {
    return IOStatus::NotSupported("Truncate");
  }

  IOStatus CreateDir(const std::string& path, const IOOptions& options,
                     IODebugContext* debug) override {
    return CreateDirIfMissing(path, options, debug);
  }
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions& /*o*/,
                              IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    disk_->directories.insert(normal(path));
    return IOStatus::OK();
  }
  IOStatus DeleteDir(const std::string& path, const IOOptions& /*o*/,
                     IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    disk_->directories.erase(normal(path));
    return IOStatus::OK();
  }
  IOStatus IsDirectory(const std::string& path, const IOOptions& /*o*/, bool* result,
                       IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    *result = disk_->directories.contains(normal(path));
    return IOStatus::OK();
  }
  IOStatus GetFileSize(const std::string& path, const IOOptions& /*o*/, uint64_t* size,
                       IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    const auto found = disk_->live.find(normal(path));
    if (found == disk_->live.end()) return not_found(path);
    *size = found->second->bytes.size();
    return IOStatus::OK();
  }
  IOStatus GetFileModificationTime(const std::string& /*path*/, const IOOptions& /*o*/,
                                   uint64_t* time, IODebugContext* /*d*/) override {
    *time = 0;
    return IOStatus::OK();
  }
  IOStatus GetFreeSpace(const std::string& /*path*/, const IOOptions& /*o*/, uint64_t* free,
                        IODebugContext* /*d*/) override {
    MutexLock lock(disk_->mutex);
    constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;
    const std::uint64_t used = disk_->used();
    const std::uint64_t capacity = disk_->capacity.value_or(kPlenty + used);
    *free = capacity > used ? capacity - used : 0;
    return IOStatus::OK();
  }

  IOStatus LockFile(const std::string& path, const IOOptions& /*o*/, rocksdb::FileLock** lock,
                    IODebugContext* /*d*/) override {
    MutexLock guard(disk_->mutex);
    *lock = nullptr;
    if (!disk_->locks.insert(normal(path)).second) return IOStatus::IOError("lock is held", path);
    *lock = new Lock(normal(path));
    return IOStatus::OK();
  }
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& /*o*/,
                      IODebugContext* /*d*/) override {
    const std::unique_ptr<Lock> held(static_cast<Lock*>(lock));
    MutexLock guard(disk_->mutex);
    disk_->locks.erase(held->path);
    return IOStatus::OK();
  }
  IOStatus NewLogger(const std::string& /*path*/, const IOOptions& /*o*/,
                     std::shared_ptr<rocksdb::Logger>* /*result*/, IODebugContext* /*d*/) override {
    return IOStatus::NotSupported("NewLogger");
  }

 private:
  template <class File, class Base>
  IOStatus open_as(const std::string& path, std::unique_ptr<Base>* result) {
    MutexLock lock(disk_->mutex);
    const auto found = disk_->live.find(normal(path));
    if (found == disk_->live.end()) return not_found(path);
    *result = std::make_unique<File>(disk_, found->second);
    return IOStatus::OK();
  }

  std::shared_ptr<DiskState> disk_;
};

/// The part of a file that survives: the synced bytes, and under kSomeUnsynced some of the others.
/// The last bytes of a log may read as zeros (its size reached the disk, its data did not). RocksDB
/// 7.8 accepts that in logs only, and common file systems write data before size.
InodePtr survivor(const std::string& name, const Inode& inode, Loss loss, std::mt19937_64& random) {
  auto left = std::make_shared<Inode>();
  std::size_t size = inode.synced;
  if (loss == Loss::kSomeUnsynced) size += random() % (inode.bytes.size() - inode.synced + 1);
  left->bytes = inode.bytes.substr(0, size);
  if (name.ends_with(".log") && size > inode.synced && random() % 2 == 0) {
    const std::size_t good = inode.synced + random() % (size - inode.synced);
    std::fill(left->bytes.begin() + static_cast<std::ptrdiff_t>(good), left->bytes.end(), '\0');
  }
  left->synced = size;
  return left;
}

}  // namespace

PowerCutDisk::PowerCutDisk() : PowerCutDisk(std::make_shared<DiskState>()) {}
PowerCutDisk::PowerCutDisk(std::shared_ptr<DiskState> state) : state_(std::move(state)) {}
PowerCutDisk::~PowerCutDisk() = default;

std::shared_ptr<rocksdb::FileSystem> PowerCutDisk::wrap(std::shared_ptr<rocksdb::FileSystem> base) {
  return std::make_shared<MemoryFileSystem>(base, state_);
}

std::shared_ptr<PowerCutDisk> PowerCutDisk::after_power_cut(Loss loss, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  MutexLock lock(state_->mutex);
  Names names = state_->durable;
  std::size_t kept = 0;
  if (loss == Loss::kSomeUnsynced) kept = random() % (state_->pending.size() + 1);
  if (loss == Loss::kNamesOnly) kept = state_->pending.size();
  for (std::size_t i = 0; i < kept; ++i) apply_names(state_->pending[i], names);

  auto left = std::make_shared<DiskState>();
  MutexLock left_lock(left->mutex);
  std::map<InodePtr, InodePtr> survivors;
  for (const auto& [name, inode] : names) {
    InodePtr& copy = survivors[inode];
    if (!copy) copy = survivor(name, *inode, loss, random);
    left->live[name] = copy;
  }
  left->durable = left->live;
  left->directories = state_->directories;
  return std::shared_ptr<PowerCutDisk>(new PowerCutDisk(left));
}

void PowerCutDisk::on_change(std::function<void(std::uint64_t)> hook) {
  state_->hook = std::move(hook);
}

void PowerCutDisk::set_capacity(std::optional<std::uint64_t> bytes) {
  MutexLock lock(state_->mutex);
  state_->capacity = bytes;
}

std::uint64_t PowerCutDisk::used_bytes() const {
  MutexLock lock(state_->mutex);
  return state_->used();
}

void PowerCutDisk::fail_syncs(int n) {
  MutexLock lock(state_->mutex);
  state_->failing_syncs = n;
}

void PowerCutDisk::fail_appends(int n) {
  MutexLock lock(state_->mutex);
  state_->failing_appends = n;
}

}  // namespace quiver::fault
