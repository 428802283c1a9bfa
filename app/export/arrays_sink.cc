#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "app/export/point_sink.h"
#include "app/import/plan/export_manifest.h"
#include "dataset/formats/npy_writer.h"
#include "dataset/writers.h"
#include "service/json/encode/encode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

using dataset::IfExists;
using dataset::NpyWriter;

std::string file_part(const std::string& name) { return name.empty() ? "" : "." + name; }

/// Writes the vectors of one field and the mask of present ones.
class FieldSink {
 public:
  static Result<FieldSink> create(const std::string& directory, const FieldSchema& field,
                                  IfExists if_exists) {
    FieldSink sink(field);
    sink.spec_.source = "vectors" + file_part(field.name);
    if (field.kind == FieldKind::kDense) sink.spec_.source += ".npy";
    dataset::WriteOptions options;
    options.kind = field.kind;
    options.dtype = field.dtype;
    options.dim = field.dim;
    options.if_exists = if_exists;
    QV_TRY(sink.vectors_, dataset::create_vectors(directory + "/" + sink.spec_.source, options));
    sink.present_name_ = "present" + file_part(field.name) + ".npy";
    QV_TRY(NpyWriter present, NpyWriter::create(directory + "/" + sink.present_name_,
                                                dataset::ValueType::kU8, 0, if_exists));
    sink.present_.emplace(std::move(present));
    return sink;
  }

  Result<> write(std::span<const engine::Record> points) {
    rows_.clear();
    if (field_.kind != FieldKind::kDense) rows_.offsets.push_back(0);
    mask_.clear();
    for (const engine::Record& point : points) add(point);
    QV_TRY(present_->append(std::as_bytes(std::span(mask_))));
    return vectors_->write(rows_);
  }

  Result<SourceSpec> finish() {
    QV_TRY(vectors_->finish());
    SourceSpec spec = spec_;
    if (n_absent_ > 0) {
      QV_TRY(present_->finish());
      spec.present = present_name_;
    }
    return spec;
  }

 private:
  explicit FieldSink(const FieldSchema& field) : field_(field) {
    spec_.kind = field.kind;
    spec_.name = field.name;
  }

  void add(const engine::Record& point) {
    ++rows_.n_rows;
    const engine::VectorValue* value = find(point);
    mask_.push_back(static_cast<std::uint8_t>(value != nullptr));
    if (value != nullptr) return std::visit([this](const auto& v) { append(v); }, *value);
    ++n_absent_;
    if (field_.kind == FieldKind::kDense) {
      rows_.values.resize(rows_.values.size() + field_.dim);
    } else {
      rows_.offsets.push_back(rows_.offsets.back());
    }
  }

  [[nodiscard]] const engine::VectorValue* find(const engine::Record& point) const {
    if (!point.vectors) return nullptr;
    const auto it = std::find_if(point.vectors->begin(), point.vectors->end(),
                                 [&](const auto& vector) { return vector.name == field_.name; });
    return it == point.vectors->end() ? nullptr : &it->value;
  }

  void append_values(const std::vector<float>& values) {
    rows_.values.insert(rows_.values.end(), values.begin(), values.end());
  }
  void append(const engine::DenseVector& vector) { append_values(vector); }
  void append(const engine::SparseVector& vector) {
    rows_.offsets.push_back(rows_.offsets.back() + vector.indices.size());
    rows_.indices.insert(rows_.indices.end(), vector.indices.begin(), vector.indices.end());
    append_values(vector.values);
  }
  void append(const engine::MultiVector& vector) {
    rows_.offsets.push_back(rows_.offsets.back() + vector.n_tokens);
    append_values(vector.values);
  }

  FieldSchema field_;
  SourceSpec spec_;
  std::string present_name_;
  std::unique_ptr<dataset::VectorWriter> vectors_;
  std::optional<NpyWriter> present_;
  dataset::VectorBatch rows_;
  std::vector<std::uint8_t> mask_;
  std::uint64_t n_absent_ = 0;
};

