#include "payload/filter/object_match.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "payload/attribute/attribute.h"
#include "payload/filter/entry_states.h"
#include "payload/filter/evaluation.h"
#include "payload/scalar/number.h"

namespace quiver::payload {
namespace {

using enum EntryState;

/// The objects of one row that surely match, and those that may: `yes` is a part of `possible`.
struct Objects {
  std::uint64_t yes = 0, possible = 0;
};

std::uint64_t first_objects(std::uint32_t n) {
  return n == 0 ? 0 : ~std::uint64_t{0} >> (kMaxObjects - n);
}

/// The parts of a path's attribute, asked for ascending rows.
template <class Part>
class PartsByRow {
 public:
  void add(Part part) { parts_.push_back(std::move(part)); }
  /// nullptr if no part has the row.
  const Part* find(std::uint32_t row) {
    while (at_ < parts_.size() && row - parts_[at_].rows.first_row >= parts_[at_].rows.n_rows) {
      if (row < parts_[at_].rows.first_row) return nullptr;
      ++at_;
    }
    return at_ < parts_.size() ? &parts_[at_] : nullptr;
  }

 private:
  std::vector<Part> parts_;
  std::size_t at_ = 0;
};

/// How many objects rows have.
class ObjectCounts {
 public:
  ObjectCounts(const RowsView& rows, std::string_view path) {
    for (const AttributePart& part : rows.attributes(path)) parts_.add({part, counts_of(part)});
  }
  /// nullopt if that is not known, or more than `kMaxObjects`.
  std::optional<std::uint32_t> of_row(std::uint32_t row) {
    const Part* part = parts_.find(row);
    if (part == nullptr) return std::nullopt;
    if (part->rows.view == nullptr) return 0;
    const std::uint32_t n = part->counts[part->rows.view->entry_at(row - part->rows.first_row)];
    return n <= kMaxObjects ? std::optional(n) : std::nullopt;
  }

 private:
  struct Part {
    AttributePart rows;
    std::vector<std::uint32_t> counts;  ///< of each entry
  };

  /// An entry that is no number of objects counts as more than `kMaxObjects`.
  static std::vector<std::uint32_t> counts_of(const AttributePart& part) {
    if (part.view == nullptr) return {};
    std::vector<std::uint32_t> counts(part.view->entry_bound(), kMaxObjects + 1);
    if (!part.view->has_single_values() || !part.view->offsets.empty()) return counts;
    counts[static_cast<std::size_t>(SpecialEntry::kMissing)] = 0;
    const auto values = part.view->integer_lows.span();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] < 0 || values[i] > kMaxObjects) continue;
      counts[kSpecialEntries + i] = static_cast<std::uint32_t>(values[i]);
    }
    return counts;
  }

  PartsByRow<Part> parts_;
};

/// One condition on a key of the objects.
class ObjectCondition {
 public:
  ObjectCondition(const RowsView& rows, const FieldNode& field)
      : count_(std::get_if<ValuesCount>(&field.condition)) {
    for (const AttributePart& part : attributes_of(rows, field)) {
      static const AttributeView kNothing;
      auto states = code_states(part.view != nullptr ? *part.view : kNothing, field.condition);
      if (states) parts_.add({part, *std::move(states)});
    }
  }

  /// Of the first objects `all` of a row.
  Objects of_row(std::uint32_t row, std::uint64_t all) {
    const Part* part = parts_.find(row);
    if (part == nullptr) return {0, all};
    const Codes codes = codes_of(part->rows, row);
    if (count_ != nullptr) return counted(codes, all);
    const EntryStates& entries = part->entries;
    const Objects found = with_states(codes, entries, all);
    return entries.is_negated ? Objects{all & ~found.possible, all & ~found.yes} : found;
  }

 private:
  struct Part {
    AttributePart rows;
    EntryStates entries;
  };
  /// The codes of a row; none if its path leads to nothing.
  struct Codes {
    const AttributeView* view = nullptr;
    std::size_t first = 0, last = 0;

    [[nodiscard]] std::uint32_t object_of(std::size_t i) const {
      return view->objects.empty() ? static_cast<std::uint32_t>(i - first) : view->objects[i];
    }
  };

  static Codes codes_of(const AttributePart& part, std::uint32_t row) {
    if (part.view == nullptr) return {};
    const AttributeView& view = *part.view;
    const std::size_t i = row - part.first_row;
    Codes codes{&view, i, i + 1};
    if (!view.offsets.empty()) {
      const auto places = view.places_of(i);
      codes = {&view, places.first, places.last};
    }
    if (codes.first == codes.last) return codes;
    const std::uint32_t entry = view.entry_at(codes.first);
    if (entry == static_cast<std::uint32_t>(SpecialEntry::kManyRoots)) ++codes.first;
    if (entry == static_cast<std::uint32_t>(SpecialEntry::kMissing)) codes.first = codes.last;
    return codes;
  }

  static Objects with_states(const Codes& codes, const EntryStates& entries, std::uint64_t all) {
    Objects found;
    std::uint64_t with_value = 0;
    for (std::size_t i = codes.first; i < codes.last; ++i) {
      const std::uint32_t object = codes.object_of(i);
      if (object >= kMaxObjects) return {0, all};
      const EntryState state = entries.states[codes.view->entry_at(i)];
      with_value |= std::uint64_t{1} << object;
      found.yes |= std::uint64_t{state == kYes} << object;
      found.possible |= std::uint64_t{state != kNo} << object;
    }
    const EntryState missing = entries.states[static_cast<std::size_t>(SpecialEntry::kMissing)];
    if (missing == kYes) found.yes |= all & ~with_value;
    return {found.yes & all, (found.possible | found.yes) & all};
  }

