// A snapshot that a running server made. Only the files that are asked for are sent.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "app/backup/source.h"
#include "base/hash.h"
#include "base/io/file.h"
#include "base/io/file_tree.h"
#include "engine/backup/layout.h"
#include "engine/backup/tar.h"
#include "payload/json/document.h"
#include "service/client/download.h"
#include "service/client/server_connection.h"

namespace quiver::app {
namespace {

using engine::SnapshotFile;

constexpr const char* kDefaultUrl = "http://127.0.0.1:6333";
/// Pause between two questions whether the snapshot is there.
constexpr auto kPause = std::chrono::milliseconds(200);

/// Names of the server's storage snapshots, with their checksums ("" while unknown).
using Names = std::map<std::string, std::string>;

class ServerSource final : public BackupSource {
 public:
  ServerSource(client::Endpoint endpoint, std::string api_key, std::string place,
               const SnapshotNote& note)
      : endpoint_(std::move(endpoint)),
        api_key_(std::move(api_key)),
        place_(std::move(place)),
        note_(note),
        connection_(endpoint_, api_key_) {}
  ~ServerSource() override {
    if (name_.empty()) return;
    auto removed = remove(name_);
    if (removed) removed = note_.clear();
    if (!removed) {
      std::fprintf(stderr, "quiver: the snapshot `%s` stays on the server: %s\n", name_.c_str(),
                   removed.error().message().c_str());
    }
  }
  ServerSource(const ServerSource&) = delete;
  ServerSource& operator=(const ServerSource&) = delete;

  Result<> open() {
    QV_TRY(remove_noted());
    QV_TRY(make_snapshot());
    QV_TRY(wait_for_checksums());
    QV_TRY(const auto intro, read_intro());
    std::string text;
    QV_TRY(download({intro.manifest_offset, intro.manifest_bytes}, text));
    QV_TRY(manifest_, engine::decode_snapshot_manifest(text));
    QV_TRY(const auto layout, engine::ArchiveLayout::of(manifest_));
    for (const auto& piece : layout.pieces()) {
      if (piece.file) offsets_[manifest_.files[*piece.file].path] = piece.offset;
    }
    return {};
  }

  [[nodiscard]] const engine::SnapshotManifest& manifest() const override { return manifest_; }

  [[nodiscard]] Result<> fetch(const SnapshotFile& file, const std::string& to) override {
    const std::size_t slash = to.rfind('/');
    QV_TRY(auto directory, open_real_directory(to.substr(0, slash)));
    QV_TRY(auto out, directory->create_file(to.substr(slash + 1)));
    Checksum sum;
    std::uint64_t n = 0;
    const auto take = [&](std::string_view bytes) -> Result<> {
      QV_TRY(check_not_stopped());
      sum.update(as_byte_span(bytes));
      n += bytes.size();
      return out->append(as_byte_span(bytes));
    };
    if (file.size_bytes > 0) {
      QV_TRY(client::download(endpoint_, target(), api_key_, take,
                              client::ByteRange{offsets_.at(file.path), file.size_bytes}));
    }
    if (n != file.size_bytes || sum.digest() != file.checksum) {
      return fail(Code::kDataLoss,
                  fmt::format("`{}` arrived damaged: {} bytes, wanted {}, or another checksum",
                              file.path, n, file.size_bytes));
    }
    QV_TRY(out->sync());
    return out->close();
  }

 private:
  [[nodiscard]] static std::string target_of(const std::string& name) {
    return "/snapshots/" + client::escape_segment(name);
  }
  [[nodiscard]] std::string target() const { return target_of(name_); }

  Result<std::string> ask(std::string_view method, std::string_view target) {
    QV_TRY(auto answer, connection_.exchange(method, target, ""));
    if (answer.status / 100 == 2) return std::move(answer.body);
    return fail(Code::kFailedPrecondition,
                fmt::format("{} {}: {}", method, target, client::error_text(answer)));
  }

