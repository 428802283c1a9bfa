#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/io/checked_files.h"
#include "payload/column/column.h"
#include "payload/column/format.h"
#include "payload/column/kinds.h"
#include "payload/column/sealing.h"

namespace quiver::payload {
namespace {

using format::Header;
using format::IndexRecord;
using format::Section;
using format::SectionId;

static_assert(std::endian::native == std::endian::little, "files are written as memory lies");

/// Calls `visit(id, span)` for every section except the index record. The only list of stored
/// sections.
template <class View, class Visit>
void for_each_section(View& view, Visit&& visit) {
  visit(SectionId::kFacts, view.facts);
  visit(SectionId::kOffsets, view.offsets);
  visit(SectionId::kIrregular, view.irregular);
  visit(SectionId::kTerms, view.terms);
  visit(SectionId::kIntegers, view.integers);
  visit(SectionId::kDoubles, view.doubles);
  visit(SectionId::kPoints, view.points);
  visit(SectionId::kTermOffsets, view.term_offsets);
  visit(SectionId::kTermBytes, view.term_bytes);
  visit(SectionId::kPostingOffsets, view.posting_offsets);
  visit(SectionId::kPostingRows, view.posting_rows);
  visit(SectionId::kSortedIntegers, view.sorted_integers);
  visit(SectionId::kSortedDoubles, view.sorted_doubles);
  visit(SectionId::kSortedRows, view.sorted_rows);
  visit(SectionId::kPostingCounts, view.posting_counts);
  visit(SectionId::kTextLengths, view.text_lengths);
  visit(SectionId::kBlockCounts, view.block_counts);
  visit(SectionId::kBlockLengths, view.block_lengths);
}

std::string index_record(const FieldIndex& index) {
  const IndexRecord record{static_cast<std::uint32_t>(index.text.tokenizer),
                           index.text.lowercase ? 1U : 0U, index.text.phrase_matching ? 1U : 0U,
                           index.text.min_token_len, index.text.max_token_len};
  std::string bytes(sizeof(record), '\0');
  std::memcpy(bytes.data(), &record, sizeof(record));
  bytes += index.key;
  const std::string analysis = analysis_identity(index.text);
  if (analysis.empty()) return bytes;
  const std::uint64_t hash = hash_text(analysis);
  return bytes.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
}

constexpr std::uint64_t align(std::uint64_t offset) {
  return (offset + format::kAlignment - 1) / format::kAlignment * format::kAlignment;
}

/// Lays out header, section table and sections, and writes them.
class ColumnFileWriter {
 public:
  explicit ColumnFileWriter(const ColumnView& view) : index_(index_record(*view.index)) {
    header_.kind = static_cast<std::uint32_t>(view.index->kind);
    header_.n_rows = view.n_rows;
    add(SectionId::kIndex, 1, as_byte_span(index_));
    for_each_section(view, [&]<class T>(SectionId id, const SharedSpan<T>& span) {
      if (!span.empty()) add(id, sizeof(T), std::as_bytes(span.span()));
    });
  }

  Result<> write(Directory& directory, std::string_view name) {
    place();
    if (const auto origin = directory.origin_of(name)) {
      header_.version = format::kVersionWithOrigin;
      header_.owner = origin->owner;
      header_.path = origin->path;
    }
    std::vector<Bytes> pieces{std::as_bytes(std::span(&header_, 1)),
                              std::as_bytes(std::span<const Section>(sections_))};
    std::uint64_t at = sizeof(Header) + sections_.size() * sizeof(Section);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      pieces.push_back(Bytes(kZeros).first(sections_[i].offset - at));
      pieces.push_back(contents_[i]);
      at = sections_[i].offset + contents_[i].size();
    }
    Checksum sum;
    for (const Bytes piece : pieces) sum.update(piece);
    header_.checksum = sum.digest();
    return directory.write_file(name, pieces);
  }