  [[nodiscard]] Objects counted(const Codes& codes, std::uint64_t all) const {
    std::array<std::uint64_t, kMaxObjects> n_values{};
    for (std::size_t i = codes.first; i < codes.last; ++i) {
      const std::uint32_t object = codes.object_of(i);
      if (object >= kMaxObjects) return {0, all};
      n_values[object] += n_values_of(codes.view->entry_at(i));
    }
    std::uint64_t found = 0;
    for (std::uint32_t object = 0; object < kMaxObjects; ++object) {
      found |= std::uint64_t{in_range(*count_, n_values[object])} << object;
    }
    return {found & all, found & all};
  }

  const ValuesCount* count_;
  PartsByRow<Part> parts_;
};

/// A filter on one object.
class ObjectFilter {
 public:
  ObjectFilter(const RowsView& rows, const FilterTree& tree, std::string_view objects_path)
      : must_(make_nodes(rows, tree.must, objects_path)),
        should_(make_nodes(rows, tree.should, objects_path)),
        must_not_(make_nodes(rows, tree.must_not, objects_path)),
        min_should_(make_nodes(rows, tree.min_should, objects_path)),
        min_count_(tree.min_count) {
    if (min_count_ && *min_count_ <= min_should_.size()) by_count_.resize(*min_count_ + 1);
  }

  /// Of the first objects `all` of a row.
  Objects of_row(std::uint32_t row, std::uint64_t all) {
    Objects left{all, all};
    const auto keep = [&left](const Objects& other) {
      left.yes &= other.yes;
      left.possible &= other.possible;
    };
    for (const Node& node : must_) {
      keep(node.of_row(row, all));
      if (left.possible == 0) return left;
    }
    if (!should_.empty()) keep(any_of(should_, row, all));
    if (min_count_) keep(enough(row, all));
    for (const Node& node : must_not_) {
      const Objects other = node.of_row(row, all);
      keep({all & ~other.possible, all & ~other.yes});
    }
    return left;
  }

 private:
  /// A condition, a filter, or, without both, something that attributes do not decide.
  struct Node {
    std::unique_ptr<ObjectCondition> condition;
    std::unique_ptr<ObjectFilter> filter;

    Objects of_row(std::uint32_t row, std::uint64_t all) const {
      if (condition != nullptr) return condition->of_row(row, all);
      return filter != nullptr ? filter->of_row(row, all) : Objects{0, all};
    }
  };
  using Nodes = std::vector<Node>;

  static Nodes make_nodes(const RowsView& rows, const std::vector<payload::Node>& nodes,
                          std::string_view objects_path) {
    Nodes out;
    for (const payload::Node& node : nodes) {
      Node& made = out.emplace_back();
      if (const auto* field = std::get_if<FieldNode>(&node)) {
        if (is_key_of_objects(field->attribute_path, objects_path)) {
          made.condition = std::make_unique<ObjectCondition>(rows, *field);
        }
      } else if (const auto* tree = std::get_if<std::shared_ptr<const FilterTree>>(&node)) {
        made.filter = std::make_unique<ObjectFilter>(rows, **tree, objects_path);
      }
    }
    return out;
  }

  /// True if the path enters no further array, whose objects have numbers of their own.
  static bool is_key_of_objects(std::string_view path, std::string_view objects_path) {
    return path.starts_with(objects_path) &&
           path.find("[]", objects_path.size()) == std::string_view::npos;
  }

  static Objects any_of(const Nodes& nodes, std::uint32_t row, std::uint64_t all) {
    Objects any;
    for (const Node& node : nodes) {
      const Objects other = node.of_row(row, all);
      any.yes |= other.yes;
      any.possible |= other.possible;
    }
    return any;
  }

  /// The objects that satisfy at least `min_count_` of `min_should_`.
  Objects enough(std::uint32_t row, std::uint64_t all) {
    if (by_count_.empty()) return {};
    std::fill(by_count_.begin(), by_count_.end(), Objects());
    by_count_[0] = {all, all};
    for (const Node& node : min_should_) {
      const Objects other = node.of_row(row, all);
      for (std::size_t n = by_count_.size() - 1; n > 0; --n) {
        by_count_[n].yes |= by_count_[n - 1].yes & other.yes;
        by_count_[n].possible |= by_count_[n - 1].possible & other.possible;
      }
    }
    return by_count_.back();
  }

  Nodes must_, should_, must_not_, min_should_;
  std::optional<std::uint64_t> min_count_;
  /// Objects of a row that satisfy so many conditions or more; empty if there are too few.
  std::vector<Objects> by_count_;
};

}  // namespace

Verdict match_objects(const RowsView& rows, const NestedNode& node, const RowSet& within) {
  if (node.objects_path.empty()) return {RowSet::none_like(within), within};
  ObjectCounts counts(rows, node.objects_path);
  ObjectFilter filter(rows, *node.filter, node.objects_path);
  Verdict verdict = Verdict::none_like(within);
  within.for_each([&](std::size_t i) {
    const auto row = static_cast<std::uint32_t>(i);
    const auto n_objects = counts.of_row(row);
    if (!n_objects) return verdict.maybe.set(row);
    const Objects found = filter.of_row(row, first_objects(*n_objects));
    if (found.yes != 0) return verdict.yes.set(row);
    if (found.possible != 0) verdict.maybe.set(row);
  });
  return verdict;
}

}  // namespace quiver::payload
