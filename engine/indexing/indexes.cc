#include "engine/indexing/indexes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "base/io/write_watch.h"
#include "base/observe/log.h"
#include "engine/model/row.h"
#include "index/exact/searcher.h"
#include "index/exact/type.h"

namespace quiver::engine {
namespace {

/// Seed of all builds: the same rows and predecessor give the same bytes.
constexpr std::uint64_t kSeed = 1;
constexpr std::string_view kDraftEnding = ".tmp";
/// Build parameter that names the index type.
constexpr std::string_view kTypeName = "type";

const VectorIndexConfig& config_of(const FieldSchema& field, const IndexPolicy& policy) {
  static const VectorIndexConfigs none;
  return find_vector_index(policy.fields != nullptr ? *policy.fields : none, field.name);
}

/// The type that the user asks for by name: nullptr if none, kInvalidArgument if it is no index of
/// the field.
Result<const index::IndexType*> named_type(const FieldSchema& field,
                                           const VectorIndexConfig& config) {
  const auto given = config.given.find(kTypeName);
  if (given == config.given.end()) return nullptr;
  std::string known;
  for (const auto* type : index::index_types()) {
    if (type == flat_index() || !type->supports(field)) continue;
    const auto* name = std::get_if<std::string>(&given->second);
    if (name != nullptr && *name == type->name) return type;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", type->name);
  }
  return fail(Code::kInvalidArgument, fmt::format("type is {}, must be one of {}",
                                                  quiver::to_string(given->second), known));
}

/// The type for a field with this configuration, if `usual` is the type of other fields like it.
/// Stored configurations that name no index of the field are ignored.
const index::IndexType* type_with(const FieldSchema& field, const VectorIndexConfig& config,
                                  const index::IndexType* usual) {
  const auto named = named_type(field, config);
  return named && *named != nullptr && usual != flat_index() ? *named : usual;
}

/// Parameters for `type`. Those that other settings imply are for the usual type.
KeyValues build_values(const VectorIndexConfig& config, const index::IndexType* type,
                       const index::IndexType* usual) {
  KeyValues values = config.given;
  values.erase(std::string(kTypeName));
  if (type == usual) values.insert(config.build.begin(), config.build.end());
  return values;
}

/// The index of large enough segments of a field; nullopt: none.
std::optional<IndexSpec> spec_of(const FieldSchema& field, const IndexPolicy& policy) {
  const auto* type = wanted_type(field, policy);
  const auto& config = config_of(field, policy);
  if (type == flat_index() || !config.enabled) return std::nullopt;
  return IndexSpec{type, build_values(config, type, policy.choose(field))};
}

std::uint64_t least_bytes(const FieldSchema& field, const IndexPolicy& policy) {
  const auto of_all = policy.min_bytes.value_or(usual_min_bytes(field));
  return config_of(field, policy).min_bytes.value_or(of_all);
}

bool is_large_enough(const index::FieldColumn& column, const IndexPolicy& policy) {
  return column.n_present != 0 && data_bytes(column) >= least_bytes(column.schema, policy);
}

/// The index that a field of a sealed segment should have; nullopt: none.
std::optional<IndexSpec> wanted_index(const index::FieldColumn& column, const IndexPolicy& policy) {
  return is_large_enough(column, policy) ? spec_of(column.schema, policy) : std::nullopt;
}

/// A directory under a temporary name: renamed when it is complete, else removed.
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
  /// Gives the directory its name. Durable on return.
  Result<> finish(Directory& directory) {
    QV_TRY(directory.sync());
    QV_TRY(remove(old_name()));
    if (parent_.exists(name_)) QV_TRY(parent_.rename_subdirectory(name_, old_name()));
    QV_TRY(parent_.rename_subdirectory(draft_name(), name_));
    finished_ = true;
    QV_TRY(parent_.sync());
    return remove(old_name());
  }

 private:
  [[nodiscard]] std::string draft_name() const { return name_ + std::string(kDraftEnding); }
  /// The replaced directory is renamed to this first, so that a half-removed one never has the
  /// name.
  [[nodiscard]] std::string old_name() const { return name_ + ".old" + std::string(kDraftEnding); }
  Result<> remove(const std::string& name) {
    return parent_.exists(name) ? parent_.remove_subdirectory(name) : Result<>();
  }

