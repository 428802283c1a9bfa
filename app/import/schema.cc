#include "app/import/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "service/json/decode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

using service::json::Writer;

/// As users type them, and as the wire spells them.
constexpr std::pair<std::string_view, std::string_view> kMetrics[] = {
    {"cosine", "Cosine"}, {"dot", "Dot"}, {"euclid", "Euclid"}, {"manhattan", "Manhattan"}};
constexpr std::string_view kTypes[] = {"float32", "float16", "uint8"};

Result<std::string_view> metric_of(const std::string& text) {
  for (const auto& [name, wire] : kMetrics) {
    if (text == name || text == wire) return wire;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("--metric {}: wanted cosine, dot, euclid or manhattan", text));
}

Result<std::string_view> type_of(const std::string& text) {
  for (const std::string_view type : kTypes) {
    if (text == type) return type;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("--dtype {}: wanted float32, float16 or uint8", text));
}

/// Scaled values are not what the file holds any more.
std::string type_in_file(const ColumnReader& column) {
  if (column.spec().scale != 1) return "float32";
  switch (column.shape().type) {
    case dataset::ValueType::kF16:
      return "float16";
    case dataset::ValueType::kU8:
      return "uint8";
    default:
      return "float32";
  }
}

Result<> write_field(Writer& json, const ColumnReader& column, const ImportOptions& options) {
  const std::string& name = column.spec().name;
  QV_TRY(const auto metric, metric_of(PerName(options.metric).find(name).value_or("cosine")));
  QV_TRY(const auto type,
         type_of(PerName(options.dtype).find(name).value_or(type_in_file(column))));
  json.begin_object();
  json.member("size", std::uint64_t{column.shape().dim});
  json.member("distance", metric);
  json.member("datatype", type);
  if (column.spec().kind == FieldKind::kMulti) {
    json.key("multivector_config");
    json.raw(R"({"comparator":"max_sim"})");
  }
  json.end_object();
  return {};
}

bool is_sparse(const ColumnReader& column) { return column.spec().kind == FieldKind::kSparse; }

Result<> write_vectors(Writer& json, const std::vector<ColumnReader>& columns,
                       const ImportOptions& options) {
  json.key("vectors");
  const auto n = std::count_if(columns.begin(), columns.end(), std::not_fn(is_sparse));
  if (n == 1 && columns.front().spec().name.empty()) {
    return write_field(json, columns.front(), options);
  }
  json.begin_object();
  for (const ColumnReader& column : columns) {
    if (is_sparse(column)) continue;
    json.escaped_key(column.spec().name);
    QV_TRY(write_field(json, column, options));
  }
  json.end_object();
  return {};
}

void write_sparse_vectors(Writer& json, const std::vector<ColumnReader>& columns) {
  if (std::none_of(columns.begin(), columns.end(), is_sparse)) return;
  json.key("sparse_vectors");
  json.begin_object();
  for (const ColumnReader& column : columns) {
    if (!is_sparse(column)) continue;
    json.escaped_key(column.spec().name);
    json.raw("{}");
  }
  json.end_object();
}

Result<> check_flag_names(const ImportOptions& options, const std::vector<ColumnReader>& columns) {
  std::vector<std::string> names;
  for (const ColumnReader& column : columns) {
    if (!is_sparse(column)) names.push_back(column.spec().name);
  }
  QV_TRY(PerName(options.metric).check_names("--metric", names));
  return PerName(options.dtype).check_names("--dtype", names);
}

std::string describe(const std::vector<FieldSchema>& fields) {
  std::string text;
  for (const FieldSchema& field : fields) {
    text += fmt::format("{}{} \"{}\"", text.empty() ? "" : ", ", kind_name(field.kind), field.name);
    if (field.kind != FieldKind::kSparse) text += fmt::format(" of {} dimensions", field.dim);
  }
  return text.empty() ? "no vectors" : text;
}

}  // namespace

Result<std::string> creation_body(const ImportOptions& options,
                                  const std::vector<ColumnReader>& columns) {
  QV_TRY(check_flag_names(options, columns));
  if (columns.empty()) {
    return fail(Code::kInvalidArgument,
                "--create: JSON points do not say metrics and types: give the body of the "
                "creation, as in --create '{\"vectors\":{\"size\":384,\"distance\":\"Cosine\"}}'");
  }
  std::string body;
  Writer json(body);
  json.begin_object();
  QV_TRY(write_vectors(json, columns, options));
  write_sparse_vectors(json, columns);
  if (options.shards > 1) json.member("shard_number", std::uint64_t{options.shards});
  json.end_object();
  return body;
}

Result<std::vector<FieldSchema>> parse_fields(std::string body) {
  auto config = service::json::decode_collection(body, {});
  if (!config) return fail(Code::kInvalidArgument, config.error().text);
  return std::move(config->fields);
}

Result<> check_fields(const std::vector<FieldSchema>& fields,
                      const std::vector<ColumnReader>& columns, std::string_view collection) {
  const auto unfit = [&](const SourceSpec& spec, const std::string& found) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: {}; collection `{}` has {}", spec.describe(), found, collection,
                            describe(fields)));
  };
  for (const ColumnReader& column : columns) {
    const SourceSpec& spec = column.spec();
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const FieldSchema& f) { return f.name == spec.name; });
    if (field == fields.end()) return unfit(spec, "there is no such field");
    if (field->kind != spec.kind) {
      return unfit(spec, fmt::format("the field is {}", kind_name(field->kind)));
    }
    if (spec.kind != FieldKind::kSparse && field->dim != column.shape().dim) {
      return unfit(spec, fmt::format("of {} dimensions, the field wants {}", column.shape().dim,
                                     field->dim));
    }
  }
  return {};
}

}  // namespace quiver::app
