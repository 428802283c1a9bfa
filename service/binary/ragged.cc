#include "service/binary/ragged.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "engine/row.h"
#include "service/json/decode.h"

namespace quiver::service {
namespace {

constexpr std::string_view kMagic = "QVRAGGED";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kUuids = 1;
constexpr std::uint32_t kPayloads = 2;
constexpr std::size_t kPartAlignment = 8;

struct Header {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t dtype = 0;
  std::uint32_t dim = 0;
  std::uint32_t flags = 0;
  std::uint64_t n_points = 0;
  std::uint64_t n_tokens = 0;
};
static_assert(sizeof(Header) == 40);

template <class... Args>
tl::unexpected<ApiError> malformed(fmt::format_string<Args...> format, Args&&... args) {
  return wrong_input("ragged body: " + fmt::format(format, std::forward<Args>(args)...));
}

template <class T>
T read_at(std::string_view bytes, std::size_t i = 0) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

/// Takes a body apart, front to back.
class Parts {
 public:
  explicit Parts(std::string_view body) : body_(body) {}

  /// `n` elements of `size` bytes.
  Decoded<std::string_view> take(std::string_view name, std::uint64_t n, std::uint64_t size) {
    if (n > (body_.size() - at_) / size) {
      return malformed("{} should take {} x {} bytes from byte {} on, but the body has {} bytes",
                       name, n, size, at_, body_.size());
    }
    const auto part = body_.substr(at_, n * size);
    at_ += n * size;
    return part;
  }
  /// Zeros up to the next boundary.
  Decoded<> align() {
    while (at_ % kPartAlignment != 0 && at_ < body_.size()) {
      if (body_[at_] != 0) {
        return malformed("byte {} is {}, must be 0: it fills up to the next part", at_,
                         static_cast<unsigned char>(body_[at_]));
      }
      ++at_;
    }
    return {};
  }
  Decoded<> check_end() const {
    if (at_ == body_.size()) return {};
    return malformed("{} bytes follow the last part, which ends at byte {}", body_.size() - at_,
                     at_);
  }