  Directory& parent_;
  const std::string name_;
  bool finished_ = false;
};

/// Turns rows done of one field into the share done of all fields.
class SegmentProgress {
 public:
  SegmentProgress(const SegmentData& data, std::size_t n_fields,
                  const std::function<void(double)>& report)
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

Result<BuiltFieldIndex> open_index(const SegmentData& data, std::size_t field,
                                   const IndexSpec& spec, const Directory& directory) {
  QV_TRY(const auto files, directory.open_subdirectory(index_directory(field, spec)));
  const auto mapped = std::make_shared<MappedFiles>();
  files->watch(mapped);
  QV_TRY(auto searcher, spec.type->open(*files, data.fields[field]));
  return BuiltFieldIndex{field, spec, std::move(searcher), mapped};
}

/// The index of the same kind with the most live rows among `inputs`; nullptr: none.
const index::Searcher* predecessor_of(std::span<const Segment> inputs, std::size_t field,
                                      const IndexSpec& spec) {
  const index::Searcher* predecessor = nullptr;
  std::uint32_t most = 0;
  for (const Segment& input : inputs) {
    if (input.data->indexes[field] != spec || input.n_live() <= most) continue;
    most = input.n_live();
    predecessor = input.data->searchers[field].get();
  }
  return predecessor;
}

Result<> write_index(const SegmentData& data, std::size_t field, const IndexSpec& spec,
                     Directory& directory, const IndexBuild& build,
                     const SegmentProgress& progress) {
  QV_TRY(const auto params, spec.type->parse_build(spec.build));
  const auto queries =
      build.queries != nullptr ? build.queries->sample(field) : index::QuerySample();
  const auto former = directory.open_subdirectory(index_directory(field, spec));
  const bool may_use_devices =
      config_of(data.fields[field].schema, build.policy).on_gpu != gpu::Placing::kNever;
  const index::BuildContext context{build.executor,
                                    build.cancel,
                                    kSeed,
                                    progress.of_field(),
                                    &queries,
                                    predecessor_of(build.inputs, field, spec),
                                    former ? former->get() : nullptr,
                                    may_use_devices ? build.devices : nullptr};
  Draft draft(directory, index_directory(field, spec));
  QV_TRY(auto files, draft.begin());
  const auto mapped =
      std::make_shared<MappedFiles>();  // files that the build writes and reads again
  files->watch(mapped);
  QV_TRY(spec.type->build(data.fields[field], params, context, *files));
  // A build that read damaged pages must not get its name.
  notice_writes();
  QV_TRY(data.check_files());
  for (const Segment& input : build.inputs) QV_TRY(input.data->check_files());
  QV_TRY(mapped->check());
  return draft.finish(*files);
}

/// Opens the index after the build's own mappings of it have ended: their copies in huge pages
/// leave room for those of the searches.
Result<BuiltFieldIndex> build_index(const SegmentData& data, std::size_t field,
                                    const IndexSpec& spec, Directory& directory,
                                    const IndexBuild& build, const SegmentProgress& progress) {
  QV_TRY(write_index(data, field, spec, directory, build, progress));
  return open_index(data, field, spec, directory);
}

/// Opens the index if a former build, which failed at a later field, completed it; else builds it.
Result<BuiltFieldIndex> open_or_build(const SegmentData& data, std::size_t field,
                                      Directory& directory, const IndexBuild& build,
                                      const SegmentProgress& progress) {
  const auto spec = spec_of(data.fields[field].schema, build.policy).value();
  Result<BuiltFieldIndex> index = fail(Code::kNotFound, "the index must be rebuilt");
  if (build.rebuilt_field != field) index = open_index(data, field, spec, directory);
  if (!index) index = build_index(data, field, spec, directory, build, progress);
  if (index) remove_indexes(directory, field, index_directory(field, spec));
  return index;
}

}  // namespace

const index::IndexType* flat_index() { return &index::kFlat; }

const index::IndexType* default_index(const FieldSchema& schema) {
  constexpr std::string_view kTypes[] = {"ivf", "seismic", "multi"};
  const auto* type = index::find_index_type(kTypes[static_cast<std::size_t>(schema.kind)]);
  return type != nullptr && type->supports(schema) ? type : flat_index();
}

const index::IndexType* wanted_type(const FieldSchema& field, const IndexPolicy& policy) {
  return type_with(field, config_of(field, policy), policy.choose(field));
}

std::uint64_t usual_min_bytes(const FieldSchema& schema) {
  constexpr std::uint64_t kMiB = 1ULL << 20;
  switch (schema.kind) {
    case FieldKind::kDense:
      return 4 * kMiB;
    case FieldKind::kSparse:
      return kMiB;
    case FieldKind::kMulti:
      return 8 * kMiB;
  }
  return 0;
}

IndexPolicy index_policy(const IndexChooser& choose,
                         const std::shared_ptr<const CollectionConfig>& config) {
  return {choose,
          config->optimizer.index_min_bytes,
          {config, &config->vector_indexes}};  // keeps the configuration alive
}

Result<> check_build_values(const FieldSchema& field, const VectorIndexConfig& config) {
  const auto* usual = default_index(field);
  if (usual == flat_index() && !config.given.empty()) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} is searched exactly: its kind and metric have no index to build",
                            quoted_name(field)));
  }
  QV_TRY(const auto* named, named_type(field, config));
  const auto* type = named != nullptr ? named : usual;
  QV_TRY(type->parse_build(build_values(config, type, usual)));
  return {};
}

std::string to_string(const IndexSpec& spec) {
  std::string text(spec.type->name);
  for (const auto& [key, value] : spec.build) {
    const auto* name = std::get_if<std::string>(&value);
    text += fmt::format("-{}={}", key, name != nullptr ? *name : quiver::to_string(value));
  }
  return text;
}

