#include "engine/segment/columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/observe/log.h"
#include "payload/json/document.h"

namespace quiver::engine {
namespace {

bool has_column(const SegmentData& data, const payload::FieldIndex& index) {
  const auto found = data.columns.find(index.key);
  return found != data.columns.end() && same_column(*found->second.index, index);
}

/// True if building the column again helps. Other errors pass, or the operator has to mend them.
bool is_lost(Code code) {
  return code == Code::kNotFound || code == Code::kDataLoss || code == Code::kFailedPrecondition;
}

/// Writes the column from the segment's documents, over a damaged file if there is one.
Result<payload::ColumnView> build_column(const SegmentData& data, const payload::FieldIndex& index,
                                         Directory& directory) {
  const std::string name = column_file(index);
  if (directory.exists(name)) QV_TRY(directory.remove_file(name));
  const auto document = [&](std::uint32_t row) { return data.documents[row]; };
  const auto check = [&] { return data.check_rows(); };
  QV_TRY(payload::build_sealed_column(index, data.n_rows, document, directory, name, check));
  QV_TRY(directory.sync());
  return payload::open_column(directory, name, index);
}

Result<payload::ColumnView> build_in_directory(const SegmentData& data,
                                               const payload::FieldIndex& index,
                                               const Directory& segments) {
  QV_TRY(auto directory, segments.open_subdirectory(std::to_string(data.id)));
  return build_column(data, index, *directory);
}

/// Files of indexes that were dropped, or that had other options, and that a stop left behind.
void remove_other_columns(Directory& directory, std::span<const payload::FieldIndex> indexes) {
  const auto entries = directory.list();
  if (!entries) return log_warning("{}", entries.error().message());
  for (const auto& entry : *entries) {
    const bool is_column = entry.name.starts_with("column-") && entry.name.ends_with(".qvc");
    const bool is_wanted = std::ranges::any_of(
        indexes, [&](const auto& index) { return column_file(index) == entry.name; });
    if (!is_column || is_wanted) continue;
    if (auto removed = directory.remove_file(entry.name); !removed) {
      log_warning("{}", removed.error().message());
    }
  }
}

}  // namespace

Result<payload::ColumnView> column_in_memory(const SegmentData& data,
                                             const payload::FieldIndex& index) {
  QV_TRY(auto column, payload::MutableColumn::create(index));
  for (std::uint32_t row = 0; row < data.n_rows; ++row) {
    QV_TRY(const auto document, payload::parse_json(data.documents[row]));
    column->add_row(document);
  }
  QV_TRY(data.check_rows());
  return column->view();
}

const payload::FieldIndex* find_index(std::span<const payload::FieldIndex> indexes,
                                      std::string_view key) {
  const auto found = std::find_if(indexes.begin(), indexes.end(),
                                  [&](const auto& index) { return index.key == key; });
  return found == indexes.end() ? nullptr : &*found;
}

bool same_column(const payload::FieldIndex& a, const payload::FieldIndex& b) {
  return a.key == b.key && a.kind == b.kind && a.text == b.text && a.scoring == b.scoring;
}

std::string column_file(const payload::FieldIndex& index) {
  const auto& text = index.text;
  std::string identity =
      fmt::format("{}\n{}\n{} {} {} {} {}", index.key, static_cast<int>(index.kind),
                  static_cast<int>(text.tokenizer), text.lowercase, text.phrase_matching,
                  text.min_token_len, text.max_token_len);
  // Columns without an analysis or scoring keep the names that they had before there were any.
  const std::string analysis = payload::analysis_identity(text);
  if (!analysis.empty()) identity += "\n" + analysis;
  if (index.scoring) identity += "\nscoring";
  return fmt::format("column-{:016x}.qvc", hash_text(identity));
}

bool lacks_columns(const SegmentData& data, std::span<const payload::FieldIndex> indexes) {
  return std::any_of(indexes.begin(), indexes.end(),
                     [&](const auto& index) { return !has_column(data, index); });
}

Result<ColumnMap> missing_columns(const SegmentData& data,
                                  std::span<const payload::FieldIndex> indexes,
                                  Directory& segments) {
  ColumnMap columns;
  for (const auto& index : indexes) {
    if (has_column(data, index)) continue;
    if (!data.sealed) {
      QV_TRY(columns[index.key], column_in_memory(data, index));
      continue;
    }
    auto column = build_in_directory(data, index, segments);
    if (!column && column.error().code() == Code::kNotFound) {
      // The segment was merged away meanwhile; its readers get a column of their own.
      column = column_in_memory(data, index);
    }
    if (!column) return fail(column.error());
    columns[index.key] = *std::move(column);
  }
  return columns;
}

Result<> open_columns(SegmentData& data, Directory& directory,
                      std::span<const payload::FieldIndex> indexes) {
  for (const auto& index : indexes) {
    auto column = payload::open_column(directory, column_file(index), index);
    if (!column && is_lost(column.error().code())) {
      if (column.error().code() != Code::kNotFound) {
        log_warning("{}; building it again", column.error().message());
      }
      column = build_column(data, index, directory);
    }
    if (!column) return fail(column.error());
    data.columns[index.key] = *std::move(column);
  }
  remove_other_columns(directory, indexes);
  return {};
}

Result<> merge_columns(SegmentData& output, std::span<const Segment> inputs,
                       std::span<const RowRef> rows, Directory& directory,
                       std::span<const payload::FieldIndex> indexes) {
  if (indexes.empty()) return {};
  std::vector<payload::RowOrigin> origins;
  origins.reserve(rows.size());
  for (const RowRef& row : rows) origins.push_back({row.segment, row.row});
  for (const auto& index : indexes) {
    std::vector<payload::ColumnView> sources;
    for (const auto& input : inputs) {
      if (has_column(*input.data, index)) sources.push_back(input.data->columns.at(index.key));
    }
    if (sources.size() == inputs.size()) {
      QV_TRY(payload::write_column(sources, origins, directory, column_file(index)));
      QV_TRY(output.columns[index.key], payload::open_column(directory, column_file(index), index));
    } else {
      QV_TRY(output.columns[index.key], build_column(output, index, directory));
    }
  }
  return {};
}

}  // namespace quiver::engine
