#include "app/import/reading/unfit.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "engine/model/row.h"

namespace quiver::app {
namespace {

struct Numbers {
  std::span<const float> operator()(const engine::DenseVector& vector) const { return vector; }
  template <class Vector>
  std::span<const float> operator()(const Vector& vector) const {
    return vector.values;
  }
};

Result<const FieldSchema*> find_field(const std::vector<FieldSchema>& fields,
                                      const std::string& name) {
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const FieldSchema& f) { return f.name == name; });
  if (field != fields.end()) return &*field;
  return fail(Code::kInvalidArgument, fmt::format("the collection has no vector \"{}\"", name));
}

Result<> check_value(const std::vector<FieldSchema>& fields, const std::string& name,
                     const engine::VectorValue& value) {
  QV_TRY(const FieldSchema* field, find_field(fields, name));
  QV_TRY(engine::to_stored(*field, value));
  return engine::check_range(*field, std::visit(Numbers(), value));
}

Result<> check_point(const RowBlock& block, const RowPoint& point,
                     const std::vector<FieldSchema>& fields) {
  const std::size_t i = point.column_row;
  for (const VectorColumn& column : block.columns) {
    if (column.present[i] != 0) QV_TRY(check_value(fields, column.name, to_value(column, i)));
  }
  for (const auto& vector : point.vectors) QV_TRY(check_value(fields, vector.name, vector.value));
  return {};
}

}  // namespace

Result<> remove_unfit(RowBlock& block, const std::vector<FieldSchema>& fields, BadRows& bad_rows,
                      const std::function<std::string(std::uint64_t)>& describe) {
  std::vector<RowPoint> fit;
  fit.reserve(block.points.size());
  Result<> outcome;
  for (RowPoint& point : block.points) {
    if (const auto checked = check_point(block, point, fields); !checked) {
      outcome = bad_rows.add(point.row,
                             fmt::format("{}: {}", describe(point.row), checked.error().message()));
      if (outcome) continue;
      block.end_row = point.row;
      break;
    }
    fit.push_back(std::move(point));
  }
  block.points = std::move(fit);
  return outcome;
}

bool would_be_clamped(const RowBlock& block, const std::vector<FieldSchema>& fields) {
  const auto is_clamped = [&](const std::string& name, std::span<const float> values) {
    const auto field = find_field(fields, name);
    return field && !engine::check_range(**field, values);
  };
  for (const VectorColumn& column : block.columns) {
    if (is_clamped(column.name, column.batch.values)) return true;
  }
  return std::ranges::any_of(block.points, [&](const RowPoint& point) {
    return std::ranges::any_of(point.vectors, [&](const engine::NamedVector& vector) {
      return is_clamped(vector.name, std::visit(Numbers(), vector.value));
    });
  });
}

}  // namespace quiver::app