class ArraysSink final : public PointSink {
 public:
  ArraysSink(std::string directory, const CollectionFacts& facts, IfExists if_exists)
      : directory_(std::move(directory)), facts_(facts), if_exists_(if_exists) {}

  Result<> open(IdKinds ids) {
    if (ids == IdKinds::kNumbers) {
      QV_TRY(NpyWriter numbers,
             NpyWriter::create(directory_ + "/ids.npy", dataset::ValueType::kU64, 0, if_exists_));
      numbers_.emplace(std::move(numbers));
    } else {
      QV_TRY(auto lines, dataset::LineWriter::create(directory_ + "/ids.jsonl", if_exists_));
      id_lines_.emplace(std::move(lines));
    }
    QV_TRY(auto payload, dataset::LineWriter::create(directory_ + "/payload.jsonl", if_exists_));
    payload_.emplace(std::move(payload));
    for (const FieldSchema& field : facts_.fields) {
      QV_TRY(FieldSink sink, FieldSink::create(directory_, field, if_exists_));
      fields_.push_back(std::move(sink));
    }
    return {};
  }

  Result<> write(std::span<const engine::Record> points) override {
    for (const engine::Record& point : points) {
      QV_TRY(write_id(point.id));
      QV_TRY(payload_->write(point.payload && !point.payload->empty() ? *point.payload : "{}"));
    }
    for (FieldSink& field : fields_) QV_TRY(field.write(points));
    n_points_ += points.size();
    return {};
  }

  Result<> finish() override {
    ExportManifest manifest;
    manifest.n_points = n_points_;
    manifest.ids = numbers_ ? "ids.npy" : "ids.jsonl";
    manifest.payload = "payload.jsonl";
    manifest.create = facts_.create;
    manifest.indexes = facts_.indexes;
    QV_TRY(numbers_ ? numbers_->finish() : id_lines_->finish());
    QV_TRY(payload_->finish());
    for (FieldSink& field : fields_) {
      QV_TRY(SourceSpec spec, field.finish());
      manifest.vectors.push_back(std::move(spec));
    }
    return write_text(directory_ + "/" + kExportManifest, to_json(manifest) + "\n", if_exists_);
  }

 private:
  Result<> write_id(const PointId& id) {
    if (id_lines_) {
      std::string text;
      service::json::Writer json(text);
      service::json::write_id(json, id);
      return id_lines_->write(text);
    }
    if (id.kind() != PointId::Kind::kNumber) {
      return fail(Code::kAborted,
                  "a point with a UUID came while numbers were exported: try again");
    }
    const std::uint64_t number = id.low();
    return numbers_->append(std::as_bytes(std::span(&number, 1)));
  }

  const std::string directory_;
  const CollectionFacts facts_;
  const IfExists if_exists_;
  std::optional<NpyWriter> numbers_;
  std::optional<dataset::LineWriter> id_lines_;
  std::optional<dataset::LineWriter> payload_;
  std::vector<FieldSink> fields_;
  std::uint64_t n_points_ = 0;
};

}  // namespace

Result<std::unique_ptr<PointSink>> create_arrays(const std::string& directory,
                                                 const CollectionFacts& facts, IdKinds ids,
                                                 IfExists if_exists) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return fail(Code::kInternal, fmt::format("cannot create {}: {}", directory, error.message()));
  }
  if (if_exists == IfExists::kFail &&
      std::filesystem::exists(directory + "/" + kExportManifest, error)) {
    return fail(Code::kAlreadyExists,
                fmt::format("{} holds an export already: give --force to replace it", directory));
  }
  auto sink = std::make_unique<ArraysSink>(directory, facts, if_exists);
  QV_TRY(sink->open(ids));
  return std::unique_ptr<PointSink>(std::move(sink));
}

}  // namespace quiver::app
