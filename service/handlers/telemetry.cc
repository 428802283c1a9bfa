// What the server tells of itself, in the shape that stock clients read.
#include <bit>
#include <string>

#include "base/observe/machine.h"
#include "base/observe/memory.h"
#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
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
  // Numbers are not kept by collection; asking for them gives those of all together.
  QV_TRY(bool_parameter(x, "per_collection", false));
  QV_TRY(timeout_parameter(x));
  detail.level = level.value_or(0);
  detail.names = anonymize ? Names::kHashed : Names::kShown;
  return detail;
}

void write_features(Writer& out) {
#ifdef NDEBUG
  constexpr bool kDebug = false;
#else
  constexpr bool kDebug = true;
#endif
  out.begin_object();
  out.member("debug", kDebug);
  out.member("service_debug_feature", false);
  out.member("recovery_mode", false);
  out.member("gpu", false);
  out.member("rocksdb", true);
  out.member("staging", false);
  out.end_object();
}

void write_system(Writer& out) {
  const MachineFacts machine = read_machine();
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

void write_app(Writer& out, const Service& service, const TelemetryDetail& detail) {
  const Identity& identity = service.options().identity;
  out.begin_object();
  out.member("name", std::string_view(identity.name));
  out.member("version", std::string_view(identity.version));
  if (detail.level > 0) {
    out.key("features");
    write_features(out);
    out.key("system");
    write_system(out);
  }
  out.member("startup",
             json::timestamp(static_cast<double>(service.started_at_ms()) / kMillisPerSecond));
  out.end_object();
}

/// Opens none: those that are closed are counted only.
void write_collections(Writer& out, const engine::Database& database,
                       const TelemetryDetail& detail) {
  out.begin_object();
  out.member("number_of_collections", std::uint64_t{database.collection_names().size()});
  if (detail.level > 0) {
    out.key("collections");
    out.begin_array();
    for (const auto& [name, collection] : database.open_collections()) {
      json::write_collection_telemetry(out, name, *collection, detail);
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

/// By method and endpoint, then by status.
void write_responses(Writer& out, const Router& router, const TelemetryDetail& detail) {
  out.begin_object();
  for (const Route* route : router.routes()) {
    const auto answers = route->answers();
    if (answers.empty()) continue;
    const auto& declaration = route->declaration();
    std::string name(to_string(declaration.method));
    out.escaped_key(name.append(" ").append(declaration.pattern));
    out.begin_object();
    for (const auto& [status, summary] : answers) {
      out.key(std::to_string(status));
      json::write_operation_times(out, times_of(summary), detail.level);
    }
    out.end_object();
  }
  out.end_object();
}

void write_requests(Writer& out, const Router& router, const TelemetryDetail& detail) {
  out.begin_object();
  out.key("rest");
  out.begin_object();
  out.key("responses");
  write_responses(out, router, detail);
  out.end_object();
  out.key("grpc");
  out.raw(R"({"responses":{}})");
  out.end_object();
}

/// The allocator does not tell what it takes for itself: `metadata_bytes` is in none of the others.
void write_memory(Writer& out) {
  const MemoryFacts memory = read_memory();
  out.begin_object();
  out.member("active_bytes", memory.active_bytes);
  out.member("allocated_bytes", memory.allocated_bytes);
  out.member("metadata_bytes", std::uint64_t{0});
  out.member("resident_bytes", memory.resident_bytes);
  out.member("retained_bytes", memory.retained_bytes);
  out.end_object();
}

/// One pool, whose threads compute.
void write_search_pool(Writer& out, const Executor& compute) {
  out.begin_object();
  out.member("mode", "high_cpu");
  out.member("high_cpu_threads", std::uint64_t{compute.n_threads()});
  out.member("high_io_threads", std::uint64_t{0});
  out.end_object();
}

void write_telemetry(Writer& out, const Service& service, const TelemetryDetail& detail) {
  out.begin_object();
  out.member("id", std::string_view(service.process_id()));
  out.key("app");
  write_app(out, service, detail);
  out.key("collections");
  write_collections(out, service.database(), detail);
  out.key("cluster");
  out.raw(R"({"enabled":false})");
  out.key("requests");
  write_requests(out, service.router(), detail);
  if (detail.level > 0) {
    out.key("memory");
    write_memory(out);
    out.key("hardware");  // what work costs is not counted by collection
    out.raw(R"({"collection_data":{}})");
    out.key("search_pool");
    write_search_pool(out, service.database().compute());
  }
  out.key("quota");
  out.raw(R"({"config":{"enabled":false},"exceeded":{"resident_memory":null,"disk_usage":null}})");
  out.end_object();
}

Decoded<Answer> telemetry(Exchange& x) {
  return x.run_on(x.service().telling(), [](Exchange& exchange) -> Decoded<Answer> {
    QV_TRY(const auto detail, telemetry_detail(exchange));
    auto out = exchange.begin_result();
    write_telemetry(out, exchange.service(), detail);
    exchange.end_result();
    return Answer::kReady;
  });
}

}  // namespace

void add_telemetry_routes(Routes& routes) {
  routes.push_back({Method::kGet, "/telemetry", Access::kRead, telemetry});
}

}  // namespace quiver::service
