#include "app/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace quiver::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class T>
std::string message(const Result<T>& result) {
  return result ? "success" : result.error().message();
}

TEST(ConfigTest, KeysAreUniqueAndDescribed) {
  std::set<std::string> names;
  for (const Key& key : keys()) {
    EXPECT_TRUE(names.insert(key.full_name()).second) << key.full_name();
    EXPECT_FALSE(key.doc.empty()) << key.full_name();
  }
}

TEST(ConfigTest, VariablesOfOpenTelemetryAreTheLowestSource) {
  const char* environment[] = {"OTEL_EXPORTER_OTLP_ENDPOINT=http://general:4318/",
                               "OTEL_EXPORTER_OTLP_ENDPOINTS=http://other",
                               "OTEL_SERVICE_NAME=",
                               "OTEL_EXPORTER_OTLP_HEADERS=a=b",
                               "QUIVER__TRACING__HEADERS=c=d",
                               nullptr};
  const auto config = load_config({}, environment);
  ASSERT_TRUE(config) << message(config);
  const auto& tracing = config->settings().server.tracing;
  EXPECT_EQ(tracing.endpoint, "http://general:4318/v1/traces");
  EXPECT_EQ(tracing.service_name, "quiver");
  EXPECT_EQ(tracing.headers, "c=d");
  const char* wrong[] = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=grpc://c:4317", nullptr};
  EXPECT_THAT(message(load_config({}, wrong)),
              HasSubstr("tracing.endpoint (environment OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)"));
  const char* disabled[] = {wrong[0], "OTEL_SDK_DISABLED=TRUE", nullptr};
  EXPECT_TRUE(load_config({}, disabled));
  Flags flags;
  flags.set = {"tracing.endpoint="};
  EXPECT_FALSE(load_config(flags, environment)->settings().server.tracing.is_on());
}

TEST(ConfigTest, EveryDefaultPassesItsOwnCheckAndRoundTrips) {
  for (const Key& key : keys()) {
    const ParamValue value = key.get(Settings());
    ASSERT_TRUE(check_value(key, value)) << key.full_name();
    Settings settings;
    key.set(settings, value);
    EXPECT_EQ(key.get(settings), value) << key.full_name();
  }
}

TEST(ConfigTest, EveryNumberKeepsBothEndsOfItsRange) {
  for (const Key& key : keys()) {
    if (key.type != KeyType::kInteger) continue;
    for (const double end : {key.range.min, key.range.max}) {
      Settings settings;
      const ParamValue value = static_cast<std::int64_t>(end);
      key.set(settings, value);
      EXPECT_EQ(key.get(settings), value) << key.full_name() << " " << end;
    }
    EXPECT_FALSE(check_value(key, static_cast<std::int64_t>(key.range.min) - 1)) << key.full_name();
    EXPECT_FALSE(check_value(key, static_cast<std::int64_t>(key.range.max) + 1)) << key.full_name();
  }
}

TEST(ConfigTest, DefaultsAreThoseOfTheRooms) {
  const Settings settings;
  EXPECT_EQ(settings.server.port, 6333);
  EXPECT_EQ(settings.server.host, "127.0.0.1");
  EXPECT_EQ(settings.database.data_dir, "quiver-data");
  EXPECT_EQ(settings.server.creation.optimizer, engine::OptimizerConfig());
}

TEST(ConfigTest, LaterSourcesWin) {
  const std::string path = testing::TempDir() + "quiver_config_test.toml";
  std::ofstream(path) << "[service]\nhttp_port = 1\nio_threads = 2\nenable_cors = true\n"
                      << "[storage]\nblock_cache_mb = 7\n";
  const char* environment[] = {"HOME=/root", "QUIVER__SERVICE__HTTP_PORT=3",
                               "QUIVER__SERVICE__IO_THREADS=4", "QUIVER_SIMD=generic", nullptr};
  Flags flags;
  flags.config_file = path;
  flags.http = "[::1]:5";
  flags.set = {"log.level=debug", "service.api_key=a=b"};
  const auto config = load_config(flags, environment);
  ASSERT_TRUE(config) << message(config);
  const Settings& settings = config->settings();
  EXPECT_EQ(settings.server.port, 5);
  EXPECT_EQ(settings.server.host, "::1");
  EXPECT_EQ(settings.server.io_threads, 4U);
  EXPECT_TRUE(settings.server.cors);
  EXPECT_EQ(settings.server.api_key, "a=b");
  EXPECT_EQ(settings.database.block_cache_bytes, 7U << 20);
  EXPECT_EQ(settings.log.level, LogLevel::kDebug);

  const std::string printed = print_config(*config);
  EXPECT_THAT(printed, HasSubstr("# flag --http"));
  EXPECT_THAT(printed, HasSubstr("# environment QUIVER__SERVICE__IO_THREADS"));
  EXPECT_THAT(printed, HasSubstr("# " + path + " line 4"));
  EXPECT_THAT(printed, HasSubstr("# flag --set"));
  EXPECT_THAT(printed, Not(HasSubstr("a=b")));
}

TEST(ConfigTest, WhatIsPrintedCanBeReadBack) {
  Config config;
  ASSERT_TRUE(config.set("storage.data_dir", std::string("a \"b\" \\ c\n"), "test"));
  ASSERT_TRUE(config.set("optimizer.idle_seal_s", 0.125, "test"));
  ASSERT_TRUE(config.set("optimizer.max_threads", std::int64_t{0}, "test"));
  ASSERT_TRUE(config.set("compat.identity", std::string("qdrant"), "test"));
  Config again;
  const auto read = again.set_toml(print_config(config), "printed");
  ASSERT_TRUE(read) << message(read);
  for (const Key& key : keys()) {
    EXPECT_EQ(key.get(again.settings()), key.get(config.settings())) << key.full_name();
  }
}

