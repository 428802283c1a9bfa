#include "engine/files/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/io/file_tree.h"
#include "base/io/section_summary.h"
#include "engine/backup/manifest.h"
#include "payload/column/format.h"
#include "storage/catalog/catalog_format.h"

namespace quiver::engine {
namespace {

constexpr std::size_t kMagicBytes = 8;
constexpr std::string_view kRebuilt = "built again from the rows when the collection is opened";
constexpr std::string_view kRefused =
    "the collection is refused; `quiver check --repair` or `quiver rescue` takes the rest";

constexpr SectionKind kSections[] = {
    {"QVSEGMT1",
     "QVSEGEND",
     {"rows of a segment", "ids, documents and vectors of sealed rows", kRebuilt}},
    {"QVATTRIB",
     "QVATTEND",
     {"attributes", "values under each payload path of a segment", kRebuilt}},
    {"QVIVF001", "QVIVFEND", {"dense index", "posting lists of codes, and centroids", kRebuilt}},
    {"QVIVFROW",
     "QVIVFREN",
     {"dense index, second codes", "codes that order candidates", kRebuilt}},
    {"QVIVFSGN", "QVIVFSGE", {"dense index, sign codes", "one bit for each dimension", kRebuilt}},
    {"QVIVFSTA", "QVIVFSTE", {"dense index, start", "the centroids that it began with", kRebuilt}},
    {"QVIVFTRY", "QVIVFTEN", {"dense index, trial", "effort that its searches need", kRebuilt}},
    {"QVLINKS1", "QVLINKSE", {"dense index, links", "graph of near rows", kRebuilt}},
    {"QVLCODE1", "QVLCODEE", {"dense index, codes of links", "codes beside the graph", kRebuilt}},
    {"QVOSQ001", "QVOSQEND", {"OSQ index", "SQUASH's partitions and codes", kRebuilt}},
    {"QVSEISM1", "QVSEIEND", {"sparse index", "posting lists, blocks and summaries", kRebuilt}},
    {"QVMULTI1", "QVMULEND", {"multi-vector index", "first stage of a search", kRebuilt}},
    {"QVMULTOK", "QVMULTEN", {"multi-vector index, tokens", "codes of all tokens", kRebuilt}},
    {"QVMULSIG", "QVMULSEN", {"multi-vector index, signs", "signs of all tokens", kRebuilt}},
    {"QVQUERY1",
     "QVQUEND1",
     {"sample of queries", "recorded queries of a multi-vector field", "the sample starts empty"}},
    {"QVQUERY2",
     "QVQUEND2",
     {"sample of queries", "recorded queries of a vector field", "the sample starts empty"}},
    {"QVJOB001", "QVJOBEND", {"job", "what was asked of a join, and its state", "a failed job"}},
    {"QVJOIN01",
     "QVJOINEN",
     {"result of a job", "the outcome of a join", "a job without a result"}},
    {"QVPLEDG1",
     "QVPLEDGE",
     {"ledger of private sums", "what privacy is spent, and on what", "no private sums any more"}},
    {"QVPSUM01", "QVPSUMEN", {"private sum", "noisy sums of features", "that private sum"}},
};

constexpr FileKind kColumn{"payload column", "values of one indexed payload key of a segment",
                           kRebuilt};
constexpr FileKind kUnknown{"unknown", "no file of Quiver's, or of a later version",
                            "nothing: Quiver never reads or removes it"};

enum class Place : std::uint8_t { kTop, kRows, kAudit, kLedger };

struct NamedKind {
  Place place;
  std::string_view begin;  ///< of the name
  std::string_view end;    ///< of the name; with `begin` empty: a suffix
  std::string_view format;
  FileKind kind;
};

// The first that fits counts. A name that equals `begin` fits an empty `end` only as a whole.
constexpr NamedKind kNames[] = {
    {Place::kTop,
     "catalog",
     "",
     "QVCATLOG",
     {"catalog", "collections with their fields, and aliases",
      "no start; `quiver check --repair` takes catalog.copy"}},
    {Place::kTop,
     "catalog.copy",
     "",
     "QVCATLOG",
     {"copy of the catalog", "what the catalog said less than a second ago",
      "the next start writes it again"}},
    {Place::kTop,
     "LOCK",
     "",
     "text",
     {"lock", "process that has the directory open", "the next start makes it"}},
    {Place::kTop,
     "quotas.json",
     "",
     "JSON",
     {"quotas", "limits for memory and disk", "no limits apply until they are set again"}},
    {Place::kTop,
     "manifest.json",
     "",
     "JSON",
     {"manifest of a snapshot", "files of the snapshot with checksums",
      "the folder is no snapshot any more"}},
    {Place::kTop,
     "archive.json",
     "",
     "JSON",
     {"facts of a snapshot's archive", "size and SHA-256", "they are computed again"}},
    {Place::kRows,
     "CURRENT",
     "",
     "RocksDB",
     {"name of the manifest of rows", "which MANIFEST counts", kRefused}},
    {Place::kRows,
     "MANIFEST-",
     "",
     "RocksDB",
     {"manifest of rows", "which tables and blob files make up the rows", kRefused}},
    {Place::kRows,
     "SYNCED",
     "",
     "QVSYNCED",
     {"synced sizes", "how far log and manifest reached the disk",
      "a log that was cut short is not noticed until the next update"}},
    {Place::kRows,
     "OPTIONS-",
     "",
     "RocksDB",
     {"options of RocksDB", "settings, for people", "the next start writes it again"}},
    {Place::kRows,
     "IDENTITY",
     "",
     "RocksDB",
     {"identity of a store", "a random name", "the next start writes it again"}},
    {Place::kRows, "LOCK", "", "RocksDB", {"lock of a store", "empty", "the next start makes it"}},
    {Place::kRows,
     "",
     ".sst",
     "RocksDB",
     {"table of rows", "rows by id, operations, facts", kRefused}},
    {Place::kRows,
     "",
     ".blob",
     "RocksDB",
     {"blob file of rows", "rows of 1 KiB and more", kRefused}},
    {Place::kRows,
     "",
     ".log",
     "RocksDB",
     {"log of rows", "changes that are in no table yet", kRefused}},
    {Place::kRows,
     "",
     ".rows",
     "RocksDB",
     {"row file of a bulk load", "rows that wait to become a table",
      "the bulk load is undone or, once decided, the collection is refused"}},
    {Place::kRows, "", ".dbtmp", "RocksDB", {"draft of RocksDB", "left by a crash", "nothing"}},
    {Place::kAudit,
     "",
     "",
     "JSON lines",
     {"audit log", "who asked for what", "these lines are lost; a new file begins"}},
    {Place::kLedger,
     "",
     "",
     "etcd",
     {"ledger of the cluster", "data of this node's etcd",
      "the node joins the ledger anew (docs/cluster.md)"}},
};

Place place_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (parent.filename().string().starts_with("rows")) return Place::kRows;
  for (const auto& part : parent) {
    if (part == "audit") return Place::kAudit;
    if (part == "ledger") return Place::kLedger;
  }
  return Place::kTop;
}

bool has_name(const NamedKind& named, std::string_view name) {
  if (!named.end.empty()) return name.ends_with(named.end);
  if (named.begin.ends_with('-')) return name.starts_with(named.begin);
  return named.begin.empty() || name == named.begin;
}

const NamedKind* named_kind(std::string_view name, const std::string& path) {
  const Place place = place_of(path);
  const auto found = std::ranges::find_if(kNames, [&](const NamedKind& named) {
    return named.place == place && has_name(named, name);
  });
  return found == std::end(kNames) ? nullptr : &*found;
}

void read_catalog(const Directory& directory, std::string_view name, FileFacts& facts) {
  const auto bytes = directory.read_file(name);
  if (!bytes) {
    facts.problem = bytes.error().message();
    return;
  }
  std::uint32_t version = 0;
  if (bytes->size() >= kMagicBytes + sizeof(version)) {
    std::memcpy(&version, bytes->data() + kMagicBytes, sizeof(version));
    facts.version = version;
  }
  const auto state = storage::decode_catalog(*bytes, facts.path);
  if (!state) {
    facts.problem = state.error().message();
    return;
  }
  facts.counts = {{"collections", state->collections.size()}, {"aliases", state->aliases.size()}};
}

void read_snapshot(const Directory& directory, std::string_view name, FileFacts& facts) {
  const auto bytes = directory.read_file(name);
  const auto manifest = bytes ? decode_snapshot_manifest(as_text(*bytes))
                              : Result<SnapshotManifest>(fail(bytes.error()));
  if (!manifest) {
    facts.problem = manifest.error().message();
    return;
  }
  facts.version = 1;
  facts.counts = {{"collections", manifest->collections.size()}, {"files", manifest->files.size()}};
}

void read_sections(const Directory& directory, std::string_view name, FileFacts& facts) {
  const auto summary = read_section_summary(directory, name);
  if (!summary) {
    facts.problem = summary.error().message();
    return;
  }
  facts.version = summary->version;
  const auto* known = section_kind(facts.format);
  if (known != nullptr && summary->end_magic != known->end_magic) {
    facts.problem = "cut short: its last bytes are not those of a whole file";
    return;
  }
  facts.counts = {{"rows", summary->n_rows}, {"sections", summary->n_sections}};
}

void read_column(ReadableFile& file, FileFacts& facts) {
  payload::format::Header header;
  if (auto read = file.read(0, std::as_writable_bytes(std::span(&header, 1))); !read) {
    facts.problem = read.error().message();
    return;
  }
  facts.version = header.version;
  facts.counts = {{"rows", header.n_rows}, {"sections", header.n_sections}};
  if (header.file_bytes != file.size()) {
    facts.problem = fmt::format("{} bytes, wanted {}", file.size(), header.file_bytes);
  }
}

std::string first_bytes(ReadableFile& file) {
  std::array<char, kMagicBytes> magic{};
  if (file.size() < magic.size()) return "";
  if (!file.read(0, std::as_writable_bytes(std::span(magic)))) return "";
  return {magic.data(), magic.size()};
}

void describe_by_magic(const Directory& directory, std::string_view name, ReadableFile& file,
                       FileFacts& facts) {
  const std::string magic = first_bytes(file);
  if (magic == kColumnMagic) {
    facts.kind = &kColumn;
    facts.format = magic;
    read_column(file, facts);
  } else if (const auto* section = section_kind(magic)) {
    facts.kind = &section->kind;
    facts.format = magic;
    read_sections(directory, name, facts);
  }
}

void describe_by_name(const Directory& directory, std::string_view name, const NamedKind& named,
                      FileFacts& facts) {
  facts.kind = &named.kind;
  facts.format = named.format;
  if (named.format == "QVCATLOG") read_catalog(directory, name, facts);
  if (name == "manifest.json") read_snapshot(directory, name, facts);
}

}  // namespace