 private:
  std::string_view body_;
  std::size_t at_ = 0;
};

Decoded<> check_field(const Header& header, const FieldSchema& field) {
  if (header.dtype > static_cast<std::uint32_t>(DType::kU8)) {
    return malformed("dtype is {}, must be 0 (float32), 1 (float16) or 2 (uint8)", header.dtype);
  }
  if (header.dim == field.dim) return {};
  return wrong_input(
      fmt::format("Vector dimension error: expected dim: {}, got {}", field.dim, header.dim));
}

Decoded<> check_counts(const Header& header) {
  if (header.n_points == 0) return malformed("n_points is 0, must be 1 or larger");
  if (header.n_tokens >= header.n_points) return {};
  return malformed("{} tokens for {} points, each must have one at least", header.n_tokens,
                   header.n_points);
}

Decoded<> check_header(const Header& header, const FieldSchema& field, RaggedPayloads payloads) {
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic) {
    return malformed("it does not begin with `{}`", kMagic);
  }
  if (header.version != kVersion) {
    return malformed("version is {}, must be {}", header.version, kVersion);
  }
  const std::uint32_t known = payloads == RaggedPayloads::kTaken ? kUuids | kPayloads : kUuids;
  if ((header.flags & ~known) != 0) {
    return malformed("flags are {}, may be 1 (ids are UUIDs){}", header.flags,
                     payloads == RaggedPayloads::kTaken
                         ? " plus 2 (payloads follow)"
                         : ": an update of vectors takes no payloads");
  }
  QV_TRY(check_field(header, field));
  return check_counts(header);
}

Decoded<Header> take_header(Parts& parts, const FieldSchema& field, RaggedPayloads payloads) {
  QV_TRY(const auto bytes, parts.take("the header", 1, sizeof(Header)));
  const auto header = read_at<Header>(bytes);
  QV_TRY(check_header(header, field, payloads));
  return header;
}

/// 16 bytes in the order in which a UUID is written.
PointId uuid_at(std::string_view bytes) {
  std::array<std::uint64_t, 2> halves{};
  for (std::size_t i = 0; i < 16; ++i) {
    halves[i / 8] = halves[i / 8] << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return PointId::uuid(halves[0], halves[1]);
}

PointId id_at(std::string_view ids, std::size_t i, bool uuids) {
  return uuids ? uuid_at(ids.substr(i * 16, 16)) : PointId::number(read_at<std::uint64_t>(ids, i));
}

Decoded<> check_offsets(std::string_view offsets, const Header& header) {
  const auto first = read_at<std::uint64_t>(offsets);
  if (first != 0) return malformed("offsets begin with {}, must begin with 0", first);
  for (std::uint64_t i = 0; i < header.n_points; ++i) {
    const auto begin = read_at<std::uint64_t>(offsets, i);
    const auto end = read_at<std::uint64_t>(offsets, i + 1);
    if (end > begin) continue;
    return malformed(
        "point {} has the tokens from {} to {}: offsets must ascend, and each point "
        "must have one token at least",
        i, begin, end);
  }
  const auto last = read_at<std::uint64_t>(offsets, header.n_points);
  if (last == header.n_tokens) return {};
  return malformed("offsets end with {}, must end with the number of tokens, {}", last,
                   header.n_tokens);
}

/// The tokens `[begin, end)` of the matrix, for point `point`.
Decoded<engine::MultiVector> tokens_at(std::string_view matrix, const Header& header,
                                       std::uint64_t begin, std::uint64_t end,
                                       std::uint64_t point) {
  const auto dtype = static_cast<DType>(header.dtype);
  const std::size_t token_bytes = std::size_t{header.dim} * bytes_per_value(dtype);
  engine::MultiVector vector{static_cast<std::uint32_t>(end - begin), header.dim, {}};
  vector.values.resize((end - begin) * header.dim);
  const auto bytes = std::as_bytes(std::span(matrix)).subspan(begin * token_bytes);
  engine::to_floats(dtype, bytes.data(), vector.values.size(), vector.values.data());
  for (std::size_t i = 0; i < vector.values.size(); ++i) {
    if (std::isfinite(vector.values[i])) [[likely]]
      continue;
    return malformed("point {}, token {}, position {}: the value is {}, must be finite", point,
                     i / header.dim, i % header.dim, vector.values[i]);
  }
  return vector;
}

Decoded<> take_payloads(Parts& parts, std::vector<engine::PointInput>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto name = fmt::format("payload {}", i);
    QV_TRY(const auto length, parts.take(name + "'s length", 1, sizeof(std::uint32_t)));
    QV_TRY(const auto bytes, parts.take(name, read_at<std::uint32_t>(length), 1));
    if (bytes.empty()) continue;
    std::string text(bytes);
    auto payload = json::decode_payload(text);
    if (!payload) return malformed("{}: {}", name, payload.error().text);
    points[i].payload = *std::move(payload);
  }
  return {};
}

}  // namespace

Decoded<> check_takes_ragged(const FieldSchema& field) {
  if (field.kind == FieldKind::kMulti) return {};
  return wrong_input(fmt::format("{} is {}, but a ragged body holds multi-vectors",
                                 engine::quoted_name(field), engine::with_article(field.kind)));
}

Decoded<std::vector<engine::PointInput>> decode_ragged(std::string_view body,
                                                       const FieldSchema& field,
                                                       RaggedPayloads payloads) {
  Parts parts(body);
  QV_TRY(const auto header, take_header(parts, field, payloads));
  const bool uuids = (header.flags & kUuids) != 0;
  const auto token_bytes =
      std::uint64_t{header.dim} * bytes_per_value(static_cast<DType>(header.dtype));
  QV_TRY(const auto ids, parts.take("ids", header.n_points, uuids ? 16 : 8));
  // One more than points, of which there are no more than fit into the body.
  QV_TRY(const auto offsets, parts.take("offsets", header.n_points + 1, sizeof(std::uint64_t)));
  QV_TRY(check_offsets(offsets, header));
  QV_TRY(const auto matrix, parts.take("the matrix", header.n_tokens, token_bytes));
  std::vector<engine::PointInput> points(header.n_points);
  for (std::uint64_t i = 0; i < header.n_points; ++i) {
    points[i].id = id_at(ids, i, uuids);
    QV_TRY(auto tokens, tokens_at(matrix, header, read_at<std::uint64_t>(offsets, i),
                                  read_at<std::uint64_t>(offsets, i + 1), i));
    points[i].vectors.push_back({field.name, std::move(tokens)});
  }
  if ((header.flags & kPayloads) != 0) {
    QV_TRY(parts.align());
    QV_TRY(take_payloads(parts, points));
  }
  QV_TRY(parts.check_end());
  return points;
}

}  // namespace quiver::service
