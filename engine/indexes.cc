#include "engine/indexes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "index/flat/type.h"

namespace quiver::engine {
namespace {

/// The same rows give the same bytes.
constexpr std::uint64_t kSeed = 1;

/// The type of the index that a field of a sealed segment should have; nullptr: none.
const index::IndexType* wanted_index(const index::FieldColumn& column, const IndexPolicy& policy) {
  const auto* type = policy.choose(column.schema);
  if (type == flat_index() || column.n_present == 0) return nullptr;
  return data_bytes(column) < policy.min_bytes ? nullptr : type;
}

/// A directory that is renamed when it is complete, and removed if it never is.
class Draft {
 public:
  Draft(Directory& parent, std::string name) : parent_(parent), name_(std::move(name)) {}
  ~Draft() {
    if (finished_) return;
    if (auto removed = remove(draft_name()); !removed) {
      log_warning("{}", removed.error().message());
    }
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  Result<std::unique_ptr<Directory>> begin() {
    QV_TRY(remove(draft_name()));
    return parent_.subdirectory(draft_name());
  }
  /// Durable on return.
  Result<> finish(Directory& directory) {
    QV_TRY(directory.sync());
    QV_TRY(remove(name_));
    QV_TRY(parent_.rename_subdirectory(draft_name(), name_));
    finished_ = true;
    return parent_.sync();
  }

 private:
  [[nodiscard]] std::string draft_name() const { return name_ + ".tmp"; }
  Result<> remove(const std::string& name) {
    return parent_.exists(name) ? parent_.remove_subdirectory(name) : Result<>();
  }

  Directory& parent_;
  const std::string name_;
  bool finished_ = false;
};

/// Turns rows done of one field into the share done of all.
class Progress {
 public:
  Progress(const SegmentData& data, std::size_t n_fields, const std::function<void(double)>& report)
      : report_(report),
        total_(static_cast<double>(n_fields) * data.n_rows),
        n_rows_(data.n_rows) {}

  [[nodiscard]] std::function<void(std::uint64_t)> of_field() const {
    if (!report_) return nullptr;
    return [this](std::uint64_t rows) {
      const auto done = static_cast<double>(n_done_ + std::min<std::uint64_t>(rows, n_rows_));
      report_(done / total_);
    };
  }
  void field_done() { n_done_ += n_rows_; }

 private:
  const std::function<void(double)>& report_;
  double total_;
  std::uint64_t n_rows_;
  std::uint64_t n_done_ = 0;
};

Result<BuiltIndex> open_index(const SegmentData& data, std::size_t field,
                              const index::IndexType& type, const Directory& directory) {
  QV_TRY(const auto files, directory.open_subdirectory(index_directory(field, type)));
  QV_TRY(auto searcher, type.open(*files, data.fields[field]));
  return BuiltIndex{field, &type, std::move(searcher)};
}

Result<BuiltIndex> build_index(const SegmentData& data, std::size_t field, Directory& directory,
                               const IndexBuild& build, const Progress& progress) {
  const auto& column = data.fields[field];
  const auto* type = build.policy.choose(column.schema);
  QV_TRY(const auto params, type->parse_build({}));
  const index::BuildContext context{build.executor, build.cancel, kSeed, progress.of_field()};
  Draft draft(directory, index_directory(field, *type));
  QV_TRY(auto files, draft.begin());
  QV_TRY(type->build(column, params, context, *files));
  QV_TRY(draft.finish(*files));
  return open_index(data, field, *type, directory);
}

/// One that is whole may be there: of a build that failed at a later field.
Result<BuiltIndex> open_or_build(const SegmentData& data, std::size_t field, Directory& directory,
                                 const IndexBuild& build, const Progress& progress) {
  const auto* type = build.policy.choose(data.fields[field].schema);
  if (auto there = open_index(data, field, *type, directory)) return there;
  return build_index(data, field, directory, build, progress);
}

}  // namespace

const index::IndexType* flat_index() { return &index::kFlat; }

const index::IndexType* default_index(const FieldSchema& schema) {
  if (schema.kind != FieldKind::kSparse) return flat_index();
  const auto* type = index::find_index_type("seismic");
  return type != nullptr && type->supports(schema) ? type : flat_index();
}

std::string index_directory(std::size_t field, const index::IndexType& type) {
  return fmt::format("index-{}-{}", field, type.name);
}

bool has_indexes(const std::vector<FieldSchema>& fields, const IndexPolicy& policy) {
  return std::any_of(fields.begin(), fields.end(), [&](const FieldSchema& field) {
    return policy.choose(field) != flat_index();
  });
}

bool lacks_index(const SegmentData& data, std::size_t field, const IndexPolicy& policy) {
  if (!data.sealed) return false;
  const auto* wanted = wanted_index(data.fields[field], policy);
  return wanted != nullptr && data.index_types[field] != wanted;
}

std::vector<std::size_t> missing_indexes(const SegmentData& data, const IndexPolicy& policy) {
  std::vector<std::size_t> missing;
  for (std::size_t field = 0; field < data.fields.size(); ++field) {
    if (lacks_index(data, field, policy)) missing.push_back(field);
  }
  return missing;
}

bool open_indexes(SegmentData& data, const Directory& directory, const IndexPolicy& policy) {
  bool whole = true;
  std::vector<BuiltIndex> opened;
  for (const std::size_t field : missing_indexes(data, policy)) {
    const auto* type = policy.choose(data.fields[field].schema);
    if (!directory.exists(index_directory(field, *type))) continue;  // not built yet
    auto index = open_index(data, field, *type, directory);
    if (index) {
      opened.push_back(*std::move(index));
      continue;
    }
    log_error("{}; the field is searched exactly until its index is built again",
              index.error().message());
    whole = false;
  }
  install_indexes(data, std::move(opened));
  return whole;
}

Result<std::vector<BuiltIndex>> build_indexes(const SegmentData& data, Directory& segments,
                                              const IndexBuild& build) {
  const auto fields = missing_indexes(data, build.policy);
  if (fields.empty()) return std::vector<BuiltIndex>{};
  QV_TRY(const auto directory, segments.open_subdirectory(std::to_string(data.id)));
  Progress progress(data, fields.size(), build.progress);
  std::vector<BuiltIndex> built;
  for (const std::size_t field : fields) {
    QV_TRY(auto index, open_or_build(data, field, *directory, build, progress));
    built.push_back(std::move(index));
    progress.field_done();
  }
  return built;
}

void install_indexes(SegmentData& data, std::vector<BuiltIndex> built) {
  for (auto& index : built) {
    data.searchers[index.field] = std::move(index.searcher);
    data.index_types[index.field] = index.type;
  }
}

}  // namespace quiver::engine
