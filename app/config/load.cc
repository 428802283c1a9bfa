// Reads settings from file, environment and flags.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

#include "app/config/config.h"
#include "service/json/decode/decode.h"

namespace quiver::app {
namespace {

Error at(const std::string& where, const Error& error) {
  return Error(error.code(), where + ": " + error.message());
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return fail(Code::kNotFound, fmt::format("cannot read the configuration file {}", path));
  }
  return text.str();
}

std::optional<ParamValue> plain_value(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  return std::nullopt;
}

std::string position(const std::string& file, const toml::node& node) {
  return fmt::format("{} line {}", file, node.source().begin.line);
}

Result<> set_node(Config& config, const std::string& name, const toml::node& node,
                  const std::string& file) {
  QV_TRY(find_key(name));
  const auto value = plain_value(node);
  if (!value) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} is a list, table or date, wanted a plain value", name));
  }
  return config.set(name, *value, position(file, node));
}

Result<> set_section(Config& config, std::string_view section, const toml::node& node,
                     const std::string& file) {
  const auto* table = node.as_table();
  if (table == nullptr) {
    QV_TRY(find_key(section));
    return {};
  }
  for (const auto& [key, child] : *table) {
    const std::string name = fmt::format("{}.{}", section, key.str());
    if (auto set = set_node(config, name, child, file); !set) {
      return fail(at(position(file, child), set.error()));
    }
  }
  return {};
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// "SERVICE__HTTP_PORT" → "service.http_port"
std::string key_of_variable(std::string_view name) {
  std::string key = lower(name);
  if (const auto split = key.find("__"); split != std::string::npos) key.replace(split, 2, ".");
  return key;
}

Result<> set_assignment(Config& config, const std::string& assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos) {
    return fail(Code::kInvalidArgument,
                fmt::format("--set {}: wanted section.key=value", assignment));
  }
  const std::string name = assignment.substr(0, equals);
  if (auto set = config.set_text(name, assignment.substr(equals + 1), "flag --set"); !set) {
    return fail(at("--set", set.error()));
  }
  return {};
}

Result<> set_http(Config& config, const std::string& http) {
  QV_TRY(const auto host_port, parse_host_port(http));
  QV_TRY(config.set("service.host", host_port.first, "flag --http"));
  return config.set("service.http_port", std::int64_t{host_port.second}, "flag --http");
}

/// A text that names an unknown limit, or one of a wrong type, would protect nobody.
Result<> check_strict_mode(const std::string& json) {
  if (json.empty()) return {};
  std::string text = json;
  const auto known = service::json::decode_strict_mode(text);
  if (known) return {};
  return fail(Code::kInvalidArgument, "storage.strict_mode: " + known.error().text);
}

}  // namespace

Config::Config() : origins_(keys().size(), "default") {}

Result<> Config::set(std::string_view full_name, ParamValue value, std::string origin) {
  QV_TRY(const std::size_t i, find_key(full_name));
  QV_TRY(const ParamValue checked, check_value(keys()[i], std::move(value)));
  keys()[i].set(settings_, checked);
  origins_[i] = std::move(origin);
  return {};
}

Result<> Config::set_text(std::string_view full_name, std::string_view text, std::string origin) {
  QV_TRY(const std::size_t i, find_key(full_name));
  QV_TRY(ParamValue value, parse_value(keys()[i], text));
  return set(full_name, std::move(value), std::move(origin));
}

Result<> Config::set_toml(std::string_view text, const std::string& file) try {
  const toml::table table = toml::parse(text, file);
  for (const auto& [section, node] : table) {
    if (auto set = set_section(*this, section.str(), node, file); !set) {
      return fail(std::move(set).error());
    }
  }
  return {};
} catch (const toml::parse_error& error) {
  return fail(Code::kInvalidArgument,
              fmt::format("{} line {}: {}", file, error.source().begin.line, error.description()));
}

Result<> Config::set_environment(const char* const* environment) {
  constexpr std::string_view kPrefix = "QUIVER__";
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (!entry.starts_with(kPrefix)) continue;
    const auto equals = std::min(entry.find('='), entry.size());
    const std::string variable(entry.substr(0, equals));
    const std::string_view value = entry.substr(std::min(equals + 1, entry.size()));
    const std::string key = key_of_variable(entry.substr(kPrefix.size(), equals - kPrefix.size()));
    if (auto set = set_text(key, value, "environment " + variable); !set) {
      return fail(at(variable, set.error()));
    }
  }
  return {};
}

namespace {

/// The value of a variable; "" if there is none.
std::string_view variable(const char* const* environment, std::string_view name) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return entry.substr(name.size() + 1);
    }
  }
  return {};
}

/// The endpoint of all signals is the address of a collector, to which the path is added.
std::string traces_endpoint(std::string_view endpoint) {
  if (endpoint.ends_with('/')) endpoint.remove_suffix(1);
  return std::string(endpoint) + "/v1/traces";
}

}  // namespace

