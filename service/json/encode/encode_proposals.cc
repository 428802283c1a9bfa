// Which points a scorer should see next.
#include "service/json/encode/encode.h"

namespace quiver::service::json {
namespace {

void write_estimate(Writer& out, const engine::ScoreEstimate& estimate) {
  out.member("estimate", estimate.score);
  out.member("deviation", estimate.deviation);
}

void write_proposal(Writer& out, const engine::Proposal& proposal) {
  out.begin_object();
  out.key("id");
  write_id(out, proposal.record.id);
  if (proposal.estimate) write_estimate(out, *proposal.estimate);
  if (proposal.record.shard_key) {
    out.key("shard_key");
    write_shard_key(out, *proposal.record.shard_key);
  }
  if (proposal.record.payload) {
    out.key("payload");
    out.raw(proposal.record.payload->empty() ? std::string_view("{}") : *proposal.record.payload);
  }
  out.end_object();
}

void write_best(Writer& out, const engine::BestPoint& point) {
  out.begin_object();
  out.key("id");
  write_id(out, point.id);
  out.member("scored", point.is_scored);
  if (point.is_scored) {
    out.member("score", point.estimate.score);
  } else {
    write_estimate(out, point.estimate);
  }
  out.end_object();
}

}  // namespace

void write_proposals(Writer& out, const engine::Proposals& proposals) {
  out.begin_object();
  out.key("propose");
  out.begin_array();
  for (const auto& proposal : proposals.proposals) write_proposal(out, proposal);
  out.end_array();
  out.key("best");
  out.begin_array();
  for (const auto& point : proposals.best) write_best(out, point);
  out.end_array();
  out.key("model");
  if (proposals.model) {
    out.begin_object();
    out.member("scored", proposals.model->n_scored);
    out.member("r2", proposals.model->r2);
    out.member("ridge", proposals.model->ridge);
    out.end_object();
  } else {
    out.null();
  }
  out.key("gain");
  proposals.gain ? out.f64(*proposals.gain) : out.null();
  out.member("done", proposals.is_done);
  out.end_object();
}

}  // namespace quiver::service::json
