// Snapshots of shards, collections and everything: made, listed, sent, taken.
#include "service/api/snapshots.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <limits>
#include <utility>

#include "service/handlers/common.h"
#include "service/handlers/handlers.h"
#include "service/http/byte_range.h"
#include "service/http/multipart.h"
#include "service/json/decode/decode.h"

namespace quiver::service {
namespace {

using api::SnapshotDescription;
using api::SnapshotReader;
using api::SnapshotScope;

constexpr std::string_view kArchiveType = "application/octet-stream";

enum class Of : std::uint8_t { kStorage, kCollection, kShard };

/// What the path names. The name of a snapshot follows it in `captures`.
template <Of of>
Decoded<SnapshotScope> scope_of(const Exchange& x) {
  if constexpr (of == Of::kStorage) return SnapshotScope();
  QV_TRY(json::check_collection_name(x.captures[0]));
  SnapshotScope scope{x.captures[0], std::nullopt};
  if constexpr (of == Of::kShard) {
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
    QV_TRY(const std::uint64_t number, path_number(x, 1, "a shard", kMost));
    scope.shard = static_cast<std::uint32_t>(number);
  }
  return scope;
}

template <Of of>
std::string name_of(const Exchange& x) {
  return x.captures[static_cast<std::size_t>(of)];
}

/// Absent means to wait, unlike for points.
Decoded<bool> waits(const Exchange& x) { return bool_parameter(x, "wait", true); }

Answer accepted(Exchange& x) {
  x.response.status = 202;
  x.response.body = R"({"status":"accepted","time":)";
  json::append_f64(x.response.body, x.seconds());
  x.response.body += '}';
  return Answer::kReady;
}

void write(json::Writer& out, const SnapshotDescription& snapshot) {
  out.begin_object();
  out.member("name", std::string_view(snapshot.name));
  const auto time = fmt::gmtime(static_cast<std::time_t>(snapshot.created_at_s));
  out.member("creation_time", std::string_view(fmt::format("{:%Y-%m-%dT%H:%M:%S}", time)));
  out.member("size", snapshot.size_bytes);
  out.key("checksum");
  if (snapshot.checksum.empty()) {
    out.null();
  } else {
    out.string(snapshot.checksum);
  }
  out.end_object();
}

/// Unlike Qdrant's, the answer names the snapshot: a client can wait for it, and delete it.
Decoded<> accept_snapshot(Exchange& x, const SnapshotDescription& snapshot) {
  x.response.status = 202;
  auto out = x.begin_result();
  write(out, snapshot);
  x.response.body += R"(,"status":"accepted","time":)";
  json::append_f64(x.response.body, x.seconds());
  x.response.body += '}';
  return {};
}

template <Of of>
Decoded<Answer> create(Exchange& x) {
  QV_TRY(auto scope, scope_of<of>(x));
  QV_TRY(const bool is_awaited, waits(x));
  if (!is_awaited) {
    api::start_snapshot(x, std::move(scope), answer_by<SnapshotDescription>(x, accept_snapshot));
    return Answer::kLater;
  }
  const auto answer = [](Exchange& exchange, const SnapshotDescription& snapshot) -> Decoded<> {
    auto out = exchange.begin_result();
    write(out, snapshot);
    exchange.end_result();
    return {};
  };
  api::create_snapshot(x, std::move(scope), answer_by<SnapshotDescription>(x, answer));
  return Answer::kLater;
}

template <Of of>
Decoded<Answer> list(Exchange& x) {
  QV_TRY(auto scope, scope_of<of>(x));
  using List = std::vector<SnapshotDescription>;
  const auto answer = [](Exchange& exchange, const List& snapshots) -> Decoded<> {
    auto out = exchange.begin_result();
    out.begin_array();
    for (const auto& snapshot : snapshots) write(out, snapshot);
    out.end_array();
    exchange.end_result();
    return {};
  };
  api::list_snapshots(x, std::move(scope), answer_by<List>(x, answer));
  return Answer::kLater;
}

template <Of of>
Decoded<Answer> remove(Exchange& x) {
  QV_TRY(auto scope, scope_of<of>(x));
  QV_TRY(const bool is_awaited, waits(x));
  if (!is_awaited) {
    QV_TRY(api::start_deletion(x, std::move(scope), name_of<of>(x)));
    return accepted(x);
  }
  api::delete_snapshot(x, std::move(scope), name_of<of>(x), answer_true(x));
  return Answer::kLater;
}

/// A part of an archive as the body of an answer.
class ArchiveSource final : public BodySource {
 public:
  ArchiveSource(std::unique_ptr<SnapshotReader> reader, ByteRange range)
      : reader_(std::move(reader)), at_(range.offset), left_(range.size_bytes), size_(left_) {}

