#include "engine/collections/jobs/job_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/io/replace_sections.h"
#include "base/io/section_file.h"

namespace quiver::engine {
namespace {

constexpr std::string_view kJobsDirectory = "jobs";
constexpr std::string_view kRecordSuffix = ".job";
constexpr std::string_view kResultSuffix = ".result";
constexpr SectionFormat kRecordFormat{"job", "QVJOB001", "QVJOBEND"};
constexpr SectionFormat kResultFormat{"result of a job", "QVJOIN01", "QVJOINEN"};

enum RecordSection : std::uint32_t {
  kRecordHead = 1,
  kRequestText = 2,
  kErrorText = 3,
  kRecordTranslation = 4,
};
enum ResultSection : std::uint32_t {
  kResultHead = 1,
  kResultIds = 2,
  kResultOffsets = 3,
  kResultNeighbours = 4,
  kResultScores = 5,
  kResultGroups = 6,
  kResultStrengths = 7,
  kResultVectors = 8,
  kResultTranslation = 9,
};

struct RecordHead {
  std::uint64_t created_at_ms = 0;
  std::uint64_t n_points = 0;
  std::uint64_t n_neighbours = 0;
  std::uint64_t n_groups = 0;
  std::uint32_t state = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(RecordHead) == 40);

struct ResultHead {
  std::uint32_t dim = 0;
  std::uint32_t zero = 0;
};
static_assert(sizeof(ResultHead) == 8);
static_assert(sizeof(TranslationFacts) == 40);

void write_translation(SectionWriter& writer, std::uint32_t kind,
                       const std::optional<TranslationFacts>& facts) {
  if (facts) writer.section(kind, std::span(&*facts, 1));
}

Result<std::optional<TranslationFacts>> read_translation(const SectionReader& reader,
                                                         std::uint32_t kind) {
  std::optional<TranslationFacts> facts;
  if (!reader.has(kind)) return facts;
  QV_TRY(const auto stored, reader.get<TranslationFacts>(kind, 0, 1));
  facts = stored[0];
  return facts;
}

std::string record_name(std::uint64_t id) { return fmt::format("{}{}", id, kRecordSuffix); }
std::string result_name(std::uint64_t id) { return fmt::format("{}{}", id, kResultSuffix); }

/// nullopt if `name` is no number with this suffix.
std::optional<std::uint64_t> file_number(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  std::uint64_t id = 0;
  const char* last = name.data() + name.size();
  const auto [end, ec] = std::from_chars(name.data(), last, id);
  if (ec != std::errc() || end != last) return std::nullopt;
  return id;
}

Result<std::string> record_text(const SectionReader& reader, std::uint32_t kind) {
  QV_TRY(const auto bytes, reader.get<char>(kind));
  return std::string(bytes.begin(), bytes.end());
}

/// Positions in files are used without further checks.
template <class Range>
bool are_below(const Range& positions, std::size_t n) {
  return std::ranges::all_of(positions.span(), [n](std::uint32_t position) {
    return position < n || position == JoinTable::kNone;
  });
}

}  // namespace

Result<> JobFiles::make_directory() {
  if (directory_ != nullptr) return {};
  QV_TRY(directory_, collection_->subdirectory(kJobsDirectory));
  return collection_->sync();
}

Result<std::vector<std::uint64_t>> JobFiles::open() {
  std::vector<std::uint64_t> ids;
  if (!collection_->exists(kJobsDirectory)) return ids;
  QV_TRY(make_directory());
  QV_TRY(const auto entries, directory_->list());
  for (const auto& entry : entries) {
    if (const auto id = file_number(entry.name, kRecordSuffix)) ids.push_back(*id);
  }
  std::ranges::sort(ids);
  for (const auto& entry : entries) {
    if (entry.kind != EntryKind::kFile || file_number(entry.name, kRecordSuffix)) continue;
    const auto of = file_number(entry.name, kResultSuffix);
    if (of && std::ranges::binary_search(ids, *of)) continue;
    QV_TRY(directory_->remove_file(entry.name));
  }
  return ids;
}

Result<> JobFiles::save(std::uint64_t id, const JobRecord& record) {
  QV_TRY(make_directory());
  const JobFacts& facts = record.facts;
  const RecordHead head{record.created_at_ms,
                        facts.n_points,
                        facts.n_neighbours,
                        facts.n_groups,
                        static_cast<std::uint32_t>(record.state),
                        0};
  const auto write = [&](SectionWriter& writer) {
    writer.section(kRecordHead, std::span(&head, 1));
    writer.section<char>(kRequestText, record.request);
    writer.section<char>(kErrorText, record.error);
    write_translation(writer, kRecordTranslation, facts.translation);
  };
  return replace_sections(*directory_, kRecordFormat, record_name(id), 0, write);
}

Result<JobRecord> JobFiles::load(std::uint64_t id) const {
  QV_TRY(const auto reader, SectionReader::open(kRecordFormat, *directory_, record_name(id)));
  QV_TRY(const auto heads, reader.get<RecordHead>(kRecordHead, 0, 1));
  const RecordHead& head = heads[0];
  if (head.state > static_cast<std::uint32_t>(JobState::kFailed)) {
    return reader.damaged("its state is unknown");
  }
  JobRecord record;
  record.created_at_ms = head.created_at_ms;
  record.state = static_cast<JobState>(head.state);
  record.facts = {head.n_points, head.n_neighbours, head.n_groups};
  QV_TRY(record.facts.translation, read_translation(reader, kRecordTranslation));
  QV_TRY(record.request, record_text(reader, kRequestText));
  QV_TRY(record.error, record_text(reader, kErrorText));
  return record;
}

Result<> JobFiles::save_result(std::uint64_t id, const JoinTable& table) {
  const std::string name = result_name(id);
  const std::string draft = name + ".tmp";
  if (directory_->exists(draft)) QV_TRY(directory_->remove_file(draft));
  QV_TRY(auto file, directory_->create_file(draft));
  SectionWriter writer(kResultFormat, std::move(file));
  const ResultHead head{table.dim, 0};
  writer.section(kResultHead, std::span(&head, 1));
  writer.section(kResultIds, table.ids.span());
  writer.section(kResultOffsets, table.offsets.span());
  writer.section(kResultNeighbours, table.neighbours.span());
  writer.section(kResultScores, table.scores.span());
  writer.section(kResultGroups, table.groups.span());
  writer.section(kResultStrengths, table.strengths.span());
  writer.section(kResultVectors, table.vectors.span());
  write_translation(writer, kResultTranslation, table.translation);
  QV_TRY(writer.finish(static_cast<std::uint32_t>(table.ids.size())));
  QV_TRY(directory_->rename_file(draft, name));
  return directory_->sync();
}

bool JobFiles::has_result(std::uint64_t id) const {
  return directory_ != nullptr && directory_->exists(result_name(id));
}

Result<JoinTable> JobFiles::load_result(std::uint64_t id) const {
  QV_TRY(const auto reader, SectionReader::open(kResultFormat, *directory_, result_name(id)));
  const std::size_t n = reader.n_rows();
  QV_TRY(const auto head, reader.get<ResultHead>(kResultHead, 0, 1));
  JoinTable table;
  table.dim = head[0].dim;
  QV_TRY(table.ids, reader.get<PointId>(kResultIds, 0, n));
  QV_TRY(table.offsets, reader.get<std::uint64_t>(kResultOffsets));
  QV_TRY(table.neighbours, reader.get<std::uint32_t>(kResultNeighbours));
  QV_TRY(table.scores, reader.get<float>(kResultScores, 0, table.neighbours.size()));
  QV_TRY(table.groups, reader.get<std::uint32_t>(kResultGroups));
  QV_TRY(table.strengths, reader.get<float>(kResultStrengths));
  QV_TRY(table.vectors, reader.get<float>(kResultVectors, 0, n * table.dim));
  QV_TRY(table.translation, read_translation(reader, kResultTranslation));
  const auto fits = [n](const auto& part, std::size_t wanted) {
    return part.empty() || part.size() == wanted + n;
  };
  if (!fits(table.offsets, 1) || !fits(table.groups, 0) || !fits(table.strengths, 0)) {
    return reader.damaged("its parts are of different lengths");
  }
  if (!table.offsets.empty()) {
    QV_TRY(reader.check_offsets(table.offsets.span(), table.neighbours.size()));
  }
  if (!are_below(table.neighbours, n)) return reader.damaged("a neighbour is no point of it");
  return table;
}

Result<> JobFiles::remove(std::uint64_t id) {
  if (directory_ == nullptr) return {};
  // The record first: a result without one is removed at the next opening.
  for (const std::string& name : {record_name(id), result_name(id), result_name(id) + ".tmp"}) {
    if (directory_->exists(name)) QV_TRY(directory_->remove_file(name));
  }
  return directory_->sync();
}

}  // namespace quiver::engine
