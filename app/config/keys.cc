// Declares every configuration key.
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

/// Binds `key` to the member that `access(settings)` returns. An integer member holds value * unit.
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
  /// Adds a key without a member; the caller sets `get` and `set`.
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
    // Members are unsigned or durations, so negative values are excluded.
    if (type != KeyType::kString) key.range.min = std::max(range.min, 0.0);
    bind(key, access, unit);
    return key;
  }

  std::vector<Key>& keys_;
  std::string name_;
};

// Access to a member of Settings: QV_AT(server.port).
#define QV_AT(member) \
  [](Settings & s) -> auto& { return s.member; }

void declare_storage(std::vector<Key>& keys) {
  Section section(keys, "storage");
  section.string("data_dir", QV_AT(database.data_dir),
                 "Directory of everything durable; created if missing. One process per directory.");
  section.string("snapshots_dir", QV_AT(database.snapshots_dir),
                 "Directory of snapshots; empty: `snapshots` below `data_dir`.",
                 "On another file system than `data_dir` snapshots are copied, not linked.");
  section.integer("block_cache_mb", QV_AT(database.block_cache_bytes), {.min = 1, .max = 1 << 20},
                  "Memory for blocks of rows read from disk, over all collections.",
                  "More makes reads of single points and recovery cheaper; searches do not use it.",
                  kMiB);
  section.integer("write_buffer_mb", QV_AT(database.write_buffer_bytes), {.min = 1, .max = 1 << 20},
                  "Memory for rows that wait to be written to table files, over all collections.",
                  "More means fewer, larger files while loading.", kMiB);
  section.integer("max_queued_mb", QV_AT(database.max_queued_bytes), {.min = 1, .max = 1 << 16},
                  "Updates that may wait in one shard's queue; more are refused with 429.",
                  "More smooths bursts but takes memory and lengthens the wait.", kMiB);
  section.integer("max_open_collections", QV_AT(database.max_open_collections),
                  {.min = 1, .max = 1 << 20},
                  "Collections kept open at a time; idle ones beyond it are closed.",
                  "An open collection costs file handles and memory; opening one takes "
                  "milliseconds.");
  section.number(
      "close_idle_s", QV_AT(database.close_idle_s), {.max = 1e9},
      "Collections beyond the 64 used last are closed when nobody has asked for them for "
      "this time; 0: never.",
      "Less gives memory and file handles back sooner; the next request to such a "
      "collection waits some milliseconds for its opening.");
  section.integer("max_shard_number", QV_AT(server.creation.max_shard_number),
                  {.min = 1, .max = engine::kMaxShardNumber},
                  "Largest `shard_number` of a new collection; more is refused with 422.",
                  "Each shard has its own files, memory and log, even without points.");
  section.string("strict_mode", QV_AT(server.strict_mode),
                 "JSON object: members of `strict_mode_config` for new collections whose creator "
                 "does not name them; empty: none.",
                 "For example `{\"enabled\": true, \"max_query_limit\": 1000}`. Limits protect "
                 "the server from single requests (docs/strict-mode.md).");
  section.boolean(
      "record_queries", QV_AT(database.record_queries),
      "Keep a uniform sample of up to 512 queries per vector field, in memory and in the "
      "collection's directory. Indexes of multi-vectors are fitted to them, and recall is measured "
      "with them (docs/recall.md). Dense and sparse fields are recorded once a recall was asked of "
      "them.",
      "At most 64 MiB per field. `false` deletes the kept queries: use it if queries must "
      "not be on disk.");
  section.boolean(
      "watch_recall", QV_AT(database.watch_recall),
      "Do some searches by `params.recall` again exactly, and measure a field again when its "
      "recall was never measured, is no longer as promised, or its data has changed "
      "(docs/recall.md).",
      "Each takes up to 2 % of a core in the long run. `false`: recall is measured when a client "
      "asks for it, and never watched.");
}

void declare_memory(std::vector<Key>& keys) {
  Section section(keys, "memory");
  section.integer("limit_mb", QV_AT(memory_limit_bytes), {.max = 1 << 24},
                  "Private memory that the process may hold: rows not yet in files, buffers of "
                  "builds, requests, answers, caches; not pages of mapped files. 0: four fifths "
                  "of what the machine or the control group allows.",
                  "What would exceed it is answered 507, or 503 if waiting helps, and builds wait. "
                  "See reliability.md.",
                  kMiB);
  section.integer("huge_pages_mb", QV_AT(held_memory_bytes), {.max = 1 << 20},
                  "Copies of large dense indexes in huge pages, a quarter of the limit at most.",
                  "Searches of indexes that are larger than the processor's caches become up to a "
                  "sixth faster. 0: no copies.",
                  kMiB);
}