  [[nodiscard]] std::optional<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] Result<std::size_t> read(std::span<char> out) override {
    QV_TRY(const std::size_t n,
           reader_->read(at_, out.first(std::min<std::uint64_t>(out.size(), left_))));
    at_ += n;
    left_ -= n;
    return n;
  }

 private:
  std::unique_ptr<SnapshotReader> reader_;
  std::uint64_t at_;
  std::uint64_t left_;
  const std::uint64_t size_;
};

Decoded<> send_archive(Exchange& x, std::unique_ptr<SnapshotReader> reader,
                       const std::string& name) {
  const std::uint64_t size = reader->size_bytes();
  auto& headers = x.response.extra_headers;
  headers = "\r\naccept-ranges: bytes";
  const auto range = parse_range(x.request.range, size);
  if (!range) {
    headers += fmt::format("\r\ncontent-range: bytes */{}", size);
    return fail(ApiError(416, fmt::format("Bad request: {}", range.error().message())));
  }
  if (*range) {
    x.response.status = 206;
    headers += fmt::format("\r\ncontent-range: bytes {}-{}/{}", (*range)->offset,
                           (*range)->offset + (*range)->size_bytes - 1, size);
  }
  headers += fmt::format("\r\ncontent-disposition: attachment; filename=\"{}\"", name);
  x.response.content_type = kArchiveType;
  x.response.source =
      std::make_unique<ArchiveSource>(std::move(reader), range->value_or(ByteRange{0, size}));
  return {};
}

/// Names of collections may have characters that a header may not.
std::string header_safe(std::string name) {
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7E || c == '"' || c == '\\') c = '_';
  }
  return name;
}

template <Of of>
Decoded<Answer> download(Exchange& x) {
  QV_TRY(auto scope, scope_of<of>(x));
  using Reader = std::unique_ptr<SnapshotReader>;
  const auto answer = [](Exchange& exchange, Reader reader) {
    return send_archive(exchange, std::move(reader), header_safe(name_of<of>(exchange)));
  };
  api::read_snapshot(x, std::move(scope), name_of<of>(x), answer_by<Reader>(x, answer));
  return Answer::kLater;
}

Decoded<Answer> stream_shard(Exchange& x) {
  QV_TRY(auto scope, scope_of<Of::kShard>(x));
  using Reader = std::unique_ptr<SnapshotReader>;
  const auto answer = [](Exchange& exchange, Reader reader) {
    const std::string name = exchange.captures[0] + "-shard-" + exchange.captures[1];
    return send_archive(exchange, std::move(reader), header_safe(name) + ".snapshot");
  };
  api::stream_snapshot(x, std::move(scope), answer_by<Reader>(x, answer));
  return Answer::kLater;
}

template <Of of>
Decoded<Answer> recover(Exchange& x) {
  QV_TRY(auto scope, scope_of<of>(x));
  QV_TRY(const bool is_awaited, waits(x));
  QV_TRY(auto recovery, json::decode_snapshot_recovery(x.request.body));
  if (!is_awaited) {
    QV_TRY(api::start_recovery(x, std::move(scope), std::move(recovery)));
    return accepted(x);
  }
  api::recover_snapshot(x, std::move(scope), std::move(recovery), answer_true(x));
  return Answer::kLater;
}

/// Unpacks the field `snapshot` while it arrives.
class UploadSink final : public BodySink {
 public:
  UploadSink(Exchange& x, SnapshotScope scope, std::string checksum, const std::string& boundary)
      : exchange_(x),
        scope_(std::move(scope)),
        checksum_(std::move(checksum)),
        reader_(boundary, "snapshot",
                [this](std::string_view bytes) { return upload_->write(bytes); }) {}

  /// An upload that was broken off is removed by a thread that may block.
  ~UploadSink() override {
    if (upload_ == nullptr) return;
    exchange_.runtime().blocking().post(Priority::kLow, [upload = std::move(upload_)] {});
  }
  UploadSink(const UploadSink&) = delete;
  UploadSink& operator=(const UploadSink&) = delete;