std::string index_directory(std::size_t field, const IndexSpec& spec) {
  constexpr std::size_t kMaxNameBytes = 150;  // a file name has at most 255
  std::string text = to_string(spec);
  if (text.size() > kMaxNameBytes) {
    text = fmt::format("{}-{:016x}", spec.type->name, hash_text(text));
  }
  return fmt::format("index-{}-{}", field, text);
}

bool has_indexes(const std::vector<FieldSchema>& fields, const IndexPolicy& policy) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const FieldSchema& field) { return spec_of(field, policy).has_value(); });
}

bool lacks_index(const SegmentData& data, std::size_t field, const IndexPolicy& policy) {
  return data.sealed && data.indexes[field].type == flat_index() &&
         wanted_index(data.fields[field], policy);
}

std::vector<std::size_t> missing_indexes(const SegmentData& data, const IndexPolicy& policy) {
  std::vector<std::size_t> missing;
  for (std::size_t field = 0; data.sealed && field < data.fields.size(); ++field) {
    const auto wanted = wanted_index(data.fields[field], policy);
    if (wanted && data.indexes[field] != *wanted) missing.push_back(field);
  }
  return missing;
}

bool may_gain_by_merging(const SegmentData& data, const IndexPolicy& policy) {
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  return data.sealed && std::any_of(data.fields.begin(), data.fields.end(), [&](const auto& field) {
           return field.n_present != 0 && least_bytes(field.schema, policy) != kNever &&
                  spec_of(field.schema, policy);
         });
}

std::vector<std::size_t> unwanted_indexes(const SegmentData& data, const IndexPolicy& policy) {
  std::vector<std::size_t> unwanted;
  for (std::size_t field = 0; field < data.fields.size(); ++field) {
    if (data.indexes[field].type == flat_index()) continue;
    if (!spec_of(data.fields[field].schema, policy)) unwanted.push_back(field);
  }
  return unwanted;
}

bool open_indexes(SegmentData& data, const Directory& directory, const IndexPolicy& policy) {
  bool whole = true;
  std::vector<BuiltFieldIndex> opened;
  for (std::size_t field = 0; data.sealed && field < data.fields.size(); ++field) {
    // An existing index is used even if the configuration would not build it now.
    const auto spec = spec_of(data.fields[field].schema, policy);
    if (data.fields[field].n_present == 0) continue;  // an index of a dropped field may be there
    if (!spec || !directory.exists(index_directory(field, *spec))) continue;
    auto index = open_index(data, field, *spec, directory);
    if (index) {
      opened.push_back(*std::move(index));
      continue;
    }
    log_error("{}; the field is searched exactly until its index is built again",
              index.error().message());
    if (is_large_enough(data.fields[field], policy)) whole = false;
  }
  install_indexes(data, std::move(opened));
  return whole;
}

Result<std::vector<BuiltFieldIndex>> build_indexes(const SegmentData& data, Directory& segments,
                                                   const IndexBuild& build) {
  auto fields = missing_indexes(data, build.policy);
  const bool has_rebuild =
      build.rebuilt_field &&
      wanted_index(data.fields[*build.rebuilt_field], build.policy).has_value();
  if (has_rebuild) {  // after the missing ones, whose failure would discard it
    std::erase(fields, *build.rebuilt_field);
    fields.push_back(*build.rebuilt_field);
  }
  if (fields.empty()) return std::vector<BuiltFieldIndex>{};
  QV_TRY(const auto directory, segments.open_subdirectory(std::to_string(data.id)));
  SegmentProgress progress(data, fields.size(), build.progress);
  std::vector<BuiltFieldIndex> built;
  for (const std::size_t field : fields) {
    QV_TRY(auto index, open_or_build(data, field, *directory, build, progress));
    built.push_back(std::move(index));
    progress.field_done();
  }
  return built;
}

void install_indexes(SegmentData& data, std::vector<BuiltFieldIndex> built) {
  for (auto& index : built) {
    if (data.fields[index.field].n_present == 0) continue;  // dropped meanwhile
    data.searchers[index.field] = std::move(index.searcher);
    data.indexes[index.field] = std::move(index.spec);
    data.index_files[index.field] = std::move(index.files);
  }
}

void uninstall_index(SegmentData& data, std::size_t field) {
  data.searchers[field] = std::make_shared<index::FlatSearcher>(data.fields[field]);
  data.indexes[field] = {flat_index(), {}};
  data.index_files[field] = nullptr;
}

void remove_indexes(Directory& directory, std::size_t field, const std::string& kept) {
  const auto entries = directory.list();
  if (!entries) return log_warning("{}", entries.error().message());
  const std::string prefix = fmt::format("index-{}-", field);
  for (const auto& entry : *entries) {
    // A draft may belong to a running build.
    const bool is_draft = entry.name.ends_with(kDraftEnding);
    if (!entry.name.starts_with(prefix) || entry.name == kept || is_draft) continue;
    if (auto removed = directory.remove_subdirectory(entry.name); !removed) {
      log_warning("{}", removed.error().message());
    }
  }
}

}  // namespace quiver::engine
