#include "engine/segment/segment_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "base/io/section_file.h"
#include "engine/model/config.h"
#include "engine/segment/fields.h"
#include "index/exact/searcher.h"
#include "index/exact/type.h"

namespace quiver::engine {
namespace {

constexpr SectionFormat kFormat{"segment file", "QVSEGMT1", "QVSEGEND"};

enum SectionKind : std::uint32_t {
  kIds = 1,
  kSeqs = 2,
  kDocumentOffsets = 3,
  kDocuments = 4,
  kPresent = 5,
  kRows = 6,
  kOffsets = 7,
  kIndices = 8,
  kValues = 9,
  // Instead of kIds where rows lie by tenant: a reader that knows only sorted ids refuses the file.
  kUnsortedIds = 10,
  kIdOrder = 11,
};

const PointId& id_of(std::span<const Segment> inputs, const RowRef& ref) {
  return inputs[ref.segment].data->ids[ref.row];
}

/// Positions in `rows` by ascending id; empty if they are in that order already. Sorts copies of
/// the ids: sorting goes out of bounds if the ids change meanwhile.
std::vector<std::uint32_t> id_order_of(std::span<const Segment> inputs,
                                       std::span<const RowRef> rows) {
  struct Entry {
    PointId id;
    std::uint32_t position;
  };
  std::vector<Entry> entries;
  entries.reserve(rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) entries.push_back({id_of(inputs, rows[i]), i});
  const auto by_id = [](const Entry& a, const Entry& b) { return a.id < b.id; };
  if (std::is_sorted(entries.begin(), entries.end(), by_id)) return {};
  std::sort(entries.begin(), entries.end(), by_id);
  std::vector<std::uint32_t> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries) order.push_back(entry.position);
  return order;
}

/// Writes the columns of the chosen rows, section by section.
class SegmentWriter {
 public:
  SegmentWriter(SectionWriter& out, std::span<const Segment> inputs, std::span<const RowRef> rows,
                const Cancel& cancel, const std::function<void(double)>& progress)
      : out_(out), inputs_(inputs), rows_(rows), cancel_(cancel), progress_(progress) {}

