#include "app/serve/collection_metrics.h"

namespace quiver::app {
namespace {

void add_search_work(const index::WorkCounters& work, const Labels& labels, MetricsText& text) {
  const auto counter = [&](std::string_view metric, std::string_view help, std::uint64_t value) {
    text.sample(metric, help, MetricType::kCounter, labels, static_cast<double>(value));
  };
  counter("collection_search_lists_total", "Lists of indexes that searches opened", work.n_lists);
  counter("collection_search_blocks_total", "Blocks of indexes that searches opened",
          work.n_blocks);
  counter("collection_search_codes_scored_total", "Codes that searches scored",
          work.n_codes_scored);
  counter("collection_search_rows_scored_total", "Rows that searches scored exactly",
          work.n_rows_scored);
  counter("collection_search_bytes_total", "Bytes of vectors and codes that searches read",
          work.n_bytes);
}

void add_vector_indexes(const std::string& name, const engine::CollectionInfo& info,
                        MetricsText& text) {
  const auto gauge = [&](std::string_view metric, std::string_view help,
                         std::uint64_t engine::VectorIndexInfo::*value) {
    for (const auto& index : info.vector_indexes) {
      const Labels labels{{"id", name}, {"vector", index.field}, {"index", index.index}};
      text.sample(metric, help, MetricType::kGauge, labels, static_cast<double>(index.*value));
    }
  };
  gauge("collection_vectors", "Vectors by the index they are searched with; flat: none",
        &engine::VectorIndexInfo::n_vectors);
  gauge("collection_index_bytes", "Bytes of vector indexes on disk",
        &engine::VectorIndexInfo::n_bytes);
}

void add_recall(const std::string& name, const engine::Collection& collection, MetricsText& text) {
  for (const auto& status : collection.recall_statuses()) {
    const Labels labels{{"id", name}, {"vector", status.field}};
    const auto add = [&](std::string_view metric, std::string_view help, MetricType type,
                         double value) { text.sample(metric, help, type, labels, value); };
    using enum MetricType;
    if (status.n_watched != 0) {
      add("collection_recall_observed",
          "Mean recall of the searches by recall that were done again exactly, since the last "
          "measurement",
          kGauge, status.observed);
    }
    add("collection_recall_watched", "Searches done again exactly since the last measurement",
        kGauge, static_cast<double>(status.n_watched));
    add("collection_recall_effort_factor", "What the measured efforts are multiplied by", kGauge,
        status.effort_factor);
    add("collection_recall_alarms_total", "Times that recall was found below what was promised",
        kCounter, static_cast<double>(status.n_alarms));
  }
}

void add_collection(const std::string& name, const engine::Collection& collection,
                    MetricsText& text) {
  const auto info = collection.info();
  const Labels labels{{"id", name}};
  const auto gauge = [&](std::string_view metric, std::string_view help, std::uint64_t value) {
    text.sample(metric, help, MetricType::kGauge, labels, static_cast<double>(value));
  };
  gauge("collection_points", "Points in the collection", info.n_points);
  gauge("collection_segments", "Segments of the collection", info.n_segments);
  gauge("collection_update_queue_length", "Updates that wait to be applied", info.n_queued_updates);
  gauge("collection_damaged_segments",
        "Segments found damaged whose rows are served from the store until sealed again",
        info.n_damaged_segments);
  gauge("collection_damaged_indexes",
        "Segments with an index found damaged, searched exactly until it is built again",
        info.n_damaged_indexes);
  gauge("collection_running_optimizations", "Segments being sealed, merged, cleaned or indexed",
        collection.optimizations().running.size());
  add_vector_indexes(name, info, text);
  add_search_work(info.search_work, labels, text);
  add_recall(name, collection, text);
}

}  // namespace

namespace {

void add_scrub(const engine::ScrubStatus& scrub, MetricsText& text) {
  const auto add = [&](std::string_view metric, std::string_view help, MetricType type,
                       double value) { text.sample(metric, help, type, {}, value); };
  using enum MetricType;
  add("scrub_running", "1 while mapped files are read again", kGauge, scrub.is_running ? 1 : 0);
  add("scrub_pass_bytes", "Bytes read by the running pass, or by the last one", kGauge,
      static_cast<double>(scrub.n_pass_bytes));
  add("scrub_pass_bytes_expected", "Bytes that this pass is to read", kGauge,
      static_cast<double>(scrub.n_pass_bytes_total));
  add("scrub_bytes_total", "Bytes of mapped files read again", kCounter,
      static_cast<double>(scrub.n_bytes));
  add("scrub_passes_total", "Whole passes over all mapped files", kCounter,
      static_cast<double>(scrub.n_passes));
  add("scrub_damages_total", "Files that a pass found damaged while they were in use", kCounter,
      static_cast<double>(scrub.n_damages));
  if (!scrub.last_pass_age_s) return;
  add("scrub_last_pass_age_seconds", "Time since the last whole pass ended", kGauge,
      *scrub.last_pass_age_s);
}

}  // namespace

void collect_collection_metrics(const engine::Database& database, MetricsText& text) {
  const auto gauge = [&](std::string_view metric, std::string_view help, std::uint64_t value) {
    text.sample(metric, help, MetricType::kGauge, {}, static_cast<double>(value));
  };
  gauge("server_ready", "1 if every collection can serve and updates are taken, as /readyz says",
        database.ready(nullptr) ? 1 : 0);
  gauge("collections_total", "Collections in the catalog", database.collection_names().size());
  const auto memory = database.store_memory();
  gauge("storage_block_cache_bytes", "Blocks of rows read from disk that are in memory",
        memory.cache_bytes);
  gauge("storage_write_buffer_bytes", "Rows in memory that are not yet in table files",
        memory.write_buffer_bytes);
  add_scrub(database.scrub_status(), text);
  for (const auto& [name, collection] : database.open_collections()) {
    add_collection(name, *collection, text);
  }
}

}  // namespace quiver::app
