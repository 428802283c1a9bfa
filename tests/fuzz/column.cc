// Payload columns and attributes whose bytes change after they were opened, as bits of a running
// server's files may: filters, counts, orders, aggregations and rankings stay within bounds and
// name rows of the segment. Answers may be wrong.
//
// The first byte chooses the documents and their indexes, the second the filter, the third what is
// counted. Each eight bytes that follow change one value; see change.h.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "payload/aggregate/buckets.h"
#include "payload/aggregate/collect.h"
#include "payload/aggregate/stats.h"
#include "payload/aggregate/terms.h"
#include "payload/attribute/attribute_file.h"
#include "payload/attribute/builder.h"
#include "payload/bm25/bm25.h"
#include "payload/column/counts.h"
#include "payload/column/order.h"
#include "payload/filter/predicate.h"
#include "tests/fuzz/change.h"
#include "tests/payload/random_payload.h"

namespace quiver::fuzz {
namespace {

using namespace payload;  // NOLINT(google-build-using-namespace): all of it is about payloads

constexpr std::size_t kWorlds = 12;
constexpr std::uint32_t kColumnRows = 120;
constexpr int kIndexes = 4;
constexpr const char* kAttributes = "attributes";

std::string file_of(std::size_t i) { return "column-" + std::to_string(i); }

/// Documents, and their columns and attributes as files.
struct World {
  explicit World(std::uint64_t seed) {
    RandomPayload random(seed);
    AttributeLimits limits;
    limits.max_bytes = 1 << 20;
    AttributeBuilder builder(limits);
    std::vector<Value> parsed;
    for (std::uint32_t row = 0; row < kColumnRows; ++row) {
      parsed.push_back(random.document());
      builder.add(parsed.back());
      documents.push_back(to_json(parsed.back()));
      ids.push_back(PointId::number(row));
    }
    for (int i = 0; i < kIndexes; ++i) {
      FieldIndex index = random.index();
      index.scoring = index.kind == IndexKind::kText;
      const bool is_known =
          std::ranges::any_of(indexes, [&](const auto& other) { return other.key == index.key; });
      if (!is_known) indexes.push_back(index);
    }
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      auto column = *MutableColumn::create(indexes[i]);
      for (const Value& document : parsed) column->add_row(document);
      require(write_column(column->view(), *directory, file_of(i)).has_value(), "write a column");
      files.push_back({file_of(i), *directory->read_file(file_of(i))});
    }
    require(write_attributes(builder.finish(), kColumnRows, *directory, kAttributes).has_value(),
            "write attributes");
    files.push_back({kAttributes, *directory->read_file(kAttributes)});
  }

  struct File {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<std::string> documents;
  std::vector<PointId> ids;
  std::vector<FieldIndex> indexes;
  std::vector<File> files;
  std::unique_ptr<Directory> directory = make_memory_directory();
};

/// The files of a world, opened and then changed.
class ChangedRows final : public RowsView {
 public:
  ChangedRows(const World& world, std::span<const Change> changes) : world_(world) {
    for (const auto& file : world.files) {
      require(directory_->write_file(file.name, file.bytes).has_value(), "write");
    }
    for (std::size_t i = 0; i < world.indexes.size(); ++i) {
      auto column = open_column(*directory_, file_of(i), world.indexes[i]);
      require(column.has_value(), "open a column");
      columns_.push_back(*std::move(column));
    }
    auto opened = open_attributes(*directory_, kAttributes, kColumnRows);
    require(opened.has_value(), "open attributes");
    attributes_ = *std::move(opened);
    for (const Change& change : changes) {
      change.make_mapped(*directory_, world.files[change.file % world.files.size()].name);
    }
  }

  [[nodiscard]] std::uint32_t n_rows() const override { return kColumnRows; }
  [[nodiscard]] std::span<const PointId> ids() const override { return world_.ids; }
  [[nodiscard]] bool sorted_ids() const override { return true; }
  [[nodiscard]] Result<std::string_view> document(std::uint32_t row) const override {
    require(row < kColumnRows, "no row of the segment");
    return std::string_view(world_.documents[row]);
  }
  [[nodiscard]] const ColumnView* column(std::string_view key) const override {
    for (const ColumnView& column : columns_) {
      if (column.index->key == key) return &column;
    }
    return nullptr;
  }
  [[nodiscard]] std::vector<AttributePart> attributes(std::string_view path) const override {
    const AttributeView* view = attributes_.set.find(path);
    const bool is_told = view != nullptr || attributes_.set.leads_nowhere(path);
    return is_told ? std::vector<AttributePart>{{0, kColumnRows, view}}
                   : std::vector<AttributePart>();
  }
  [[nodiscard]] const std::uint8_t* present(std::string_view) const override { return nullptr; }

  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] const std::vector<ColumnView>& columns() const { return columns_; }