void declare_scrub(std::vector<Key>& keys) {
  Section section(keys, "scrub");
  section.integer("mb_per_s", QV_AT(database.scrub.bytes_per_s), {.min = 1, .max = 1 << 16},
                  "Rate at which mapped files are read again and compared with their checksums.",
                  "More finds damage earlier and costs more of the disk; a pass takes the size of "
                  "all segments, divided by this.",
                  kMiB);
  section.number("period_s", QV_AT(database.scrub.period_s), {.max = 1e9},
                 "Time from the begin of a pass over all mapped files to the next; 0: only when "
                 "`POST /v1/scrub` asks.",
                 "A byte that changes in a file in use is found within this time and a pass.");
}

void declare_service(std::vector<Key>& keys) {
  Section section(keys, "service");
  section.string("host", QV_AT(server.host), "Address or name to listen on.",
                 "The default accepts connections of this machine only. `0.0.0.0` listens on "
                 "every IPv4 interface; set an API key then.");
  section.integer("http_port", QV_AT(server.port), {.max = 65535},
                  "Port of the HTTP API; 0 takes any free one, which is printed at start.");
  section
      .string("api_key", QV_AT(server.api_key),
              "Key that every request except health checks must send (`api-key: KEY` or "
              "`Authorization: Bearer KEY`); empty: no key.")
      .secrecy = Secrecy::kSecret;
  section
      .string("alt_api_key", QV_AT(server.alt_api_key),
              "A second key with the same rights, for the time in which clients change from one to "
              "the other; empty: no key. Needs `api_key`.")
      .secrecy = Secrecy::kSecret;
  section
      .string("read_only_api_key", QV_AT(server.read_only_api_key),
              "A second key, for requests that change nothing; empty: no key. Needs `api_key`.")
      .secrecy = Secrecy::kSecret;
  section.boolean("jwt_rbac", QV_AT(server.jwt_rbac),
                  "Take JSON Web Tokens (HS256) signed with `api_key` or `alt_api_key`, which may "
                  "limit their bearer to some collections. Needs `api_key`.",
                  "See security.md.");
  section.boolean("enable_tls", QV_AT(server.tls.enabled),
                  "Speak HTTPS only, with the certificate of section `tls`.");
  section.boolean("verify_https_client_certificate", QV_AT(server.tls.verify_client),
                  "Refuse clients without a certificate signed by `tls.ca_cert`.");
  section.boolean("enable_cors", QV_AT(server.cors), "Let browsers of any origin use the API.");
  section.integer("io_threads", QV_AT(server.io_threads), {.max = 1024},
                  "Threads that read requests and write answers; 0: half the cores, at least 1.");
  section.integer("max_request_size_mb", QV_AT(server.max_body_bytes), {.min = 1, .max = 4096},
                  "Largest request body; a larger one is answered with 413.", "", kMiB);
  section.integer("max_header_kb", QV_AT(server.max_header_bytes), {.min = 1, .max = 1024},
                  "Largest request line with headers; more is answered with 431.", "", kKiB);
  section.integer(
      "max_connections", QV_AT(server.max_connections), {.min = 1, .max = 1 << 20},
      "Connections at a time; more are answered with 503 and closed.",
      "Each takes a file descriptor. The process raises its limit as far as allowed and "
      "keeps half of it, at least 192, for storage. If fewer remain, that number replaces "
      "this value, and the log says so.");
  section.number("keep_alive_timeout_s", QV_AT(server.keep_alive_timeout_s),
                 {.min = 0.001, .max = 86400},
                 "A connection without a request is closed after this time.");
  section.number("read_timeout_s", QV_AT(server.read_timeout_s), {.min = 0.001, .max = 86400},
                 "A request or an answer without progress is aborted after this time.");
  section.number("query_timeout_s", QV_AT(server.query_timeout_s), {.min = 0.001, .max = 86400},
                 "Deadline of reads whose request has no `timeout`.");
  section.number("max_wait_ms", QV_AT(server.max_wait_ms), {.max = 1e9},
                 "A request that would wait longer for a thread is refused with 429 and "
                 "`Retry-After`, unless ten requests take longer; 0: no wait is too long.",
                 "Less bounds the latency under overload, more lets larger bursts through. A "
                 "request that would miss its `timeout` is refused in any case. See "
                 "reliability.md.");
  section.number("shutdown_grace_s", QV_AT(server.shutdown_grace_s), {.min = 0, .max = 3600},
                 "On SIGTERM, requests that have arrived completely may run for this time before "
                 "they are cancelled; others are refused at once.",
                 "Closing the collections takes extra time, mostly far less than a second. "
                 "Container runtimes kill after 10 s.");
  section.boolean("enable_snapshot_url_recovery", QV_AT(server.recovers_from_urls),
                  "Let clients have snapshots fetched from `http://` locations.",
                  "Without it, snapshots come from the snapshots folder or are uploaded.");
  section.string("snapshot_url_hosts", QV_AT(server.snapshot_url_hosts),
                 "Hosts besides this machine that snapshots may be fetched from, between commas; "
                 "`*`: all.",
                 "A host named here can be reached through this server by everyone who may write.");
  section.integer("inline_body_kb", QV_AT(server.inline_body_bytes), {.max = 1 << 20},
                  "Bodies up to this size are decoded on the thread that read them.",
                  "Larger bodies move to another thread, so that they do not delay other "
                  "connections.",
                  kKiB);
  section.integer("compress_above_kb", QV_AT(server.compress_above_bytes), {.max = 1 << 20},
                  "Larger answers are compressed for clients whose `accept-encoding` has zstd or "
                  "gzip; 0: none are.",
                  "Most clients ask without being told to. Less saves network and costs time.",
                  kKiB);
  section.string("metrics_prefix", QV_AT(server.metrics_prefix),
                 "Prefix of every metric name in `/metrics`.");
}

