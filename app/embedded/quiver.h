/* Quiver inside the process of its caller: a C interface of engine/, for other languages.
 *
 * A data directory opened here has the files and the lock of `quiver serve`. Only one process has
 * it open at a time, and what one of them wrote the other reads.
 *
 * - Handles are opaque. Functions take any handle from any thread, except that a handle is freed
 *   once, by the last thread that uses it. A process that was forked must not use its parent's.
 * - Functions return 0, or the number of an error, which is that of a gRPC status
 *   (base/result.h). `quiver_error` is its text. Nothing is written to outputs after an error.
 *   No exception leaves a function.
 * - Arrays are borrowed for the call. Texts are UTF-8; those returned are freed by `quiver_free`.
 * - Bodies in JSON are those of the REST interface (docs/api.md), and so are answers.
 */
#ifndef QUIVER_EMBEDDED_H
#define QUIVER_EMBEDDED_H

#include <stdint.h>

#ifdef __cplusplus
#define QUIVER_NOEXCEPT noexcept
extern "C" {
#else
#define QUIVER_NOEXCEPT
#endif

#define QUIVER_API __attribute__((visibility("default")))
/* Changes with every change of a function or a struct of this file. */
#define QUIVER_ABI 1

typedef struct quiver_database quiver_database;
typedef struct quiver_collection quiver_collection;
typedef struct quiver_request quiver_request;

/* QUIVER_ABI of the library. */
QUIVER_API int32_t quiver_abi(void) QUIVER_NOEXCEPT;
/* The text of the last error on this thread, until its next call. Never NULL. */
QUIVER_API const char* quiver_error(void) QUIVER_NOEXCEPT;
QUIVER_API void quiver_free(char* text) QUIVER_NOEXCEPT;

/* Zeros mean defaults. */
typedef struct {
  uint32_t compute_threads;    /* that help with large queries; 0: one per core */
  uint32_t background_threads; /* that seal, merge and build; 0: one per core, at least 2 */
  uint64_t block_cache_bytes;  /* 0: 256 MiB */
  const char* log_level;       /* debug, info, warning, error or off; NULL: warning */
} quiver_options;

/* Creates the directory if it is not there. Error 14, with the number of the other process, if
 * another has it open. `options` may be NULL. */
QUIVER_API int32_t quiver_open(const char* path, const quiver_options* options,
                               quiver_database** database) QUIVER_NOEXCEPT;
/* Waits for calls that run, finishes queued work and releases the lock. Later calls fail with error
 * 9. Error 4 if background work does not end in time: then the lock is held until the process
 * ends, and nothing acknowledged is lost. */
QUIVER_API int32_t quiver_close(quiver_database* database) QUIVER_NOEXCEPT;
/* Closes, too, if `quiver_close` was not called. NULL is allowed, here and below. */
QUIVER_API void quiver_free_database(quiver_database* database) QUIVER_NOEXCEPT;

/* `text`: a JSON array of names. */
QUIVER_API int32_t quiver_collections(quiver_database* database, char** text) QUIVER_NOEXCEPT;
/* `body`: as of PUT /collections/{name}. */
QUIVER_API int32_t quiver_create_collection(quiver_database* database, const char* name,
                                            const char* body) QUIVER_NOEXCEPT;
/* `existed`: 0 if there was none. */
QUIVER_API int32_t quiver_drop_collection(quiver_database* database, const char* name,
                                          int32_t* existed) QUIVER_NOEXCEPT;
/* Error 5 if there is none. `collection` keeps the database's memory, not its lock. */
QUIVER_API int32_t quiver_get_collection(quiver_database* database, const char* name,
                                         quiver_collection** collection) QUIVER_NOEXCEPT;
QUIVER_API void quiver_free_collection(quiver_collection* collection) QUIVER_NOEXCEPT;

typedef enum { QUIVER_DENSE = 0, QUIVER_SPARSE = 1, QUIVER_MULTI = 2 } quiver_kind;

/* `n` vectors of one field; `n` is told beside it. */
typedef struct {
  const char* field;       /* NULL or "": the unnamed field */
  int32_t kind;            /* quiver_kind */
  uint64_t dim;            /* of dense and multi-vectors */
  const float* values;     /* dense: [n, dim]; sparse: [offsets[n]]; multi: [offsets[n], dim] */
  const uint64_t* offsets; /* [n + 1], from 0, of entries or tokens; NULL for dense */
  const uint32_t* indices; /* [offsets[n]], unique within a row; sparse only */
} quiver_vectors;

typedef struct {
  uint64_t n;
  const uint64_t* ids;          /* [n]: numbers, or the lower halves of UUIDs */
  const uint64_t* high;         /* [n]: the upper halves of UUIDs; NULL: numbers */
  const quiver_vectors* fields; /* [n_fields] */
  uint64_t n_fields;
  const char* payloads;            /* JSON objects, one after another; NULL: all {} */
  const uint64_t* payload_offsets; /* [n + 1]; an empty text is {} */
} quiver_points;

/* Returns when the points are durable and visible; they are upserted together or not at all. */
QUIVER_API int32_t quiver_upsert(quiver_collection* collection,
                                 const quiver_points* points) QUIVER_NOEXCEPT;
/* The same by the path of bulk loads, for large sets: the points become a segment of their own.
 * 256 MiB of vectors at a time is a good size. */
QUIVER_API int32_t quiver_bulk_load(quiver_collection* collection,
                                    const quiver_points* points) QUIVER_NOEXCEPT;
/* `body`: as of POST /collections/{name}/points/batch. Returns when all is durable and visible.
 * `text`: a JSON array, one result for each operation. */
QUIVER_API int32_t quiver_update(quiver_collection* collection, const char* body,
                                 char** text) QUIVER_NOEXCEPT;
/* `body`: as of PUT /collections/{name}/index. Returns when every segment uses the index. */
QUIVER_API int32_t quiver_create_index(quiver_collection* collection,
                                       const char* body) QUIVER_NOEXCEPT;
/* `existed`: 0 if there was none on `key`. */
QUIVER_API int32_t quiver_drop_index(quiver_collection* collection, const char* key,
                                     int32_t* existed) QUIVER_NOEXCEPT;

/* `verb`: query, query_batch, retrieve, scroll, count, facet, aggregate or info. `body`: as of
 * REST, "" for info. `text`: the `result` of REST. */
QUIVER_API int32_t quiver_read(quiver_collection* collection, const char* verb, const char* body,
                               char** text) QUIVER_NOEXCEPT;

/* What searches have in common. `body`: as of POST /collections/{name}/points/query, without
 * `query` and `limit`: filter, params, using, score_threshold, offset. `timeout_ms`: 0 for none. */
QUIVER_API int32_t quiver_new_request(const char* body, uint64_t timeout_ms,
                                      quiver_request** request) QUIVER_NOEXCEPT;
QUIVER_API void quiver_free_request(quiver_request* request) QUIVER_NOEXCEPT;

/* Where a search looks and where its hits go. A caller that searches often fills it once. */
typedef struct {
  quiver_collection* collection;
  const quiver_request* request;
  uint64_t n;     /* queries */
  uint64_t k;     /* hits of each, at least 1 */
  uint64_t* ids;  /* [n, k]: numbers, or the lower halves of UUIDs; 2^64 - 1 behind the last hit */
  uint64_t* high; /* [n, k]: the upper halves of UUIDs, 2^64 - 1 for numbers; NULL: a hit with a
                   * UUID is error 9 */
  float* scores;  /* [n, k]; NaN behind the last hit */
  uint64_t* counts; /* [n]: hits of each query; may be NULL */
} quiver_call;

/* The `k` nearest points of each of `n` dense vectors, best first, all from one snapshot.
 * `queries`: [n, dim]. */
QUIVER_API int32_t quiver_search(const quiver_call* call, const float* queries,
                                 uint64_t dim) QUIVER_NOEXCEPT;
/* The same for vectors of any kind. `queries->field` is not read: `using` of the request counts. */
QUIVER_API int32_t quiver_search_vectors(const quiver_call* call,
                                         const quiver_vectors* queries) QUIVER_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
