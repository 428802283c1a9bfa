// What was learned about fusing prefetches.
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

using engine::MissingScore;
using engine::Normalization;

std::string_view name_of(Normalization normalization) {
  switch (normalization) {
    case Normalization::kMinMax:
      return "minmax";
    case Normalization::kZScore:
      return "zscore";
    case Normalization::kQuantile:
      return "quantile";
    case Normalization::kNone:
      return "none";
  }
  return "";
}

/// As a query has it.
void write_linear(Writer& out, const engine::Linear& linear) {
  out.begin_object();
  out.key("linear");
  out.begin_object();
  out.key("weights");
  out.begin_array();
  for (const float weight : linear.weights) out.f32(weight);
  out.end_array();
  out.member("normalize", name_of(linear.normalization));
  out.member("missing", linear.missing == MissingScore::kZero ? "zero" : "lowest");
  out.end_object();
  out.end_object();
}

}  // namespace

void write_learned_fusion(Writer& out, const engine::LearnedFusion& learned) {
  out.begin_object();
  out.key("query");
  write_linear(out, learned.linear);
  out.key("ndcg");
  out.begin_object();
  out.member("learned", learned.held_out);
  out.member("rrf", learned.rrf);
  out.key("prefetches");
  out.begin_array();
  for (const double alone : learned.alone) out.f64(alone);
  out.end_array();
  out.end_object();
  out.member("judged", learned.n_judged);
  out.end_object();
}

}  // namespace quiver::service::json
