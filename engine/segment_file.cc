#include "engine/segment_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "base/hash.h"
#include "index/flat/searcher.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kMagic = "QVSEGMT1";
constexpr std::string_view kEndMagic = "QVSEGEND";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kBufferBytes = 1 << 20;

enum class SectionKind : std::uint32_t {
  kIds = 1,
  kSeqs = 2,
  kDocumentOffsets = 3,
  kDocuments = 4,
  kPresent = 5,
  kRows = 6,
  kOffsets = 7,
  kIndices = 8,
  kValues = 9,
};

struct SectionEntry {
  std::uint32_t kind = 0;
  std::uint32_t field = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(SectionEntry) == 32);

struct Trailer {
  std::uint64_t table_offset = 0;
  std::uint32_t n_sections = 0;
  std::uint32_t n_rows = 0;
  std::uint64_t table_checksum = 0;
  std::array<char, 8> magic{};
};
static_assert(sizeof(Trailer) == 32);

template <class T>
Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Appends sections to a file through a buffer. The first error sticks and is told by `finish`.
class SectionWriter {
 public:
  explicit SectionWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {
    buffer_.reserve(kBufferBytes);
    std::array<std::byte, kAlignment> header{};
    std::memcpy(header.data(), kMagic.data(), kMagic.size());
    std::memcpy(header.data() + 8, &kVersion, sizeof(kVersion));
    write(header);
  }

  void begin(SectionKind kind, std::size_t field) {
    table_.push_back(
        {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(field), position_, 0, 0});
    checksum_ = Checksum();
    n_hashed_ = buffer_.size();
  }
  void add(Bytes bytes) { write(bytes); }
  void end() {
    hash_buffer();
    table_.back().size = position_ - table_.back().offset;
    table_.back().checksum = checksum_.digest();
    pad();
  }
  [[nodiscard]] bool failed() const { return !status_; }

  Result<> finish(std::uint32_t n_rows) {
    const Bytes table = std::as_bytes(std::span(table_));
    Trailer trailer{
        position_, static_cast<std::uint32_t>(table_.size()), n_rows, checksum(table), {}};
    std::memcpy(trailer.magic.data(), kEndMagic.data(), kEndMagic.size());
    write(table);
    write(bytes_of(trailer));
    flush();
    QV_TRY(std::move(status_));
    QV_TRY(file_->sync());
    return file_->close();
  }