void bind_grpc_port(Key& key) {
  key.range = {.min = service::GrpcOptions::kAnyPort, .max = 65535};
  key.get = [](const Settings& settings) -> ParamValue {
    return std::int64_t{settings.server.grpc.port};
  };
  key.set = [](Settings& settings, const ParamValue& value) {
    settings.server.grpc.port = static_cast<std::int32_t>(std::get<std::int64_t>(value));
  };
}

void declare_grpc(std::vector<Key>& keys) {
  Section section(keys, "grpc");
  bind_grpc_port(
      section.free(KeyType::kInteger, "port",
                   "Port of the gRPC API, usually 6334; 0: no gRPC; -1: any free one, "
                   "which is printed at start.",
                   "Keys, `tls`, and the limits and times of `service` hold for gRPC, too."));
  section.string("host", QV_AT(server.grpc.host),
                 "Address or name that gRPC listens on; empty: `service.host`.");
  section.boolean("reflection", QV_AT(server.grpc.reflection),
                  "Tell clients which services and messages there are.");
}

void declare_tls(std::vector<Key>& keys) {
  Section section(keys, "tls");
  section.string("cert", QV_AT(server.tls.cert),
                 "PEM file with the server's certificate, then those that signed it.");
  section.string("key", QV_AT(server.tls.key),
                 "PEM file with the private key of `cert`, without a password.");
  section.string("ca_cert", QV_AT(server.tls.ca_cert),
                 "PEM file with the certificates that may sign those of clients.");
  section.number("cert_ttl_s", QV_AT(server.tls.cert_ttl_s), {.min = 0, .max = 1e9},
                 "Changed files are loaded this long after the last look; 0: never.",
                 "Files that cannot be used are logged, and the former stay in use.");
}

