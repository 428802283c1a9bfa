#include "service/json/decode/decode_private.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "service/json/decode/decode_parts.h"

namespace quiver::service::json {
namespace {

using engine::PrivacyAmount;
using engine::PrivateFeatures;
using engine::PrivateKernel;

constexpr std::size_t kMaxPrivateNameBytes = 255;
constexpr std::size_t kMaxPrivateQueries = 1000;

struct Range {
  double least = 0;
  double most = 0;
};

Decoded<double> decode_in_range(Object object, std::string_view name, const Path& path,
                                const Range& range) {
  QV_TRY(const Element element, require(object, name, path));
  const Path here = path.member(name);
  QV_TRY(const double value, get_f64(element, here));
  if (value >= range.least && value <= range.most) return value;
  return out_of_range(here, to_json(element),
                      fmt::format("from {} to {}", range.least, range.most));
}

/// Of a release: {"gaussian": {"bandwidth"}} or {"cosine": {}}.
Decoded<> decode_private_kernel(Object object, const Path& path, PrivateFeatures& features) {
  QV_TRY(const Element element, require(object, "kernel", path));
  const Path here = path.member("kernel");
  QV_TRY(const Object kernel, get_object(element, here));
  QV_TRY(check_members(kernel, here, {"gaussian", "cosine"}));
  if (kernel.size() != 1) {
    return format_error(
        here, fmt::format("{} kernels, expected one of `gaussian`, `cosine`", kernel.size()));
  }
  if (const auto gaussian = find(kernel, "gaussian")) {
    const Path inner = here.member("gaussian");
    QV_TRY(const Object params, get_object(*gaussian, inner));
    QV_TRY(check_members(params, inner, {"bandwidth"}));
    QV_TRY(features.bandwidth, decode_in_range(params, "bandwidth", inner,
                                               {engine::kMinBandwidth, engine::kMaxBandwidth}));
    features.kernel = PrivateKernel::kGaussian;
    return {};
  }
  QV_TRY(const Element cosine, require(kernel, "cosine", here));
  const Path inner = here.member("cosine");
  QV_TRY(const Object params, get_object(cosine, inner));
  QV_TRY(check_members(params, inner, {}));
  features.kernel = PrivateKernel::kCosine;
  return {};
}

Decoded<> decode_random_features(Object object, const Path& path, PrivateFeatures& features) {
  for (const std::string_view name : {"features", "seed"}) {
    if (features.kernel == PrivateKernel::kGaussian || !find(object, name)) continue;
    return format_error(path.member(name), "the kernel `cosine` has no random features");
  }
  QV_TRY(const auto n_features, decode_at_least(object, "features", path,
                                                engine::kMinPrivateFeatures, features.n_features));
  if (n_features > engine::kMaxPrivateFeatures || n_features % 2 != 0) {
    return out_of_range(path.member("features"), std::to_string(n_features),
                        fmt::format("even and {} or smaller", engine::kMaxPrivateFeatures));
  }
  features.n_features = static_cast<std::uint32_t>(n_features);
  QV_TRY(features.seed, decode_at_least(object, "seed", path, 0, features.seed));
  return {};
}

}  // namespace

Decoded<PrivateSumStart> decode_private_sum(std::string& body) {
  const Path root;
  PrivateSumStart start;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root,
                       {"using", "kernel", "features", "seed", "filter", "epsilon", "delta"}));
  auto& request = start.request;
  if (const auto using_field = find(object, "using")) {
    QV_TRY(request.using_field, get_string(*using_field, root.member("using")));
  }
  QV_TRY(decode_private_kernel(object, root, request.features));
  QV_TRY(decode_random_features(object, root, request.features));
  QV_TRY(request.filter, decode_optional_filter(object, "filter", root));
  QV_TRY(const double epsilon,
         decode_in_range(object, "epsilon", root,
                         {engine::kMinReleaseEpsilon, engine::kMaxReleaseEpsilon}));
  QV_TRY(const double delta, decode_in_range(object, "delta", root,
                                             {engine::kMinReleaseDelta, engine::kMaxReleaseDelta}));
  request.cost = PrivacyAmount::of(epsilon, delta);
  start.text = to_json(object);
  return start;
}

Decoded<PrivacyAmount> decode_private_budget(std::string& body) {
  const Path root;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"budget"}));
  QV_TRY(const Element element, require(object, "budget", root));
  const Path here = root.member("budget");
  QV_TRY(const Object budget, get_object(element, here));
  QV_TRY(check_members(budget, here, {"epsilon", "delta"}));
  QV_TRY(const double epsilon,
         decode_in_range(budget, "epsilon", here, {0, engine::kMaxBudgetEpsilon}));
  QV_TRY(const double delta, decode_in_range(budget, "delta", here, {0, engine::kMaxBudgetDelta}));
  return PrivacyAmount::of(epsilon, delta);
}

Decoded<std::vector<std::vector<float>>> decode_private_queries(std::string& body) {
  const Path root;
  QV_TRY(const Object object, parse_object_body(body));
  QV_TRY(check_members(object, root, {"vectors"}));
  QV_TRY(const Element element, require(object, "vectors", root));
  const Path here = root.member("vectors");
  QV_TRY(const Array array, get_array(element, here));
  std::vector<std::vector<float>> vectors;
  for (const Element item : array) {
    if (vectors.size() == kMaxPrivateQueries) {
      return out_of_range(here, fmt::format("of {} vectors", array.size()),
                          fmt::format("{} or fewer", kMaxPrivateQueries));
    }
    QV_TRY(auto vector, decode_floats(item, here.item(vectors.size())));
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

Decoded<> check_private_name(std::string_view name) {
  if (name.size() <= kMaxPrivateNameBytes) return {};
  return fail(ApiError(422, fmt::format("Validation error in path parameters: the name of a "
                                        "private sum has {} bytes, wanted {} or fewer",
                                        name.size(), kMaxPrivateNameBytes)));
}

}  // namespace quiver::service::json