  Result<> write(const std::vector<FieldSchema>& fields) {
    n_sections_ = 4;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (has_vectors(i)) n_sections_ += fields[i].kind == FieldKind::kDense ? 2 : 4;
    }
    const auto order = id_order_of(inputs_, rows_);
    QV_TRY(section(
        order.empty() ? kIds : kUnsortedIds, 0,
        [](const SegmentData& data, std::uint32_t row) { return bytes_of(data.ids[row]); }));
    if (!order.empty()) out_.section(kIdOrder, std::span<const std::uint32_t>(order));
    QV_TRY(section(kSeqs, 0, [](const SegmentData& data, std::uint32_t row) {
      return bytes_of(data.seqs[row]);
    }));
    QV_TRY(write_documents());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (has_vectors(i)) QV_TRY(write_field(i, fields[i].kind));
    }
    return {};
  }

 private:
  /// `bytes_of_row(data, row)` for every row, in order.
  template <class BytesOfRow>
  Result<> section(SectionKind kind, std::size_t field, BytesOfRow bytes_of_row) {
    out_.begin(kind, field);
    QV_TRY(for_each_row(
        [&](const SegmentData& data, std::uint32_t row) { out_.add(bytes_of_row(data, row)); }));
    out_.end();
    return {};
  }
  /// 0, then the running sum of `count(data, row)`.
  template <class Count>
  Result<> offsets(SectionKind kind, std::size_t field, Count count) {
    out_.begin(kind, field);
    std::uint64_t sum = 0;
    out_.add(bytes_of(sum));
    QV_TRY(for_each_row([&](const SegmentData& data, std::uint32_t row) {
      sum += count(data, row);
      out_.add(bytes_of(sum));
    }));
    out_.end();
    return {};
  }
  template <class Visit>
  Result<> for_each_row(Visit visit) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i % 256 == 0) {
        QV_TRY(cancel_.check());
        if (out_.failed()) break;  // `finish` says why
        report(i);
      }
      visit(*inputs_[rows_[i].segment].data, rows_[i].row);
    }
    ++n_done_;
    return {};
  }
  void report(std::size_t row) const {
    if (!progress_) return;
    const double part = static_cast<double>(row) / static_cast<double>(rows_.size());
    progress_((static_cast<double>(n_done_) + part) / static_cast<double>(n_sections_));
  }

  Result<> write_documents() {
    QV_TRY(offsets(kDocumentOffsets, 0, [](const SegmentData& data, std::uint32_t row) {
      return data.documents[row].size();
    }));
    return section(kDocuments, 0, [](const SegmentData& data, std::uint32_t row) {
      return as_byte_span(data.documents[row]);
    });
  }

  /// A field that no row has is not written. Most were added later, or are dropped.
  [[nodiscard]] bool has_vectors(std::size_t f) const {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [f](const Segment& input) { return input.data->fields[f].n_present != 0; });
  }
  Result<> write_field(std::size_t f, FieldKind kind) {
    QV_TRY(section(kPresent, f, [f](const SegmentData& data, std::uint32_t row) {
      return bytes_of(data.fields[f].present[row]);
    }));
    switch (kind) {
      case FieldKind::kDense:
        return write_dense(f);
      case FieldKind::kSparse:
        return write_sparse(f);
      case FieldKind::kMulti:
        return write_multi(f);
    }
    return {};
  }
  // A column without vectors has no values: absent rows are not read (`absent_column`).
  Result<> write_dense(std::size_t f) {
    return section(kRows, f, [this, f](const SegmentData& data, std::uint32_t row) {
      const auto& dense = data.fields[f].dense();
      if (data.fields[f].present[row] == 0) return zeros(dense.stride());
      const MatrixView rows = dense.rows();
      return Bytes(rows.row(row), rows.stride_bytes);
    });
  }
  Result<> write_sparse(std::size_t f) {
    const auto row_of = [f](const SegmentData& data, std::uint32_t row) {
      const auto& column = data.fields[f];
      return column.present[row] == 0 ? SparseView{} : column.sparse().row(row);
    };
    QV_TRY(offsets(kOffsets, f, [=](const SegmentData& data, std::uint32_t row) {
      return row_of(data, row).indices.size();
    }));
    QV_TRY(section(kIndices, f, [=](const SegmentData& data, std::uint32_t row) {
      return std::as_bytes(row_of(data, row).indices);
    }));
    return section(kValues, f, [=](const SegmentData& data, std::uint32_t row) {
      return std::as_bytes(row_of(data, row).values);
    });
  }
  Result<> write_multi(std::size_t f) {
    const auto row_of = [f](const SegmentData& data, std::uint32_t row) {
      const auto& column = data.fields[f];
      return column.present[row] == 0 ? MatrixView{} : column.multi().row(row);
    };
    QV_TRY(offsets(kOffsets, f, [=](const SegmentData& data, std::uint32_t row) {
      return std::uint64_t{row_of(data, row).n_rows};
    }));
    return section(kRows, f, [=](const SegmentData& data, std::uint32_t row) {
      const MatrixView tokens = row_of(data, row);
      return Bytes(tokens.data, tokens.n_rows * tokens.stride_bytes);
    });
  }
  Bytes zeros(std::size_t n) {
    zeros_.resize(n);
    return zeros_;
  }

  SectionWriter& out_;
  std::span<const Segment> inputs_;
  std::span<const RowRef> rows_;
  const Cancel& cancel_;
  const std::function<void(double)>& progress_;
  std::size_t n_sections_ = 0;
  std::size_t n_done_ = 0;
  std::vector<std::byte> zeros_;  ///< an absent dense row
};

Result<index::SparseColumn> read_sparse(const SectionReader& reader, std::size_t f) {
  index::SparseColumn column;
  QV_TRY(column.offsets, reader.get<std::uint64_t>(kOffsets, f, reader.n_rows() + 1));
  QV_TRY(column.indices, reader.get<std::uint32_t>(kIndices, f));
  QV_TRY(column.values, reader.get<float>(kValues, f, column.indices.size()));
  QV_TRY(reader.check_offsets(column.offsets.span(), column.indices.size()));
  return column;
}

Result<index::MultiColumn> read_multi(const SectionReader& reader, std::size_t f,
                                      const FieldSchema& schema) {
  index::MultiColumn column;
  column.tokens = {{}, schema.dim, schema.dtype};
  QV_TRY(column.offsets, reader.get<std::uint64_t>(kOffsets, f, reader.n_rows() + 1));
  QV_TRY(column.tokens.bytes, reader.get<std::byte>(kRows, f));
  QV_TRY(reader.check_offsets(column.offsets.span(),
                              column.tokens.bytes.size() / column.tokens.stride()));
  return column;
}