void declare_audit(std::vector<Key>& keys) {
  Section section(keys, "audit");
  section.boolean("enabled", QV_AT(server.audit.enabled),
                  "Write each request that needs a key to the audit log: who asked for what, and "
                  "whether it was allowed.");
  section.string("dir", QV_AT(server.audit.dir),
                 "Directory of the audit log, created if missing; one file of JSON lines per day "
                 "(UTC). Empty: `audit` in the data directory.");
  section.integer("max_log_files", QV_AT(server.audit.max_log_files), {.max = 100000},
                  "Files of the audit log that are kept; 0: all.");
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
                  "A segment with fewer deleted rows is not rewritten because of them.");
  section.integer("seal_mb", QV_AT(server.creation.optimizer.seal_bytes),
                  {.min = 1, .max = 1 << 16},
                  "Vectors and payload that the segment in memory holds before it is sealed.",
                  "More means fewer, larger segments, more memory and a longer replay after a "
                  "crash.",
                  kMiB);
  section.integer("seal_rows", QV_AT(server.creation.optimizer.seal_rows), {.min = 1, .max = 1e9},
                  "Rows that the segment in memory holds before it is sealed.");
  section.integer("max_segment_rows", QV_AT(server.creation.optimizer.max_segment_rows),
                  {.min = 1000, .max = 4e9}, "Largest segment that merging creates.");
  section.integer("max_segments", QV_AT(server.creation.optimizer.max_segments),
                  {.min = 1, .max = 10000},
                  "Sealed segments per shard; more are merged, smallest first.",
                  "Fewer segments make searches cheaper and loading more expensive.");
  section.number("idle_seal_s", QV_AT(server.creation.optimizer.idle_seal_s),
                 {.min = 0.01, .max = 1e6},
                 "After this time without writes, the segment in memory is sealed.");
  bind_max_threads(section.free(KeyType::kInteger, "max_threads",
                                "0: segments are sealed, but not merged, cleaned or indexed. Any "
                                "other value: by all of `threads.background`."));
}

void declare_gpu(std::vector<Key>& keys) {
  Section section(keys, "gpu");
  section.string("devices", QV_AT(gpu.devices),
                 "NVIDIA GPUs that help with exact searches: `auto` for all that there are, `off`, "
                 "or their numbers between commas.",
                 "Answers are the same with and without (docs/gpu.md). Named devices must be "
                 "there; with `auto` the CPU does the work if there are none.");
  section.string("module", QV_AT(gpu.module),
                 "Path of the module for devices; empty: `libquiver_gpu_cuda.so` beside the server "
                 "or in `/usr/lib/quiver`.");
  section.integer(
      "memory_mb", QV_AT(gpu.memory_bytes), {.max = 1 << 24},
      "Memory of each device for rows and tokens; 0: nine tenths of what is free at the "
      "start.",
      "Rows that do not fit are searched by the CPU, unless others are idle.", kMiB);
  section.integer("min_mb", QV_AT(gpu.min_bytes), {.max = 1 << 20},
                  "Segments whose vectors of a field take less are searched by the CPU.",
                  "A device needs some tenths of a millisecond for any search.", kMiB);
  section.boolean("build", QV_AT(gpu.do_help_builds),
                  "Whether devices help to build the graphs of dense indexes.",
                  "The files are the same with and without.");
  section.number("check_share", QV_AT(gpu.check_share), {.min = 0, .max = 1},
                 "Share of the jobs of devices of which the CPU answers one query, too, behind all "
                 "other work.",
                 "The third difference ends the use of a device until a restart.");
}

void declare_log(std::vector<Key>& keys) {
  Section section(keys, "log");
  Key& level = section.free(KeyType::kString, "level", "Lowest level of events that are logged.");
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
  section.string("requests", QV_AT(requests.file),
                 "File to which one JSON line is appended for each answered request: endpoint, "
                 "collection, status, milliseconds, ids, address of the caller. Empty: none.");
  section.number("slow_ms", QV_AT(requests.slow_ms), {.max = 86'400'000},
                 "Requests that take at least this many milliseconds are logged as warnings; 0: "
                 "none.");
}

void declare_tracing(std::vector<Key>& keys) {
  Section section(keys, "tracing");
  section.string("endpoint", QV_AT(server.tracing.endpoint),
                 "URL to which traces are posted in OTLP over HTTP, as in "
                 "`http://localhost:4318/v1/traces`; empty: there are no traces.",
                 "The path is `/v1/traces` unless the URL has one. See observability.md.");
  section.number("sample_ratio", QV_AT(server.tracing.sample_ratio), {.min = 0, .max = 1},
                 "Share of the requests without a `traceparent` header that are traced; the header "
                 "decides for the others.");
  section.string("service_name", QV_AT(server.tracing.service_name),
                 "`service.name` of the traces.");
  section
      .string("headers", QV_AT(server.tracing.headers),
              "Headers for the collector, `name=value` between commas, values percent-encoded.",
              "For its API key or token.")
      .secrecy = Secrecy::kSecret;
  section.string("ca_cert", QV_AT(server.tracing.ca_cert),
                 "PEM file with the certificates that sign the collector's; empty: the system's.");
  section.number("timeout_s", QV_AT(server.tracing.timeout_s), {.min = 0.1, .max = 600},
                 "The collector must answer within this time.");
  section.number("interval_s", QV_AT(server.tracing.interval_s), {.min = 0.01, .max = 3600},
                 "Spans wait at most this time for others, of which 512 are sent together.");
  section.integer("max_queued_spans", QV_AT(server.tracing.max_queued_spans),
                  {.min = 1, .max = 1 << 20},
                  "Spans that may wait for the collector; more are dropped and counted.",
                  "One takes about 1 KiB.");
}

