#include "app/serve/command.h"

#include <unistd.h>

#include <cstdio>

#include "app/serve/serve.h"

namespace quiver::app {

CLI::App* add_serve(CLI::App& app, ServeOptions& options) {
  auto* serve = app.add_subcommand("serve", "Run the server until SIGTERM or SIGINT.");
  serve->add_option("--data-dir", options.flags.data_dir,
                    "Directory of the data (storage.data_dir); default ./quiver-data");
  serve->add_option("--http", options.flags.http,
                    "HOST:PORT to listen on; default 127.0.0.1:6333, port 0 is any free one");
  serve->add_option("--config", options.flags.config_file, "Configuration file (TOML)");
  serve->add_option("--set", options.flags.set, "section.key=value; may be repeated")
      ->allow_extra_args(false);
  serve->add_flag("--print-config", options.print_config,
                  "Print every setting in force and where it comes from, and exit");
  serve->add_flag("--config-docs", options.config_docs,
                  "Print the page of all configuration keys (Markdown), and exit");
  serve->footer(
      "Settings come from defaults, --config, the environment (QUIVER__SECTION__KEY) and flags;\n"
      "later sources win. /readyz answers 200 when every collection can serve.\n"
      "The first SIGTERM or SIGINT finishes the requests in flight and exits with 0; the second "
      "ends at once.");
  return serve;
}

Result<> run_serve(const ServeOptions& options) {
  if (options.config_docs) {
    std::fputs(config_docs().c_str(), stdout);
    return {};
  }
  QV_TRY(const auto config, load_config(options.flags, environ));
  if (options.print_config) {
    std::fputs(print_config(config).c_str(), stdout);
    return {};
  }
  return serve(config.settings());
}

}  // namespace quiver::app
