// The growing column: facts and offsets of the rows, and their values.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/io/append_buffer.h"
#include "payload/column/column.h"
#include "payload/column/growing_postings.h"
#include "payload/column/growing_values.h"
#include "payload/column/kinds.h"

namespace quiver::payload {
namespace {

std::uint32_t count_of(const Value& value) {
  if (value.is_null()) return 0;
  const Array* array = value.as_array();
  return array == nullptr ? 1 : static_cast<std::uint32_t>(array->size());
}

}  // namespace

struct MutableColumn::State {
  State(std::shared_ptr<const FieldIndex> field_index, JsonPath key)
      : index(std::move(field_index)), traits(traits_of(index->kind)), path(std::move(key)) {
    offsets.append(0);
    if (index->scoring) postings = std::make_shared<GrowingPostings>();
  }

  /// Appends the values under one root and updates the facts of the row.
  void visit_root(const Value& root, RowFacts& row, std::uint32_t n_before) {
    if (n_before == 0) row.count = count_of(root);
    row.flags |= RowFacts::kPresent;
    if (n_before != 0) row.flags |= RowFacts::kManyRoots;
    const Array* array = root.as_array();
    if (array == nullptr) {
      if (!root.is_null()) row.flags &= ~RowFacts::kEmpty;
      visit_element(root, row);
      return;
    }
    if (!array->empty()) row.flags &= ~RowFacts::kEmpty;
    for (const Value& element : *array) visit_element(element, row);
  }

  void visit_element(const Value& element, RowFacts& row) {
    if (element.is_null()) {
      row.flags |= RowFacts::kNull;
      return;
    }
    row.flags |= RowFacts::kElement;
    if (!traits.keep(element, *index, row, values)) row.flags |= RowFacts::kOther;
  }

  const std::shared_ptr<const FieldIndex> index;
  const IndexTraits& traits;
  const JsonPath path;
  AppendBuffer<RowFacts> facts;
  AppendBuffer<std::uint64_t> offsets;
  AppendBuffer<std::uint32_t> irregular;
  GrowingValues values;
  // With scoring only.
  AppendBuffer<std::uint32_t> text_lengths;
  std::uint64_t n_texts = 0;
  std::uint64_t n_tokens = 0;
  std::shared_ptr<GrowingPostings> postings;
};

Result<std::unique_ptr<MutableColumn>> MutableColumn::create(const FieldIndex& index) {
  QV_TRY(JsonPath path, JsonPath::parse(index.key));
  auto state = std::make_unique<State>(std::make_shared<const FieldIndex>(index), std::move(path));
  return std::unique_ptr<MutableColumn>(new MutableColumn(std::move(state)));
}

MutableColumn::MutableColumn(std::unique_ptr<State> state) : state_(std::move(state)) {}
MutableColumn::~MutableColumn() = default;

void MutableColumn::add_row(const Value& document) {
  RowFacts row;
  std::uint32_t n_roots = 0;
  state_->values.n_texts = 0;
  for_each_value(document, state_->path,
                 [&](const Value& root) { state_->visit_root(root, row, n_roots++); });
  if (row.has(RowFacts::kIrregular)) state_->irregular.append(n_rows());
  if (state_->index->scoring) {
    const std::uint64_t n_values = state_->values.size() - state_->offsets.span().back();
    const std::uint32_t n_gaps = std::max(1U, state_->values.n_texts) - 1;
    state_->text_lengths.append(static_cast<std::uint32_t>(n_values - n_gaps));
    state_->n_texts += n_values == n_gaps ? 0 : 1;
    state_->n_tokens += n_values - n_gaps;
  }
  state_->offsets.append(state_->values.size());
  state_->facts.append(row);
}

ColumnView MutableColumn::view() const {
  ColumnView view;
  view.index = state_->index;
  view.n_rows = n_rows();
  view.facts = state_->facts.view();
  view.offsets = state_->offsets.view();
  view.irregular = state_->irregular.view();
  const GrowingValues& values = state_->values;
  view.terms = values.terms.view();
  view.integers = values.integers.view();
  view.doubles = values.doubles.view();
  view.points = values.points.view();
  view.term_offsets = values.dictionary.offsets();
  view.term_bytes = values.dictionary.bytes();
  view.term_hashes = values.dictionary.hashes();
  view.term_table = values.dictionary.table();
  view.text_lengths = state_->text_lengths.view();
  view.n_texts = state_->n_texts;
  view.n_tokens = state_->n_tokens;
  view.growing_postings = state_->postings;
  return view;
}

const FieldIndex& MutableColumn::index() const { return *state_->index; }

std::uint32_t MutableColumn::n_rows() const {
  return static_cast<std::uint32_t>(state_->facts.size());
}

std::size_t MutableColumn::memory_bytes() const {
  return state_->facts.memory_bytes() + state_->offsets.memory_bytes() +
         state_->irregular.memory_bytes() + state_->values.memory_bytes() +
         state_->text_lengths.memory_bytes() +
         (state_->postings ? state_->postings->memory_bytes() : 0);
}

}  // namespace quiver::payload
