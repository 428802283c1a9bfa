// Indexes of every type whose files were changed and then given right checksums: opening refuses
// them, or searches stay within bounds and return rows of the segment.
//
// The first byte chooses the index, and whether files change after they were opened, as bits of a
// running server's files may: then answers may be wrong. Each eight bytes that follow change one
// value; see change.h.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "index/index.h"
#include "tests/fuzz/change.h"
#include "tests/fuzz/section_checksums.h"
#include "tests/index/support.h"

namespace quiver::fuzz {
namespace {

using index::FieldColumn;
using index::IndexType;

constexpr std::uint64_t kSeed = 7;
constexpr std::uint32_t kRows = 400;
constexpr std::uint32_t kDim = 32;

struct File {
  std::string name;
  std::vector<std::byte> bytes;
};

/// An index as it was built, and a query for it.
class Built {
 public:
  Built(const char* type, const FieldSchema& schema, const KeyValues& build,
        std::vector<KeyValues> searches)
      : type_(*index::find_index_type(type)), searches_(std::move(searches)) {
    index::testing::Random random(kSeed);
    index::testing::ColumnOptions options;
    options.n_rows = kRows;
    options.present_share = .9;
    column_ = index::testing::random_column(schema, options, random);
    query_ = index::testing::random_vector(schema, options, random);
    const auto params = type_.parse_build(build);
    require(params.has_value(), "build parameters");
    const Cancel cancel;
    const auto directory = make_memory_directory();
    require(type_.build(column_, *params, {nullptr, cancel, kSeed, nullptr, nullptr}, *directory)
                .has_value(),
            "build");
    const auto entries = directory->list();
    for (const auto& entry : *entries) {
      files_.push_back({entry.name, *directory->read_file(entry.name)});
    }
    require(try_files(files_), "what was built is not read");
  }

  [[nodiscard]] std::vector<File> files() const { return files_; }

  /// Opens the files, makes changes in what is mapped, and searches. Returns false if the files are
  /// refused.
  bool try_files(const std::vector<File>& files, std::span<const Change> later = {}) const {
    const auto directory = make_memory_directory();
    for (const File& file : files) {
      require(directory->write_file(file.name, file.bytes).has_value(), "write");
    }
    const auto searcher = type_.open(*directory, column_);
    if (!searcher) {
      require(!searcher.error().message().empty(), "an error without a text");
      return false;
    }
    for (const Change& change : later) {
      change.make_mapped(*directory, files[change.file % files.size()].name);
    }
    const auto query = index::testing::make_query(column_.schema, query_);
    const index::RowFilter all = index::RowFilter::all(kRows);
    Bitset third(kRows);
    for (std::uint32_t row = 0; row < kRows; row += 3) third.set(row);
    for (const KeyValues& values : searches_) {
      const auto params = type_.parse_search(values);
      require(params.has_value(), "search parameters");
      search(**searcher, query, *params, all);
      search(**searcher, query, *params, index::RowFilter::of(third));
    }
    (void)(*searcher)->describe();
    for (const std::uint32_t row : (*searcher)->rows_by_nearness()) {
      require(row < kRows, "no row of the segment");
    }
    return true;
  }

 private:
  static void search(const index::Searcher& searcher, const index::PreparedQuery& query,
                     const index::AnyParams& params, const index::RowFilter& filter) {
    const Cancel cancel;
    index::TopK best(10);
    index::WorkCounters work;
    const auto found = searcher.search(query, params, filter,
                                       {cancel, nullptr, index::Prefer::kIndexed}, best, work);
    if (!found) return require(!found.error().message().empty(), "an error without a text");
    for (const auto& hit : best.take_sorted()) require(hit.row < kRows, "no row of the segment");
  }

  const IndexType& type_;
  std::vector<KeyValues> searches_;
  FieldColumn column_;
  index::testing::PlainVector query_;
  std::vector<File> files_;
};

const std::vector<Built>& all_built() {
  static const std::vector<Built> built = [] {
    const FieldSchema dense{"", FieldKind::kDense, kDim, DType::kF32, Metric::kDot, {}};
    const FieldSchema multi{"", FieldKind::kMulti, kDim, DType::kF32, Metric::kDot, {}};
    const FieldSchema sparse{"", FieldKind::kSparse, 0, DType::kF32, Metric::kDot, {}};
    const auto text = [](const char* key, const char* value) {
      return KeyValues{{key, std::string(value)}};
    };
    const KeyValues many = {{"effort", 512.0}};
    const KeyValues blocks = {{"blocks_from", std::int64_t{1}},
                              {"n_neighbours", std::int64_t{4}},
                              {"n_postings", std::int64_t{200}}};
    const KeyValues by_blocks = {{"method", std::string("blocks")},
                                 {"exact_below", std::int64_t{0}},
                                 {"n_knn", std::int64_t{4}}};
    const KeyValues by_scan = {{"method", std::string("scan")}, {"exact_below", std::int64_t{0}}};
    std::vector<Built> all;
    all.emplace_back("ivf", dense, KeyValues(), std::vector{KeyValues(), many});
    all.emplace_back("ivf", dense, text("graph", "always"), std::vector{KeyValues(), many});
    all.emplace_back("osq", dense, KeyValues{{"partitions", std::int64_t{4}}},
                     std::vector{KeyValues(), text("precision", "bounds")});
    all.emplace_back("seismic", sparse, blocks, std::vector{by_blocks, by_scan});
    all.emplace_back("seismic", sparse, text("codec", "f16"), std::vector{by_scan});
    for (const IndexType* type : index::index_types()) {
      if (type->supports(multi) && type->name != "flat") {
        all.emplace_back(type->name.data(), multi, KeyValues(), std::vector{KeyValues()});
      }
    }
    all.emplace_back("seismic", sparse, text("codec", "gaps"), std::vector{by_scan});
    return all;
  }();
  return built;
}

}  // namespace
}  // namespace quiver::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quiver::fuzz;  // NOLINT(google-build-using-namespace): one function
  if (size < 1 + sizeof(Change)) return 0;
  const std::size_t number = data[0] % 128 % all_built().size();
  const Built& built = all_built()[number];
  const auto changes = changes_of(data + 1, size - 1);
  auto files = built.files();
  if (data[0] >= 128) {
    (void)built.try_files(files, changes);
    return 0;
  }
  for (const Change& change : changes) change.make(files[change.file % files.size()].bytes);
  for (File& file : files) make_section_file_right(file.bytes);
  (void)built.try_files(files);
  return 0;
}