 private:
  const World& world_;
  std::unique_ptr<Directory> directory_ = make_memory_directory();
  std::vector<ColumnView> columns_;
  OpenedAttributes attributes_;
};

void require_rows(const Bitset& rows) {
  require(rows.size() == kColumnRows, "another number of rows");
  rows.for_each([](std::size_t row) { require(row < kColumnRows, "no row of the segment"); });
}

void filter(const ChangedRows& rows, std::uint64_t seed) {
  RandomPayload random(seed);
  for (int i = 0; i < 3; ++i) {
    const auto predicate = compile(random.filter(), rows.world().indexes);
    if (!predicate) continue;
    const auto all = (*predicate)->evaluate(rows, Bitset(kColumnRows, true), Cancel());
    if (all) require_rows(*all);
    Bitset some(kColumnRows);
    for (std::uint32_t row = 0; row < kColumnRows; row += 5) some.set(row);
    const auto few = (*predicate)->evaluate(rows, some, Cancel());
    if (few) require_rows(*few);
    const auto listed =
        (*predicate)
            ->evaluate_few(
                rows, &some, 100, [] { return std::shared_ptr<const Bitset>(); }, Cancel());
    if (listed && *listed) {
      for (const auto row : **listed) require(row < kColumnRows, "no row of the segment");
    }
    (void)(*predicate)->estimate(rows);
  }
}

class BestTexts final : public RowSink {
 public:
  void offer(std::uint32_t row, float) override {
    require(row < kColumnRows, "no row of the segment");
  }
  [[nodiscard]] float threshold() const override { return 0; }
  [[nodiscard]] std::size_t limit() const override { return 10; }
};

void rank(const ColumnView& column, const Bitset* within) {
  std::vector<std::string> words;
  for (std::uint32_t term = 0; term < column.n_terms() && words.size() < 6; term += 2) {
    words.emplace_back(column.term(term));
  }
  const auto tokens = QueryTokens::of(words);
  const Occurrences occurrences(column, tokens.texts);
  CorpusStatistics corpus;
  corpus.add(occurrences, within);
  const Bm25 bm25(tokens, corpus, Bm25Params());
  const ScoredTexts texts{occurrences, bm25};
  BestTexts best;
  (void)search_texts({&texts, 1}, within, best, Cancel());
}

void read(const ColumnView& column, std::span<const PointId> ids) {
  Bitset third(kColumnRows);
  for (std::uint32_t row = 0; row < kColumnRows; row += 3) third.set(row);
  if (is_countable(*column.index)) {
    (void)count_values(column, nullptr);
    (void)count_values(column, &third);
  }
  if (is_orderable(*column.index)) {
    for (const auto direction : {Direction::kAscending, Direction::kDescending}) {
      for (const auto& [key, row] : first_in_order(column, ids, third, direction, {}, 20)) {
        require(row < kColumnRows, "no row of the segment");
      }
    }
  }
  if (!column.index->scoring) return;
  rank(column, nullptr);
  rank(column, &third);
}

void aggregate(const ChangedRows& rows, std::uint64_t seed) {
  RandomPayload random(seed);
  const auto path = [&] { return *JsonPath::parse(random.key()); };
  TermCollector terms(path());
  StatsCollector stats(path());
  BucketCollector numbers(path(), NumberBuckets{2, 0});
  BucketCollector years(path(), CalendarBuckets{});
  Collector* collectors[] = {&terms, &stats, &numbers, &years};
  Bitset half(kColumnRows);
  for (std::uint32_t row = 0; row < kColumnRows; row += 2) half.set(row);
  (void)collect(collectors, rows, &half, rows.world().indexes, Cancel());
  (void)collect(collectors, rows, nullptr, rows.world().indexes, Cancel());
  (void)terms.most_frequent(5);
  (void)stats.stats();
}

/// What a merge does: the rows that are left in another order.
void seal_again(const ChangedRows& rows) {
  for (const ColumnView& column : rows.columns()) {
    std::vector<RowOrigin> origins;
    for (std::uint32_t row = kColumnRows; row > 0; row -= row % 7 == 0 ? 2 : 1) {
      origins.push_back({0, row - 1});
      if (row < 2) break;
    }
    const auto directory = make_memory_directory();
    (void)write_column({&column, 1}, origins, *directory, "merged");
  }
}

}  // namespace
}  // namespace quiver::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quiver::fuzz;  // NOLINT(google-build-using-namespace): one function
  constexpr std::size_t kHead = 3;
  if (size < kHead) return 0;
  static const std::vector<std::unique_ptr<World>> worlds = [] {
    std::vector<std::unique_ptr<World>> all;
    for (std::size_t seed = 0; seed < kWorlds; ++seed) all.push_back(std::make_unique<World>(seed));
    return all;
  }();
  const auto changes = changes_of(data + kHead, size - kHead);
  const ChangedRows rows(*worlds[data[0] % kWorlds], changes);
  filter(rows, data[1]);
  for (const auto& column : rows.columns()) read(column, rows.ids());
  aggregate(rows, data[2]);
  seal_again(rows);
  return 0;
}