 private:
  void write(Bytes bytes) {
    position_ += bytes.size();
    if (buffer_.size() + bytes.size() > kBufferBytes) flush();
    if (bytes.size() >= kBufferBytes) {
      checksum_.update(bytes);
      if (status_) status_ = file_->append(bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }
  void flush() {
    hash_buffer();
    if (status_ && !buffer_.empty()) status_ = file_->append(buffer_);
    buffer_.clear();
    n_hashed_ = 0;
  }
  /// Hashing what has gathered costs far less than hashing element by element.
  void hash_buffer() {
    checksum_.update(Bytes(buffer_).subspan(n_hashed_));
    n_hashed_ = buffer_.size();
  }
  void pad() {
    constexpr std::array<std::byte, kAlignment> kZeros{};
    write(Bytes(kZeros).first((kAlignment - position_ % kAlignment) % kAlignment));
  }

  std::unique_ptr<WritableFile> file_;
  std::vector<std::byte> buffer_;
  std::size_t n_hashed_ = 0;  ///< bytes of the buffer that the checksum has seen
  std::uint64_t position_ = 0;
  std::vector<SectionEntry> table_;
  Checksum checksum_;
  Result<> status_;
};

/// Writes the columns of the chosen rows, section by section.
class SegmentWriter {
 public:
  SegmentWriter(SectionWriter& out, std::span<const Segment> inputs, std::span<const RowRef> rows,
                const Cancel& cancel, const std::function<void(double)>& progress)
      : out_(out), inputs_(inputs), rows_(rows), cancel_(cancel), progress_(progress) {}

  Result<> write(const std::vector<FieldSchema>& fields) {
    n_sections_ = 4;
    for (const auto& field : fields) n_sections_ += field.kind == FieldKind::kDense ? 2 : 4;
    QV_TRY(section(SectionKind::kIds, 0, [](const SegmentData& data, std::uint32_t row) {
      return bytes_of(data.ids[row]);
    }));
    QV_TRY(section(SectionKind::kSeqs, 0, [](const SegmentData& data, std::uint32_t row) {
      return bytes_of(data.seqs[row]);
    }));
    QV_TRY(write_documents());
    for (std::size_t i = 0; i < fields.size(); ++i) QV_TRY(write_field(i, fields[i].kind));
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
    QV_TRY(offsets(
        SectionKind::kDocumentOffsets, 0,
        [](const SegmentData& data, std::uint32_t row) { return data.documents[row].size(); }));
    return section(SectionKind::kDocuments, 0, [](const SegmentData& data, std::uint32_t row) {
      return as_byte_span(data.documents[row]);
    });
  }

  Result<> write_field(std::size_t f, FieldKind kind) {
    QV_TRY(section(SectionKind::kPresent, f, [f](const SegmentData& data, std::uint32_t row) {
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
  Result<> write_dense(std::size_t f) {
    return section(SectionKind::kRows, f, [f](const SegmentData& data, std::uint32_t row) {
      const MatrixView rows = data.fields[f].dense().rows();
      return Bytes(rows.row(row), rows.stride_bytes);
    });
  }
  Result<> write_sparse(std::size_t f) {
    QV_TRY(offsets(SectionKind::kOffsets, f, [f](const SegmentData& data, std::uint32_t row) {
      return data.fields[f].sparse().row(row).indices.size();
    }));
    QV_TRY(section(SectionKind::kIndices, f, [f](const SegmentData& data, std::uint32_t row) {
      return std::as_bytes(data.fields[f].sparse().row(row).indices);
    }));
    return section(SectionKind::kValues, f, [f](const SegmentData& data, std::uint32_t row) {
      return std::as_bytes(data.fields[f].sparse().row(row).values);
    });
  }
  Result<> write_multi(std::size_t f) {
    QV_TRY(offsets(SectionKind::kOffsets, f, [f](const SegmentData& data, std::uint32_t row) {
      return data.fields[f].multi().row(row).n_rows;
    }));
    return section(SectionKind::kRows, f, [f](const SegmentData& data, std::uint32_t row) {
      const MatrixView tokens = data.fields[f].multi().row(row);
      return Bytes(tokens.data, tokens.n_rows * tokens.stride_bytes);
    });
  }

  SectionWriter& out_;
  std::span<const Segment> inputs_;
  std::span<const RowRef> rows_;
  const Cancel& cancel_;
  const std::function<void(double)>& progress_;
  std::size_t n_sections_ = 0;
  std::size_t n_done_ = 0;
};

/// The checked sections of a mapped file.
class SectionReader {
 public:
  static Result<SectionReader> open(std::shared_ptr<const MappedFile> file, std::string path) {
    SectionReader reader(std::move(path));
    reader.file_ = shared_bytes(std::move(file));
    QV_TRY(reader.check_ends());
    QV_TRY(reader.check_sections());
    return reader;
  }

  [[nodiscard]] std::uint32_t n_rows() const { return trailer_.n_rows; }

  /// A section of exactly `n` elements; any number if `n` is nullopt.
  template <class T>
  Result<SharedSpan<T>> get(SectionKind kind, std::size_t field,
                            std::optional<std::uint64_t> n = std::nullopt) const {
    const auto found =
        sections_.find({static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(field)});
    if (found == sections_.end()) {
      return damaged(
          fmt::format("section {} of field {} is missing", static_cast<int>(kind), field));
    }
    QV_TRY(auto span, cast_span<T>(found->second));
    if (n && span.size() != *n) {
      return damaged(fmt::format("section {} of field {} has {} elements, expected {}",
                                 static_cast<int>(kind), field, span.size(), *n));
    }
    return span;
  }
  /// `[n_rows + 1]` offsets that begin at 0, ascend and end at `total`.
  Result<> check_offsets(const SharedSpan<std::uint64_t>& offsets, std::uint64_t total) const {
    if (offsets[0] != 0 || offsets[offsets.size() - 1] != total ||
        !std::is_sorted(offsets.begin(), offsets.end())) {
      return damaged("offsets do not ascend from 0 to the size of their section");
    }
    return {};
  }

 private:
  explicit SectionReader(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] tl::unexpected<Error> damaged(std::string_view what) const {
    return fail(Code::kDataLoss, fmt::format("segment file {} is damaged: {}", path_, what));
  }

  Result<> check_ends() {
    const Bytes bytes = file_.span();
    if (bytes.size() < kAlignment + sizeof(Trailer)) return damaged("too short");
    std::uint32_t version = 0;
    std::memcpy(&version, bytes.data() + 8, sizeof(version));
    if (as_text(bytes.first(8)) != kMagic) return damaged("no segment file");
    if (version != kVersion)
      return damaged(fmt::format("version {}, expected {}", version, kVersion));
    std::memcpy(&trailer_, bytes.data() + bytes.size() - sizeof(Trailer), sizeof(Trailer));
    if (std::string_view(trailer_.magic.data(), 8) != kEndMagic) return damaged("cut short");
    const std::uint64_t table_bytes = std::uint64_t{trailer_.n_sections} * sizeof(SectionEntry);
    if (trailer_.table_offset > bytes.size() ||
        table_bytes != bytes.size() - sizeof(Trailer) - trailer_.table_offset) {
      return damaged("the section table is out of place");
    }
    if (checksum(bytes.subspan(trailer_.table_offset, table_bytes)) != trailer_.table_checksum) {
      return damaged("checksum of the section table");
    }
    return {};
  }

  Result<> check_sections() {
    std::uint64_t end = kMagic.size() + sizeof(kVersion);
    for (std::uint32_t i = 0; i < trailer_.n_sections; ++i) {
      SectionEntry entry;
      std::memcpy(&entry, file_.data() + trailer_.table_offset + i * sizeof(entry), sizeof(entry));
      if (entry.offset > trailer_.table_offset ||
          entry.size > trailer_.table_offset - entry.offset || entry.offset % kAlignment != 0) {
        return damaged(fmt::format("section {} is out of place", entry.kind));
      }
      QV_TRY(check_padding(end, entry.offset));
      end = entry.offset + entry.size;
      auto section = file_.subspan(entry.offset, entry.size);
      if (checksum(section.span()) != entry.checksum) {
        return damaged(fmt::format("checksum of section {} of field {}", entry.kind, entry.field));
      }
      sections_.emplace(std::pair(entry.kind, entry.field), std::move(section));
    }
    return check_padding(end, trailer_.table_offset);
  }

  /// What lies between sections belongs to none of them, and is less than one alignment of zeros.
  Result<> check_padding(std::uint64_t from, std::uint64_t to) const {
    if (to < from || to - from >= kAlignment) return damaged("a section is out of place");
    const Bytes gap = file_.span().subspan(from, to - from);
    const bool zeros =
        std::all_of(gap.begin(), gap.end(), [](std::byte b) { return b == std::byte{}; });
    return zeros ? Result<>() : damaged("bytes between sections");
  }

  std::string path_;
  SharedBytes file_;
  Trailer trailer_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SharedBytes> sections_;
};

Result<index::SparseColumn> read_sparse(const SectionReader& reader, std::size_t f) {
  index::SparseColumn column;
  QV_TRY(column.offsets, reader.get<std::uint64_t>(SectionKind::kOffsets, f, reader.n_rows() + 1));
  QV_TRY(column.indices, reader.get<std::uint32_t>(SectionKind::kIndices, f));
  QV_TRY(column.values, reader.get<float>(SectionKind::kValues, f, column.indices.size()));
  QV_TRY(reader.check_offsets(column.offsets, column.indices.size()));
  return column;
}

Result<index::MultiColumn> read_multi(const SectionReader& reader, std::size_t f,
                                      const FieldSchema& schema) {
  index::MultiColumn column;
  column.tokens = {{}, schema.dim, schema.dtype};
  QV_TRY(column.offsets, reader.get<std::uint64_t>(SectionKind::kOffsets, f, reader.n_rows() + 1));
  QV_TRY(column.tokens.bytes, reader.get<std::byte>(SectionKind::kRows, f));
  QV_TRY(reader.check_offsets(column.offsets, column.tokens.bytes.size() / column.tokens.stride()));
  return column;
}

Result<index::FieldColumn> read_field(const SectionReader& reader, std::size_t f,
                                      const FieldSchema& schema) {
  index::FieldColumn column;
  column.schema = schema;
  column.n_rows = reader.n_rows();
  QV_TRY(column.present, reader.get<std::uint8_t>(SectionKind::kPresent, f, reader.n_rows()));
  for (const std::uint8_t here : column.present) column.n_present += here;
  if (schema.kind == FieldKind::kSparse) {
    QV_TRY(column.values, read_sparse(reader, f));
  } else if (schema.kind == FieldKind::kMulti) {
    QV_TRY(column.values, read_multi(reader, f, schema));
  } else {
    index::DenseColumn dense{{}, schema.dim, schema.dtype};
    QV_TRY(dense.bytes, reader.get<std::byte>(SectionKind::kRows, f,
                                              std::uint64_t{reader.n_rows()} * dense.stride()));
    column.values = std::move(dense);
  }
  return column;
}

}  // namespace

std::vector<RowRef> live_rows_by_id(std::span<const Segment> inputs) {
  std::vector<RowRef> rows;
  for (std::uint32_t s = 0; s < inputs.size(); ++s) {
    for (std::uint32_t row = 0; row < inputs[s].n_rows(); ++row) {
      if (inputs[s].is_live(row)) rows.push_back({s, row});
    }
  }
  std::sort(rows.begin(), rows.end(), [&](const RowRef& a, const RowRef& b) {
    return inputs[a.segment].data->ids[a.row] < inputs[b.segment].data->ids[b.row];
  });
  return rows;
}

Result<> write_segment_file(Directory& directory, std::span<const Segment> inputs,
                            std::span<const RowRef> rows, const Cancel& cancel,
                            const std::function<void(double)>& progress) {
  QV_TRY(auto file, directory.create_file(kSegmentFile));
  SectionWriter out(std::move(file));
  std::vector<FieldSchema> fields;
  for (const auto& field : inputs.front().data->fields) fields.push_back(field.schema);
  QV_TRY(SegmentWriter(out, inputs, rows, cancel, progress).write(fields));
  return out.finish(static_cast<std::uint32_t>(rows.size()));
}

Result<SegmentData> open_segment_file(const Directory& directory, std::uint64_t id,
                                      const std::vector<FieldSchema>& fields) {
  QV_TRY(auto file, directory.open_mapped(kSegmentFile));
  QV_TRY(auto reader, SectionReader::open(std::move(file), directory.path()));
  SegmentData data;
  data.id = id;
  data.sealed = true;
  data.n_rows = reader.n_rows();
  QV_TRY(data.ids, reader.get<PointId>(SectionKind::kIds, 0, data.n_rows));
  QV_TRY(data.seqs, reader.get<Seq>(SectionKind::kSeqs, 0, data.n_rows));
  auto& offsets = data.documents.offsets;
  QV_TRY(offsets, reader.get<std::uint64_t>(SectionKind::kDocumentOffsets, 0, data.n_rows + 1));
  QV_TRY(data.documents.bytes, reader.get<std::byte>(SectionKind::kDocuments, 0));
  QV_TRY(reader.check_offsets(offsets, data.documents.bytes.size()));
  for (std::size_t f = 0; f < fields.size(); ++f) {
    QV_TRY(auto column, read_field(reader, f, fields[f]));
    data.searchers.push_back(std::make_shared<index::FlatSearcher>(column));
    data.fields.push_back(std::move(column));
  }
  return data;
}

}  // namespace quiver::engine
