#include "app/embedded/handles.h"

#include <fmt/format.h>

#include "base/observe/log.h"

namespace quiver::embedded {

OpenDatabase::~OpenDatabase() {
  if (const auto closing = close(); !closing) {
    log_error("closing: {}", closing.error().message());
  }
}

Error OpenDatabase::closed() { return Error(Code::kFailedPrecondition, "the database is closed"); }

Result<> OpenDatabase::add(quiver_collection& handle) {
  return with([&](engine::Database& database) -> Result<> {
    QV_TRY(handle.collection, database.collection(handle.name));
    const std::scoped_lock lock(handles_mutex_);
    handles_.insert(&handle);
    return {};
  });
}

void OpenDatabase::remove(quiver_collection& handle) {
  const std::shared_lock open(mutex_);
  {
    const std::scoped_lock lock(handles_mutex_);
    handles_.erase(&handle);
  }
  handle.collection.reset();
}

Result<bool> OpenDatabase::drop(const std::string& name) {
  return with([&](engine::Database& database) -> Result<bool> {
    const auto dropped = database.collection_if_open(name);
    QV_TRY(const bool existed, database.drop_collection(name));
    const std::scoped_lock lock(handles_mutex_);
    for (quiver_collection* handle : handles_) {
      if (dropped != nullptr && handle->collection == dropped) handle->is_dropped = true;
    }
    return existed;
  });
}

Result<> OpenDatabase::close() {
  is_closing_ = true;
  const std::unique_lock lock(mutex_);
  if (database_ == nullptr) return {};
  if (auto closing = database_->close(); !closing) {
    abandon();
    return closing;
  }
  for (quiver_collection* handle : handles_) handle->collection.reset();
  handles_.clear();
  database_.reset();
  return {};
}

void OpenDatabase::abandon() {
  for (quiver_collection* handle : handles_) {
    static_cast<void>(new std::shared_ptr<engine::Collection>(std::move(handle->collection)));
  }
  handles_.clear();
  static_cast<void>(database_.release());
}

}  // namespace quiver::embedded

quiver::Error quiver_collection::dropped() const {
  return {quiver::Code::kNotFound, fmt::format("collection `{}` was dropped", name)};
}
