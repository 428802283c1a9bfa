#include "storage/rows/kept_files.h"

#include <utility>

namespace quiver::storage {

namespace {

thread_local std::vector<std::string>* kept = nullptr;

bool is_table(const std::string& path) { return path.ends_with(".sst"); }

}  // namespace

class KeptFiles::FileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit FileSystem(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}
  const char* Name() const override { return "KeptFiles"; }

  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    if (kept == nullptr || !is_table(path)) {
      return FileSystemWrapper::DeleteFile(path, options, debug);
    }
    kept->push_back(path);
    return rocksdb::IOStatus::OK();
  }
};

KeptFiles::KeptFiles() { kept = &paths_; }
KeptFiles::~KeptFiles() { kept = nullptr; }

void KeptFiles::remove(rocksdb::FileSystem& files) {
  kept = nullptr;
  for (const std::string& path : std::exchange(paths_, {})) {
    files.DeleteFile(path, {}, nullptr).PermitUncheckedError();
  }
}

std::shared_ptr<rocksdb::FileSystem> KeptFiles::wrap(std::shared_ptr<rocksdb::FileSystem> base) {
  return std::make_shared<FileSystem>(base);
}

}  // namespace quiver::storage