TEST(ConfigTest, UnknownKeysNameTheNearest) {
  Config config;
  EXPECT_EQ(message(config.set_text("service.htpp_port", "1", "test")),
            "unknown key `service.htpp_port`; the nearest known one is `service.http_port`");
  EXPECT_EQ(message(config.set_toml("[storage]\n\ndata_dri = \"x\"\n", "c.toml")),
            "c.toml line 3: unknown key `storage.data_dri`; the nearest known one is "
            "`storage.data_dir`");
  const char* environment[] = {"QUIVER__SERVICE__NO_SUCH_KEY=1", nullptr};
  EXPECT_THAT(message(config.set_environment(environment)),
              HasSubstr("QUIVER__SERVICE__NO_SUCH_KEY: unknown key `service.no_such_key`"));
  EXPECT_THAT(message(config.set_toml("http_port = 1\n", "c.toml")),
              HasSubstr("unknown key `http_port`"));
  EXPECT_THAT(message(config.set_toml("[no_section]\nx = 1\n", "c.toml")),
              HasSubstr("unknown key `no_section.x`"));
}

TEST(ConfigTest, WrongValuesSayWhatWasFoundAndWanted) {
  Config config;
  const auto set = [&](std::string_view key, std::string_view text) {
    return message(config.set_text(key, text, "test"));
  };
  EXPECT_EQ(set("service.http_port", "70000"), "service.http_port is 70000, wanted 0 to 65535");
  EXPECT_EQ(set("service.http_port", "abc"), "service.http_port is \"abc\", wanted an integer");
  EXPECT_EQ(set("service.http_port", "1.5"), "service.http_port is \"1.5\", wanted an integer");
  EXPECT_EQ(set("service.enable_cors", "yes"),
            "service.enable_cors is \"yes\", wanted true or false");
  EXPECT_EQ(set("service.keep_alive_timeout_s", "nan"),
            "service.keep_alive_timeout_s is nan, wanted 0.001 to 86400");
  EXPECT_EQ(set("service.io_threads", "-1"), "service.io_threads is -1, wanted 0 to 1024");
  EXPECT_EQ(set("log.level", "loud"),
            "log.level is \"loud\", wanted one of debug, info, warning, error, off");
  EXPECT_EQ(message(config.set_toml("[service]\nhttp_port = \"1\"\n", "c.toml")),
            "c.toml line 2: service.http_port is \"1\", wanted an integer");
  EXPECT_EQ(message(config.set_toml("[service]\nhttp_port = [1]\n", "c.toml")),
            "c.toml line 2: service.http_port is a list, table or date, wanted a plain value");
  EXPECT_THAT(message(config.set_toml("[service\n", "c.toml")), HasSubstr("c.toml line 1"));
  EXPECT_THAT(message(config.set_toml("[service]\napi_key = 5\n", "c.toml")),
              AllOf(HasSubstr("(hidden)"), HasSubstr("wanted a string")));
}

TEST(ConfigTest, AnIntegerWillDoForANumber) {
  Config config;
  ASSERT_TRUE(config.set_toml("[service]\nread_timeout_s = 3\n", "c.toml"));
  EXPECT_EQ(config.settings().server.read_timeout_s, 3.0);
}

TEST(ConfigTest, RefusesWhatDoesNotFitTogether) {
  Flags flags;
  const char* environment[] = {nullptr};
  flags.set = {"service.read_only_api_key=x"};
  EXPECT_THAT(message(load_config(flags, environment)), HasSubstr("without service.api_key"));
  flags.set = {"storage.data_dir="};
  EXPECT_THAT(message(load_config(flags, environment)), HasSubstr("storage.data_dir is empty"));
  flags.set = {"log.level"};
  EXPECT_THAT(message(load_config(flags, environment)), HasSubstr("wanted section.key=value"));
  flags.set = {};
  flags.config_file = "/nonexistent/quiver.toml";
  EXPECT_THAT(message(load_config(flags, environment)),
              HasSubstr("cannot read the configuration file /nonexistent/quiver.toml"));
}

TEST(ConfigTest, HostAndPort) {
  using Pair = std::pair<std::string, std::uint16_t>;
  EXPECT_EQ(parse_host_port("127.0.0.1:0").value(), Pair("127.0.0.1", 0));
  EXPECT_EQ(parse_host_port("[::]:6333").value(), Pair("::", 6333));
  EXPECT_EQ(parse_host_port("localhost:65535").value(), Pair("localhost", 65535));
  for (const char* wrong :
       {"", "6333", ":6333", "host", "host:", "host:65536", "host:1x", "::1:5", "host:-1"}) {
    EXPECT_FALSE(parse_host_port(wrong)) << wrong;
  }
}

TEST(ConfigTest, ThePageOfKeysIsUpToDate) {
  std::ifstream file("docs/configuration.md");
  ASSERT_TRUE(file) << "run from the repository root";
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), config_docs()) << "run `make docs`";
}

TEST(ConfigTest, TheExampleFileIsValid) {
  std::ifstream file("deploy/quiver.toml");
  ASSERT_TRUE(file) << "run from the repository root";
  std::ostringstream text;
  text << file.rdbuf();
  Config config;
  const auto read = config.set_toml(text.str(), "deploy/quiver.toml");
  EXPECT_TRUE(read) << message(read);
}

}  // namespace
}  // namespace quiver::app
