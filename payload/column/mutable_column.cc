// The growing column. Each part is an AppendBuffer, so a view is a few pointers into memory that is
// never written again.
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/io/append_buffer.h"
#include "payload/column/column.h"
#include "payload/scalar/datetime.h"
#include "payload/scalar/geo.h"
#include "payload/scalar/number.h"
#include "payload/scalar/text.h"

namespace quiver::payload {
namespace {

/// Numbers texts in the order of their first appearance. Only the writer uses the hash table.
class Dictionary {
 public:
  Dictionary() { offsets_.append(0); }

  std::uint32_t find_or_add(std::string_view text) {
    if (hashes_.size() * 2 >= slots_.size()) grow();
    const std::uint64_t hash = hash_text(text);
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::uint32_t id = slots_[slot];
      if (hashes_.span()[id] == hash && term(id) == text) return id;
    }
    const auto id = static_cast<std::uint32_t>(hashes_.size());
    slots_[slot] = id;
    hashes_.append(hash);
    bytes_.append(std::span<const char>(text.data(), text.size()));
    offsets_.append(bytes_.size());
    return id;
  }
  void put_into(ColumnView& view) const {
    view.term_offsets = offsets_.view();
    view.term_bytes = bytes_.view();
    view.term_hashes = hashes_.view();
  }
  [[nodiscard]] std::size_t memory_bytes() const {
    return offsets_.memory_bytes() + bytes_.memory_bytes() + hashes_.memory_bytes() +
           slots_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  [[nodiscard]] std::string_view term(std::uint32_t id) const {
    const auto offsets = offsets_.span();
    return {bytes_.span().data() + offsets[id],
            static_cast<std::size_t>(offsets[id + 1] - offsets[id])};
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, kFree);
    const auto hashes = hashes_.span();
    for (std::uint32_t id = 0; id < hashes.size(); ++id) {
      std::size_t slot = hashes[id] & (slots_.size() - 1);
      while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = id;
    }
  }

  AppendBuffer<std::uint64_t> offsets_;
  AppendBuffer<char> bytes_;
  AppendBuffer<std::uint64_t> hashes_;
  std::vector<std::uint32_t> slots_;
};

std::uint32_t count_of(const Value& value) {
  if (value.is_null()) return 0;
  const Array* array = value.as_array();
  return array == nullptr ? 1 : static_cast<std::uint32_t>(array->size());
}

std::string canonical_uuid(const std::string& text) {
  const auto uuid = PointId::parse_uuid(text);
  return uuid ? uuid->to_string() : text;
}

}  // namespace

struct MutableColumn::State {
  State(std::shared_ptr<const FieldIndex> field_index, JsonPath key)
      : index(std::move(field_index)), path(std::move(key)) {
    offsets.append(0);
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
    if (!add_value(element, row)) row.flags |= RowFacts::kOther;
  }

  /// Returns false if `element` is not of the column's type.
  bool add_value(const Value& element, RowFacts& row) {
    switch (index->kind) {
      case IndexKind::kKeyword:
      case IndexKind::kUuid:
        return add_term(element);
      case IndexKind::kText:
        return add_text(element, row);
      case IndexKind::kBool:
        return add_if(element.as_bool(), terms, [](bool flag) { return flag ? 1U : 0U; });
      case IndexKind::kInteger:
        return add_if(element.as_i64(), integers, [](std::int64_t value) { return value; });
      case IndexKind::kFloat:
        return add_float(element, row);
      case IndexKind::kDatetime:
        return add_datetime(element);
      case IndexKind::kGeo:
        if (const auto point = as_geo_point(element)) {
          points.append(*point);
          return true;
        }
        return false;
    }
    return false;
  }

  template <class T, class U, class Convert>
  static bool add_if(const T* value, AppendBuffer<U>& out, Convert convert) {
    if (value == nullptr) return false;
    out.append(convert(*value));
    return true;
  }
  bool add_term(const Value& element) {
    const std::string* text = element.as_string();
    if (text == nullptr) return false;
    const bool uuid = index->kind == IndexKind::kUuid;
    terms.append(dictionary.find_or_add(uuid ? canonical_uuid(*text) : *text));
    return true;
  }
  bool add_text(const Value& element, RowFacts& row) {
    const std::string* text = element.as_string();
    if (text == nullptr) return false;
    if (n_texts++ != 0) {
      row.flags |= RowFacts::kManyTexts;
      terms.append(ColumnView::kGap);
    }
    for (const auto& token : tokenize(*text, index->text)) {
      terms.append(dictionary.find_or_add(token));
    }
    return true;
  }
  bool add_float(const Value& element, RowFacts& row) {
    const auto number = as_number(element);
    if (!number) return false;
    const auto nearest = nearest_double(*number);
    if (!nearest.exact) row.flags |= RowFacts::kInexact;
    doubles.append(nearest.value);
    return true;
  }
  bool add_datetime(const Value& element) {
    const std::string* text = element.as_string();
    const auto micros = text == nullptr ? std::nullopt : parse_datetime(*text);
    if (!micros) return false;
    integers.append(*micros);
    return true;
  }

  [[nodiscard]] std::uint64_t n_values() const {
    return terms.size() + integers.size() + doubles.size() + points.size();
  }

  const std::shared_ptr<const FieldIndex> index;
  const JsonPath path;
  AppendBuffer<RowFacts> facts;
  AppendBuffer<std::uint64_t> offsets;
  AppendBuffer<std::uint32_t> irregular;
  AppendBuffer<std::uint32_t> terms;
  AppendBuffer<std::int64_t> integers;
  AppendBuffer<double> doubles;
  AppendBuffer<GeoPoint> points;
  Dictionary dictionary;
  std::uint32_t n_texts = 0;  ///< strings so far in the current row
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
  state_->n_texts = 0;
  for_each_value(document, state_->path,
                 [&](const Value& root) { state_->visit_root(root, row, n_roots++); });
  if (row.has(RowFacts::kIrregular)) state_->irregular.append(n_rows());
  state_->offsets.append(state_->n_values());
  state_->facts.append(row);
}

ColumnView MutableColumn::view() const {
  ColumnView view;
  view.index = state_->index;
  view.n_rows = n_rows();
  view.facts = state_->facts.view();
  view.offsets = state_->offsets.view();
  view.irregular = state_->irregular.view();
  view.terms = state_->terms.view();
  view.integers = state_->integers.view();
  view.doubles = state_->doubles.view();
  view.points = state_->points.view();
  state_->dictionary.put_into(view);
  return view;
}

const FieldIndex& MutableColumn::index() const { return *state_->index; }

std::uint32_t MutableColumn::n_rows() const {
  return static_cast<std::uint32_t>(state_->facts.size());
}

std::size_t MutableColumn::memory_bytes() const {
  return state_->facts.memory_bytes() + state_->offsets.memory_bytes() +
         state_->irregular.memory_bytes() + state_->terms.memory_bytes() +
         state_->integers.memory_bytes() + state_->doubles.memory_bytes() +
         state_->points.memory_bytes() + state_->dictionary.memory_bytes();
}

}  // namespace quiver::payload
