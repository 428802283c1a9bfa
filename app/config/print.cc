// The configuration for people: what is in force, and the page of all keys.
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

/// As TOML writes it.
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

Written by `quiver serve --config-docs` from the one declaration of the keys; a test compares. Change
the declaration (`app/config/keys.cc`), then run `make docs`.

A setting comes from, later ones winning:

1. the default below;
2. the TOML file given as `--config FILE`: `http_port = 6333` under `[service]`;
3. the environment: `QUIVER__SECTION__KEY`, as `QUIVER__SERVICE__HTTP_PORT=6333`;
4. flags: `--set section.key=value`, `--data-dir DIR` (`storage.data_dir`), `--http HOST:PORT`
   (`service.host` and `service.http_port`).

An unknown key is an error in each of them. `quiver serve --print-config`, with the same flags and
environment, prints what would be in force and where each value comes from. Keys and other secrets
are better given through the environment or a file than as flags, which other users can see.
`deploy/quiver.toml` is an example of a file.

`[optimizer]` is what collections get that are created from then on, where their creator says nothing;
`PATCH /collections/{name}` changes them.

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