void declare_console(std::vector<Key>& keys) {
  Section section(keys, "console");
  section.boolean("enabled", QV_AT(server.has_console),
                  "Serve the web console at `/dashboard`. Its files hold no data, so they need no "
                  "key; the page asks for one.");
}

void declare_compat(std::vector<Key>& keys) {
  Section section(keys, "compat");
  Key& key = section.string("identity", QV_AT(identity),
                            "Title and version that `GET /` reports: ours, or those of the server "
                            "whose REST API we provide (1.19.0).",
                            "`qdrant` is for clients that insist on a version they know.");
  key.choices = {"quiver", "qdrant"};
}

void declare_cluster(std::vector<Key>& keys) {
  Section section(keys, "cluster");
  section.string("peers", QV_AT(cluster.peers),
                 "All nodes of the cluster, `HOST` or `HOST:PORT` (6335) between commas, the same "
                 "on every node; empty: no cluster.",
                 "The first three carry the ledger. See cluster.md.");
  section.string("advertise", QV_AT(cluster.advertise),
                 "Which of `peers` this node is. Empty: the only one with an address of this "
                 "machine.");
  section.string("advertise_http", QV_AT(cluster.advertise_http),
                 "URL of this node's HTTP API for other nodes. Empty: made of `advertise` and "
                 "`service.http_port`.");
  section
      .string("secret", QV_AT(cluster.secret),
              "What nodes show each other, the same on every node. Needed unless all peers are on "
              "this machine.")
      .secrecy = Secrecy::kSecret;
  section.string("ca_cert", QV_AT(cluster.ca_cert),
                 "PEM file with the certificates that sign those of other nodes' HTTPS; empty: "
                 "the system's.");
  section.string("ledger", QV_AT(cluster.ledger),
                 "`managed`: etcd, started and watched by the nodes; or URLs of one that runs, "
                 "between commas.");
  section.integer("ledger_client_port", QV_AT(cluster.ledger_client_port), {.max = 65535},
                  "Port of a managed etcd for nodes; 0: the port of the peer, plus 1.");
  section.integer("ledger_peer_port", QV_AT(cluster.ledger_peer_port), {.max = 65535},
                  "Port of a managed etcd for its other members; 0: the port of the peer, plus 2.");
  section.string("name", QV_AT(cluster.name),
                 "Name of the cluster, for keys in the ledger and the members of etcd.");
  section.integer("lease_s", QV_AT(cluster.lease_s), {.min = 2, .max = 60},
                  "A node that the ledger does not hear for so long is taken for dead.",
                  "Less makes changes of the leader quicker, and more likely for no reason.");
  section.number("apply_timeout_s", QV_AT(cluster.apply_timeout_s), {.min = 0.1, .max = 60},
                 "A node that takes longer to apply a change is not waited for.");
  section.integer("log_keep_entries", QV_AT(cluster.log_keep_entries), {.min = 100, .max = 1e7},
                  "Entries of a shard that are kept for nodes which come back.");
  section.integer(
      "replace_after_s", QV_AT(cluster.replace_after_s), {.max = 1e6},
      "What a node has of collections on some of the nodes is copied to other ones once "
      "it was away for so long; 0: never.",
      "Longer than a machine takes to start again: each copy is one of a whole "
      "collection. See cluster.md.");
}

#undef QV_AT

std::vector<Key> declare_keys() {
  std::vector<Key> keys;
  declare_storage(keys);
  declare_memory(keys);
  declare_scrub(keys);
  declare_service(keys);
  declare_grpc(keys);
  declare_tls(keys);
  declare_audit(keys);
  declare_threads(keys);
  declare_optimizer(keys);
  declare_gpu(keys);
  declare_log(keys);
  declare_tracing(keys);
  declare_console(keys);
  declare_compat(keys);
  declare_cluster(keys);
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
