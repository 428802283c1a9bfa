#include "app/advise/collection_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "app/export/point_source.h"

namespace quiver::app {
namespace {

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

Result<FieldSchema> choose_field(const ExportOptions& from, const CollectionFacts& facts,
                                 const std::string& name) {
  std::vector<FieldSchema> dense;
  std::vector<std::string> names;
  for (const FieldSchema& field : facts.fields) {
    if (field.kind != FieldKind::kDense) continue;
    if (!name.empty() && field.name == name) return field;
    dense.push_back(field);
    names.push_back(quoted(field.name));
  }
  if (name.empty() && dense.size() == 1) return dense.front();
  const std::string found =
      names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "));
  const std::string wanted =
      name.empty() ? "give --field one of its dense vectors" : "no dense vector " + quoted(name);
  return fail(Code::kInvalidArgument,
              fmt::format("collection `{}`: {}: {}", from.collection, wanted, found));
}

void append(const engine::Record& point, const std::string& field, dataset::VectorBatch& rows) {
  if (!point.vectors) return;
  for (const auto& vector : *point.vectors) {
    const auto* values = std::get_if<engine::DenseVector>(&vector.value);
    if (vector.name != field || values == nullptr) continue;
    rows.values.insert(rows.values.end(), values->begin(), values->end());
    ++rows.n_rows;
  }
}

}  // namespace

Result<CollectionRows> read_rows(const ExportOptions& from, const std::string& field) {
  QV_TRY(const auto source, open_points(from));
  CollectionRows read;
  QV_TRY(read.field, choose_field(from, source->facts(), field));
  const std::uint64_t limit = page_size(from, source->facts());
  std::optional<PointId> first;
  do {
    QV_TRY(const auto page, source->page(first, limit));
    for (const engine::Record& point : page.points) {
      append(point, read.field.name, read.rows.batch);
    }
    first = page.next;
  } while (first);
  QV_TRY(source->close());
  read.rows.shape.dim = read.field.dim;
  read.rows.shape.n_rows = read.rows.batch.n_rows;
  return read;
}

}  // namespace quiver::app
