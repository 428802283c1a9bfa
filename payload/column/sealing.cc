#include "payload/column/sealing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/views.h"
#include "payload/column/kinds.h"

namespace quiver::payload {
namespace {

/// New number of each term of each source: `new_ids[source][term]`.
using TermMap = std::vector<std::vector<std::uint32_t>>;

class Sealer {
 public:
  Sealer(std::span<const ColumnView> sources, std::span<const RowOrigin> rows)
      : sources_(sources), rows_(rows), traits_(traits_of(sources.front().index->kind)) {
    out_.index = sources.front().index;
    out_.n_rows = static_cast<std::uint32_t>(rows.size());
    out_.sealed = true;
  }

  ColumnView run() {
    copy_facts();
    switch (traits_.storage) {
      case ValueStorage::kTerms:
        if (traits_.has_dictionary()) merge_dictionaries();
        copy_terms();
        make_postings();
        if (out_.index->scoring) describe_postings();
        break;
      case ValueStorage::kIntegers:
        out_.integers = copy_values(&ColumnView::integers);
        sort_values(out_.integers, out_.sorted_integers, [](std::int64_t value) { return value; });
        break;
      case ValueStorage::kDoubles:
        out_.doubles = copy_values(&ColumnView::doubles);
        sort_values(out_.doubles, out_.sorted_doubles, [](double value) { return value; });
        break;
      case ValueStorage::kPoints:
        out_.points = copy_values(&ColumnView::points);
        sort_values(out_.points, out_.sorted_doubles, [](const GeoPoint& p) { return p.lat; });
        break;
    }
    add_derived(out_);
    return std::move(out_);
  }

 private:
  void copy_facts() {
    std::vector<RowFacts> facts;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint32_t> irregular;
    facts.reserve(rows_.size());
    offsets.reserve(rows_.size() + 1);
    for (const auto& [source, row] : rows_) {
      const ColumnView& view = sources_[source];
      if (view.facts[row].has(RowFacts::kIrregular)) {
        irregular.push_back(static_cast<std::uint32_t>(facts.size()));
      }
      facts.push_back(view.facts[row]);
      offsets.push_back(offsets.back() + n_values_of(view, row));
    }
    out_.facts = SharedSpan<RowFacts>::of(std::move(facts));
    out_.offsets = SharedSpan<std::uint64_t>::of(std::move(offsets));
    out_.irregular = SharedSpan<std::uint32_t>::of(std::move(irregular));
  }

  /// Of a row, and no more than there are.
  static std::uint64_t n_values_of(const ColumnView& view, std::uint32_t row) {
    const std::uint64_t n_all = std::max(
        {view.terms.size(), view.integers.size(), view.doubles.size(), view.points.size()});
    return length_between(std::min<std::uint64_t>(view.offsets[row], n_all),
                          std::min<std::uint64_t>(view.offsets[row + 1], n_all));
  }

  /// The part of `values` that belongs to a row. If the file of a source becomes damaged between
  /// two calls, the second result may have another length.
  template <class T>
  static std::span<const T> values_of(const ColumnView& view, const SharedSpan<T>& values,
                                      std::uint32_t row) {
    return part_of(values.span(), view.offsets[row], view.offsets[row + 1]);
  }

  template <class T>
  SharedSpan<T> copy_values(SharedSpan<T> ColumnView::*member) const {
    std::vector<T> values;
    values.reserve(out_.offsets[rows_.size()]);
    for (const auto& [source, row] : rows_) {
      const ColumnView& view = sources_[source];
      const auto of_row = values_of(view, view.*member, row);
      values.insert(values.end(), of_row.begin(), of_row.end());
    }
    values.resize(out_.offsets[rows_.size()]);
    return SharedSpan<T>::of(std::move(values));
  }

  /// Terms that occur in `rows_`, per source.
  [[nodiscard]] TermMap used_terms() const {
    TermMap used(sources_.size());
    for (std::size_t s = 0; s < sources_.size(); ++s) used[s].assign(sources_[s].n_terms(), 0);
    for (const auto& [source, row] : rows_) {
      for (const std::uint32_t id : sources_[source].row_terms(row)) {
        if (id < used[source].size()) used[source][id] = 1;  // a gap is no term
      }
    }
    return used;
  }

