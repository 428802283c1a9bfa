// The configuration of a server: every key is declared once (config_keys.cc), and that declaration
// parses, checks, prints and documents it.
//
// Later sources win: defaults, TOML file, environment (QUIVER__SECTION__KEY), flags.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/observe/log.h"
#include "base/params.h"
#include "base/result.h"
#include "engine/database.h"
#include "service/server.h"

namespace quiver::app {

/// What the keys set, in the shape that the rooms below take.
struct Settings {
  engine::DatabaseOptions database;
  service::ServerOptions server;
  LogOptions log;
  std::string identity = "quiver";  ///< "quiver" or "qdrant"

  Settings();
};

enum class KeyType { kBool, kInteger, kNumber, kString };
enum class Secrecy { kPublic, kSecret };

/// One configuration key. `section.key` is its name in every source.
struct Key {
  std::string section;
  std::string name;
  KeyType type = KeyType::kString;
  ParamRange range;                  ///< of integers and numbers
  std::vector<std::string> choices;  ///< of strings; empty: any text
  Secrecy secrecy = Secrecy::kPublic;
  std::string doc;     ///< what it is, one sentence
  std::string effect;  ///< what more or less of it does; may be empty
  std::function<ParamValue(const Settings&)> get;
  /// The value was checked against type, range and choices.
  std::function<void(Settings&, const ParamValue&)> set;

  [[nodiscard]] std::string full_name() const { return section + "." + name; }
  /// QUIVER__SECTION__KEY
  [[nodiscard]] std::string environment_name() const;
};

/// Every key, section by section, in the order in which they are printed.
[[nodiscard]] const std::vector<Key>& keys();
/// The index in `keys()`. kInvalidArgument names the nearest known key.
[[nodiscard]] Result<std::size_t> find_key(std::string_view full_name);
/// kInvalidArgument unless `value` has the type (an integer will do for a number) and lies within
/// range or choices.
[[nodiscard]] Result<ParamValue> check_value(const Key& key, ParamValue value);
/// The value of `key` that `text` writes, checked.
[[nodiscard]] Result<ParamValue> parse_value(const Key& key, std::string_view text);

/// The settings in force and where each came from.
class Config {
 public:
  Config();

  /// `origin` is for people: "flag --http".
  [[nodiscard]] Result<> set(std::string_view full_name, ParamValue value, std::string origin);
  [[nodiscard]] Result<> set_text(std::string_view full_name, std::string_view text,
                                  std::string origin);
  /// Every value of a TOML text; `file` is for messages.
  [[nodiscard]] Result<> set_toml(std::string_view toml, const std::string& file);
  /// Every NAME=VALUE whose name begins with QUIVER__.
  [[nodiscard]] Result<> set_environment(const char* const* environment);
  /// What concerns several keys at once; called when all are set.
  [[nodiscard]] Result<> validate() const;

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// In the order of `keys()`.
  [[nodiscard]] const std::vector<std::string>& origins() const { return origins_; }

 private:
  Settings settings_;
  std::vector<std::string> origins_;
};

/// What the command line of `quiver serve` says.
struct Flags {
  std::optional<std::string> config_file;
  std::optional<std::string> data_dir;
  std::optional<std::string> http;  ///< HOST:PORT
  std::vector<std::string> set;     ///< section.key=value
};

/// All sources, in their order, validated.
[[nodiscard]] Result<Config> load_config(const Flags& flags, const char* const* environment);

/// "127.0.0.1:6333", "[::1]:6333" or "localhost:0".
[[nodiscard]] Result<std::pair<std::string, std::uint16_t>> parse_host_port(std::string_view text);

/// TOML with a comment per value: where it came from. Secrets are hidden.
[[nodiscard]] std::string print_config(const Config& config);
/// docs/configuration.md
[[nodiscard]] std::string config_docs();

}  // namespace quiver::app
