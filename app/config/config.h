// The configuration of a server. Every key is declared once, in keys.cc; parsing, checks, printing
// and documentation follow from that declaration.
//
// Later sources win: defaults, environment (OTEL_…), TOML file, environment (QUIVER__SECTION__KEY),
// flags.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config/cluster_settings.h"
#include "base/observe/log.h"
#include "base/observe/request_log.h"
#include "base/params.h"
#include "base/result.h"
#include "engine/database.h"
#include "gpu/devices.h"
#include "service/server.h"

namespace quiver::app {

/// The values of all keys, as the options of the rooms below.
struct Settings {
  engine::DatabaseOptions database;
  service::ServerOptions server;
  gpu::Options gpu;
  LogOptions log;
  RequestLogOptions requests;
  ClusterSettings cluster;
  std::string identity = "quiver";       ///< "quiver" or "qdrant"
  std::uint64_t memory_limit_bytes = 0;  ///< 0: a share of what the machine allows
  std::uint64_t held_memory_bytes = std::uint64_t{1} << 40;  ///< at most a share of the limit

  Settings();
};

enum class KeyType { kBool, kInteger, kNumber, kString };
enum class Secrecy { kPublic, kSecret };

/// One configuration key. Every source names it `section.name`.
struct Key {
  std::string section;
  std::string name;
  KeyType type = KeyType::kString;
  ParamRange range;                  ///< for integers and numbers
  std::vector<std::string> choices;  ///< for strings; empty: any text
  Secrecy secrecy = Secrecy::kPublic;
  std::string doc;     ///< one sentence that says what it sets
  std::string effect;  ///< effect of larger or smaller values; may be empty
  std::function<ParamValue(const Settings&)> get;
  /// The value must have passed `check_value`.
  std::function<void(Settings&, const ParamValue&)> set;

  [[nodiscard]] std::string full_name() const { return section + "." + name; }
  /// QUIVER__SECTION__KEY
  [[nodiscard]] std::string environment_name() const;
};

/// All keys by section, in the order of printing.
[[nodiscard]] const std::vector<Key>& keys();
/// Returns the index in `keys()`. kInvalidArgument names the most similar key.
[[nodiscard]] Result<std::size_t> find_key(std::string_view full_name);
/// Returns the value in the key's type; an integer is accepted for a number. kInvalidArgument if
/// the type differs or the value is outside range or choices.
[[nodiscard]] Result<ParamValue> check_value(const Key& key, ParamValue value);
/// Parses and checks a value.
[[nodiscard]] Result<ParamValue> parse_value(const Key& key, std::string_view text);

/// The settings in force and where each came from.
class Config {
 public:
  Config();

  /// `origin` names the source for people: "flag --http".
  [[nodiscard]] Result<> set(std::string_view full_name, ParamValue value, std::string origin);
  [[nodiscard]] Result<> set_text(std::string_view full_name, std::string_view text,
                                  std::string origin);
  /// Sets every value of a TOML text; `file` names it in messages.
  [[nodiscard]] Result<> set_toml(std::string_view toml, const std::string& file);
  /// Sets every NAME=VALUE whose name begins with QUIVER__.
  [[nodiscard]] Result<> set_environment(const char* const* environment);
  /// Sets keys of `tracing` by the variables of OpenTelemetry (OTEL_EXPORTER_OTLP_…,
  /// OTEL_SERVICE_NAME), unless OTEL_SDK_DISABLED is true. Call it first: all other sources win.
  [[nodiscard]] Result<> set_opentelemetry(const char* const* environment);
  /// Checks rules over several keys; call it when all are set.
  [[nodiscard]] Result<> validate() const;

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Origin of each value, in the order of `keys()`.
  [[nodiscard]] const std::vector<std::string>& origins() const { return origins_; }

 private:
  Settings settings_;
  std::vector<std::string> origins_;
};

/// The configuration flags of `quiver serve`.
struct Flags {
  std::optional<std::string> config_file;
  std::optional<std::string> data_dir;
  std::optional<std::string> http;  ///< HOST:PORT
  std::vector<std::string> set;     ///< section.key=value
};

/// Reads all sources in order and validates the result.
[[nodiscard]] Result<Config> load_config(const Flags& flags, const char* const* environment);

/// Parses "127.0.0.1:6333", "[::1]:6333" or "localhost:0".
[[nodiscard]] Result<std::pair<std::string, std::uint16_t>> parse_host_port(std::string_view text);

/// TOML of all values, with their origins as comments. Secrets are hidden.
[[nodiscard]] std::string print_config(const Config& config);
/// The text of docs/configuration.md.
[[nodiscard]] std::string config_docs();

}  // namespace quiver::app
