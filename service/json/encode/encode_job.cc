#include "service/json/encode/encode_job.h"

#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

using engine::JoinTable;

void write_job_group(Writer& out, const JoinTable& table, std::uint32_t group, bool is_point) {
  if (group == JoinTable::kNone) return out.null();
  is_point ? write_id(out, table.ids[group]) : out.u64(group);
}

void write_job_neighbours(Writer& out, const JoinTable& table, std::size_t i) {
  out.begin_array();
  for (std::uint64_t e = table.offsets[i]; e < table.offsets[i + 1]; ++e) {
    out.begin_object();
    out.key("id");
    write_id(out, table.ids[table.neighbours[e]]);
    out.key("score");
    out.f32(table.scores[e]);
    out.end_object();
  }
  out.end_array();
}

void write_translation(Writer& out, const engine::TranslationFacts& facts) {
  out.key("translation");
  out.begin_object();
  out.member("pairs", facts.n_pairs);
  out.member("judged", facts.n_judged);
  if (facts.n_judged != 0) {
    out.member("recall", facts.recall);
    out.member("r2", facts.r2);
    out.member("weight", facts.weight);
  }
  out.end_object();
}

}  // namespace

void write_job(Writer& out, const engine::JobStatus& job) {
  out.begin_object();
  out.member("id", job.id);
  out.member("state", engine::to_string(job.state));
  out.key("request");
  job.request.empty() ? out.null() : out.raw(job.request);
  out.member("created_at", timestamp(static_cast<double>(job.created_at_ms) / 1000));
  out.member("progress", job.progress);
  out.member("seconds", job.seconds);
  if (job.eta_s) out.member("eta_seconds", *job.eta_s);
  if (!job.error.empty()) out.member("error", job.error);
  const bool has_result =
      job.state == engine::JobState::kDone || job.state == engine::JobState::kWriting;
  if (has_result) {
    out.member("points", job.facts.n_points);
    out.member("neighbours", job.facts.n_neighbours);
    out.member("groups", job.facts.n_groups);
    if (job.facts.translation) write_translation(out, *job.facts.translation);
  }
  out.end_object();
}

void write_job_row(Writer& out, const engine::JobResult& result, std::size_t i) {
  const JoinTable& table = result.table;
  const bool has_clusters = std::holds_alternative<engine::ClustersJoin>(result.request.kind);
  out.begin_object();
  out.key("id");
  write_id(out, table.ids[i]);
  if (!table.groups.empty()) {
    out.key(has_clusters ? "cluster" : "kept");
    write_job_group(out, table, table.groups[i], !has_clusters);
  }
  if (!table.strengths.empty()) {
    out.key("strength");
    out.f32(table.strengths[i]);
  }
  if (!table.offsets.empty()) {
    out.key("neighbours");
    write_job_neighbours(out, table, i);
  }
  if (table.dim != 0) {
    out.key("vector");
    out.floats(table.vectors.span().subspan(i * table.dim, table.dim));
  }
  out.end_object();
}

void write_projection(Writer& out, const engine::Projection& projection) {
  out.begin_object();
  out.key("ids");
  out.begin_array();
  for (const auto& id : projection.ids) write_id(out, id);
  out.end_array();
  const auto write_axis = [&](std::string_view name, std::size_t axis) {
    out.key(name);
    out.begin_array();
    for (std::size_t i = axis; i < projection.places.size(); i += 2) out.f32(projection.places[i]);
    out.end_array();
  };
  write_axis("x", 0);
  write_axis("y", 1);
  if (projection.shares) {
    out.key("shares");
    out.floats(*projection.shares);
  }
  out.end_object();
}

}  // namespace quiver::service::json
