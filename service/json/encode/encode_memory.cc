#include "service/json/encode/encode_memory.h"

#include <cstdint>
#include <map>
#include <string>

namespace quiver::service::json {
namespace {

using engine::SegmentInfo;

/// Bytes in mapped files, and bytes of memory.
struct Use {
  std::uint64_t n_disk_bytes = 0;
  std::uint64_t n_ram_bytes = 0;

  /// Data of a sealed segment is in files, that of a growing one in memory.
  void add(const SegmentInfo& segment, std::uint64_t n_bytes) {
    (segment.sealed ? n_disk_bytes : n_ram_bytes) += n_bytes;
  }
  void add(const Use& other) {
    n_disk_bytes += other.n_disk_bytes;
    n_ram_bytes += other.n_ram_bytes;
  }
};

struct FieldUse {
  Use storage;
  Use index;
};

struct CollectionUse {
  std::map<std::string, FieldUse> fields;
  Use payload;
};

CollectionUse use_of(std::span<const engine::ShardInfo> shards) {
  CollectionUse use;
  for (const auto& shard : shards) {
    for (const auto& segment : shard.segments) {
      use.payload.add(segment, segment.n_payload_bytes);
      for (const auto& field : segment.fields) {
        FieldUse& one = use.fields[field.field];
        one.storage.add(segment, field.n_bytes);
        one.index.add({field.n_index_bytes, field.n_heap_bytes});
      }
    }
  }
  return use;
}

Use total_of(const CollectionUse& use) {
  Use total = use.payload;
  for (const auto& [name, field] : use.fields) {
    total.add(field.storage);
    total.add(field.index);
  }
  return total;
}

void write_use(Writer& out, std::string_view name, const Use& use) {
  out.key(name);
  out.begin_object();
  out.member("disk_bytes", use.n_disk_bytes);
  out.member("ram_bytes", use.n_ram_bytes);
  out.key("cached_bytes");
  out.null();
  out.member("expected_cache_bytes", use.n_disk_bytes);
  out.end_object();
}

void write_fields(Writer& out, const CollectionUse& use, const engine::CollectionConfig& config,
                  bool is_sparse) {
  out.begin_array();
  for (const auto& [name, field] : use.fields) {
    const auto* schema = config.find_field(name);
    if (schema == nullptr || (schema->kind == FieldKind::kSparse) != is_sparse) continue;
    out.begin_object();
    out.member("name", std::string_view(name));
    write_use(out, "storage", field.storage);
    write_use(out, "index", field.index);
    out.end_object();
  }
  out.end_array();
}

}  // namespace

void write_memory(Writer& out, std::span<const engine::ShardInfo> shards,
                  const engine::CollectionConfig& config) {
  const CollectionUse use = use_of(shards);
  out.begin_object();
  write_use(out, "total", total_of(use));
  out.key("vectors");
  write_fields(out, use, config, false);
  out.key("sparse_vectors");
  write_fields(out, use, config, true);
  write_use(out, "payload", use.payload);
  out.key("payload_index");
  out.raw("[]");
  out.key("other");
  out.raw("{}");
  out.end_object();
}

}  // namespace quiver::service::json
