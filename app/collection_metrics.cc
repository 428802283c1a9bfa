#include "app/collection_metrics.h"

namespace quiver::app {
namespace {

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
  gauge("collection_running_optimizations", "Segments being sealed, merged or cleaned",
        collection.optimizations().running.size());
}

}  // namespace

void collect_collection_metrics(const engine::Database& database, MetricsText& text) {
  text.sample("collections_total", "Collections in the catalog", MetricType::kGauge, {},
              static_cast<double>(database.collection_names().size()));
  for (const auto& [name, collection] : database.open_collections()) {
    add_collection(name, *collection, text);
  }
}

}  // namespace quiver::app
