// The one declaration of every configuration key.
#include <algorithm>
#include <cctype>
#include <concepts>
#include <type_traits>

#include "app/config/config.h"

namespace quiver::app {
namespace {

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;

template <class T>
constexpr bool kIsPlain = std::same_as<T, bool> || std::same_as<T, std::string>;

template <class Member>
ParamValue read_member(const Member& member, double unit) {
  if constexpr (kIsPlain<Member>) {
    return member;
  } else if constexpr (std::floating_point<Member>) {
    return static_cast<double>(member);
  } else {
    return static_cast<std::int64_t>(static_cast<double>(member) / unit);
  }
}

template <class Member>
void write_member(Member& member, const ParamValue& value, double unit) {
  if constexpr (kIsPlain<Member>) {
    member = std::get<Member>(value);
  } else if constexpr (std::floating_point<Member>) {
    member = static_cast<Member>(std::get<double>(value));
  } else {
    member = static_cast<Member>(std::get<std::int64_t>(value)) * static_cast<Member>(unit);
  }
}

/// Maps `key` to the member that `access(settings)` refers to; integers are stored as value * unit.
template <class Access>
void bind(Key& key, Access access, double unit) {
  key.get = [access, unit](const Settings& settings) {
    return read_member(access(const_cast<Settings&>(settings)), unit);
  };
  key.set = [access, unit](Settings& settings, const ParamValue& value) {
    write_member(access(settings), value, unit);
  };
}

/// Collects the keys of one section.
class Section {
 public:
  Section(std::vector<Key>& keys, std::string name) : keys_(keys), name_(std::move(name)) {}

  template <class Access>
  Key& integer(std::string name, Access access, ParamRange range, std::string doc,
               std::string effect = "", double unit = 1) {
    return add(KeyType::kInteger, std::move(name), access, range, doc, effect, unit);
  }
  template <class Access>
  Key& number(std::string name, Access access, ParamRange range, std::string doc,
              std::string effect = "") {
    return add(KeyType::kNumber, std::move(name), access, range, doc, effect, 1);
  }
  template <class Access>
  Key& boolean(std::string name, Access access, std::string doc, std::string effect = "") {
    return add(KeyType::kBool, std::move(name), access, {}, doc, effect, 1);
  }
  template <class Access>
  Key& string(std::string name, Access access, std::string doc, std::string effect = "") {
    return add(KeyType::kString, std::move(name), access, {}, doc, effect, 1);
  }
  /// Bound by the caller.
  Key& free(KeyType type, std::string name, std::string doc, std::string effect = "") {
    Key& key = keys_.emplace_back();
    key.section = name_;
    key.name = std::move(name);
    key.type = type;
    key.doc = std::move(doc);
    key.effect = std::move(effect);
    return key;
  }

 private:
  template <class Access>
  Key& add(KeyType type, std::string name, Access access, ParamRange range, std::string doc,
           std::string effect, double unit) {
    Key& key = free(type, std::move(name), std::move(doc), std::move(effect));
    key.range = range;
    // Members are unsigned or durations: nothing is negative unless it says so.
    if (type != KeyType::kString) key.range.min = std::max(range.min, 0.0);
    bind(key, access, unit);
    return key;
  }

