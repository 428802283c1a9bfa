// What the server reports about itself, in the shape that stock clients read.
#include <bit>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/observe/memory_budget.h"
#include "cluster/node.h"
#include "service/api/server_info.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/json/encode/encode_cluster.h"
#include "service/json/encode/encode_telemetry.h"

namespace quiver::service {
namespace {

using json::Names;
using json::TelemetryDetail;
using json::Writer;

constexpr double kMillisPerSecond = 1e3;
constexpr std::uint64_t kBytesPerKib = 1024;

Decoded<TelemetryDetail> telemetry_detail(const Exchange& x) {
  TelemetryDetail detail;
  QV_TRY(const auto level, number_parameter(x, "details_level"));
  QV_TRY(const bool anonymize, bool_parameter(x, "anonymize", false));
  QV_TRY(detail.by_collection, bool_parameter(x, "per_collection", false));
  QV_TRY(timeout_parameter(x));
  detail.level = level.value_or(0);
  detail.names = anonymize ? Names::kHashed : Names::kShown;
  return detail;
}

void write_features(Writer& out, bool has_devices) {
#ifdef NDEBUG
  constexpr bool kDebug = false;
#else
  constexpr bool kDebug = true;
#endif
  out.begin_object();
  out.member("debug", kDebug);
  out.member("service_debug_feature", false);
  out.member("recovery_mode", false);
  out.member("gpu", has_devices);
  out.member("rocksdb", true);
  out.member("staging", false);
  out.end_object();
}

void write_system(Writer& out, const MachineFacts& machine) {
  out.begin_object();
  if (!machine.distribution.empty()) out.member("distribution", machine.distribution);
  if (!machine.distribution_version.empty()) {
    out.member("distribution_version", machine.distribution_version);
  }
  out.member("is_docker", machine.in_container);
  out.member("cores", std::uint64_t{machine.n_cores});
  out.member("ram_size", machine.ram_bytes / kBytesPerKib);
  out.member("cpu_flags", machine.cpu_flags);
  out.member("cpu_endian", std::endian::native == std::endian::little ? "little" : "big");
  out.end_object();
}

void write_app(Writer& out, const api::Telemetry& telemetry, const TelemetryDetail& detail) {
  out.begin_object();
  out.member("name", std::string_view(telemetry.identity.name));
  out.member("version", std::string_view(telemetry.identity.version));
  if (detail.level > 0) {
    out.key("features");
    write_features(out, telemetry.has_devices);
    out.key("system");
    write_system(out, telemetry.machine);
  }
  out.member("startup",
             json::timestamp(static_cast<double>(telemetry.started_at_ms) / kMillisPerSecond));
  out.end_object();
}

/// Collections that are not open are only counted.
void write_collections(Writer& out, const api::Telemetry& telemetry,
                       const TelemetryDetail& detail) {
  out.begin_object();
  out.member("number_of_collections", std::uint64_t{telemetry.n_collections});
  if (detail.level > 0) {
    out.key("collections");
    out.begin_array();
    for (const auto& [name, info, shards] : telemetry.collections) {
      json::write_collection_telemetry(out, name, info, shards, detail);
    }
    out.end_array();
    out.key("snapshots");
    out.raw("[]");
  }
  out.end_object();
}

json::OperationTimes times_of(const AnswerTimes::Summary& summary) {
  json::OperationTimes times;
  times.n = summary.n;
  times.total_us = summary.total_us;
  times.min_us = summary.min_us;
  times.max_us = summary.max_us;
  times.last_at = static_cast<double>(summary.last_at_ms) / kMillisPerSecond;
  return times;
}

template <class Answers>
void write_by_status(Writer& out, const Answers& answers, const TelemetryDetail& detail) {
  out.begin_object();
  for (const auto& [status, summary] : answers) {
    out.key(std::to_string(status));
    json::write_operation_times(out, times_of(summary), detail.level);
  }
  out.end_object();
}

/// By method and endpoint, then by status.
void write_responses(Writer& out, const Router& router, const TelemetryDetail& detail) {
  out.begin_object();
  for (const Route* route : router.routes()) {
    const auto answers = route->answers();
    if (answers.empty()) continue;
    const auto& declaration = route->declaration();
    std::string name(to_string(declaration.method));
    out.escaped_key(name.append(" ").append(declaration.pattern));
    write_by_status(out, answers, detail);
  }
  out.end_object();
}

/// By collection, then as `write_responses`.
void write_collection_responses(Writer& out, Exchange& x, const TelemetryDetail& detail) {
  out.begin_object();
  for (const auto& [collection, routes] : answers_by_collection(x.front())) {
    if (!x.check_access(Access::kRead, collection)) continue;
    out.escaped_key(json::shown_name(collection, detail.names));
    out.begin_object();
    for (const auto& [route, statuses] : routes) {
      out.escaped_key(route);
      write_by_status(out, statuses, detail);
    }
    out.end_object();
  }
  out.end_object();
}

/// By method, then by status.
void write_method_answers(Writer& out, const api::MethodAnswers::Summaries& summaries,
                          const TelemetryDetail& detail) {
  out.begin_object();
  out.key("responses");
  out.begin_object();
  for (const auto& [method, statuses] : summaries) {
    out.escaped_key(method);
    write_by_status(out, statuses, detail);
  }
  out.end_object();
  out.end_object();
}

void write_requests(Writer& out, Exchange& x, const TelemetryDetail& detail) {
  out.begin_object();
  out.key("rest");
  out.begin_object();
  out.key("responses");
  write_responses(out, x.front().router(), detail);
  if (detail.by_collection) {
    out.key("per_collection_responses");
    write_collection_responses(out, x, detail);
  }
  out.end_object();
  out.key("grpc");
  write_method_answers(out, x.runtime().method_answers().summaries(), detail);
  out.end_object();
}

/// `metadata_bytes` is 0: the allocator does not report what it needs for itself.
void write_memory(Writer& out, const MemoryFacts& memory) {
  out.begin_object();
  const auto budget = process_memory().state();
  out.member("active_bytes", memory.active_bytes);
  out.member("allocated_bytes", memory.allocated_bytes);
  out.member("limit_bytes", budget.limit_bytes);
  out.member("metadata_bytes", std::uint64_t{0});
  out.member("private_bytes", budget.private_bytes);
  out.member("promised_bytes", budget.promised_bytes);
  out.member("resident_bytes", memory.resident_bytes);
  out.member("retained_bytes", memory.retained_bytes);
  out.end_object();
}

/// One pool, whose threads compute.
void write_search_pool(Writer& out, std::size_t n_threads) {
  out.begin_object();
  out.member("mode", "high_cpu");
  out.member("high_cpu_threads", std::uint64_t{n_threads});
  out.member("high_io_threads", std::uint64_t{0});
  out.end_object();
}

/// A resource without a limit is neither exceeded nor not.
void write_quota(Writer& out, const api::strict::Quota& quota) {
  const auto config = quota.config();
  const auto [memory, disk] = quota.exceeded();
  out.begin_object();
  out.key("config");
  out.raw(to_json(config));
  out.key("exceeded");
  out.begin_object();
  out.key("resident_memory");
  out.raw(!config.enabled || !config.max_resident_memory_percent ? "null"
          : memory                                               ? "true"
                                                                 : "false");
  out.key("disk_usage");
  out.raw(!config.enabled || !config.max_disk_usage_percent ? "null" : disk ? "true" : "false");
  out.end_object();
  out.end_object();
}

/// What is about no collection, or about all.
void write_server_parts(Writer& out, Exchange& x, const api::Telemetry& telemetry,
                        const TelemetryDetail& detail) {
  out.key("requests");
  write_requests(out, x, detail);
  if (detail.level > 0) {
    out.key("memory");
    write_memory(out, telemetry.memory);
    out.key("hardware");  // the cost of work is not counted by collection
    out.raw(R"({"collection_data":{}})");
    out.key("search_pool");
    write_search_pool(out, telemetry.n_compute_threads);
  }
  out.key("quota");
  write_quota(out, x.runtime().quota());
}

void write_telemetry(Writer& out, Exchange& x, const api::Telemetry& telemetry,
                     const TelemetryDetail& detail) {
  out.begin_object();
  out.member("id", std::string_view(telemetry.process_id));
  out.key("app");
  write_app(out, telemetry, detail);
  out.key("collections");
  write_collections(out, telemetry, detail);
  out.key("cluster");
  const cluster::Node* node = x.runtime().options().cluster.node;
  const auto view = node == nullptr ? std::nullopt : std::optional(node->view());
  json::write_cluster_telemetry(out, view ? &*view : nullptr,
                                static_cast<double>(unix_time_ms()) / kMillisPerSecond);
  if (x.check_access(Access::kGlobalRead)) write_server_parts(out, x, telemetry, detail);
  out.end_object();
}

Decoded<Answer> answer_telemetry(Exchange& x) {
  QV_TRY(const auto detail, telemetry_detail(x));
  api::TelemetryParts parts;
  parts.machine = parts.collections = detail.level > 0;
  parts.shards = json::needs_shards(detail);
  auto write = [detail](Exchange& exchange, const api::Telemetry& telemetry) -> Decoded<> {
    auto out = exchange.begin_result();
    write_telemetry(out, exchange, telemetry, detail);
    exchange.end_result();
    return {};
  };
  api::telemetry(x, parts, answer_by<api::Telemetry>(x, write));
  return Answer::kLater;
}

}  // namespace

void add_telemetry_routes(Routes& routes) {
  routes.push_back({Method::kGet, "/telemetry", Access::kAny, answer_telemetry});
}

}  // namespace quiver::service