  [[nodiscard]] Result<> write(std::string_view bytes) override {
    if (upload_ == nullptr) {
      QV_TRY(upload_, api::upload_snapshot(exchange_, scope_, checksum_));
    }
    return reader_.write(bytes);
  }

  /// What was uploaded, if all of it arrived.
  Result<std::shared_ptr<api::SnapshotUpload>> take() {
    QV_TRY(reader_.finish());
    return std::move(upload_);
  }

 private:
  Exchange& exchange_;
  const SnapshotScope scope_;
  const std::string checksum_;
  std::shared_ptr<api::SnapshotUpload> upload_;
  MultipartReader reader_;
};

template <Of of>
Decoded<std::unique_ptr<BodySink>> make_upload_sink(Exchange& x) {
  QV_TRY(auto scope, scope_of<of>(x));
  QV_TRY(waits(x));
  std::string checksum = query_parameter(x.target.query, "checksum").value_or("");
  if (!checksum.empty() && !json::is_sha256(checksum)) {
    return fail(ApiError(422, fmt::format("Validation error in query parameters: [checksum: {}]",
                                          json::bad_sha256(checksum))));
  }
  const auto priority =
      json::parse_priority(query_parameter(x.target.query, "priority").value_or(""));
  if (!priority) return bad_parameter("priority: " + priority.error().text);
  const auto boundary = multipart_boundary(x.request.content_type);
  if (!boundary) {
    return fail(ApiError(400, fmt::format("Bad request: content-type `{}` is not supported here, "
                                          "must be multipart/form-data with a boundary",
                                          x.request.content_type)));
  }
  return std::unique_ptr<BodySink>(
      std::make_unique<UploadSink>(x, std::move(scope), std::move(checksum), *boundary));
}

Decoded<Answer> upload(Exchange& x) {
  auto* const sink = static_cast<UploadSink*>(x.request.sink.get());
  if (sink == nullptr) return bad_request("there is no body");
  QV_TRY(const bool is_awaited, waits(x));
  QV_TRY(auto uploaded, sink->take());
  if (!is_awaited) {
    QV_TRY(api::start_finishing(x, std::move(uploaded)));
    return accepted(x);
  }
  api::finish_upload(x, std::move(uploaded), answer_true(x));
  return Answer::kLater;
}

template <Of of>
void add_kept(Routes& routes, std::string_view all, std::string_view one) {
  constexpr Access kReads = of == Of::kStorage ? Access::kGlobalRead : Access::kReadExtras;
  constexpr Access kWrites = of == Of::kStorage ? Access::kManage : Access::kWriteExtras;
  routes.push_back({Method::kGet, all, kReads, list<of>, Effect::kHere});
  routes.push_back({Method::kPost, all, kWrites, create<of>, Effect::kHere});
  routes.push_back({Method::kGet, one, kReads, download<of>, Effect::kHere});
  routes.push_back({Method::kDelete, one, kWrites, remove<of>, Effect::kHere});
}

template <Of of>
void add_recovery(Routes& routes, std::string_view recover_path, std::string_view upload_path) {
  // In a cluster the node that has the archive sees to it that all nodes get it.
  routes.push_back({Method::kPut, recover_path, Access::kManage, recover<of>, Effect::kHere});
  routes.push_back(
      {Method::kPost, upload_path, Access::kManage, upload, Effect::kHere, make_upload_sink<of>});
}

}  // namespace

void add_snapshot_routes(Routes& routes) {
  add_kept<Of::kStorage>(routes, "/snapshots", "/snapshots/{snapshot_name}");
  add_kept<Of::kCollection>(routes, "/collections/{collection_name}/snapshots",
                            "/collections/{collection_name}/snapshots/{snapshot_name}");
  add_recovery<Of::kCollection>(routes, "/collections/{collection_name}/snapshots/recover",
                                "/collections/{collection_name}/snapshots/upload");
  add_kept<Of::kShard>(
      routes, "/collections/{collection_name}/shards/{shard_id}/snapshots",
      "/collections/{collection_name}/shards/{shard_id}/snapshots/{snapshot_name}");
  add_recovery<Of::kShard>(routes,
                           "/collections/{collection_name}/shards/{shard_id}/snapshots/recover",
                           "/collections/{collection_name}/shards/{shard_id}/snapshots/upload");
  routes.push_back({Method::kGet, "/collections/{collection_name}/shards/{shard_id}/snapshot",
                    Access::kWriteExtras, stream_shard, Effect::kHere});
}

}  // namespace quiver::service
