// Prints the configuration in force and the page of all keys.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "app/config/config.h"

namespace quiver::app {
namespace {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// The value as a TOML literal.
std::string literal(const ParamValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return quote(*text);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{:.16g}", *number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *integer);
  return std::get<bool>(value) ? "true" : "false";
}

std::string shown_value(const Key& key, const Settings& settings) {
  const ParamValue value = key.get(settings);
  const bool hide = key.secrecy == Secrecy::kSecret && !std::get<std::string>(value).empty();
  return hide ? "\"(hidden)\"" : literal(value);
}

std::string bound(double value) {
  return std::isinf(value) ? "any" : fmt::format("{:.10g}", value);
}

std::string range_text(const Key& key) {
  switch (key.type) {
    case KeyType::kBool:
      return "`true`, `false`";
    case KeyType::kString:
      return key.choices.empty() ? "text" : fmt::format("`{}`", fmt::join(key.choices, "`, `"));
    default:
      break;
  }
  return fmt::format("{} {} to {}", key.type == KeyType::kInteger ? "integer" : "number",
                     bound(key.range.min), bound(key.range.max));
}

constexpr std::string_view kDocsHead = R"(# Configuration

`quiver serve --config-docs` writes this page from the declaration of the keys, and a test compares it.
To change it, edit the declaration (`app/config/keys.cc`) and run `make docs`.

Settings come from these sources; later ones win:

1. the default below;
2. the TOML file given as `--config FILE`: `http_port = 6333` under `[service]`;
3. the environment: `QUIVER__SECTION__KEY`, as in `QUIVER__SERVICE__HTTP_PORT=6333`;
4. flags: `--set section.key=value`, `--data-dir DIR` (`storage.data_dir`), `--http HOST:PORT`
   (`service.host` and `service.http_port`).

Section `tracing` has one more source between 1 and 2: OpenTelemetry's `OTEL_EXPORTER_OTLP_ENDPOINT`
(to which `/v1/traces` is added), `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`
and `OTEL_SERVICE_NAME`, unless `OTEL_SDK_DISABLED=true`.

An unknown key is an error in every source. `quiver serve --print-config`, with the same flags and
environment, prints the settings and the source of each. Pass API keys and other secrets through the
environment or a file, not as flags, which other users can see. `deploy/quiver.toml` is an example file.

`[optimizer]` sets the defaults of collections created from then on; `PATCH /collections/{name}` changes
them for one collection.

`QUIVER_SIMD=generic|avx2|avx512` (environment only) forces an instruction level, for tests and
measurements.
)";

}  // namespace

std::string print_config(const Config& config) {
  std::string out;
  std::string_view section;
  for (std::size_t i = 0; i < keys().size(); ++i) {
    const Key& key = keys()[i];
    if (key.section != section) {
      section = key.section;
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section);
    }
    const std::string assignment = key.name + " = " + shown_value(key, config.settings());
    out += fmt::format("{:<40}  # {}\n", assignment, config.origins()[i]);
  }
  return out;
}

std::string config_docs() {
  std::string out(kDocsHead);
  std::string_view section;
  const Settings defaults;
  for (const Key& key : keys()) {
    if (key.section != section) {
      section = key.section;
      out += fmt::format(
          "\n## [{}]\n\n| key | default | values | what it does |\n|---|---|---|---|\n", section);
    }
    out += fmt::format("| `{}` | `{}` | {} | {}{}{} |\n", key.name, literal(key.get(defaults)),
                       range_text(key), key.doc, key.effect.empty() ? "" : " ", key.effect);
  }
  return out;
}

}  // namespace quiver::app
