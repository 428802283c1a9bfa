#include "service/binary/ragged.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "engine/model/row.h"
#include "service/binary/ragged_parts.h"
#include "service/json/decode/decode.h"

namespace quiver::service {
namespace {

/// Reads 16 bytes, in the order in which a UUID is written.
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

Decoded<> check_counts(const RaggedHeader& header) {
  if (header.n_tokens >= header.n_points) return {};
  return malformed_ragged("{} tokens for {} points, each must have one at least", header.n_tokens,
                          header.n_points);
}

Decoded<> take_payloads(RaggedParts& parts, std::vector<engine::PointInput>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto name = fmt::format("payload {}", i);
    QV_TRY(const auto length, parts.take(name + "'s length", 1, sizeof(std::uint32_t)));
    QV_TRY(const auto bytes, parts.take(name, read_at<std::uint32_t>(length), 1));
    if (bytes.empty()) continue;
    std::string text(bytes);
    auto payload = json::decode_payload(text);
    if (!payload) return malformed_ragged("{}: {}", name, payload.error().text);
    points[i].payload = *std::move(payload);
  }
  return {};
}

bool has_vector(const engine::PointInput& point, const std::string& name) {
  return std::any_of(point.vectors.begin(), point.vectors.end(),
                     [&](const engine::NamedVector& vector) { return vector.name == name; });
}

Decoded<> add_tokens(const RaggedTokens& tokens, const FieldSchema& field,
                     std::vector<engine::PointInput>& points) {
  if (tokens.n_points() != points.size()) {
    return malformed_ragged("tokens of {} points, but {} points follow", tokens.n_points(),
                            points.size());
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!tokens.has(i)) continue;
    if (has_vector(points[i], field.name)) {
      return malformed_ragged("point {} has {} twice", i, engine::quoted_name(field));
    }
    QV_TRY(auto vector, tokens.at(i));
    points[i].vectors.push_back({field.name, std::move(vector)});
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
  RaggedParts parts(body);
  const auto known =
      payloads == RaggedPayloads::kTaken ? kRaggedUuids | kRaggedPayloads : kRaggedUuids;
  QV_TRY(const auto header, take_ragged_header(parts, field, known));
  QV_TRY(check_counts(header));
  const bool uuids = (header.flags & kRaggedUuids) != 0;
  QV_TRY(const auto ids, parts.take("ids", header.n_points, uuids ? 16 : 8));
  QV_TRY(const auto tokens, RaggedTokens::take(parts, header, NoTokens::kRefused));
  std::vector<engine::PointInput> points(header.n_points);
  for (std::uint64_t i = 0; i < header.n_points; ++i) {
    points[i].id = id_at(ids, i, uuids);
    QV_TRY(auto vector, tokens.at(i));
    points[i].vectors.push_back({field.name, std::move(vector)});
  }
  if ((header.flags & kRaggedPayloads) != 0) {
    QV_TRY(parts.align());
    QV_TRY(take_payloads(parts, points));
  }
  QV_TRY(parts.check_end());
  return points;
}

bool has_ragged_points(std::string_view body) {
  if (body.size() < sizeof(RaggedHeader)) return false;
  return (read_at<RaggedHeader>(body).flags & kRaggedPoints) != 0;
}

Decoded<engine::Upsert> decode_ragged_points(std::string_view body,
                                             std::span<const FieldSchema> fields) {
  RaggedParts parts(body);
  std::vector<RaggedTokens> tokens;
  for (const FieldSchema& field : fields) {
    QV_TRY(const auto header, take_ragged_header(parts, field, kRaggedPoints));
    QV_TRY(auto taken, RaggedTokens::take(parts, header, NoTokens::kTaken));
    QV_TRY(parts.align());
    tokens.push_back(taken);
  }
  std::string json(parts.take_rest());
  QV_TRY(auto operation, json::decode_upsert(json));
  auto& upsert = std::get<engine::Upsert>(operation);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    QV_TRY(add_tokens(tokens[i], fields[i], upsert.points));
  }
  return std::move(upsert);
}

}  // namespace quiver::service
