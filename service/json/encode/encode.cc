#include "service/json/encode/encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace quiver::service::json {
namespace {

using engine::NamedVector;
using engine::Record;

void write_vector(Writer& out, const engine::DenseVector& dense) { out.floats(dense); }

void write_vector(Writer& out, const engine::SparseVector& sparse) {
  out.begin_object();
  out.key("indices");
  out.begin_array();
  for (const auto index : sparse.indices) out.u64(index);
  out.end_array();
  out.key("values");
  out.floats(sparse.values);
  out.end_object();
}

void write_vector(Writer& out, const engine::MultiVector& multi) {
  out.begin_array();
  const std::span<const float> values(multi.values);
  for (std::size_t i = 0; i < multi.n_tokens; ++i) {
    out.floats(values.subspan(i * multi.dim, multi.dim));
  }
  out.end_array();
}

void write_value(Writer& out, const engine::VectorValue& value) {
  std::visit([&](const auto& vector) { write_vector(out, vector); }, value);
}

void write_vectors(Writer& out, std::span<const NamedVector> vectors) {
  if (vectors.size() == 1 && vectors.front().name.empty()) {
    return write_value(out, vectors.front().value);
  }
  out.begin_object();
  for (const auto& vector : vectors) {
    out.escaped_key(vector.name);
    write_value(out, vector.value);
  }
  out.end_object();
}

void write_parts(Writer& out, const Record& record) {
  if (record.shard_key) {
    out.key("shard_key");
    write_shard_key(out, *record.shard_key);
  }
  if (record.payload) {
    out.key("payload");
    out.raw(record.payload->empty() ? std::string_view("{}") : *record.payload);
  }
  if (record.vectors) {
    out.key("vector");
    write_vectors(out, *record.vectors);
  }
  if (record.order_value) {
    out.key("order_value");
    if (const auto* integer = std::get_if<std::int64_t>(&*record.order_value)) {
      out.i64(*integer);
    } else {
      out.f64(std::get<double>(*record.order_value));
    }
  }
  if (record.highlights) {
    out.key("highlights");
    write_highlights(out, *record.highlights);
  }
}

void write_segments(Writer& out, std::span<const engine::WorkSegment> segments) {
  out.begin_array();
  for (const auto& segment : segments) {
    out.begin_object();
    out.member("uuid", PointId::uuid(segment.shard, segment.id).to_string());
    out.member("points_count", segment.n_points);
    out.end_object();
  }
  out.end_array();
}

void write_progress(Writer& out, const engine::OptimizationState& state) {
  out.begin_object();
  out.member("name", to_string(state.kind));
  out.member("started_at", timestamp(state.started_at));
  if (state.finished_at) {
    out.member("finished_at", timestamp(*state.finished_at));
    out.member("duration_sec", *state.finished_at - state.started_at);
  }
  out.member("done", state.done);
  out.member("total", state.total);
  if (state.eta_s) out.member("eta_sec", *state.eta_s);
  out.end_object();
}

void write_optimization(Writer& out, const engine::OptimizationState& state) {
  out.begin_object();
  out.member("uuid", PointId::uuid(state.shard, state.id).to_string());
  out.member("optimizer", to_string(state.kind));
  out.key("status");
  if (state.error) {
    out.begin_object();
    out.member("error", std::string_view(*state.error));
    out.end_object();
  } else {
    out.string(state.finished_at ? "done" : "optimizing");
  }
  out.key("segments");
  write_segments(out, state.segments);
  out.key("progress");
  write_progress(out, state);
  out.end_object();
}

void write_optimizations(Writer& out, std::span<const engine::OptimizationState> states) {
  out.begin_array();
  for (const auto& state : states) write_optimization(out, state);
  out.end_array();
}

void write_queued(Writer& out, std::span<const engine::QueuedOptimization> queued) {
  out.begin_array();
  for (const auto& work : queued) {
    out.begin_object();
    out.member("optimizer", to_string(work.kind));
    out.key("segments");
    write_segments(out, {&work.segment, 1});
    out.end_object();
  }
  out.end_array();
}

}  // namespace

std::string timestamp(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm utc{};
  gmtime_r(&whole, &utc);
  const int ms = static_cast<int>((seconds - static_cast<double>(whole)) * 1000);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, ms);
}

void write_id(Writer& out, const PointId& id) {
  if (id.kind() == PointId::Kind::kNumber) {
    out.u64(id.low());
  } else {
    out.string(id.to_string());
  }
}

void write_shard_key(Writer& out, const engine::ShardKey& key) {
  if (const auto* text = std::get_if<std::string>(&key)) {
    out.string(*text);
  } else {
    out.u64(std::get<std::uint64_t>(key));
  }
}

void write_scored_points(Writer& out, std::span<const Record> records) {
  out.begin_array();
  for (const auto& record : records) {
    out.begin_object();
    out.key("id");
    write_id(out, record.id);
    out.member("version", to_number(record.version));
    out.key("score");
    out.f32(record.score);
    write_parts(out, record);
    out.end_object();
  }
  out.end_array();
}

void write_record(Writer& out, const Record& record) {
  out.begin_object();
  out.key("id");
  write_id(out, record.id);
  write_parts(out, record);
  out.end_object();
}

void write_records(Writer& out, std::span<const Record> records) {
  out.begin_array();
  for (const auto& record : records) write_record(out, record);
  out.end_array();
}

void write_explanations(Writer& out, std::span<const engine::Explanation> explanations) {
  out.begin_array();
  for (const auto& explanation : explanations) {
    out.begin_object();
    out.key("id");
    write_id(out, explanation.id);
    out.key("score");
    out.f32(explanation.score);
    out.key("tokens");
    out.begin_array();
    for (std::size_t i = 0; i < explanation.tokens.size(); ++i) {
      out.begin_object();
      out.member("query", std::uint64_t{i});
      out.member("document", std::uint64_t{explanation.tokens[i].document});
      out.key("score");
      out.f32(explanation.tokens[i].score);
      out.end_object();
    }
    out.end_array();
    out.end_object();
  }
  out.end_array();
}

void write_update_result(Writer& out, const engine::UpdateResult& result) {
  out.begin_object();
  out.member("operation_id", to_number(result.operation_id));
  out.member("status", result.completed ? "completed" : "acknowledged");
  out.end_object();
}

void write_optimizations(Writer& out, const engine::OptimizationReport& report,
                         const OptimizationParts& parts) {
  std::uint64_t n_queued_points = 0;
  for (const auto& work : report.queued) n_queued_points += work.segment.n_points;
  out.begin_object();
  out.key("summary");
  out.begin_object();
  out.member("queued_optimizations", std::uint64_t{report.queued.size()});
  out.member("queued_segments", std::uint64_t{report.queued.size()});
  out.member("queued_points", n_queued_points);
  out.member("idle_segments", std::uint64_t{report.idle.size()});
  out.end_object();
  out.key("running");
  write_optimizations(out, report.running);
  if (parts.queued) {
    out.key("queued");
    write_queued(out, report.queued);
  }
  if (parts.completed) {
    const std::size_t n = std::min<std::uint64_t>(report.completed.size(), parts.completed_limit);
    out.key("completed");
    write_optimizations(out, std::span(report.completed).first(n));
  }
  if (parts.idle_segments) {
    out.key("idle_segments");
    write_segments(out, report.idle);
  }
  out.end_object();
}

}  // namespace quiver::service::json