 private:
  static constexpr std::array<std::byte, format::kAlignment> kZeros{};

  void add(SectionId id, std::uint32_t element_bytes, Bytes bytes) {
    sections_.push_back(
        {static_cast<std::uint32_t>(id), element_bytes, 0, bytes.size() / element_bytes});
    contents_.push_back(bytes);
  }
  void place() {
    std::uint64_t at = sizeof(Header) + sections_.size() * sizeof(Section);
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      sections_[i].offset = align(at);
      at = sections_[i].offset + contents_[i].size();
    }
    header_.n_sections = static_cast<std::uint32_t>(sections_.size());
    header_.file_bytes = at;
  }

  const std::string index_;
  Header header_;
  std::vector<Section> sections_;
  std::vector<Bytes> contents_;
};

template <class... Args>
tl::unexpected<Error> damaged(std::string_view name, fmt::format_string<Args...> text,
                              Args&&... args) {
  return fail(Code::kDataLoss, fmt::format("payload column file {}: {}", name,
                                           fmt::format(text, std::forward<Args>(args)...)));
}

constexpr std::size_t kBufferBytes =
    256 << 10;  ///< small enough that the bytes are still in L2 when they are hashed

/// Reads a file and trusts none of its bytes before every check has passed.
class ColumnFileOpener {
 public:
  ColumnFileOpener(const Directory& directory, std::unique_ptr<ReadableFile> file,
                   std::string_view name)
      : path_(fmt::format("{}/{}", directory.path(), name)), file_(std::move(file)), name_(name) {}

  Result<ColumnView> open(const FieldIndex& index) {
    ColumnView view;
    QV_TRY(view.file, file_->map());
    view.file->watch_writes();  // before bytes are verified
    QV_TRY(check_header());
    remember_checked(path_, view.file, {header_part(), rest_});
    bytes_ = shared_bytes(view.file);
    QV_TRY(read_table());
    QV_TRY(check_index(index));
    view.index = std::make_shared<const FieldIndex>(index);
    view.n_rows = header_.n_rows;
    view.sealed = true;
    Result<> result;
    for_each_section(view, [&]<class T>(SectionId id, SharedSpan<T>& span) {
      if (result) result = read_section(id, span);
    });
    QV_TRY(result);
    QV_TRY(check_shape(view));
    add_derived(view);
    return view;
  }

 private:
  Result<> check_header() {
    const std::uint64_t size = file_->size();
    if (size < sizeof(Header)) {
      return damaged(name_, "{} bytes, too short for its header", size);
    }
    QV_TRY(file_->read(0, std::as_writable_bytes(std::span(&header_, 1))));
    if (header_.magic != format::kMagic) return damaged(name_, "wrong magic number");
    if (header_.version != format::kVersion && header_.version != format::kVersionWithOrigin) {
      return damaged(name_, "version {}, this program reads {} and {}", header_.version,
                     format::kVersion, format::kVersionWithOrigin);
    }
    if (header_.file_bytes != size) {
      return damaged(name_, "{} bytes, its header says {}", size, header_.file_bytes);
    }
    QV_TRY(const std::uint64_t sum, checksum());
    if (sum != header_.checksum) return damaged(name_, "wrong checksum");
    return check_origin();
  }

  [[nodiscard]] FilePart header_part() const {
    return {0, sizeof(Header), quiver::checksum(std::as_bytes(std::span(&header_, 1)))};
  }

  /// Reads the whole file, so that a bad disk is an error. Sets `rest_`.
  Result<std::uint64_t> checksum() {
    Header blank = header_;
    blank.checksum = 0;
    Checksum sum;
    Checksum rest;
    sum.update(std::as_bytes(std::span(&blank, 1)));
    std::vector<std::byte> buffer(std::min<std::uint64_t>(kBufferBytes, file_->size()));
    for (std::uint64_t at = sizeof(Header); at < file_->size();) {
      const auto n = std::min<std::uint64_t>(buffer.size(), file_->size() - at);
      const std::span<std::byte> some = std::span(buffer).first(n);
      QV_TRY(file_->read(at, some));
      sum.update(some);
      rest.update(some);
      at += n;
    }
    rest_ = {sizeof(Header), file_->size() - sizeof(Header), rest.digest()};
    return sum.digest();
  }

