#include "service/handlers/jobs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "service/api/jobs.h"
#include "service/handlers/common.h"
#include "service/json/decode/decode_job.h"
#include "service/json/encode/encode_job.h"

namespace quiver::service {
namespace {

constexpr std::string_view kJobLinesType = "application/x-ndjson";
constexpr std::size_t kJobLinesPerRead = 256;

Decoded<std::uint64_t> job_id(const Exchange& x) { return path_number(x, 1, "a job"); }

Decoded<> write_job_status(Exchange& x, const engine::JobStatus& job) {
  auto out = x.begin_result();
  json::write_job(out, job);
  x.end_result();
  return {};
}

Decoded<> write_job_list(Exchange& x, const std::vector<engine::JobStatus>& jobs) {
  auto out = x.begin_result();
  out.begin_object();
  out.key("jobs");
  out.begin_array();
  for (const auto& job : jobs) json::write_job(out, job);
  out.end_array();
  out.end_object();
  x.end_result();
  return {};
}

/// The rows of a result, a line each.
class JobLines final : public BodySource {
 public:
  explicit JobLines(engine::JobResult result) : result_(std::move(result)) {}

  [[nodiscard]] std::optional<std::uint64_t> size() const override { return std::nullopt; }
  [[nodiscard]] Result<std::size_t> read(std::span<char> out) override {
    if (n_sent_ == lines_.size()) fill();
    const std::size_t n = std::min(out.size(), lines_.size() - n_sent_);
    std::memcpy(out.data(), lines_.data() + n_sent_, n);
    n_sent_ += n;
    return n;
  }

 private:
  void fill() {
    lines_.clear();
    n_sent_ = 0;
    const std::size_t end = std::min(row_ + kJobLinesPerRead, result_.table.ids.size());
    for (; row_ < end; ++row_) {
      json::Writer out(lines_);
      json::write_job_row(out, result_, row_);
      lines_ += '\n';
    }
  }

  const engine::JobResult result_;
  std::string lines_;
  std::size_t n_sent_ = 0;  ///< bytes of `lines_`
  std::size_t row_ = 0;     ///< the next one
};

Decoded<> send_job_lines(Exchange& x, engine::JobResult result) {
  x.response.content_type = kJobLinesType;
  x.response.source = std::make_unique<JobLines>(std::move(result));
  return {};
}

Decoded<Answer> answer_job_start(Exchange& x, OpenCollection collection) {
  QV_TRY(auto job, json::decode_job(x.request.body));
  api::start_job(x, collection, std::move(job.request), std::move(job.text),
                 answer_by<engine::JobStatus>(x, write_job_status));
  return Answer::kLater;
}

Decoded<Answer> answer_job_list(Exchange& x, OpenCollection collection) {
  api::list_jobs(x, collection, answer_by<std::vector<engine::JobStatus>>(x, write_job_list));
  return Answer::kLater;
}

Decoded<Answer> answer_job_status(Exchange& x, OpenCollection collection) {
  QV_TRY(const std::uint64_t id, job_id(x));
  api::job_status(x, collection, id, answer_by<engine::JobStatus>(x, write_job_status));
  return Answer::kLater;
}

Decoded<Answer> answer_job_result(Exchange& x, OpenCollection collection) {
  QV_TRY(const std::uint64_t id, job_id(x));
  api::job_result(x, collection, id, answer_by<engine::JobResult>(x, send_job_lines));
  return Answer::kLater;
}

Decoded<Answer> answer_job_forget(Exchange& x, OpenCollection collection) {
  QV_TRY(const std::uint64_t id, job_id(x));
  api::forget_job(x, collection, id, answer_true(x));
  return Answer::kLater;
}

Decoded<> write_projection(Exchange& x, const engine::Projection& projection) {
  auto out = x.begin_result();
  json::write_projection(out, projection);
  x.end_result();
  return {};
}

Decoded<Answer> answer_projection(Exchange& x, OpenCollection collection) {
  QV_TRY(read_params(x));
  QV_TRY(auto request, json::decode_projection(x.request.body));
  api::project(x, collection, std::move(request),
               answer_by<engine::Projection>(x, write_projection));
  return Answer::kLater;
}

}  // namespace

void add_job_routes(Routes& routes) {
  constexpr std::string_view kAll = "/v1/collections/{collection_name}/jobs";
  constexpr std::string_view kOne = "/v1/collections/{collection_name}/jobs/{job_id}";
  constexpr std::string_view kResult = "/v1/collections/{collection_name}/jobs/{job_id}/result";
  routes.push_back({Method::kPost, "/v1/collections/{collection_name}/points/projection",
                    Access::kRead, with_body<answer_projection>});
  routes.push_back({Method::kPost, kAll, Access::kWriteExtras, with_body<answer_job_start>});
  routes.push_back({Method::kGet, kAll, Access::kRead, on_collection<answer_job_list>});
  routes.push_back({Method::kGet, kOne, Access::kRead, on_collection<answer_job_status>});
  routes.push_back({Method::kGet, kResult, Access::kRead, on_collection<answer_job_result>});
  routes.push_back({Method::kDelete, kOne, Access::kWriteExtras, on_collection<answer_job_forget>});
}

}  // namespace quiver::service
