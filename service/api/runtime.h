// What all calls share: the database, the executors, the batcher.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/observe/log_limit.h"
#include "base/observe/metrics.h"
#include "base/threads/executor.h"
#include "engine/database.h"
#include "engine/query/batcher.h"
#include "service/access/audit_log.h"
#include "service/api/access.h"
#include "service/api/load/load.h"
#include "service/api/method_answers.h"
#include "service/api/options.h"
#include "service/api/strict/quota.h"
#include "service/api/strict/usage.h"
#include "service/tracing/tracer.h"

namespace quiver::service::api {

/// Thread-safe.
class Runtime {
 public:
  /// `database` and `metrics` outlive this.
  Runtime(Options options, engine::Database& database, MetricsRegistry& metrics);

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const access::Keys& keys() const { return keys_; }
  /// Called before the first request.
  void use(std::unique_ptr<access::AuditLog> audit) { audit_ = std::move(audit); }
  /// null: nothing is audited.
  [[nodiscard]] access::AuditLog* audit() const { return audit_.get(); }
  /// Called before the first request.
  void use(std::unique_ptr<tracing::Tracer> tracer) { tracer_ = std::move(tracer); }
  /// null: there are no traces.
  [[nodiscard]] tracing::Tracer* tracer() const { return tracer_.get(); }
  [[nodiscard]] engine::Database& database() const { return database_; }
  [[nodiscard]] MetricsRegistry& metrics() const { return metrics_; }
  /// A random UUID of this process.
  [[nodiscard]] const std::string& process_id() const { return process_id_; }
  /// Milliseconds since the epoch.
  [[nodiscard]] std::int64_t started_at_ms() const { return started_at_ms_; }

  /// For work that computes for a short time.
  [[nodiscard]] Executor& compute() const { return database_.compute(); }
  /// For work that computes for a long time.
  [[nodiscard]] Executor& expensive() const { return database_.expensive(); }
  /// For calls that may block: the catalog, opening a collection.
  [[nodiscard]] Executor& blocking() { return blocking_; }
  /// For reports about the whole server. They never block, and never wait for calls that do.
  [[nodiscard]] Executor& reporting() { return reporting_; }
  /// For calls that wait for other machines.
  [[nodiscard]] Executor& waiting() { return waiting_ ? *waiting_ : blocking_; }
  /// For calls that may take minutes: building payload indexes.
  [[nodiscard]] Executor& long_running() { return long_running_; }
  /// The queues of requests that compute.
  [[nodiscard]] load::Load& load() { return load_; }
  /// Answers searches together that wait for a thread of this class.
  [[nodiscard]] engine::Batcher& batcher(load::WorkClass work) const {
    return work == load::WorkClass::kCheap ? *batcher_ : *expensive_batcher_;
  }

  /// What limits of collections are compared with.
  [[nodiscard]] strict::Usage& usage() { return usage_; }
  /// Answers over gRPC.
  [[nodiscard]] MethodAnswers& method_answers() { return method_answers_; }

  /// Limits of the whole server.
  [[nodiscard]] strict::Quota& quota() { return quota_; }

  /// True if the collection of this name or alias is open now. Never blocks.
  [[nodiscard]] bool is_open(const std::string& name) const {
    return database_.collection_if_open(name) != nullptr;
  }
  /// For messages that requests may repeat.
  [[nodiscard]] LogLimit& repeated_log() { return repeated_log_; }

 private:
  const Options options_;
  const access::Keys keys_;
  std::unique_ptr<access::AuditLog> audit_;
  std::unique_ptr<tracing::Tracer> tracer_;
  engine::Database& database_;
  MetricsRegistry& metrics_;
  const std::string process_id_;
  const std::int64_t started_at_ms_;
  LogLimit repeated_log_;
  MethodAnswers method_answers_;
  strict::Usage usage_;
  strict::Quota quota_;
  load::Load load_;
  const std::shared_ptr<engine::Batcher> batcher_;
  const std::shared_ptr<engine::Batcher> expensive_batcher_;
  Executor blocking_;
  Executor reporting_;
  Executor long_running_;
  std::optional<Executor> waiting_;  ///< nullopt: there are no other machines
};

}  // namespace quiver::service::api