  /// Version 1 has no origin.
  Result<> check_origin() const {
    const auto& wanted = file_->origin();
    if (!wanted || header_.version == format::kVersion) return {};
    const FileOrigin found{header_.owner, header_.path};
    return found == *wanted ? Result<>() : damaged(name_, "{}", describe_origin(found, *wanted));
  }

  Result<> read_table() {
    const std::uint64_t table_bytes = std::uint64_t{header_.n_sections} * sizeof(Section);
    if (header_.n_sections > format::kMaxSections || table_bytes > bytes_.size() - sizeof(Header)) {
      return damaged(name_, "{} sections", header_.n_sections);
    }
    sections_.resize(header_.n_sections);
    if (table_bytes != 0) {
      std::memcpy(sections_.data(), bytes_.data() + sizeof(Header), table_bytes);
    }
    for (const Section& section : sections_) {
      const bool inside =
          section.offset <= bytes_.size() && section.element_bytes != 0 &&
          section.n_elements <= (bytes_.size() - section.offset) / section.element_bytes;
      if (!inside) return damaged(name_, "section {} does not lie in the file", section.id);
    }
    return {};
  }

  [[nodiscard]] const Section* find(SectionId id) const {
    for (const Section& section : sections_) {
      if (section.id == static_cast<std::uint32_t>(id)) return &section;
    }
    return nullptr;
  }

