#include <faiss/IndexIDMap.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/index_factory.h>
#include <faiss/index_io.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/import/plan/column_reader.h"
#include "app/import/plan/export_manifest.h"
#include "app/import/reading/id_reader.h"
#include "base/io/file.h"
#include "base/schema_names.h"
#include "interop/faiss/convert.h"
#include "payload/json/document.h"

namespace quiver::interop {
namespace {

constexpr std::size_t kBatchRows = 16'384;
constexpr std::uint64_t kMostTrainingRows = 1'000'000;
/// FAISS takes no more rows for each centroid.
constexpr std::uint64_t kTrainingRowsPerCentroid = 256;

/// The dense field of an export.
struct Source {
  app::SourceSpec vectors;  ///< with whole paths
  std::string ids;
  Metric metric = Metric::kEuclid;
};

Result<std::string> read_text(const std::string& folder, const std::string& name) {
  QV_TRY(const auto directory, open_real_directory(folder));
  QV_TRY(const auto bytes, directory->read_file(name));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<Metric> metric_of(const std::string& create, const std::string& name) {
  QV_TRY(const auto body, payload::parse_json(create));
  const auto* vectors = body.find("vectors");
  const auto* field = vectors == nullptr || name.empty() ? vectors : vectors->find(name);
  const auto* distance = field == nullptr ? nullptr : field->find("distance");
  const auto* text = distance == nullptr ? nullptr : distance->as_string();
  const auto known = std::ranges::find(kDistanceNames, text == nullptr ? "" : *text);
  if (known == kDistanceNames.end()) {
    return fail(Code::kDataLoss,
                fmt::format("the export does not say the distance of \"{}\"", name));
  }
  return static_cast<Metric>(known - kDistanceNames.begin());
}

Result<Source> source_of(const WriteOptions& options) {
  QV_TRY(const auto text, read_text(options.from, app::kExportManifest));
  QV_TRY(const auto manifest, app::parse_manifest(text));
  std::string names;
  for (const auto& spec : manifest.vectors) {
    names +=
        fmt::format("{}\"{}\" ({})", names.empty() ? "" : ", ", spec.name, kind_name(spec.kind));
    if (spec.name != options.name || spec.kind != FieldKind::kDense) continue;
    Source source;
    source.vectors = spec;
    source.vectors.source = options.from + "/" + spec.source;
    if (!spec.present.empty()) source.vectors.present = options.from + "/" + spec.present;
    source.ids = options.from + "/" + manifest.ids;
    QV_TRY(source.metric, metric_of(manifest.create, options.name));
    return source;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("there are no dense vectors \"{}\" in {}, it has {}", options.name,
                          options.from, names));
}

Result<std::vector<std::int64_t>> read_ids(const std::string& path) {
  QV_TRY(auto reader, app::IdReader::open(path));
  std::vector<std::int64_t> numbers;
  std::vector<Result<PointId>> ids;
  do {
    QV_TRY(reader.read(kBatchRows, ids));
    for (const auto& id : ids) {
      if (!id) return fail(id.error());
      const bool is_number = id->kind() == PointId::Kind::kNumber;
      if (!is_number || id->low() > std::numeric_limits<std::int64_t>::max()) {
        return fail(Code::kInvalidArgument,
                    fmt::format("the id {} is no number of 63 bits, as FAISS wants them: "
                                "--row-numbers numbers the rows",
                                id->to_string()));
      }
      numbers.push_back(static_cast<std::int64_t>(id->low()));
    }
  } while (!ids.empty());
  return numbers;
}

faiss::MetricType metric_for(Metric metric) {
  if (metric == Metric::kEuclid) return faiss::METRIC_L2;
  return metric == Metric::kManhattan ? faiss::METRIC_L1 : faiss::METRIC_INNER_PRODUCT;
}

/// The lists within; nullptr if there are none.
const faiss::IndexIVF* lists_of(const faiss::Index& index) {
  if (const auto* outer = dynamic_cast<const faiss::IndexPreTransform*>(&index)) {
    return lists_of(*outer->index);
  }
  return dynamic_cast<const faiss::IndexIVF*>(&index);
}

std::uint64_t n_training_rows(const WriteOptions& options, const faiss::Index& index) {
  if (options.n_train != 0) return options.n_train;
  const auto* lists = lists_of(index);
  const std::uint64_t per_centroid =
      lists == nullptr ? kMostTrainingRows : kTrainingRowsPerCentroid * lists->nlist;
  return std::min(kMostTrainingRows, std::max<std::uint64_t>(per_centroid, 65'536));
}

/// About `n_wanted` of the rows that have a vector, evenly.
Result<std::vector<float>> sample_rows(const Source& source, std::uint64_t n_wanted) {
  QV_TRY(auto reader, app::ColumnReader::open(source.vectors));
  const std::uint64_t n_rows = reader.shape().n_rows.value_or(n_wanted);
  const std::uint64_t step =
      std::max<std::uint64_t>(1, n_rows / std::max<std::uint64_t>(1, n_wanted));
  std::vector<float> sample;
  app::VectorColumn column;
  for (std::uint64_t row = 0; row < n_rows; row += step) {
    QV_TRY(reader.skip_to(row));
    QV_TRY(const std::size_t n, reader.read(1, column));
    if (n == 0) break;
    if (column.present[0] == 0) continue;
    sample.insert(sample.end(), column.batch.values.begin(), column.batch.values.end());
  }
  return sample;
}

/// What all rows of one export are added to.
struct Target {
  faiss::Index& index;
  bool takes_ids = false;
};

void add_batch(const app::VectorColumn& column, std::span<const std::int64_t> ids,
               const Target& target) {
  std::vector<float> rows;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < column.batch.n_rows; ++i) {
    if (column.present[i] == 0) continue;
    const std::size_t row = column.batch.first_row + i;
    const auto values = app::dense_row(column, i);
    rows.insert(rows.end(), values.begin(), values.end());
    numbers.push_back(ids.empty() ? static_cast<std::int64_t>(row) : ids[row]);
  }
  const auto n = static_cast<faiss::Index::idx_t>(numbers.size());
  if (n == 0) return;
  if (target.takes_ids) {
    target.index.add_with_ids(n, rows.data(), numbers.data());
  } else {
    target.index.add(n, rows.data());
  }
}

/// Checks that there is an id for each row.
Result<> add_all(const Source& source, std::span<const std::int64_t> ids, const Target& target) {
  QV_TRY(auto reader, app::ColumnReader::open(source.vectors));
  app::VectorColumn column;
  while (true) {
    QV_TRY(const std::size_t n, reader.read(kBatchRows, column));
    if (n == 0) return {};
    if (!ids.empty() && column.batch.first_row + n > ids.size()) {
      return fail(Code::kDataLoss,
                  fmt::format("{} has {} ids, but there are more vectors", source.ids, ids.size()));
    }
    add_batch(column, ids, target);
  }
}

/// True if row i has id i.
bool are_row_numbers(std::span<const std::int64_t> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

Result<std::unique_ptr<faiss::Index>> build(const WriteOptions& options, const Source& source) {
  QV_TRY(const auto reader, app::ColumnReader::open(source.vectors));
  const std::uint32_t dim = reader.shape().dim;
  std::vector<std::int64_t> ids;
  if (!options.row_numbers) {
    QV_TRY(ids, read_ids(source.ids));
  }
  std::unique_ptr<faiss::Index> index(faiss::index_factory(
      static_cast<int>(dim), options.factory.c_str(), metric_for(source.metric)));
  if (!index->is_trained) {
    QV_TRY(const auto sample, sample_rows(source, n_training_rows(options, *index)));
    index->train(static_cast<faiss::Index::idx_t>(sample.size() / dim), sample.data());
  }
  const bool needs_ids = !source.vectors.present.empty() || !are_row_numbers(ids);
  const bool takes_ids = lists_of(*index) != nullptr;
  if (needs_ids && !takes_ids) {
    auto map = std::make_unique<faiss::IndexIDMap2>(index.release());
    map->own_fields = true;
    index = std::move(map);
  }
  QV_TRY(add_all(source, ids, {*index, needs_ids || takes_ids}));
  return index;
}

}  // namespace

Result<std::string> write_index(const WriteOptions& options) {
  QV_TRY(const auto source, source_of(options));
  std::error_code error;
  if (std::filesystem::exists(options.out, error)) {
    return fail(Code::kAlreadyExists, fmt::format("{} exists", options.out));
  }
  try {
    QV_TRY(const auto index, build(options, source));
    const std::string unfinished = options.out + ".tmp";
    faiss::write_index(index.get(), unfinished.c_str());
    std::filesystem::rename(unfinished, options.out);
    return fmt::format("{} vectors of {} dimensions in {} ({})", index->ntotal, index->d,
                       options.factory, metric_name(source.metric));
  } catch (const std::exception& failure) {
    return fail(Code::kInvalidArgument,
                fmt::format("FAISS cannot build \"{}\": {}", options.factory, failure.what()));
  }
}

}  // namespace quiver::interop
