// The indexes of a collection's vectors, segment by segment.
#include <variant>

#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

void write_value(Writer& out, const ParamValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    out.boolean(*flag);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    out.i64(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    out.f64(*real);
  } else {
    out.string(std::get<std::string>(value));
  }
}

void write_values(Writer& out, const KeyValues& values) {
  out.begin_object();
  for (const auto& [name, value] : values) {
    out.key(name);
    write_value(out, value);
  }
  out.end_object();
}

void write_given(Writer& out, const engine::VectorIndexConfigs& configs) {
  out.key("build");
  out.begin_object();
  for (const auto& [field, config] : configs) {
    if (config.given.empty()) continue;
    out.key(field);
    write_values(out, config.given);
  }
  out.end_object();
}

void write_placings(Writer& out, const engine::VectorIndexConfigs& configs) {
  out.key("on_gpu");
  out.begin_object();
  for (const auto& [field, config] : configs) {
    if (config.on_gpu != gpu::Placing::kAuto) out.member(field, to_string(config.on_gpu));
  }
  out.end_object();
}

void write_description(Writer& out, const index::Description& description) {
  out.key("facts");
  out.begin_object();
  for (const auto& [name, value] : description.facts) {
    out.key(name);
    write_value(out, value);
  }
  out.end_object();
  if (description.columns.empty()) return;
  out.key(description.table);
  out.begin_array();
  for (const auto& row : description.rows) {
    out.begin_object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      out.key(description.columns[i]);
      write_value(out, row[i]);
    }
    out.end_object();
  }
  out.end_array();
}

void write_attributes(Writer& out, std::span<const engine::SegmentAttributesInfo> attributes) {
  out.key("payload");
  out.begin_array();
  for (const auto& info : attributes) {
    out.begin_object();
    out.member("shard", std::uint64_t{info.shard});
    out.member("segment", info.segment);
    out.key("paths");
    out.begin_array();
    for (const auto& path : info.paths) {
      out.begin_object();
      out.member("path", std::string_view(path.path));
      out.member("entries", path.n_entries);
      out.member("exact", path.is_exact);
      out.member("bytes", path.n_bytes);
      out.end_object();
    }
    out.end_array();
    out.key("left_out");
    out.begin_array();
    for (const auto& [path, reason] : info.left_out) {
      out.begin_object();
      out.member("path", std::string_view(path));
      out.member("reason", std::string_view(reason));
      out.end_object();
    }
    out.end_array();
    out.end_object();
  }
  out.end_array();
}

}  // namespace

void write_segment_indexes(Writer& out, std::span<const engine::SegmentIndexInfo> infos,
                           const engine::VectorIndexConfigs& configs,
                           std::span<const engine::SegmentAttributesInfo> attributes) {
  out.begin_object();
  out.key("indexes");
  out.begin_array();
  for (const auto& info : infos) {
    out.begin_object();
    out.member("shard", std::uint64_t{info.shard});
    out.member("segment", info.segment);
    out.member("sealed", info.sealed);
    out.member("field", std::string_view(info.field));
    out.member("index", std::string_view(info.index));
    out.member("vectors_count", info.n_vectors);
    out.member("bytes", info.n_bytes);
    write_description(out, info.description);
    out.end_object();
  }
  out.end_array();
  write_given(out, configs);
  write_placings(out, configs);
  write_attributes(out, attributes);
  out.end_object();
}

}  // namespace quiver::service::json
