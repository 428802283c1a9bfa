#include "app/import/plan/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/schema_names.h"
#include "service/json/decode/decode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

using service::json::Writer;

Result<Metric> parse_wire_metric(const std::string& text) {
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    if (text == kMetricNames[i] || text == kDistanceNames[i]) return static_cast<Metric>(i);
  }
  return fail(Code::kInvalidArgument,
              fmt::format("--metric {}: wanted cosine, dot, euclid or manhattan", text));
}

Result<DType> parse_wire_type(const std::string& text) {
  if (const auto type = parse_datatype(text)) return *type;
  return fail(Code::kInvalidArgument,
              fmt::format("--dtype {}: wanted one of {}", text, fmt::join(kDatatypeNames, ", ")));
}

/// The value of --metric for field `name`; nullopt if there is none.
Result<std::optional<Metric>> metric_flag(const ImportOptions& options, const std::string& name) {
  const auto text = PerName(options.metric).find(name);
  if (!text) return std::optional<Metric>();
  QV_TRY(const Metric metric, parse_wire_metric(*text));
  return std::optional(metric);
}

Result<std::optional<DType>> type_flag(const ImportOptions& options, const std::string& name) {
  const auto text = PerName(options.dtype).find(name);
  if (!text) return std::optional<DType>();
  QV_TRY(const DType type, parse_wire_type(*text));
  return std::optional(type);
}

Result<> write_field(Writer& json, const ColumnReader& column, const ImportOptions& options) {
  const std::string& name = column.spec().name;
  QV_TRY(const auto metric, metric_flag(options, name));
  QV_TRY(const auto type, type_flag(options, name));
  json.begin_object();
  json.member("size", std::uint64_t{column.shape().dim});
  json.member("distance", distance_name(metric.value_or(Metric::kCosine)));
  json.member("datatype", datatype_name(type.value_or(column.type())));
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

/// Names of the columns that have a metric and a type: all but sparse ones.
std::vector<std::string> names_of(const std::vector<ColumnReader>& columns) {
  std::vector<std::string> names;
  for (const ColumnReader& column : columns) {
    if (!is_sparse(column)) names.push_back(column.spec().name);
  }
  return names;
}

Result<> check_flag_names(const ImportOptions& options, const std::vector<std::string>& names) {
  QV_TRY(PerName(options.metric).check_names("--metric", names));
  return PerName(options.dtype).check_names("--dtype", names);
}

std::string describe(const FieldSchema& field) {
  std::string text = fmt::format("{} \"{}\"", kind_name(field.kind), field.name);
  if (field.kind == FieldKind::kSparse) return text;
  return text + fmt::format(" of {} dimensions, {}, {}", field.dim, datatype_name(field.dtype),
                            metric_name(field.metric));
}

std::string describe(const std::vector<FieldSchema>& fields) {
  std::string text;
  for (const FieldSchema& field : fields) text += (text.empty() ? "" : "; ") + describe(field);
  return text.empty() ? "no vectors" : text;
}

const FieldSchema* find_field(const std::vector<FieldSchema>& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const FieldSchema& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

Result<> check_flags_of(const FieldSchema& field, const ImportOptions& options) {
  const auto differs = [&](std::string_view flag, std::string_view wanted) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{} {}: collection `{}` has {}", flag, wanted, options.collection,
                            describe(field)));
  };
  QV_TRY(const auto metric, metric_flag(options, field.name));
  QV_TRY(const auto type, type_flag(options, field.name));
  if (metric && *metric != field.metric) return differs("--metric", metric_name(*metric));
  if (type && *type != field.dtype) return differs("--dtype", datatype_name(*type));
  return {};
}

}  // namespace

Result<> check_words(const ImportOptions& options) {
  const auto value_of = [](const std::string& text) { return text.substr(text.find('=') + 1); };
  for (const std::string& text : options.metric) QV_TRY(parse_wire_metric(value_of(text)));
  for (const std::string& text : options.dtype) QV_TRY(parse_wire_type(value_of(text)));
  return {};
}

Result<std::string> creation_body(const ImportOptions& options,
                                  const std::vector<ColumnReader>& columns) {
  QV_TRY(check_flag_names(options, names_of(columns)));
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
  auto config = service::json::decode_collection(body, kAnyCollection);
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
    const FieldSchema* field = find_field(fields, spec.name);
    if (field == nullptr) return unfit(spec, "there is no such field");
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

Result<> check_flags(const std::vector<FieldSchema>& fields,
                     const std::vector<ColumnReader>& columns, const ImportOptions& options) {
  std::vector<std::string> names = names_of(columns);
  for (const FieldSchema& field : fields) {
    if (columns.empty() && field.kind != FieldKind::kSparse) names.push_back(field.name);
  }
  QV_TRY(check_flag_names(options, names));
  for (const std::string& name : names) {
    const FieldSchema* field = find_field(fields, name);
    if (field != nullptr) QV_TRY(check_flags_of(*field, options));
  }
  return {};
}

Result<> check_same(const std::vector<FieldSchema>& fields, const std::vector<FieldSchema>& wanted,
                    std::string_view collection) {
  for (const FieldSchema& field : wanted) {
    const FieldSchema* found = find_field(fields, field.name);
    if (found != nullptr && describe(*found) == describe(field)) continue;
    return fail(Code::kFailedPrecondition,
                fmt::format("--create wants {}, but collection `{}` is there and has {}: leave "
                            "--create out to import into it unchanged",
                            describe(field), collection, describe(fields)));
  }
  return {};
}

}  // namespace quiver::app