const FileKind& unknown_file() { return kUnknown; }

const SectionKind* section_kind(std::string_view magic) {
  const auto found = std::ranges::find(kSections, magic, &SectionKind::magic);
  return found == std::end(kSections) ? nullptr : &*found;
}

FileFacts describe_file(const Directory& directory, std::string_view name,
                        const std::string& path) {
  FileFacts facts;
  facts.path = path;
  facts.kind = &kUnknown;
  const auto file = directory.open_file(name);
  if (!file) {
    facts.problem = file.error().message();
  } else {
    facts.size_bytes = (*file)->size();
  }
  if (const auto* named = named_kind(name, directory.path() + "/" + std::string(name))) {
    describe_by_name(directory, name, *named, facts);
  } else if (file) {
    describe_by_magic(directory, name, **file, facts);
  }
  return facts;
}

Result<std::vector<FileFacts>> describe_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<FileFacts> found;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const fs::path file(path);
    const std::string parent = file.has_parent_path() ? file.parent_path().string() : ".";
    QV_TRY(const auto directory, open_existing_directory(parent));
    if (!directory->exists(file.filename().string())) {
      return fail(Code::kNotFound, fmt::format("there is no `{}`", path));
    }
    found.push_back(describe_file(*directory, file.filename().string(), file.filename().string()));
    return found;
  }
  QV_TRY(const auto files, files_below(path));
  for (const auto& file : files) {
    const fs::path relative(file.path);
    const auto parent = (fs::path(path) / relative.parent_path()).lexically_normal();
    QV_TRY(const auto directory, open_existing_directory(parent.string()));
    found.push_back(describe_file(*directory, relative.filename().string(), file.path));
  }
  return found;
}

}  // namespace quiver::engine
