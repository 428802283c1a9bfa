#include "storage/rows/row_file.h"

#include <rocksdb/file_system.h>
#include <rocksdb/sst_file_writer.h>

#include <filesystem>

#include "storage/logs/rocksdb_status.h"
#include "storage/rows/keys.h"
#include "storage/rows/runtime_shared.h"
#include "storage/rows/slices.h"

namespace quiver::storage {

namespace {

/// Options of table `points`, without the attempt to compress large values.
rocksdb::Options options_for(const Runtime& runtime, std::size_t row_bytes) {
  const auto& shared = runtime.shared();
  rocksdb::Options options(shared.database_options, shared.points_options);
  if (row_bytes >= runtime.options().min_blob_bytes) options.compression = rocksdb::kNoCompression;
  return options;
}

}  // namespace

class RowFileWriter::Impl {
 public:
  explicit Impl(const rocksdb::Options& options)
      : writer_(std::make_unique<rocksdb::SstFileWriter>(
            rocksdb::EnvOptions(options), options, nullptr, /*invalidate_page_cache=*/false)) {}
  rocksdb::SstFileWriter& operator*() { return *writer_; }
  rocksdb::Status finish() {
    try {
      return writer_->Finish();
    } catch (...) {
      (void)writer_.release();  // its destructor would end the process: it is left in memory
      throw;
    }
  }

 private:
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
};

RowFileWriter::RowFileWriter(std::string path, std::shared_ptr<const Runtime> runtime)
    : path_(std::move(path)), runtime_(std::move(runtime)) {}

RowFileWriter::~RowFileWriter() = default;

Result<> RowFileWriter::open(std::size_t row_bytes) {
  impl_ = std::make_unique<Impl>(options_for(*runtime_, row_bytes));
  return to_result((**impl_).Open(path_), "create", path_);
}

Result<> RowFileWriter::add(const PointId& id, std::string_view row) {
  if (impl_ == nullptr) QV_TRY(open(row.size()));
  return to_result((**impl_).Put(to_slice(PointKey(id).view()), to_slice(row)), "write to", path_);
}

Result<> RowFileWriter::finish() {
  if (impl_ == nullptr) return fail(Code::kInternal, "a file of rows is finished without a row");
  QV_TRY(to_result(impl_->finish(), "write to", path_));
  const auto parent = std::filesystem::path(path_).parent_path().string();
  std::unique_ptr<rocksdb::FSDirectory> directory;
  const auto& files = runtime_->shared().env->GetFileSystem();
  rocksdb::Status status = files->NewDirectory(parent, {}, &directory, nullptr);
  if (status.ok()) status = directory->Fsync({}, nullptr);
  return to_result(status, "sync", parent);
}

}  // namespace quiver::storage
