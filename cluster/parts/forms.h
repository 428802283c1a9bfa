// How types of the engine that are no plain structs are written.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "cluster/parts/codec.h"
#include "engine/model/config.h"
#include "engine/model/formula.h"
#include "engine/model/query.h"
#include "payload/json/document.h"
#include "payload/json/edit.h"
#include "payload/json/path.h"

namespace quiver::cluster::codec {

template <>
struct Form<PointId> {
  static constexpr std::string_view kName = "PointId";
  static void put(std::string& out, const PointId& id) {
    codec::put(out, id.kind());
    codec::put(out, id.high());
    codec::put(out, id.low());
  }
  static void take(Reader& in, PointId& id) {
    PointId::Kind kind{};
    std::uint64_t high = 0, low = 0;
    codec::take(in, kind);
    codec::take(in, high);
    codec::take(in, low);
    id = kind == PointId::Kind::kUuid ? PointId::uuid(high, low) : PointId::number(low);
  }
};

template <>
struct Form<payload::JsonPath> {
  static constexpr std::string_view kName = "JsonPath";
  static payload::JsonPath make() { return *payload::JsonPath::parse("a"); }
  static void put(std::string& out, const payload::JsonPath& path) {
    codec::put(out, path.to_string());
  }
  static void take(Reader& in, payload::JsonPath& path) {
    std::string text;
    codec::take(in, text);
    auto parsed = payload::JsonPath::parse(text);
    if (!parsed) return in.fail();
    path = *std::move(parsed);
  }
};

template <>
struct Form<payload::Selector> {
  using Kind = payload::Selector::Kind;

  static constexpr std::string_view kName = "Selector";
  static void put(std::string& out, const payload::Selector& selector) {
    codec::put(out, selector.kind());
    codec::put(out, std::vector(selector.paths().begin(), selector.paths().end()));
  }
  static void take(Reader& in, payload::Selector& selector) {
    Kind kind{};
    std::vector<payload::JsonPath> paths;
    codec::take(in, kind);
    codec::take(in, paths);
    if (kind == Kind::kNone) selector = payload::Selector::none();
    if (kind == Kind::kAll) selector = payload::Selector::all();
    if (kind == Kind::kInclude) selector = payload::Selector::include(std::move(paths));
    if (kind == Kind::kExclude) selector = payload::Selector::exclude(std::move(paths));
  }
};

template <>
struct Form<payload::Value> {
  static constexpr std::string_view kName = "Value";
  static void put(std::string& out, const payload::Value& value) {
    codec::put(out, payload::to_json(value));
  }
  static void take(Reader& in, payload::Value& value) {
    std::string text;
    codec::take(in, text);
    auto parsed = payload::parse_json(text);
    if (!parsed) return in.fail();
    value = *std::move(parsed);
  }
};

template <>
struct Form<engine::formula::Variable> {
  static constexpr std::string_view kName = "Variable";
  static engine::formula::Variable make() { return {Form<payload::JsonPath>::make()}; }
  static void put(std::string& out, const engine::formula::Variable& variable) {
    codec::put(out, variable.path);
    codec::put(out, variable.type);
    codec::put(out, variable.otherwise);
  }
  static void take(Reader& in, engine::formula::Variable& variable) {
    codec::take(in, variable.path);
    codec::take(in, variable.type);
    codec::take(in, variable.otherwise);
  }
};

/// What every node knows, or only the one that asks.
template <class T>
struct NoForm {
  static constexpr std::string_view kName = "nothing";
  static void put(std::string& /*out*/, const T& /*value*/) {}
  static void take(Reader& /*in*/, T& /*value*/) {}
};
template <>
struct Form<engine::CollectionConfig> : NoForm<engine::CollectionConfig> {};
template <>
struct Form<std::shared_ptr<engine::QueryReport>> : NoForm<std::shared_ptr<engine::QueryReport>> {};
template <>
struct Form<std::shared_ptr<engine::RecallReport>> : NoForm<std::shared_ptr<engine::RecallReport>> {
};

}  // namespace quiver::cluster::codec
