#include "service/grpc/wire.h"

#include <fmt/format.h>
#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "service/http/exchange/compression.h"
#include "service/tracing/trace_context.h"

namespace quiver::service::rpc {
namespace {

constexpr std::size_t kPrefixBytes = 5;
/// Memory for a longer message is taken as it arrives.
constexpr std::size_t kReservedBytes = 1 << 20;
/// Clients limit the headers that they take, usually to 8 KiB. Encoding may triple a text.
constexpr std::size_t kMaxStatusBytes = 2000;

std::string prefix_of(std::size_t size, bool is_compressed) {
  std::string out;
  out.reserve(kPrefixBytes + size);
  out.push_back(is_compressed ? '\1' : '\0');
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>((size >> shift) & 0xFF));
  return out;
}

/// As a header can hold it: percent-encoded but for visible ASCII and spaces.
std::string encoded_status(std::string_view text) {
  text = text.substr(0, kMaxStatusBytes);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

void add_trailers(std::vector<http2::Header>& out, const Status& status,
                  std::uint32_t retry_after_s) {
  out.push_back({"grpc-status", std::to_string(status.code)});
  if (!status.text.empty()) out.push_back({"grpc-message", encoded_status(status.text)});
  if (status.is_too_early && retry_after_s > 0) {
    out.push_back({"retry-after", std::to_string(retry_after_s)});
  }
}

}  // namespace

void RequestHead::set(std::string_view name, std::string_view value) {
  const std::array known = {std::pair{std::string_view(":method"), &http_method},
                            std::pair{std::string_view(":path"), &path},
                            std::pair{std::string_view("content-type"), &content_type},
                            std::pair{std::string_view("grpc-timeout"), &timeout},
                            std::pair{std::string_view("grpc-encoding"), &encoding},
                            std::pair{std::string_view("x-request-id"), &request_id},
                            std::pair{std::string_view(":authority"), &authority}};
  for (const auto& [known_name, place] : known) {
    if (name == known_name) place->assign(value);
  }
  if (name == "traceparent" && tracing::is_traceparent(value)) traceparent = value;
  if (name == "tracestate") tracing::append_tracestate(tracestate, value);
  if (name == "api-key") api_key.emplace(value);
  if (name == "authorization") authorization.emplace(value);
}

std::optional<double> parse_timeout(std::string_view text) {
  constexpr std::size_t kMaxDigits = 8;
  constexpr std::array kUnits = {std::pair{'H', 3600.0}, std::pair{'M', 60.0},
                                 std::pair{'S', 1.0},    std::pair{'m', 1e-3},
                                 std::pair{'u', 1e-6},   std::pair{'n', 1e-9}};
  if (text.size() < 2 || text.size() > kMaxDigits + 1) return std::nullopt;
  const auto* unit =
      std::ranges::find_if(kUnits, [&](const auto& known) { return known.first == text.back(); });
  const char* end = text.data() + text.size() - 1;
  std::uint32_t n = 0;
  const auto parsed = std::from_chars(text.data(), end, n);
  if (unit == kUnits.end() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return n * unit->second;
}

Decoded<> MessageReader::take(std::string_view& bytes) {
  if (prefix_.size() < kPrefixBytes) {
    const std::size_t n = std::min(kPrefixBytes - prefix_.size(), bytes.size());
    prefix_.append(bytes.substr(0, n));
    bytes.remove_prefix(n);
    if (prefix_.size() < kPrefixBytes) return {};
    QV_TRY(begin_message());
  }
  const std::size_t n = std::min(size_ - message_.bytes.size(), bytes.size());
  message_.bytes.append(bytes.substr(0, n));
  bytes.remove_prefix(n);
  is_whole_ = message_.bytes.size() == size_;
  return {};
}

Decoded<> MessageReader::begin_message() {
  size_ = 0;
  for (std::size_t i = 1; i < kPrefixBytes; ++i) {
    size_ = size_ << 8 | static_cast<unsigned char>(prefix_[i]);
  }
  if (size_ > max_bytes_) {
    return fail(ApiError(413, fmt::format("Payload too large: a message may have {} bytes, this "
                                          "one has {}; `service.max_request_size_mb` sets the "
                                          "limit",
                                          max_bytes_, size_)));
  }
  message_.is_compressed = prefix_[0] != 0;
  message_.bytes.reserve(std::min(size_, kReservedBytes));
  return {};
}

WireMessage MessageReader::release() {
  prefix_.clear();
  is_whole_ = false;
  return std::exchange(message_, {});
}

std::string as_frame(const google::protobuf::MessageLite& message, bool compress) {
  if (compress) {
    const std::string smaller = gzip_if_smaller(message.SerializeAsString());
    if (!smaller.empty()) return prefix_of(smaller.size(), true) + smaller;
  }
  std::string frame = prefix_of(message.ByteSizeLong(), false);
  message.AppendToString(&frame);
  return frame;
}

std::vector<http2::Header> answer_head(bool compress) {
  std::vector<http2::Header> out = {{":status", "200"}, {"content-type", "application/grpc"}};
  if (compress) out.push_back({"grpc-encoding", "gzip"});
  return out;
}

std::vector<http2::Header> trailers_of(const Status& status, std::uint32_t retry_after_s) {
  std::vector<http2::Header> out;
  add_trailers(out, status, retry_after_s);
  return out;
}

std::vector<http2::Header> only_trailers(const Status& status, std::uint32_t retry_after_s) {
  auto out = answer_head(false);
  // Tells which encodings would have been understood.
  if (status.code == static_cast<int>(Code::kUnimplemented)) {
    out.push_back({"grpc-accept-encoding", "identity,gzip"});
  }
  add_trailers(out, status, retry_after_s);
  return out;
}

}  // namespace quiver::service::rpc
