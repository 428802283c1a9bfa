#include "bench/advise/ways.h"

#include <fmt/format.h>

#include "base/schema_names.h"

namespace quiver::bench::advise {
namespace {

/// Narrower vectors gain little from fewer dimensions.
constexpr std::uint32_t kLeastReducedDim = 512;

std::vector<KeyValues> one_key(const std::string& key, std::initializer_list<double> values) {
  std::vector<KeyValues> all;
  for (const double value : values) {
    const auto whole = static_cast<std::int64_t>(value);
    const bool is_whole = static_cast<double>(whole) == value;
    all.push_back({{key, is_whole ? ParamValue(whole) : ParamValue(value)}});
  }
  return all;
}

}  // namespace

Way default_way() { return {DType::kF32, {"ivf", {}}}; }

std::vector<IndexWay> index_ways(std::uint32_t dim) {
  // Smaller codes go without the graph, whose codes and links are larger than all of them.
  const auto lists = [](std::int64_t bits, std::int64_t refine_bits, bool spill) {
    KeyValues build{{"graph", "never"}, {"refine_bits", refine_bits}};
    if (bits != 1) build.emplace("bits", bits);
    if (!spill) build.emplace("spill", false);
    return IndexWay{"ivf", std::move(build)};
  };
  const auto reduced = [](bool spill) {
    KeyValues build{{"graph", "never"}, {"reduce", "pca"}};
    if (!spill) build.emplace("spill", false);
    return IndexWay{"ivf", std::move(build)};
  };
  std::vector<IndexWay> ways = {
      {"ivf", {}},
      lists(1, 4, false),
      lists(1, 4, true),
      lists(2, 0, false),
      lists(1, 0, false),
      lists(4, 0, false),
      lists(1, 8, true),
      lists(1, 0, true),
      {"osq", {{"bits", std::int64_t{2}}}},
      {"osq", {{"bits", std::int64_t{4}}}},
  };
  if (dim >= kLeastReducedDim) ways.insert(ways.begin() + 1, {reduced(true), reduced(false)});
  return ways;
}

std::vector<DType> row_types() {
  std::vector<DType> types;
  for (std::size_t i = 0; i < kDTypeNames.size(); ++i) types.push_back(static_cast<DType>(i));
  return types;
}

std::vector<KeyValues> efforts_of(std::string_view index_type, Efforts efforts) {
  const bool few = efforts == Efforts::kFew;
  if (index_type == "ivf") {
    return few ? one_key("effort", {32, 128, 512})
               : one_key("effort", {16, 32, 64, 128, 256, 512, 1024});
  }
  if (index_type == "osq") {
    return few ? one_key("distance_factor", {1.15}) : one_key("distance_factor", {1.05, 1.15, 1.3});
  }
  return {KeyValues()};
}

std::string params_text(const KeyValues& params) {
  std::string text;
  for (const auto& [key, value] : params) {
    const auto* word = std::get_if<std::string>(&value);
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key,
                        word != nullptr ? *word : to_string(value));
  }
  return text;
}

std::string index_text(const IndexWay& index) {
  if (index.type == "flat") return "none";
  return index.type + (index.build.empty() ? "" : " " + params_text(index.build));
}

std::string way_text(const Way& way) {
  return fmt::format("{}, {}", datatype_name(way.dtype), index_text(way.index));
}

}  // namespace quiver::bench::advise