  /// Copies the dictionaries, because sorting would go out of bounds if texts changed meanwhile.
  [[nodiscard]] std::vector<ColumnView> copy_dictionaries() const {
    std::vector<ColumnView> copies;
    for (const ColumnView& source : sources_) {
      ColumnView copy;
      copy.term_offsets = source.term_offsets;
      copy.term_bytes = SharedSpan<char>::of(
          std::vector<char>(source.term_bytes.begin(), source.term_bytes.end()));
      copies.push_back(std::move(copy));
    }
    return copies;
  }

  void merge_dictionaries() {
    new_ids_ = used_terms();
    struct Entry {
      std::uint64_t start;  ///< `text_start`: decides nearly every comparison
      std::string_view text;
      std::uint32_t* new_id;
    };
    std::vector<Entry> entries;
    const auto dictionaries = copy_dictionaries();
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      for (std::uint32_t id = 0; id < new_ids_[s].size(); ++id) {
        if (new_ids_[s][id] == 0) continue;
        const std::string_view text = dictionaries[s].term(id);
        entries.push_back({text_start(text), text, &new_ids_[s][id]});
      }
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.start != b.start ? a.start < b.start : a.text < b.text;
    });
    std::vector<std::uint64_t> offsets{0};
    std::vector<char> bytes;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i == 0 || entries[i].text != entries[i - 1].text) {
        bytes.insert(bytes.end(), entries[i].text.begin(), entries[i].text.end());
        offsets.push_back(bytes.size());
      }
      *entries[i].new_id = static_cast<std::uint32_t>(offsets.size() - 2);
    }
    out_.term_offsets = SharedSpan<std::uint64_t>::of(std::move(offsets));
    out_.term_bytes = SharedSpan<char>::of(std::move(bytes));
  }

  void copy_terms() {
    const bool has_dictionary = traits_.has_dictionary();
    std::vector<std::uint32_t> terms;
    terms.reserve(out_.offsets[rows_.size()]);
    for (const auto& [source, row] : rows_) {
      for (const std::uint32_t id : sources_[source].row_terms(row)) {
        // A gap is no term.
        const bool keeps_id = !has_dictionary || id >= new_ids_[source].size();
        terms.push_back(keeps_id ? id : new_ids_[source][id]);
      }
    }
    terms.resize(out_.offsets[rows_.size()]);
    out_.terms = SharedSpan<std::uint32_t>::of(std::move(terms));
  }

  /// For each term, the number of rows that have it, at `[term + 1]`.
  [[nodiscard]] std::vector<std::uint64_t> count_rows_of_terms() const {
    struct Seen {
      std::uint32_t last_row = ColumnView::kGap;
      std::uint32_t n_rows = 0;
    };
    std::vector<Seen> seen(out_.n_terms());
    for (std::uint32_t row = 0; row < out_.n_rows; ++row) {
      for (const std::uint32_t id : out_.row_terms(row)) {
        if (id >= seen.size() || seen[id].last_row == row) continue;  // a gap is no term
        seen[id] = {row, seen[id].n_rows + 1};
      }
    }
    std::vector<std::uint64_t> counts(seen.size() + 1, 0);
    for (std::size_t id = 0; id < seen.size(); ++id) counts[id + 1] = seen[id].n_rows;
    return counts;
  }

  /// Calls `begin(posting, row)` for the first occurrence of each term in each row, then
  /// `repeat(posting)` for each other one.
  template <class Begin, class Repeat>
  static void for_each_occurrence(const ColumnView& column,
                                  std::span<const std::uint64_t> posting_offsets,
                                  std::span<const std::uint32_t> posting_rows, Begin begin,
                                  Repeat repeat) {
    const std::uint32_t n_terms = column.n_terms();
    std::vector<std::uint64_t> next(posting_offsets.begin(), posting_offsets.end());
    for (std::uint32_t row = 0; row < column.n_rows; ++row) {
      for (const std::uint32_t id : column.row_terms(row)) {
        if (id >= n_terms) continue;  // a gap is no term
        // The posting of this row is the last begun one of the term, or the next.
        std::uint64_t& at = next[id];
        if (at != posting_offsets[id] && posting_rows[at - 1] == row) {
          repeat(at - 1);
        } else {
          begin(at++, row);
        }
      }
    }
  }

  void make_postings() {
    std::vector<std::uint64_t> offsets = count_rows_of_terms();
    for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
    std::vector<std::uint32_t> posting_rows(offsets.back());
    std::vector<std::uint8_t> counts(out_.index->scoring ? offsets.back() : 0);
    const auto begin = [&](std::uint64_t at, std::uint32_t row) { posting_rows[at] = row; };
    if (out_.index->scoring) {
      for_each_occurrence(
          out_, offsets, posting_rows,
          [&](std::uint64_t at, std::uint32_t row) { begin(at, row), counts[at] = 1; },
          [&](std::uint64_t at) { counts[at] += counts[at] < ColumnView::kManyTimes ? 1 : 0; });
    } else {
      for_each_occurrence(out_, offsets, posting_rows, begin, [](std::uint64_t) {});
    }
    out_.posting_offsets = SharedSpan<std::uint64_t>::of(std::move(offsets));
    out_.posting_rows = SharedSpan<std::uint32_t>::of(std::move(posting_rows));
    out_.posting_counts = SharedSpan<std::uint8_t>::of(std::move(counts));
  }

  /// What scores need beside the counts: lengths of the rows, and bounds by block.
  void describe_postings() {
    std::vector<std::uint32_t> lengths;
    lengths.reserve(rows_.size());
    for (const auto& [source, row] : rows_) lengths.push_back(sources_[source].text_lengths[row]);
    const auto counts = out_.posting_counts.span();
    const auto posting_rows = out_.posting_rows.span();
    std::vector<std::uint8_t> block_counts;
    std::vector<std::uint32_t> block_lengths;
    block_counts.reserve(blocks_of(counts.size()));
    block_lengths.reserve(blocks_of(counts.size()));
    for (std::size_t first = 0; first < counts.size(); first += ColumnView::kPostingsPerBlock) {
      const std::size_t end = std::min(counts.size(), first + ColumnView::kPostingsPerBlock);
      std::uint8_t most = 0;
      std::uint32_t shortest = UINT32_MAX;
      for (std::size_t i = first; i < end; ++i) {
        most = std::max(most, counts[i]);
        shortest = std::min(shortest, lengths[posting_rows[i]]);
      }
      block_counts.push_back(most);
      block_lengths.push_back(shortest);
    }
    out_.text_lengths = SharedSpan<std::uint32_t>::of(std::move(lengths));
    out_.block_counts = SharedSpan<std::uint8_t>::of(std::move(block_counts));
    out_.block_lengths = SharedSpan<std::uint32_t>::of(std::move(block_lengths));
  }

  template <class T, class K, class KeyOf>
  void sort_values(const SharedSpan<T>& values, SharedSpan<K>& keys_out, KeyOf key_of) {
    std::vector<std::pair<K, std::uint32_t>> pairs;
    pairs.reserve(values.size());
    for (std::uint32_t row = 0; row < out_.n_rows; ++row) {
      for (std::uint64_t i = out_.offsets[row]; i < out_.offsets[row + 1]; ++i) {
        pairs.emplace_back(key_of(values[i]), row);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    std::vector<K> keys;
    std::vector<std::uint32_t> sorted_rows;
    keys.reserve(pairs.size());
    sorted_rows.reserve(pairs.size());
    for (const auto& [key, row] : pairs) {
      keys.push_back(key);
      sorted_rows.push_back(row);
    }
    keys_out = SharedSpan<K>::of(std::move(keys));
    out_.sorted_rows = SharedSpan<std::uint32_t>::of(std::move(sorted_rows));
  }

  std::span<const ColumnView> sources_;
  std::span<const RowOrigin> rows_;
  const IndexTraits& traits_;
  TermMap new_ids_;
  ColumnView out_;
};

}  // namespace

std::uint64_t text_start(std::string_view text) {
  std::uint64_t start = 0;
  for (std::size_t i = 0; i < sizeof(start); ++i) {
    start = start << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return start;
}

void add_derived(ColumnView& column) {
  column.n_texts = 0;
  column.n_tokens = 0;
  for (const std::uint32_t length : column.text_lengths) {
    column.n_texts += length == 0 ? 0 : 1;
    column.n_tokens += length;
  }
  if (!traits_of(column.index->kind).has_dictionary()) return;
  std::vector<std::uint64_t> samples;
  for (std::uint32_t id = 0; id < column.n_terms(); id += ColumnView::kTermsPerSample) {
    samples.push_back(text_start(column.term(id)));
  }
  column.term_samples = SharedSpan<std::uint64_t>::of(std::move(samples));
}

ColumnView seal(std::span<const ColumnView> sources, std::span<const RowOrigin> rows) {
  return Sealer(sources, rows).run();
}

}  // namespace quiver::payload
