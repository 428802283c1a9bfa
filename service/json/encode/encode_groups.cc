// Groups, facets and distance matrices.
#include <variant>

#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

struct WriteValue {
  Writer& out;
  void operator()(const std::string& text) const { out.string(text); }
  void operator()(std::uint64_t number) const { out.u64(number); }
  void operator()(std::int64_t number) const { out.i64(number); }
  void operator()(bool flag) const { out.boolean(flag); }
};

/// One array: `write(out, row, entry)` for each entry of the matrix, row by row.
template <class Write>
void write_entries(Writer& out, const engine::DistanceMatrix& matrix, std::string_view name,
                   const Write& write) {
  out.key(name);
  out.begin_array();
  for (std::size_t row = 0; row < matrix.rows.size(); ++row) {
    for (const auto& entry : matrix.rows[row]) write(row, entry);
  }
  out.end_array();
}

}  // namespace

void write_group(Writer& out, const engine::PointGroup& group) {
  out.begin_object();
  out.key("id");
  std::visit(WriteValue{out}, group.id);
  out.key("hits");
  write_scored_points(out, group.hits);
  if (group.lookup) {
    out.key("lookup");
    write_record(out, *group.lookup);
  }
  out.end_object();
}

void write_facet_hits(Writer& out, std::span<const engine::FacetHit> hits) {
  out.begin_object();
  out.key("hits");
  out.begin_array();
  for (const auto& hit : hits) {
    out.begin_object();
    out.key("value");
    std::visit(WriteValue{out}, hit.value);
    out.member("count", hit.count);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void write_matrix_pairs(Writer& out, const engine::DistanceMatrix& matrix) {
  out.begin_object();
  write_entries(out, matrix, "pairs", [&](std::size_t row, const engine::MatrixEntry& entry) {
    out.begin_object();
    out.key("a");
    write_id(out, matrix.ids[row]);
    out.key("b");
    write_id(out, matrix.ids[entry.column]);
    out.key("score");
    out.f32(entry.score);
    out.end_object();
  });
  out.end_object();
}

void write_matrix_offsets(Writer& out, const engine::DistanceMatrix& matrix) {
  using engine::MatrixEntry;
  out.begin_object();
  write_entries(out, matrix, "offsets_row",
                [&](std::size_t row, const MatrixEntry&) { out.u64(row); });
  write_entries(out, matrix, "offsets_col",
                [&](std::size_t, const MatrixEntry& entry) { out.u64(entry.column); });
  write_entries(out, matrix, "scores",
                [&](std::size_t, const MatrixEntry& entry) { out.f32(entry.score); });
  out.key("ids");
  out.begin_array();
  for (const auto& id : matrix.ids) write_id(out, id);
  out.end_array();
  out.end_object();
}

}  // namespace quiver::service::json
