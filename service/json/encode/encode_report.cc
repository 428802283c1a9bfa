// How a query was answered.
#include "engine/model/query_report.h"
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

void write_ways(Writer& out, const std::vector<index::WayReport>& ways) {
  out.begin_array();
  for (const auto& way : ways) {
    out.begin_object();
    out.member("way", way.way);
    out.member("estimated_us", way.estimated_us);
    out.member("taken", way.is_taken);
    out.end_object();
  }
  out.end_array();
}

void write_allowed(Writer& out, const engine::AllowedRows& allowed) {
  out.begin_object();
  out.member("least", allowed.least);
  out.member("expected", allowed.expected);
  out.member("most", allowed.most);
  out.member("counted", allowed.counted);
  out.end_object();
}

void write_work(Writer& out, const index::WorkCounters& work) {
  out.begin_object();
  out.member("lists", work.n_lists);
  out.member("blocks", work.n_blocks);
  out.member("codes_scored", work.n_codes_scored);
  out.member("rows_scored", work.n_rows_scored);
  out.member("bytes", work.n_bytes);
  out.end_object();
}

void write_segment(Writer& out, const engine::SegmentReport& report) {
  out.begin_object();
  out.member("segment", report.segment);
  out.member("sealed", report.is_sealed);
  out.member("rows", report.n_rows);
  out.member("index", report.index);
  out.key("allowed");
  write_allowed(out, report.allowed);
  out.member("filter_us", report.filter_us);
  out.member("search_us", report.search_us);
  out.key("ways");
  write_ways(out, report.ways);
  out.key("work");
  write_work(out, report.work);
  out.end_object();
}

void write_stage(Writer& out, const engine::StageReport& report) {
  out.begin_object();
  out.member("kind", report.kind);
  if (!report.using_field.empty()) out.member("using", report.using_field);
  out.member("limit", report.limit);
  out.member("hits", report.n_hits);
  out.member("us", report.us);
  if (!report.segments.empty()) {
    out.key("segments");
    out.begin_array();
    for (const auto& segment : report.segments) write_segment(out, segment);
    out.end_array();
  }
  if (!report.prefetch.empty()) {
    out.key("prefetch");
    out.begin_array();
    for (const auto& prefetch : report.prefetch) write_stage(out, prefetch);
    out.end_array();
  }
  out.end_object();
}

}  // namespace

void write_query_report(Writer& out, const engine::QueryReport& report) {
  out.begin_object();
  out.member("us", report.us);
  out.member("estimated_bytes", report.estimated_bytes);
  out.member("parallel", report.is_parallel);
  out.key("stage");
  write_stage(out, report.stage);
  out.end_object();
}

}  // namespace quiver::service::json