  Result<> check_index(const FieldIndex& index) const {
    const Section* section = find(SectionId::kIndex);
    if (section == nullptr || section->element_bytes != 1) {
      return damaged(name_, "no index record");
    }
    const auto stored = as_text(bytes_.span().subspan(section->offset, section->n_elements));
    if (header_.kind != static_cast<std::uint32_t>(index.kind) || stored != index_record(index)) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("payload column file {} does not belong to the index of '{}'", name_,
                              index.key));
    }
    return {};
  }

  template <class T>
  Result<> read_section(SectionId id, SharedSpan<T>& out) const {
    const Section* section = find(id);
    if (section == nullptr) return {};
    if (section->element_bytes != sizeof(T) || section->offset % format::kAlignment != 0) {
      return damaged(name_, "section {} has elements of {} bytes, wanted {}", section->id,
                     section->element_bytes, sizeof(T));
    }
    QV_TRY(out, cast_span<T>(bytes_.subspan(section->offset, section->n_elements * sizeof(T))));
    return {};
  }

  static bool ascends_to(const SharedSpan<std::uint64_t>& offsets, std::uint64_t n,
                         std::uint64_t end) {
    if (offsets.size() != n + 1 || offsets[0] != 0 || offsets[n] != end) return false;
    return std::is_sorted(offsets.begin(), offsets.end());
  }
  static bool all_below(const SharedSpan<std::uint32_t>& numbers, std::uint64_t bound) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](std::uint32_t number) { return number < bound; });
  }

  /// Checks that all offsets and terms are in range, so that readers need not.
  Result<> check_shape(const ColumnView& view) const {
    const std::uint64_t n_rows = view.n_rows;
    const std::uint64_t n_values =
        view.terms.size() + view.integers.size() + view.doubles.size() + view.points.size();
    const bool rows_fit =
        view.facts.size() == n_rows && ascends_to(view.offsets, n_rows, n_values) &&
        all_below(view.irregular, n_rows) && all_below(view.posting_rows, n_rows) &&
        all_below(view.sorted_rows, n_rows);
    const bool values_fit = terms_fit(view) && sorted_fit(view) && scoring_fits(view);
    if (!rows_fit || !values_fit) return damaged(name_, "sections do not fit one another");
    return {};
  }
  static bool terms_fit(const ColumnView& view) {
    const IndexTraits& traits = traits_of(view.index->kind);
    if (traits.storage != ValueStorage::kTerms) return view.terms.empty();
    const std::uint64_t n_terms = view.n_terms();
    if (traits.has_dictionary() && !ascends_to(view.term_offsets, n_terms, view.term_bytes.size()))
      return false;
    const bool has_gaps = traits.decides(Decidable::kTokens);
    const bool terms_known = std::all_of(
        view.terms.begin(), view.terms.end(),
        [&](std::uint32_t id) { return id < n_terms || (has_gaps && id == ColumnView::kGap); });
    return terms_known && ascends_to(view.posting_offsets, n_terms, view.posting_rows.size());
  }
  static bool scoring_fits(const ColumnView& view) {
    const std::size_t n_postings = view.index->scoring ? view.posting_rows.size() : 0;
    const std::size_t n_blocks = blocks_of(n_postings);
    return view.text_lengths.size() == (view.index->scoring ? view.n_rows : 0) &&
           view.posting_counts.size() == n_postings && view.block_counts.size() == n_blocks &&
           view.block_lengths.size() == n_blocks;
  }
  static bool sorted_fit(const ColumnView& view) {
    const ValueStorage storage = traits_of(view.index->kind).storage;
    const bool integers = storage == ValueStorage::kIntegers;
    const bool doubles = storage == ValueStorage::kDoubles;
    const bool points = storage == ValueStorage::kPoints;
    return (integers || view.integers.empty()) && (doubles || view.doubles.empty()) &&
           (points || view.points.empty()) && view.sorted_integers.size() == view.integers.size() &&
           view.sorted_doubles.size() == view.doubles.size() + view.points.size() &&
           view.sorted_rows.size() == view.sorted_integers.size() + view.sorted_doubles.size();
  }

  const std::string path_;
  std::unique_ptr<ReadableFile> file_;
  FilePart rest_;  ///< everything after the header
  SharedBytes bytes_;
  std::string_view name_;
  Header header_;
  std::vector<Section> sections_;
};

}  // namespace

Result<> write_column(std::span<const ColumnView> sources, std::span<const RowOrigin> rows,
                      Directory& directory, std::string_view file_name) {
  QV_CHECK(!sources.empty());
  const ColumnView sealed = seal(sources, rows);
  return ColumnFileWriter(sealed).write(directory, file_name);
}

Result<> write_column(const ColumnView& source, Directory& directory, std::string_view file_name) {
  std::vector<RowOrigin> rows(source.n_rows);
  for (std::uint32_t row = 0; row < source.n_rows; ++row) rows[row].row = row;
  return write_column({&source, 1}, rows, directory, file_name);
}

Result<> build_sealed_column(const FieldIndex& index, std::uint32_t n_rows,
                             const std::function<std::string_view(std::uint32_t)>& document_of_row,
                             Directory& directory, std::string_view file_name,
                             const std::function<Result<>()>& check) {
  QV_TRY(const auto column, MutableColumn::create(index));
  const Value empty{Object()};
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    const std::string_view text = document_of_row(row);
    if (text.empty()) {
      column->add_row(empty);
      continue;
    }
    const auto document = parse_json(text);
    if (!document) {
      return fail(Code::kDataLoss,
                  fmt::format("payload of row {}: {}", row, document.error().message()));
    }
    column->add_row(*document);
  }
  if (check) QV_TRY(check());
  return write_column(column->view(), directory, file_name);
}

Result<ColumnView> open_column(const Directory& directory, std::string_view file_name,
                               const FieldIndex& index) {
  QV_TRY(auto file, directory.open_file(file_name));
  return ColumnFileOpener(directory, std::move(file), file_name).open(index);
}

}  // namespace quiver::payload