Result<> Config::set_opentelemetry(const char* const* environment) {
  constexpr std::string_view kEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
  constexpr std::array kSame = {
      std::pair{std::string_view("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), "tracing.endpoint"},
      std::pair{std::string_view("OTEL_EXPORTER_OTLP_HEADERS"), "tracing.headers"},
      std::pair{std::string_view("OTEL_SERVICE_NAME"), "tracing.service_name"}};
  if (lower(variable(environment, "OTEL_SDK_DISABLED")) == "true") return {};
  if (const auto base = variable(environment, kEndpoint); !base.empty()) {
    QV_TRY(
        set("tracing.endpoint", traces_endpoint(base), fmt::format("environment {}", kEndpoint)));
  }
  for (const auto& [name, key] : kSame) {
    const auto value = variable(environment, name);
    if (value.empty()) continue;  // as if it were not set, by OpenTelemetry's rules
    QV_TRY(set(key, std::string(value), fmt::format("environment {}", name)));
  }
  return {};
}

namespace {

Result<> check_keys(const service::ServerOptions& server) {
  if (!server.api_key.empty()) return {};
  const std::string_view without = server.jwt_rbac               ? "jwt_rbac"
                                   : !server.alt_api_key.empty() ? "alt_api_key"
                                                                 : "read_only_api_key";
  if (!server.jwt_rbac && server.alt_api_key.empty() && server.read_only_api_key.empty()) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("service.{} is set without service.api_key: writing would stay open to "
                          "everybody",
                          without));
}

Result<> check_tls(const service::TlsOptions& tls) {
  const auto needs = [](std::string_view key, std::string_view file) {
    return fail(Code::kInvalidArgument, fmt::format("{} is true without tls.{}", key, file));
  };
  constexpr std::string_view kVerify = "service.verify_https_client_certificate";
  if (tls.verify_client && !tls.enabled) {
    return fail(Code::kInvalidArgument, fmt::format("{} needs service.enable_tls", kVerify));
  }
  if (tls.enabled && tls.cert.empty()) return needs("service.enable_tls", "cert");
  if (tls.enabled && tls.key.empty()) return needs("service.enable_tls", "key");
  if (tls.verify_client && tls.ca_cert.empty()) return needs(kVerify, "ca_cert");
  return {};
}

/// `origin_of` gives the source of a key: it may be a variable that others set for many programs.
template <class OriginOf>
Result<> check_tracing(const service::tracing::TracingOptions& tracing, OriginOf origin_of) {
  const auto wrong = [&](std::string_view key, const Error& error) {
    return fail(at(fmt::format("{} ({})", key, origin_of(key)), error));
  };
  if (!tracing.is_on()) return {};
  const auto collector = service::tracing::parse_collector(tracing.endpoint);
  if (!collector) return wrong("tracing.endpoint", collector.error());
  const auto headers = service::tracing::parse_headers(tracing.headers);
  return headers ? Result<>() : wrong("tracing.headers", headers.error());
}

}  // namespace

Result<> Config::validate() const {
  if (settings_.database.data_dir.empty()) {
    return fail(Code::kInvalidArgument, "storage.data_dir is empty, wanted a directory");
  }
  QV_TRY(check_keys(settings_.server));
  QV_TRY(check_tls(settings_.server.tls));
  QV_TRY(check_cluster(settings_.cluster));
  QV_TRY(check_tracing(settings_.server.tracing,
                       [this](std::string_view key) { return origins_[find_key(key).value()]; }));
  return check_strict_mode(settings_.server.strict_mode);
}

Result<Config> load_config(const Flags& flags, const char* const* environment) {
  Config config;
  QV_TRY(config.set_opentelemetry(environment));
  if (flags.config_file) {
    QV_TRY(const std::string text, read_text(*flags.config_file));
    QV_TRY(config.set_toml(text, *flags.config_file));
  }
  QV_TRY(config.set_environment(environment));
  for (const std::string& assignment : flags.set) QV_TRY(set_assignment(config, assignment));
  if (flags.data_dir) QV_TRY(config.set("storage.data_dir", *flags.data_dir, "flag --data-dir"));
  if (flags.http) QV_TRY(set_http(config, *flags.http));
  QV_TRY(config.validate());
  return config;
}

Result<std::pair<std::string, std::uint16_t>> parse_host_port(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is not HOST:PORT (like 127.0.0.1:6333 or [::1]:6333)", text));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();
  }
  std::uint16_t port = 0;
  const auto* end = port_text.data() + port_text.size();
  const auto parsed = std::from_chars(port_text.data(), end, port);
  if (host.empty() || parsed.ec != std::errc() || parsed.ptr != end) return wrong();
  return std::pair(std::string(host), port);
}

}  // namespace quiver::app
