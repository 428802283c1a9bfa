// Requests to begin with. `{c}` stands for the chosen collection.

const json = (value) => JSON.stringify(value, null, 2);

export const kExamples = [
  ["List collections", "GET", "/collections"],
  ["Describe a collection", "GET", "/collections/{c}"],
  ["Create a collection", "PUT", "/collections/notes", json({ vectors: { size: 4, distance: "Cosine" } })],
  [
    "Index texts for ranking",
    "PUT",
    "/collections/notes/index?wait=true",
    json({ field_name: "text", field_schema: { type: "text", scoring: true } }),
  ],
  [
    "Add points",
    "PUT",
    "/collections/notes/points?wait=true",
    json({
      points: [
        { id: 1, vector: [0.1, 0.2, 0.3, 0.4], payload: { text: "The whale sinks the ship", year: 1851 } },
        { id: 2, vector: [0.4, 0.3, 0.2, 0.1], payload: { text: "Ships and shipping news", year: 1993 } },
      ],
    }),
  ],
  [
    "Search by a vector, filtered",
    "POST",
    "/collections/notes/points/query",
    json({
      query: [0.1, 0.2, 0.3, 0.4],
      filter: { must: [{ key: "year", range: { gte: 1900 } }] },
      limit: 5,
      with_payload: true,
    }),
  ],
  [
    "Search by text",
    "POST",
    "/collections/notes/points/query",
    json({ query: { text: "whales and ships" }, using: "text", with_payload: true }),
  ],
  [
    "Hybrid search",
    "POST",
    "/collections/notes/points/query",
    json({
      prefetch: [{ query: { text: "whale" }, using: "text", limit: 50 }, { query: [0.1, 0.2, 0.3, 0.4], limit: 50 }],
      query: { fusion: "rrf" },
      with_payload: true,
    }),
  ],
  ["Scroll through points", "POST", "/collections/{c}/points/scroll", json({ limit: 10, with_payload: true })],
  ["Count points", "POST", "/collections/{c}/points/count", json({ exact: true })],
  [
    "Count values of a key",
    "POST",
    "/v1/collections/{c}/aggregate",
    json({ aggregations: { values: { terms: { key: "year", limit: 10 } } } }),
  ],
  ["Show indexes", "GET", "/v1/collections/{c}/indexes"],
  [
    "Change optimizer settings",
    "PATCH",
    "/collections/{c}",
    json({ optimizers_config: { indexing_threshold: 10000 } }),
  ],
  ["Make a snapshot", "POST", "/collections/{c}/snapshots"],
  ["Telemetry", "GET", "/telemetry"],
];
