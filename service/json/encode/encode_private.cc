#include "service/json/encode/encode_private.h"

#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

using engine::PrivacyAmount;

void write_amount(Writer& out, std::string_view name, const std::optional<PrivacyAmount>& amount) {
  out.key(name);
  if (!amount) return out.null();
  out.begin_object();
  out.member("epsilon", amount->epsilon());
  out.member("delta", amount->delta());
  out.end_object();
}

void write_release_members(Writer& out, const engine::ReleaseInfo& info) {
  out.member("name", info.name);
  out.member("state", info.is_lost ? "lost" : "kept");
  out.key("request");
  out.raw(info.request);
  out.member("epsilon", info.cost.epsilon());
  out.member("delta", info.cost.delta());
  out.member("created_at", timestamp(static_cast<double>(info.created_at_ms) / 1000));
}

void write_optional(Writer& out, std::string_view name, const std::optional<double>& value) {
  out.key(name);
  value ? out.f64(*value) : out.null();
}

}  // namespace

void write_privacy_report(Writer& out, const engine::PrivacyReport& report) {
  out.begin_object();
  write_amount(out, "budget", report.budget);
  write_amount(out, "spent", report.spent);
  out.key("releases");
  out.begin_array();
  for (const auto& info : report.releases) {
    out.begin_object();
    write_release_members(out, info);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void write_private_sum(Writer& out, const engine::ReleaseDetails& details) {
  out.begin_object();
  write_release_members(out, details.info);
  out.member("features", std::uint64_t{details.features.n_features});
  out.member("count", details.count);
  out.member("count_deviation", details.count_deviation);
  out.member("noise_deviation", details.noise_deviation);
  out.end_object();
}

void write_private_estimates(Writer& out, std::span<const engine::PrivateEstimate> estimates) {
  out.begin_object();
  out.key("estimates");
  out.begin_array();
  for (const auto& estimate : estimates) {
    out.begin_object();
    out.member("sum", estimate.sum);
    out.member("deviation", estimate.deviation);
    write_optional(out, "mean", estimate.mean);
    write_optional(out, "mean_deviation", estimate.mean_deviation);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

}  // namespace quiver::service::json
