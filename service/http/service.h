// What all connections share: options, routes, the database, who may do what.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "base/threads/executor.h"
#include "engine/database.h"
#include "service/http/router.h"
#include "service/server.h"
#include "service/shared_passes.h"

namespace quiver::service {

/// Thread-safe.
class Service {
 public:
  Service(ServerOptions options, engine::Database& database, MetricsRegistry& metrics);

  /// Finds the handler for the request and calls it. Never throws. Afterwards the exchange holds
  /// the answer, or is deferred.
  void handle(Exchange& exchange);

  [[nodiscard]] const ServerOptions& options() const { return options_; }
  [[nodiscard]] engine::Database& database() const { return database_; }
  [[nodiscard]] MetricsRegistry& metrics() const { return metrics_; }
  [[nodiscard]] const Router& router() const { return router_; }
  /// Of this process: a random UUID.
  [[nodiscard]] const std::string& process_id() const { return process_id_; }
  /// Milliseconds since the epoch.
  [[nodiscard]] std::int64_t started_at_ms() const { return started_at_ms_; }
  /// For calls that may block: the catalog, opening a collection.
  [[nodiscard]] Executor& blocking() { return blocking_; }
  /// For what is said of the whole server, which waits for nothing: not for those calls either.
  [[nodiscard]] Executor& telling() { return telling_; }
  /// For calls that may take minutes: building payload indexes.
  [[nodiscard]] Executor& long_running() { return long_running_; }

  /// Searches that can be answered together when they queue.
  [[nodiscard]] SharedPasses& shared_passes() { return *shared_passes_; }

  /// Bytes of large bodies that are held now, over all connections.
  [[nodiscard]] std::atomic<std::size_t>& held_body_bytes() { return held_body_bytes_; }

  /// True if the collection was found under this name before and is still open: looking it up again
  /// will not block.
  [[nodiscard]] bool is_open(const std::string& name) QV_EXCLUDES(open_mutex_);
  void remember_open(const std::string& name, const std::shared_ptr<engine::Collection>& collection)
      QV_EXCLUDES(open_mutex_);

 private:
  Decoded<Answer> dispatch(Exchange& exchange);
  Decoded<Answer> answer_unbuilt(Exchange& exchange, std::string_view feature) const;
  Decoded<Answer> answer_unknown(Exchange& exchange, std::string_view allowed) const;
  Decoded<Answer> answer_options(Exchange& exchange, std::string_view allowed) const;
  /// False, with the answer written, if the request may not pass.
  bool authorize(Exchange& exchange, Access access) const;
  Answer decompress_and_handle(Exchange& exchange);

  const ServerOptions options_;
  engine::Database& database_;
  MetricsRegistry& metrics_;
  const Router router_;
  const std::string process_id_;
  const std::int64_t started_at_ms_;
  Mutex open_mutex_;
  std::unordered_map<std::string, std::weak_ptr<engine::Collection>> open_
      QV_GUARDED_BY(open_mutex_);
  std::atomic<std::size_t> held_body_bytes_ = 0;
  const std::shared_ptr<SharedPasses> shared_passes_;
  Executor blocking_;
  Executor telling_;
  Executor long_running_;
};

}  // namespace quiver::service
