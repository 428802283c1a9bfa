#include "engine/collections/catalog_gate.h"

#include "base/observe/log.h"

namespace quiver::engine {

Result<> CatalogGate::open(Directory& directory, const std::string& data_dir) {
  QV_TRY(lock_, storage::LockFile::acquire(data_dir + "/LOCK"));
  QV_TRY(catalog_, storage::Catalog::open(directory));
  return {};
}

void CatalogGate::update() {
  MutexLock lock(mutex_);
  const bool was_open = writes_->check().has_value();
  Result<> fine = lock_->check_place();
  if (fine && !catalog_->is_certain()) fine = catalog_->settle();
  if (fine) {
    writes_->open();
    keep_copy();
    if (!was_open) log_info("updates are taken again");
    return;
  }
  writes_->close(Error(Code::kUnavailable, fine.error().message()));
  if (was_open) log_error("updates are refused: {}", fine.error().message());
}

/// The catalog names all collections and their fields, and nothing else does.
void CatalogGate::keep_copy() {
  const auto kept = catalog_->refresh_copy();
  if (!kept && !copy_failed_) {
    log_warning("no copy of the catalog can be kept: {}", kept.error().message());
  }
  copy_failed_ = !kept;
}

}  // namespace quiver::engine
