#include "app/import/import.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "app/common/signals.h"
#include "app/import/directory/directory_import.h"
#include "app/import/faiss_source.h"
#include "app/import/http/acknowledged.h"
#include "app/import/http/http_import.h"
#include "app/import/plan/plan.h"
#include "app/import/plan/schema.h"
#include "app/import/reading/row_reader.h"
#include "app/import/run/creation.h"
#include "app/import/run/identity.h"
#include "app/import/run/import_run.h"

namespace quiver::app {
namespace {

constexpr std::string_view kDefaultUrl = "http://127.0.0.1:6333";

Result<std::vector<FieldSchema>> fields_of(const HttpTarget& target) {
  QV_TRY(auto fields, fetch_fields(target));
  if (fields) return *std::move(fields);
  return fail(Code::kAborted, "the collection was deleted while it was looked at");
}

Result<CollectionIs> prepare_collection(const HttpTarget& target, const ImportOptions& options,
                                        const ImportPlan& plan, const RowReader& reader) {
  QV_TRY(const auto found, fetch_fields(target));
  if (found) {
    QV_TRY(check_collection(*found, options, plan, reader.columns()));
    return CollectionIs::kOld;
  }
  QV_TRY(const std::string body, body_to_create(options, plan, reader.columns()));
  QV_TRY(const auto fields, parse_fields(body));
  QV_TRY(check_collection(fields, options, plan, reader.columns()));
  QV_TRY(const bool is_new, create_collection(target, body, plan.index_bodies));
  if (is_new) return CollectionIs::kNew;
  QV_TRY(const auto other, fields_of(target));
  QV_TRY(check_collection(other, options, plan, reader.columns()));
  return CollectionIs::kOld;
}

/// The state file. It is removed at the end unless the user named it.
StateFile state_file(const ImportOptions& options, const ImportPlan& plan) {
  if (!options.state.empty()) return {options.state, WhenFinished::kKeep};
  return {default_state_path(options, plan), WhenFinished::kRemove};
}

Result<int> import_to_server(const ImportOptions& options, const ImportPlan& plan) {
  QV_TRY(client::Endpoint endpoint, client::parse_url(options.url));
  endpoint.ca_file = options.ca;
  const HttpTarget target{endpoint, options.api_key, options.collection, options.retry_s};
  BadRows bad_rows(options.skip_bad ? OnBadRow::kSkip : OnBadRow::kStop);
  QV_TRY(const auto reader, RowReader::open(plan, bad_rows));
  QV_TRY(auto identity, import_identity(options, plan));
  QV_TRY(const CollectionIs collection, prepare_collection(target, options, plan, *reader));
  HttpImportOptions http{options.connections, options.batch, {}, {}};
  if (plan.ids_may_repeat()) http.ids = Ids::kMayRepeat;
  QV_TRY(http.fields, fields_of(target));
  StateFile store = state_file(options, plan);
  QV_TRY(ImportState state,
         starting_state(options, std::move(identity), *reader, store, collection));
  ImportRun run(options, store, std::move(state), *reader, bad_rows);
  if (run.is_finished()) return 0;
  QV_TRY(run.begin());

  Acknowledged acknowledged(run.next_row());
  Result<> saved;
  const auto tick = [&](const Acknowledged::Progress& done) {
    run.advance(done.next_row, done.n_points);
    if (saved) saved = run.save_sometimes();
    return saved && stop_signal() == 0;
  };
  const auto imported = import_over_http(target, http, *reader, bad_rows, acknowledged, tick);
  const Acknowledged::Progress done = acknowledged.progress();
  QV_TRY(const int status, run.end(saved ? imported : saved, done.n_points_sent - done.n_points));
  if (status == 0 && plan.ids_may_repeat()) say_total(options.collection, count_points(target));
  return status;
}

Result<int> import_planned(const ImportOptions& options) {
  QV_TRY(const ImportPlan plan, make_plan(options));
  return options.data_dir.empty() ? import_to_server(options, plan)
                                  : import_to_directory(options, plan);
}

}  // namespace

Result<int> run_import(ImportOptions options) {
  QV_TRY(install_stop_signals());
  QV_TRY(check_usage(options));
  if (options.url.empty() && options.data_dir.empty()) options.url = kDefaultUrl;
  if (options.faiss.empty()) return import_planned(options);
  QV_TRY(const auto source, FaissSource::open(options.faiss, options.collection));
  options.from_export = source.folder();
  options.faiss.clear();
  if (!options.create) options.create = "";
  QV_TRY(const int status, import_planned(options));
  if (status == 0) source.finish();
  return status;
}

}  // namespace quiver::app
