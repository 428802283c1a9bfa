#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "app/import/plan/export_manifest.h"
#include "base/schema_names.h"
#include "dataset/formats/npy_writer.h"
#include "dataset/writers.h"
#include "interop/faiss/convert.h"
#include "interop/faiss/index_file.h"
#include "payload/json/document.h"

namespace quiver::interop {
namespace {

using dataset::IfExists;

/// The files of one export.
struct Files {
  std::unique_ptr<dataset::VectorWriter> vectors;
  dataset::NpyWriter ids;
  dataset::LineWriter payload;
  std::string vectors_name;
};

Result<Files> create_files(const ReadOptions& options, const FaissFacts& facts) {
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) {
    return fail(Code::kInternal, fmt::format("cannot create {}: {}", options.out, error.message()));
  }
  const std::string name =
      options.name.empty() ? "vectors.npy" : "vectors." + options.name + ".npy";
  dataset::WriteOptions shape;
  shape.dim = facts.dim;
  QV_TRY(auto vectors, dataset::create_vectors(options.out + "/" + name, shape));
  QV_TRY(auto ids, dataset::NpyWriter::create(options.out + "/ids.npy", dataset::ValueType::kU64, 0,
                                              IfExists::kFail));
  QV_TRY(auto payload,
         dataset::LineWriter::create(options.out + "/payload.jsonl", IfExists::kFail));
  return Files{std::move(vectors), std::move(ids), std::move(payload), name};
}

Result<> write_batch(std::span<const std::int64_t> ids, std::span<const float> vectors,
                     dataset::VectorBatch& batch, Files& files) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(ids.size());
  for (const std::int64_t id : ids) {
    if (id < 0) {
      return fail(Code::kInvalidArgument,
                  fmt::format("an id is {}, wanted a number that is not negative", id));
    }
    numbers.push_back(static_cast<std::uint64_t>(id));
    QV_TRY(files.payload.write("{}"));
  }
  batch.n_rows = ids.size();
  batch.values.assign(vectors.begin(), vectors.end());
  QV_TRY(files.vectors->write(batch));
  return files.ids.append(std::as_bytes(std::span(numbers)));
}

/// The body of PUT /collections/{name}.
std::string create_body(const ReadOptions& options, const FaissFacts& facts) {
  using payload::Value;
  payload::Object field;
  field.push_back({"size", Value(std::uint64_t{facts.dim})});
  field.push_back({"distance", Value(std::string(distance_name(facts.metric)))});
  payload::Object vectors;
  vectors.push_back({options.name, Value(field)});
  payload::Object body;
  body.push_back({"vectors", options.name.empty() ? Value(field) : Value(vectors)});
  return payload::to_json(Value(body));
}

Result<> write_manifest(const ReadOptions& options, const FaissFacts& facts, const Files& files) {
  app::ExportManifest manifest;
  manifest.n_points = facts.n_vectors;
  manifest.ids = "ids.npy";
  manifest.payload = "payload.jsonl";
  app::SourceSpec source;
  source.name = options.name;
  source.source = files.vectors_name;
  manifest.vectors.push_back(source);
  manifest.create = create_body(options, facts);
  QV_TRY(auto file,
         dataset::LineWriter::create(options.out + "/" + app::kExportManifest, IfExists::kFail));
  QV_TRY(file.write(app::to_json(manifest)));
  return file.finish();
}

}  // namespace

Result<std::string> read_index(const ReadOptions& options) {
  QV_TRY(const auto file, FaissFile::open(options.index));
  const auto& facts = file.facts();
  QV_TRY(auto files, create_files(options, facts));
  dataset::VectorBatch batch;
  QV_TRY(file.for_each([&](std::span<const std::int64_t> ids, std::span<const float> vectors) {
    return write_batch(ids, vectors, batch, files);
  }));
  QV_TRY(files.vectors->finish());
  QV_TRY(files.ids.finish());
  QV_TRY(files.payload.finish());
  QV_TRY(write_manifest(options, facts, files));
  return fmt::format("{} vectors of {} dimensions from {} ({}), {}", facts.n_vectors, facts.dim,
                     facts.type, metric_name(facts.metric),
                     facts.is_lossless ? "as they were added"
                                       : "as the index's codes stand for them: it keeps no others");
}

}  // namespace quiver::interop
