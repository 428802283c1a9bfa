#include "payload/filter/predicate.h"

#include <utility>

#include "base/check.h"
#include "payload/filter/evaluation.h"
#include "payload/filter/few_rows.h"

namespace quiver::payload {
namespace {

/// Documents parsed between two polls of `cancel`.
constexpr std::uint32_t kDocumentsPerPoll = 16;

class TreePredicate final : public Predicate {
 public:
  TreePredicate(std::shared_ptr<const FilterTree> tree, std::optional<FilterIdentity> identity)
      : tree_(std::move(tree)), identity_(std::move(identity)) {}

  [[nodiscard]] Result<Bitset> evaluate(const RowsView& rows, Bitset candidates,
                                        const Cancel& cancel) const override {
    QV_CHECK(candidates.size() == rows.n_rows());
    const RowSet within(std::move(candidates));
    QV_TRY(Verdict verdict, match_columns(*tree_, rows, within, cancel));
    QV_TRY(resolve(rows, verdict, cancel));
    return std::move(verdict.yes).take_bits();
  }

  [[nodiscard]] Result<std::optional<std::vector<std::uint32_t>>> evaluate_few(
      const RowsView& rows, const Bitset* dead, std::size_t most, const KnownRows& known,
      const Cancel& cancel) const override {
    auto few = few_rows(*tree_, rows, most);
    if (!few) return std::nullopt;
    if (dead != nullptr) {
      std::erase_if(few->rows, [&](std::uint32_t row) { return dead->test(row); });
    }
    if (few->rows.empty() || few->is_exact) return std::move(few->rows);
    const RowSet within = RowSet::listed(rows.n_rows(), few->rows);
    QV_TRY(Verdict verdict, match_columns(*tree_, rows, within, cancel));
    if (!verdict.maybe.none()) {
      if (const auto all = known()) {
        std::erase_if(few->rows, [&](std::uint32_t row) { return !all->test(row); });
        return std::move(few->rows);
      }
      QV_TRY(resolve(rows, verdict, cancel));
    }
    std::vector<std::uint32_t> found;
    verdict.yes.for_each(
        [&](std::size_t row) { found.push_back(static_cast<std::uint32_t>(row)); });
    return found;
  }

  [[nodiscard]] bool matches(const Value& document, const PointId& id,
                             const HasVectorFn& has_vector) const override {
    return tree_matches(*tree_, {document, &id, &has_vector});
  }

  [[nodiscard]] Estimate estimate(const RowsView& rows) const override {
    return estimate_tree(*tree_, rows);
  }

  [[nodiscard]] bool always_true() const override { return tree_->empty(); }

  [[nodiscard]] const FilterIdentity* identity() const override {
    return identity_ ? &*identity_ : nullptr;
  }

 private:
  /// Decides the rows of `maybe` by their documents; adds those that match to `yes`.
  Result<> resolve(const RowsView& rows, Verdict& verdict, const Cancel& cancel) const {
    std::uint32_t row = 0;
    const HasVectorFn has_vector = [&](std::string_view name) {
      const std::uint8_t* present = rows.present(name);
      return present != nullptr && present[row] != 0;
    };
    std::uint32_t n_done = 0;
    Result<> status;
    verdict.maybe.for_each([&](std::size_t maybe) {
      if (!status) return;
      row = static_cast<std::uint32_t>(maybe);
      if (n_done++ % kDocumentsPerPoll == 0) status = cancel.check();
      if (status) status = resolve_row(rows, row, has_vector, verdict.yes);
    });
    return status;
  }

  Result<> resolve_row(const RowsView& rows, std::uint32_t row, const HasVectorFn& has_vector,
                       RowSet& yes) const {
    QV_TRY(const Value document, read_document(rows, row));
    if (matches(document, rows.ids()[row], has_vector)) yes.set(row);
    return {};
  }

  const std::shared_ptr<const FilterTree> tree_;
  const std::optional<FilterIdentity> identity_;
};

}  // namespace

Result<std::shared_ptr<const Predicate>> compile(const Filter& filter,
                                                 std::span<const FieldIndex> indexes) {
  QV_TRY(auto tree, build_tree(filter, indexes));
  return std::shared_ptr<const Predicate>(
      std::make_shared<TreePredicate>(std::move(tree), identity_of(filter, indexes)));
}

}  // namespace quiver::payload
