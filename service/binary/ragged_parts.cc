#include "service/binary/ragged_parts.h"

#include <cmath>
#include <span>

#include "engine/model/row.h"

namespace quiver::service {
namespace {

constexpr std::string_view kMagic = "QVRAGGED";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPartAlignment = 8;

std::string_view allowed_flags(std::uint32_t known) {
  if ((known & kRaggedPoints) != 0) return "must be 4 (points follow) for each field";
  if ((known & kRaggedPayloads) != 0) {
    return "may be 1 (ids are UUIDs) plus 2 (payloads follow), or 4 (points follow)";
  }
  return "may be 1 (ids are UUIDs): an update of vectors takes no payloads";
}

Decoded<> check_field(const RaggedHeader& header, const FieldSchema& field) {
  if (header.dtype > static_cast<std::uint32_t>(DType::kU8)) {
    return malformed_ragged("dtype is {}, must be 0 (float32), 1 (float16) or 2 (uint8)",
                            header.dtype);
  }
  if (header.dim == field.dim) return {};
  return wrong_input(
      fmt::format("Vector dimension error: expected dim: {}, got {}", field.dim, header.dim));
}

Decoded<> check_header(const RaggedHeader& header, const FieldSchema& field, std::uint32_t known) {
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic) {
    return malformed_ragged("it does not begin with `{}`", kMagic);
  }
  if (header.version != kVersion) {
    return malformed_ragged("version is {}, must be {}", header.version, kVersion);
  }
  const bool lacks_points = (known & kRaggedPoints) != 0 && header.flags != kRaggedPoints;
  if ((header.flags & ~known) != 0 || lacks_points) {
    return malformed_ragged("flags are {}, {}", header.flags, allowed_flags(known));
  }
  QV_TRY(check_field(header, field));
  if (header.n_points == 0) return malformed_ragged("n_points is 0, must be 1 or larger");
  return {};
}

}  // namespace

Decoded<std::string_view> RaggedParts::take(std::string_view name, std::uint64_t n,
                                            std::uint64_t size) {
  if (n > (body_.size() - at_) / size) {
    return malformed_ragged(
        "{} should take {} x {} bytes from byte {} on, but the body has {} bytes", name, n, size,
        at_, body_.size());
  }
  const auto part = body_.substr(at_, n * size);
  at_ += n * size;
  return part;
}

Decoded<> RaggedParts::align() {
  while (at_ % kPartAlignment != 0 && at_ < body_.size()) {
    if (body_[at_] != 0) {
      return malformed_ragged("byte {} is {}, must be 0: it fills up to the next part", at_,
                              static_cast<unsigned char>(body_[at_]));
    }
    ++at_;
  }
  return {};
}

Decoded<> RaggedParts::check_end() const {
  if (at_ == body_.size()) return {};
  return malformed_ragged("{} bytes follow the last part, which ends at byte {}",
                          body_.size() - at_, at_);
}

Decoded<RaggedHeader> take_ragged_header(RaggedParts& parts, const FieldSchema& field,
                                         std::uint32_t known) {
  QV_TRY(const auto bytes, parts.take("the header", 1, sizeof(RaggedHeader)));
  const auto header = read_at<RaggedHeader>(bytes);
  QV_TRY(check_header(header, field, known));
  return header;
}

Decoded<RaggedTokens> RaggedTokens::take(RaggedParts& parts, const RaggedHeader& header,
                                         NoTokens no_tokens) {
  RaggedTokens tokens;
  tokens.header_ = header;
  // One offset more than points. A body without ids may claim 2^64 - 1 points, so the sum may wrap.
  if (header.n_points == UINT64_MAX)
    return malformed_ragged("n_points is {}, more than any body holds", header.n_points);
  QV_TRY(tokens.offsets_, parts.take("offsets", header.n_points + 1, sizeof(std::uint64_t)));
  QV_TRY(tokens.check_offsets(no_tokens));
  const auto token_bytes =
      std::uint64_t{header.dim} * bytes_per_value(static_cast<DType>(header.dtype));
  QV_TRY(tokens.matrix_, parts.take("the matrix", header.n_tokens, token_bytes));
  return tokens;
}

Decoded<> RaggedTokens::check_offsets(NoTokens no_tokens) const {
  if (offset(0) != 0)
    return malformed_ragged("offsets begin with {}, must begin with 0", offset(0));
  for (std::uint64_t i = 0; i < header_.n_points; ++i) {
    const auto begin = offset(i);
    const auto end = offset(i + 1);
    if (end > begin || (end == begin && no_tokens == NoTokens::kTaken)) continue;
    return malformed_ragged(
        "point {} has the tokens from {} to {}: offsets must ascend{}", i, begin, end,
        no_tokens == NoTokens::kTaken ? "" : ", and each point must have one token at least");
  }
  const auto last = offset(header_.n_points);
  if (last == header_.n_tokens) return {};
  return malformed_ragged("offsets end with {}, must end with the number of tokens, {}", last,
                          header_.n_tokens);
}

Decoded<engine::MultiVector> RaggedTokens::at(std::uint64_t point) const {
  const auto dtype = static_cast<DType>(header_.dtype);
  const auto begin = offset(point);
  const auto n_tokens = offset(point + 1) - begin;
  const std::size_t token_bytes = std::size_t{header_.dim} * bytes_per_value(dtype);
  engine::MultiVector vector{static_cast<std::uint32_t>(n_tokens), header_.dim, {}};
  vector.values.resize(n_tokens * header_.dim);
  const auto bytes = std::as_bytes(std::span(matrix_)).subspan(begin * token_bytes);
  engine::to_floats(dtype, bytes.data(), vector.values.size(), vector.values.data());
  for (std::size_t i = 0; i < vector.values.size(); ++i) {
    if (std::isfinite(vector.values[i])) [[likely]]
      continue;
    return malformed_ragged("point {}, token {}, position {}: the value is {}, must be finite",
                            point, i / header_.dim, i % header_.dim, vector.values[i]);
  }
  return vector;
}

}  // namespace quiver::service