  Result<Names> list() {
    QV_TRY(const std::string body, ask("GET", "/snapshots"));
    Names names;
    QV_TRY(const auto json, payload::parse_json(body));
    const auto* result = json.find("result");
    if (result == nullptr || result->as_array() == nullptr) {
      return fail(Code::kInvalidArgument, "the server's list of snapshots has no `result`");
    }
    for (const auto& snapshot : *result->as_array()) {
      const auto* name = snapshot.find("name");
      const auto* sum = snapshot.find("checksum");
      if (name == nullptr || name->as_string() == nullptr) continue;
      const bool has_sum = sum != nullptr && sum->as_string() != nullptr;
      names[*name->as_string()] = has_sum ? *sum->as_string() : "";
    }
    return names;
  }

  Result<> remove(const std::string& name) {
    QV_TRY(const auto answer, connection_.exchange("DELETE", target_of(name), ""));
    constexpr int kNotFound = 404;
    if (answer.status / 100 == 2 || answer.status == kNotFound) return {};
    return fail(Code::kFailedPrecondition, client::error_text(answer));
  }

  /// Removes what a killed run has left on this server.
  Result<> remove_noted() {
    QV_TRY(const auto noted, note_.read());
    if (!noted) return {};
    if (noted->place == place_) {
      QV_TRY(remove(noted->name));
      return note_.clear();
    }
    std::fprintf(stderr, "quiver: an earlier backup left the snapshot `%s` at %s\n",
                 noted->name.c_str(), noted->place.c_str());
    return {};
  }

  /// Does not wait for the checksums: reading all files may take longer than a request.
  Result<> make_snapshot() {
    QV_TRY(const std::string body, ask("POST", "/snapshots?wait=false"));
    QV_TRY(const auto json, payload::parse_json(body));
    const auto* result = json.find("result");
    const auto* name = result == nullptr ? nullptr : result->find("name");
    if (name == nullptr || name->as_string() == nullptr) {
      return fail(Code::kInvalidArgument,
                  "the server does not name the snapshot that it makes: its version is too old");
    }
    name_ = *name->as_string();
    return note_.write({place_, name_});
  }

  /// The server removes a snapshot that it cannot read.
  Result<> wait_for_checksums() {
    while (true) {
      QV_TRY(check_not_stopped());
      QV_TRY(const Names now, list());
      const auto found = now.find(name_);
      if (found == now.end()) {
        return fail(Code::kFailedPrecondition,
                    fmt::format("the server could not read all files of its snapshot `{}`: its log "
                                "says why",
                                name_));
      }
      if (!found->second.empty()) return {};
      std::this_thread::sleep_for(kPause);
    }
  }

  Result<> download(client::ByteRange range, std::string& to) {
    return client::download(
        endpoint_, target(), api_key_,
        [&](std::string_view bytes) -> Result<> {
          to.append(bytes);
          return {};
        },
        range);
  }

  Result<engine::ArchiveIntro> read_intro() {
    std::string bytes;
    QV_TRY(download({0, 2 * engine::kTarBlockBytes}, bytes));
    QV_TRY(const auto entry, engine::parse_tar_header(bytes.substr(0, engine::kTarBlockBytes)));
    if (!entry || entry->path != engine::kIntroFile || entry->size_bytes > engine::kTarBlockBytes) {
      return fail(Code::kInvalidArgument, "the server's snapshot is of another kind");
    }
    return engine::decode_intro(bytes.substr(engine::kTarBlockBytes, entry->size_bytes));
  }

  const client::Endpoint endpoint_;
  const std::string api_key_;
  const std::string place_;
  const SnapshotNote& note_;
  client::ServerConnection connection_;
  std::string name_;
  engine::SnapshotManifest manifest_;
  std::map<std::string, std::uint64_t> offsets_;  ///< of files in the archive
};

}  // namespace

Result<std::unique_ptr<BackupSource>> open_server_source(const BackupOptions& options,
                                                         const SnapshotNote& note) {
  const std::string url = options.url.empty() ? kDefaultUrl : options.url;
  QV_TRY(auto endpoint, client::parse_url(url));
  endpoint.ca_file = options.ca;
  auto source = std::make_unique<ServerSource>(std::move(endpoint), options.api_key, url, note);
  QV_TRY(source->open());
  return source;
}

}  // namespace quiver::app
