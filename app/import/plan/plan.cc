#include "app/import/plan/plan.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "app/import/plan/export_manifest.h"
#include "app/import/plan/schema.h"
#include "dataset/streams/byte_source.h"
#include "service/client/http.h"

namespace quiver::app {
namespace {

tl::unexpected<Error> usage(std::string text) {
  return fail(Code::kInvalidArgument, std::move(text));
}

Result<std::vector<SourceSpec>> parse_sources(const ImportOptions& options) {
  const PerName scales(options.scale);
  std::vector<SourceSpec> specs;
  std::vector<std::string> names;
  for (const std::string& text : options.vectors) {
    QV_TRY(SourceSpec spec, parse_source(text));
    if (const auto factor = scales.find(spec.name)) {
      QV_TRY(spec.scale, parse_factor(*factor));
    }
    names.push_back(spec.name);
    specs.push_back(std::move(spec));
  }
  QV_TRY(scales.check_names("--scale", names));
  const std::set<std::string> distinct(names.begin(), names.end());
  if (distinct.size() < names.size()) return usage("--vectors: two sources have the same name");
  return specs;
}

bool is_regular_file(const std::optional<std::string>& path) {
  std::error_code error;
  return path && std::filesystem::is_regular_file(*path, error);
}

/// Adds the sources that the manifest of an export names.
Result<> add_export(const std::string& directory, ImportPlan& plan) {
  const std::string path = directory + "/" + kExportManifest;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) return fail(Code::kNotFound, "cannot read " + path);
  auto manifest = parse_manifest(std::move(bytes).str());
  if (!manifest) {
    return fail(Code::kDataLoss, fmt::format("{}: {}", path, manifest.error().message()));
  }
  for (SourceSpec& spec : manifest->vectors) {
    spec.source = directory + "/" + spec.source;
    if (!spec.present.empty()) spec.present = directory + "/" + spec.present;
    plan.vectors.push_back(std::move(spec));
  }
  plan.ids = directory + "/" + manifest->ids;
  plan.payload = directory + "/" + manifest->payload;
  plan.create_body = std::move(manifest->create);
  plan.index_bodies = std::move(manifest->indexes);
  return {};
}

Result<> check_whole_source(const ImportOptions& options) {
  const bool has_more = !options.vectors.empty() || !options.points.empty() ||
                        !options.payload.empty() || !options.ids.empty();
  if (!has_more && (options.from_export.empty() || options.faiss.empty())) return {};
  return usage(
      "--from-export and --faiss name all sources: give only one of them, and none of --vectors, "
      "--points, --payload, --ids");
}

bool has_whole_source(const ImportOptions& options) {
  return !options.from_export.empty() || !options.faiss.empty();
}

Result<> check_ids(const ImportPlan& plan) {
  const int n_ways =
      (plan.id_column ? 1 : 0) + (plan.ids.empty() ? 0 : 1) + (plan.id_offset != 0 ? 1 : 0);
  if (n_ways > 1) return usage("give one of --id-column, --ids and --id-offset");
  if (plan.id_column && plan.payload.empty() && plan.points.empty()) {
    return usage("--id-column wants --payload or --points");
  }
  return {};
}

Result<> check_plan(const ImportPlan& plan) {
  if (plan.vectors.empty() && plan.points.empty() && plan.payload.empty()) {
    return usage("nothing to import: give --vectors, --points, --from-export or --faiss");
  }
  if (!plan.points.empty() && !plan.payload.empty()) {
    return usage("--points have payloads of their own: give one of --points and --payload");
  }
  if (!plan.payload_keys.empty() && plan.payload.empty() && plan.points.empty()) {
    return usage("--payload-keys wants --payload or --points");
  }
  return check_ids(plan);
}

Result<ImportPlan> plan_of_flags(const ImportOptions& options) {
  ImportPlan plan;
  QV_TRY(plan.vectors, parse_sources(options));
  QV_TRY(plan.rows, dataset::parse_rows(options.rows));
  plan.points = options.points;
  plan.payload = options.payload;
  plan.ids = options.ids;
  if (!options.id_column.empty()) plan.id_column = options.id_column;
  plan.id_offset = options.id_offset;
  plan.payload_keys = options.payload_keys;
  plan.allow_missing_vectors = options.allow_missing_vectors;
  return plan;
}

}  // namespace

const std::string& ImportPlan::main_source() const {
  if (!points.empty()) return points;
  return vectors.empty() ? payload : vectors.front().source;
}

Result<> check_usage(const ImportOptions& options) {
  QV_TRY(const ImportPlan plan, plan_of_flags(options));
  QV_TRY(has_whole_source(options) ? check_whole_source(options) : check_plan(plan));
  QV_TRY(check_words(options));
  if (!options.url.empty()) QV_TRY(client::parse_url(options.url));
  if (options.state.empty() || options.data_dir.empty()) return {};
  return usage("--state goes with --url: in a data directory the collection keeps the state");
}

Result<ImportPlan> make_plan(const ImportOptions& options) {
  QV_TRY(ImportPlan plan, plan_of_flags(options));
  if (!options.from_export.empty()) {
    QV_TRY(check_whole_source(options));
    QV_TRY(add_export(options.from_export, plan));
  }
  QV_TRY(check_plan(plan));
  return plan;
}

std::vector<std::string> files_of(const std::string& source) {
  const auto whole = dataset::existing_path(source);
  if (is_regular_file(whole)) return {*whole};
  std::vector<std::string> files;
  for (const char* part : {".indptr.npy", ".indices.npy", ".values.npy", ".npy"}) {
    auto path = dataset::existing_path(source + part);
    if (is_regular_file(path)) files.push_back(*std::move(path));
  }
  const auto colon = source.rfind(':');
  if (!files.empty() || colon == std::string::npos) return files;
  const std::string file = source.substr(0, colon);
  return {dataset::existing_path(file).value_or(file)};
}

}  // namespace quiver::app
