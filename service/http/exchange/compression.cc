#include "service/http/exchange/compression.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace quiver::service {
namespace {

constexpr int kFastZstdLevel = 1;
/// zlib's window of 32 KiB, with a gzip header.
constexpr int kGzipWindow = 15 + 16;
constexpr int kDefaultMemory = 8;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

bool is_name(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

/// The `q` of "gzip;q=0.5"; 1 without one, 0 if it is no number.
double weight_of(std::string_view parameters) {
  const auto equals = parameters.find("q=");
  if (equals == std::string_view::npos) return 1;
  const auto text = trimmed(parameters.substr(equals + 2));
  double weight = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), weight);
  return ec == std::errc() && weight >= 0 && weight <= 1 ? weight : 0;
}

struct Weights {
  std::optional<double> gzip, zstd, identity, others;

  void set(std::string_view name, double weight) {
    if (is_name(name, "gzip") || is_name(name, "x-gzip")) gzip = weight;
    if (is_name(name, "zstd")) zstd = weight;
    if (is_name(name, "identity")) identity = weight;
    if (name == "*") others = weight;
  }
};

Weights weights_of(std::string_view accept_encoding) {
  Weights weights;
  for (std::string_view rest = accept_encoding; !rest.empty();) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto semicolon = std::min(item.find(';'), item.size());
    weights.set(trimmed(item.substr(0, semicolon)), weight_of(item.substr(semicolon)));
  }
  return weights;
}

std::string zstd_compressed(const std::string& body) {
  std::string out(body.size(), '\0');
  const std::size_t n =
      ZSTD_compress(out.data(), out.size(), body.data(), body.size(), kFastZstdLevel);
  out.resize(ZSTD_isError(n) != 0 ? 0 : n);
  return out;
}

}  // namespace

std::string gzip_if_smaller(std::string_view body, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, kDefaultMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return {};
  }
  std::string out(body.size(), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(status == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

Compression choose_compression(std::string_view accept_encoding) {
  const Weights weights = weights_of(accept_encoding);
  const double zstd = weights.zstd.value_or(0);  // `*` is said by clients that know gzip only
  const double gzip = weights.gzip.value_or(weights.others.value_or(0));
  const double best = std::max(zstd, gzip);
  if (best <= 0 || weights.identity.value_or(0) > best) return Compression::kNone;
  return zstd == best ? Compression::kZstd : Compression::kGzip;
}

bool accepts_gzip(std::string_view accept_encoding) {
  const Weights weights = weights_of(accept_encoding);
  return weights.gzip.value_or(weights.others.value_or(0)) > 0;
}

void compress_answer(Response& response, Compression compression) {
  constexpr std::size_t kMaxBytes = 1ULL << 31;  // zlib counts in 32 bits
  if (compression == Compression::kNone || response.source || response.body.size() > kMaxBytes) {
    return;
  }
  const bool is_gzip = compression == Compression::kGzip;
  std::string smaller = is_gzip ? gzip_if_smaller(response.body) : zstd_compressed(response.body);
  if (smaller.empty() || smaller.size() >= response.body.size()) return;
  response.body = std::move(smaller);
  response.content_encoding = is_gzip ? "gzip" : "zstd";
}

}  // namespace quiver::service