Result<index::FieldColumn> read_field(const SectionReader& reader, std::size_t f,
                                      const FieldSchema& schema) {
  // Every byte of the file is as written: what is missing was never there.
  if (is_dropped(schema) || !reader.has(kPresent, f)) return absent_column(schema, reader.n_rows());
  index::FieldColumn column;
  column.schema = schema;
  column.n_rows = reader.n_rows();
  QV_TRY(column.present, reader.get<std::uint8_t>(kPresent, f, reader.n_rows()));
  for (const std::uint8_t here : column.present) column.n_present += here;
  if (schema.kind == FieldKind::kSparse) {
    QV_TRY(column.values, read_sparse(reader, f));
  } else if (schema.kind == FieldKind::kMulti) {
    QV_TRY(column.values, read_multi(reader, f, schema));
  } else {
    index::DenseColumn dense{{}, schema.dim, schema.dtype};
    QV_TRY(dense.bytes,
           reader.get<std::byte>(kRows, f, std::uint64_t{reader.n_rows()} * dense.stride()));
    column.values = std::move(dense);
  }
  return column;
}

/// kDataLoss unless the ids ascend in the stored order. Then each row is in it once.
Result<> check_id_order(const SectionReader& reader, const SegmentData& data) {
  for (std::uint32_t rank = 0; rank < data.n_rows; ++rank) {
    if (data.id_order[rank] >= data.n_rows) return reader.damaged("a row in the order of ids");
    if (rank == 0 || data.ids[data.id_order[rank - 1]] < data.ids[data.id_order[rank]]) continue;
    return reader.damaged("the order of ids");
  }
  return {};
}

}  // namespace

Result<std::vector<std::uint64_t>> segment_ids(const Directory& segments) {
  QV_TRY(const auto entries, segments.list());
  std::vector<std::uint64_t> found;
  for (const auto& entry : entries) {
    std::uint64_t id = 0;
    std::from_chars(entry.name.data(), entry.name.data() + entry.name.size(), id);
    if (entry.kind == EntryKind::kDirectory && id != 0 && std::to_string(id) == entry.name) {
      found.push_back(id);
    }
  }
  return found;
}

std::vector<RowRef> live_rows_by_id(std::span<const Segment> inputs) {
  // Sorts copies of the ids: sorting goes out of bounds if the ids change meanwhile.
  struct Entry {
    PointId id;
    RowRef row;
  };
  std::vector<Entry> entries;
  for (std::uint32_t s = 0; s < inputs.size(); ++s) {
    for (std::uint32_t row = 0; row < inputs[s].n_rows(); ++row) {
      if (inputs[s].is_live(row)) entries.push_back({inputs[s].data->ids[row], {s, row}});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.id < b.id; });
  std::vector<RowRef> rows;
  rows.reserve(entries.size());
  for (const Entry& entry : entries) rows.push_back(entry.row);
  return rows;
}

Result<> write_segment_file(Directory& directory, std::span<const Segment> inputs,
                            std::span<const RowRef> rows, const Cancel& cancel,
                            const std::function<void(double)>& progress) {
  QV_TRY(auto file, directory.create_file(kSegmentFile));
  SectionWriter out(kFormat, std::move(file));
  std::vector<FieldSchema> fields;
  for (const auto& field : inputs.front().data->fields) fields.push_back(field.schema);
  QV_TRY(SegmentWriter(out, inputs, rows, cancel, progress).write(fields));
  return out.finish(static_cast<std::uint32_t>(rows.size()));
}

Result<SegmentData> open_segment_file(const Directory& directory, std::uint64_t id,
                                      const std::vector<FieldSchema>& fields) {
  QV_TRY(auto reader, SectionReader::open(kFormat, directory, kSegmentFile));
  SegmentData data;
  data.id = id;
  data.sealed = true;
  data.file = reader.file();
  data.n_rows = reader.n_rows();
  const bool is_sorted = !reader.has(kUnsortedIds);
  QV_TRY(data.ids, reader.get<PointId>(is_sorted ? kIds : kUnsortedIds, 0, data.n_rows));
  if (!is_sorted) {
    QV_TRY(data.id_order, reader.get<std::uint32_t>(kIdOrder, 0, data.n_rows));
    QV_TRY(check_id_order(reader, data));
  }
  QV_TRY(data.seqs, reader.get<Seq>(kSeqs, 0, data.n_rows));
  auto& offsets = data.documents.offsets;
  QV_TRY(offsets, reader.get<std::uint64_t>(kDocumentOffsets, 0, data.n_rows + 1));
  QV_TRY(data.documents.bytes, reader.get<std::byte>(kDocuments, 0));
  QV_TRY(reader.check_offsets(offsets.span(), data.documents.bytes.size()));
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (is_dropped(fields[f]) && reader.has(kPresent, f)) data.holds_dropped = true;
    QV_TRY(auto column, read_field(reader, f, fields[f]));
    auto exact = std::make_shared<index::FlatSearcher>(column);
    data.add_field(std::move(column), std::move(exact), &index::kFlat);
  }
  return data;
}

}  // namespace quiver::engine