  std::vector<Key>& keys_;
  std::string name_;
};

// Reads as the member it names: QV_AT(server.port).
#define QV_AT(member) \
  [](Settings & s) -> auto& { return s.member; }

void declare_storage(std::vector<Key>& keys) {
  Section section(keys, "storage");
  section.string("data_dir", QV_AT(database.data_dir),
                 "Directory of everything durable; created if missing. One process per directory.");
  section.integer("block_cache_mb", QV_AT(database.block_cache_bytes), {.min = 1, .max = 1 << 20},
                  "Memory for blocks of rows read from disk, over all collections.",
                  "More makes reads of single points and recovery cheaper; searches do not use it.",
                  kMiB);
  section.integer("write_buffer_mb", QV_AT(database.write_buffer_bytes), {.min = 1, .max = 1 << 20},
                  "Memory for rows that wait to be written to table files, over all collections.",
                  "More means fewer, larger files while loading.", kMiB);
  section.integer("max_queued_mb", QV_AT(database.max_queued_bytes), {.min = 1, .max = 1 << 16},
                  "Updates that may wait in one shard's queue; more are refused with 429.",
                  "More smooths bursts, at the price of memory and of waiting.", kMiB);
  section.integer("max_open_collections", QV_AT(database.max_open_collections),
                  {.min = 1, .max = 1 << 20},
                  "Collections kept open at a time; idle ones beyond it are closed.",
                  "An open collection costs file handles and memory; opening one takes "
                  "milliseconds.");
  section.integer("max_shard_number", QV_AT(server.creation.max_shard_number),
                  {.min = 1, .max = engine::kMaxShardNumber},
                  "`shard_number` that a collection may be created with; more is refused with 422.",
                  "Each shard has files, memory and a log of its own, whether it holds points or "
                  "not.");
  section.boolean(
      "record_queries", QV_AT(database.record_queries),
      "Remember up to 512 queries of each multi-vector field, drawn evenly from all, in "
      "memory and in the collection's directory: indexes are fitted to them.",
      "At most 64 MiB a field. `false` forgets those that were remembered: for queries "
      "that must not be on disk.");
}

void declare_service(std::vector<Key>& keys) {
  Section section(keys, "service");
  section.string("host", QV_AT(server.host), "Address or name to listen on.",
                 "The default is this machine only; `0.0.0.0` is every IPv4 interface: set an "
                 "API key then.");
  section.integer("http_port", QV_AT(server.port), {.max = 65535},
                  "Port of the HTTP API; 0 takes any free one, which is printed at start.");
  section
      .string("api_key", QV_AT(server.api_key),
              "Key that every request but health checks must bring (`api-key: KEY` or "
              "`Authorization: Bearer KEY`); empty: none.")
      .secrecy = Secrecy::kSecret;
  section
      .string("read_only_api_key", QV_AT(server.read_only_api_key),
              "A second key, for requests that change nothing; empty: none. Needs `api_key`.")
      .secrecy = Secrecy::kSecret;
  section.boolean("enable_cors", QV_AT(server.cors), "Let browsers of any origin use the API.");
  section.integer("io_threads", QV_AT(server.io_threads), {.max = 1024},
                  "Threads that read requests and write answers; 0: half the cores, at least 1.");
  section.integer("max_request_size_mb", QV_AT(server.max_body_bytes), {.min = 1, .max = 4096},
                  "Largest request body; more is 413.", "", kMiB);
  section.integer("max_header_kb", QV_AT(server.max_header_bytes), {.min = 1, .max = 1024},
                  "Largest request line with headers; more is 431.", "", kKiB);
  section.integer("max_connections", QV_AT(server.max_connections), {.min = 1, .max = 1 << 20},
                  "Connections at a time; more are answered 503 and closed.",
                  "Each takes a file descriptor. The limit of the process is raised as far as "
                  "allowed; half of it, and 192 at least, is kept for storage, and this is lowered "
                  "to the rest, which the log tells.");
  section.number("keep_alive_timeout_s", QV_AT(server.keep_alive_timeout_s),
                 {.min = 0.001, .max = 86400}, "A connection without a request is closed then.");
  section.number("read_timeout_s", QV_AT(server.read_timeout_s), {.min = 0.001, .max = 86400},
                 "A request or an answer that makes no progress is given up then.");
  section.number("query_timeout_s", QV_AT(server.query_timeout_s), {.min = 0.001, .max = 86400},
                 "Deadline of reads whose request has no `timeout`.");
  section.number("shutdown_grace_s", QV_AT(server.shutdown_grace_s), {.min = 0, .max = 3600},
                 "On SIGTERM, requests that have arrived whole may take so long before they are "
                 "cancelled; others are refused at once.",
                 "Closing the collections comes on top, mostly far less than a second; containers "
                 "are killed after 10 s.");
  section.integer("inline_body_kb", QV_AT(server.inline_body_bytes), {.max = 1 << 20},
                  "Bodies up to this size are decoded on the thread that read them.",
                  "Larger ones move to another thread, so that they do not delay other "
                  "connections.",
                  kKiB);
  section.string("metrics_prefix", QV_AT(server.metrics_prefix),
                 "Put before the name of every metric of `/metrics`.");
}

void declare_threads(std::vector<Key>& keys) {
  Section section(keys, "threads");
  section.integer("compute", QV_AT(database.compute_threads), {.max = 1024},
                  "Threads that search; 0: one per core.");
  section.integer("background", QV_AT(database.background_threads), {.max = 1024},
                  "Threads that seal, merge and index segments; 0: one per core, at least 2.");
}

void bind_max_threads(Key& key) {
  key.range = {.min = -1, .max = 1024};
  key.get = [](const Settings& settings) -> ParamValue {
    const auto& limit = settings.server.creation.optimizer.max_threads;
    return limit ? static_cast<std::int64_t>(*limit) : std::int64_t{-1};
  };
  key.set = [](Settings& settings, const ParamValue& value) {
    const auto number = std::get<std::int64_t>(value);
    auto& limit = settings.server.creation.optimizer.max_threads;
    limit = number < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(number));
  };
}

void declare_optimizer(std::vector<Key>& keys) {
  Section section(keys, "optimizer");
  section.number("deleted_threshold", QV_AT(server.creation.optimizer.deleted_threshold),
                 {.min = 0.01, .max = 1},
                 "Share of deleted rows from which a segment is rewritten without them.",
                 "Less returns space sooner and writes more.");
  section.integer("vacuum_min_rows", QV_AT(server.creation.optimizer.vacuum_min_rows),
                  {.min = 1, .max = 1e9},
                  "Segments with fewer deleted rows are not rewritten for those alone.");
  section.integer("seal_mb", QV_AT(server.creation.optimizer.seal_bytes),
                  {.min = 1, .max = 1 << 16},
                  "Vectors and payload that the segment in memory holds before it is sealed.",
                  "More means fewer, larger segments, more memory and a longer replay after a "
                  "crash.",
                  kMiB);
  section.integer("seal_rows", QV_AT(server.creation.optimizer.seal_rows), {.min = 1, .max = 1e9},
                  "Rows that the segment in memory holds before it is sealed.");
  section.integer("max_segment_rows", QV_AT(server.creation.optimizer.max_segment_rows),
                  {.min = 1000, .max = 4e9}, "Merging makes no segment larger than this.");
  section.integer("max_segments", QV_AT(server.creation.optimizer.max_segments),
                  {.min = 1, .max = 10000},
                  "Sealed segments per shard; more are merged, smallest first.",
                  "Fewer make searches cheaper and loading dearer.");
  section.number("idle_seal_s", QV_AT(server.creation.optimizer.idle_seal_s),
                 {.min = 0.01, .max = 1e6},
                 "Without writes for this long, what is in memory is sealed.");
  bind_max_threads(section.free(KeyType::kInteger, "max_threads",
                                "0: segments are sealed, and not merged, cleaned or indexed; -1 or "
                                "more: by as many of `threads.background` as there are."));
}

void declare_log(std::vector<Key>& keys) {
  Section section(keys, "log");
  Key& level = section.free(KeyType::kString, "level", "Least important events that are logged.");
  level.choices = {"debug", "info", "warning", "error", "off"};
  level.get = [choices = level.choices](const Settings& settings) -> ParamValue {
    return choices[static_cast<std::size_t>(settings.log.level)];
  };
  level.set = [](Settings& settings, const ParamValue& value) {
    settings.log.level = parse_log_level(std::get<std::string>(value)).value();
  };
  Key& format = section.free(KeyType::kString, "format",
                             "One event per line on standard error, as text or as JSON.");
  format.choices = {"text", "json"};
  format.get = [choices = format.choices](const Settings& settings) -> ParamValue {
    return choices[static_cast<std::size_t>(settings.log.format)];
  };
  format.set = [](Settings& settings, const ParamValue& value) {
    settings.log.format = parse_log_format(std::get<std::string>(value)).value();
  };
}

void declare_compat(std::vector<Key>& keys) {
  Section section(keys, "compat");
  Key& key = section.string("identity", QV_AT(identity),
                            "Title and version that `GET /` answers: our own, or those of the "
                            "server whose REST API this is (1.19.0).",
                            "`qdrant` is for clients that insist on a version they know.");
  key.choices = {"quiver", "qdrant"};
}

#undef QV_AT

std::vector<Key> declare_keys() {
  std::vector<Key> keys;
  declare_storage(keys);
  declare_service(keys);
  declare_threads(keys);
  declare_optimizer(keys);
  declare_log(keys);
  declare_compat(keys);
  return keys;
}

}  // namespace

Settings::Settings() { database.data_dir = "quiver-data"; }

std::string Key::environment_name() const {
  std::string text = "QUIVER__" + section + "__" + name;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

const std::vector<Key>& keys() {
  static const std::vector<Key> declared = declare_keys();
  return declared;
}

}  // namespace quiver::app
