// The typed values of one payload key, row by row: the data of a payload index.
//
// For each row of a segment, a column holds the elements under its key that have its type, and a
// few facts about all elements. So nearly every condition is answered without the document. Both
// kinds of columns are read in one way: a *mutable* column grows at the end and is read through
// snapshots; a *sealed* column is a mapped file that also has postings or sorted values.
//
// How each type of index stores its values: payload/column/kinds.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bitset.h"
#include "base/io/file.h"
#include "base/io/shared_span.h"
#include "base/result.h"
#include "base/threads/slot_table.h"
#include "payload/column/row_facts.h"
#include "payload/filter.h"
#include "payload/json/document.h"
#include "payload/json/path.h"
#include "payload/schema.h"

namespace quiver::payload {

class GrowingPostings;

/// An immutable column, or the first rows of a growing one. Cheap to copy; any thread may read.
struct ColumnView {
  static constexpr std::uint32_t kNoTerm = 0xFFFFFFFE;
  static constexpr std::uint32_t kGap = kTermGap;
  static constexpr std::uint8_t kManyTimes = 255;
  static constexpr std::size_t kPostingsPerBlock = 128;
  static constexpr std::uint32_t kTermsPerSample = 64;

  std::shared_ptr<const FieldIndex> index;  ///< never null in a view returned by a function
  std::uint32_t n_rows = 0;
  bool sealed = false;
  std::shared_ptr<const MappedFile> file;  ///< holds the spans below; nullptr if in memory

  SharedSpan<RowFacts> facts;         ///< [n_rows]
  SharedSpan<std::uint64_t> offsets;  ///< [n_rows + 1], row i has values [offsets[i], offsets[i+1])
  SharedSpan<std::uint32_t> irregular;  ///< rows with a flag of kIrregular, ascending
  // The values are in one of these four; IndexTraits::storage of the kind tells which.
  SharedSpan<std::uint32_t> terms;
  SharedSpan<std::int64_t> integers;
  SharedSpan<double> doubles;
  SharedSpan<GeoPoint> points;

  // Dictionary of kinds whose terms are texts. Sealed: in byte order, so terms compare as texts.
  SharedSpan<std::uint64_t> term_offsets;  ///< [n_terms + 1] into `term_bytes`
  SharedSpan<char> term_bytes;
  SharedSpan<std::uint64_t> term_hashes;        ///< [n_terms], mutable only
  std::shared_ptr<const SlotTable> term_table;  ///< mutable only
  /// Sealed: `text_start` of every `kTermsPerSample`-th term. A search for a term begins here.
  SharedSpan<std::uint64_t> term_samples;

  // Sealed only. Postings: the distinct rows of each term, ascending.
  SharedSpan<std::uint64_t> posting_offsets;  ///< [n_terms() + 1]
  SharedSpan<std::uint32_t> posting_rows;

  // Indexes with scoring only.
  SharedSpan<std::uint32_t> text_lengths;  ///< [n_rows], tokens of each row
  std::uint64_t n_texts = 0;               ///< rows with at least one token
  std::uint64_t n_tokens = 0;              ///< of all rows
  /// Sealed: how often the term is in the row of each posting; `kManyTimes`: so often or more.
  SharedSpan<std::uint8_t> posting_counts;
  // Sealed: the largest count and the smallest length in each `kPostingsPerBlock` postings.
  SharedSpan<std::uint8_t> block_counts;
  SharedSpan<std::uint32_t> block_lengths;
  std::shared_ptr<GrowingPostings> growing_postings;  ///< mutable only

  // Sealed only: every value with its row, ascending by (value, row); points by latitude.
  SharedSpan<std::int64_t> sorted_integers;
  SharedSpan<double> sorted_doubles;
  SharedSpan<std::uint32_t> sorted_rows;

  /// Number of terms, in the dictionary or fixed by the kind.
  [[nodiscard]] std::uint32_t n_terms() const;
  [[nodiscard]] std::string_view term(std::uint32_t id) const;
  /// The term of `text`; kNoTerm if no row has it.
  [[nodiscard]] std::uint32_t find_term(std::string_view text) const;
  /// Sealed only: the first term not less than `text`; `n_terms()` if there is none.
  [[nodiscard]] std::uint32_t first_term_from(std::string_view text) const;
  [[nodiscard]] std::span<const std::uint32_t> row_terms(std::uint32_t row) const;
  [[nodiscard]] std::span<const std::int64_t> row_integers(std::uint32_t row) const;
  [[nodiscard]] std::span<const double> row_doubles(std::uint32_t row) const;
  [[nodiscard]] std::span<const GeoPoint> row_points(std::uint32_t row) const;
  /// Sealed only.
  [[nodiscard]] std::span<const std::uint32_t> postings(std::uint32_t term_id) const;
  /// Number of rows of `live` (n_rows bits) that have a value of the column's type. O(n_rows).
  [[nodiscard]] std::uint64_t count_rows_with_values(const Bitset& live) const;
};

/// A column that grows. One thread adds rows and takes views. Any thread may read a view if handing
/// it over synchronises (a mutex, an atomic).
class MutableColumn {
 public:
  /// kInvalidArgument if `index.key` is not a valid path.
  [[nodiscard]] static Result<std::unique_ptr<MutableColumn>> create(const FieldIndex& index);
  ~MutableColumn();
  MutableColumn(const MutableColumn&) = delete;
  MutableColumn& operator=(const MutableColumn&) = delete;

  /// Adds the next row. `document` is the whole payload.
  void add_row(const Value& document);
  [[nodiscard]] ColumnView view() const;
  [[nodiscard]] const FieldIndex& index() const;
  [[nodiscard]] std::uint32_t n_rows() const;
  [[nodiscard]] std::size_t memory_bytes() const;

 private:
  struct State;
  explicit MutableColumn(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Identifies row `row` of column `source`.
struct RowOrigin {
  std::uint32_t source = 0;
  std::uint32_t row = 0;
};

/// Writes the sealed column whose row i is `rows[i]` of `sources`, all of the same index. Syncs the
/// file, not the directory. The bytes depend on the rows only, not on their division into sources.
[[nodiscard]] Result<> write_column(std::span<const ColumnView> sources,
                                    std::span<const RowOrigin> rows, Directory& directory,
                                    std::string_view file_name);
/// Writes all rows of one column in order.
[[nodiscard]] Result<> write_column(const ColumnView& source, Directory& directory,
                                    std::string_view file_name);

/// Writes the sealed column of rows given as documents (canonical JSON; kDataLoss, naming the row,
/// if one is not JSON). Calls `check` after reading all documents; its error is returned and
/// nothing is written.
[[nodiscard]] Result<> build_sealed_column(
    const FieldIndex& index, std::uint32_t n_rows,
    const std::function<std::string_view(std::uint32_t)>& document_of_row, Directory& directory,
    std::string_view file_name, const std::function<Result<>()>& check = nullptr);

/// Checks the whole file and maps it. kDataLoss if it is damaged, cannot be read, or has another
/// origin. kFailedPrecondition if it is the column of another index (key, kind or text options
/// differ). Bytes: docs/formats/payload-column.md.
[[nodiscard]] Result<ColumnView> open_column(const Directory& directory, std::string_view file_name,
                                             const FieldIndex& index);

}  // namespace quiver::payload
