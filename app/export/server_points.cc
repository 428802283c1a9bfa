#include <fmt/format.h>

#include "app/export/point_source.h"
#include "payload/json/document.h"
#include "service/client/server_connection.h"
#include "service/json/decode/decode.h"
#include "service/json/encode/encode.h"
#include "service/json/writer.h"

namespace quiver::app {
namespace {

constexpr int kMaxAttempts = 5;

class ServerPoints final : public PointSource {
 public:
  ServerPoints(const client::Endpoint& endpoint, const ExportOptions& options)
      : path_("/collections/" + client::escape_segment(options.collection)),
        connection_(endpoint, options.api_key) {}

  Result<> open() {
    QV_TRY(const client::HttpResponse answer, ask("GET", path_, ""));
    QV_TRY(const payload::Value body, payload::parse_json(answer.body));
    const payload::Value* result = body.find("result");
    if (result == nullptr) return fail(Code::kInvalidArgument, "the server's answer has no result");
    QV_TRY(facts_, parse_facts(payload::to_json(*result)));
    return {};
  }

  [[nodiscard]] const CollectionFacts& facts() const override { return facts_; }

  Result<engine::ScrollPage> page(const std::optional<PointId>& first,
                                  std::uint64_t limit) override {
    std::string body;
    service::json::Writer json(body);
    json.begin_object();
    json.member("limit", limit);
    json.member("with_payload", true);
    json.member("with_vector", true);
    if (first) json.key("offset"), service::json::write_id(json, *first);
    json.end_object();
    QV_TRY(client::HttpResponse answer, ask("POST", path_ + "/points/scroll", body));
    auto decoded = service::json::decode_scroll_page(answer.body);
    if (!decoded) return fail(Code::kInvalidArgument, decoded.error().text);
    return *std::move(decoded);
  }

  Result<> close() override { return {}; }

 private:
  /// Retries when the connection breaks: reading twice does no harm.
  Result<client::HttpResponse> ask(std::string_view method, const std::string& target,
                                   const std::string& body) {
    Result<client::HttpResponse> answer = connection_.exchange(method, target, body);
    for (int i = 1; i < kMaxAttempts && !answer; ++i) {
      answer = connection_.exchange(method, target, body);
    }
    if (!answer || answer->status == 200) return answer;
    return fail(answer->status == 404 ? Code::kNotFound : Code::kFailedPrecondition,
                fmt::format("the server answered {}", client::error_text(*answer)));
  }

  const std::string path_;
  client::ServerConnection connection_;
  CollectionFacts facts_;
};

}  // namespace

Result<std::unique_ptr<PointSource>> open_server_points(const ExportOptions& options) {
  QV_TRY(client::Endpoint endpoint, client::parse_url(options.url));
  endpoint.ca_file = options.ca;
  auto points = std::make_unique<ServerPoints>(endpoint, options);
  QV_TRY(points->open());
  return std::unique_ptr<PointSource>(std::move(points));
}

}  // namespace quiver::app
