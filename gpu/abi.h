/* What the server and a module for devices share, in plain C.
 *
 * A module exports one function, `qv_gpu`, which returns a table of functions. No exception and no
 * C++ type crosses it. Every struct begins with its size in bytes, so that members can be added at
 * its end. Functions that do not name a lane may be called by any thread; those of one lane by one
 * thread at a time. */
#ifndef QUIVER_GPU_ABI_H_
#define QUIVER_GPU_ABI_H_

#include <stddef.h>
#include <stdint.h>

#define QV_GPU_ABI 2 /* a module with another number is refused */
#define QV_GPU_SYMBOL "qv_gpu"
#define QV_ROW_ALIGNMENT 64u /* bytes that rows and queries of 8 bits are padded to, with zeros */
#define QV_TOKEN_GROUP 8u    /* tokens of a document or query are padded to a multiple of it */
#define QV_NOT_CERTIFIED \
  0xFFFFFFFFu /* in place of a number of rows: the device cannot say which are best */

/* QV_NOT: the module does not do this job, the caller should. QV_BUSY: not done yet. QV_LOST: the
 * device is gone for this process; no more calls but `last_error` are useful. */
typedef enum { QV_DONE = 0, QV_NOT = 1, QV_NO_MEMORY = 2, QV_BUSY = 3, QV_LOST = 4 } qv_status;

typedef struct qv_device qv_device;
typedef struct qv_part qv_part;
typedef struct qv_lane qv_lane;

typedef struct {
  uint32_t size;
  char name[120];
  uint64_t memory_bytes; /* in all */
  uint64_t free_bytes;   /* now */
  char products[24];     /* how it multiplies: "wgmma", "mma" */
} qv_device_facts;

/* A row x that was rounded to 8 bits: x is about scale * code. Lengths are rounded up. */
typedef struct {
  float scale;
  float error;  /* |x - scale * code| */
  float length; /* |scale * code| */
  float square; /* |x|^2 */
} qv_row;

/* A query q that was rounded to 8 bits with scale s: q is about s * code. All numbers are rounded
 * up. Under Dot the last two are 0. */
typedef struct {
  float length;          /* |q| / s */
  float error;           /* |q - s * code| / s */
  float square;          /* |q|^2 / (2 s) */
  float half_over_scale; /* 1 / (2 s) */
  uint32_t k;            /* hits wanted */
} qv_query;

/* A document of tokens x, each rounded to 16 bits: x is about half(x). They are one after another,
 * in groups of QV_TOKEN_GROUP; the last one is repeated to fill its group. Rounded up. */
typedef struct {
  uint32_t first_group;
  uint32_t n_groups; /* 0: no tokens, never named */
  float error;       /* the largest |x - half(x)| */
  float length;      /* the largest |half(x)| */
} qv_document;

/* A query of tokens q, rounded alike and padded with zeros to groups. Rounded up. */
typedef struct {
  uint32_t first_group;
  uint32_t n_groups; /* at least 1; the next query's groups follow */
  float length;      /* the sum of |q| */
  float error;       /* the sum of |q - half(q)| */
  uint32_t k;        /* hits wanted */
} qv_token_query;

/* Rows of codes, or tokens of documents. */
typedef struct {
  uint32_t size;
  uint32_t stride;      /* bytes of a row or token: a multiple of QV_ROW_ALIGNMENT */
  uint64_t n_rows;      /* rows, or tokens with those that are repeated */
  uint64_t n_documents; /* 0: rows */
} qv_part_shape;

/* For each query, rows among which its k best are (docs/gpu.md). Memory is pinned and stays as it
 * is until the job is done. */
typedef struct {
  uint32_t size;
  uint32_t n_queries;
  const qv_part* part;
  const int8_t* codes;     /* [n_queries, stride] */
  const qv_query* queries; /* [n_queries] */
  const uint64_t* allowed; /* a bit for each row; NULL: all rows are allowed */
  float rounding; /* the caller's own scores are off by at most this share of |q| |x|, Euclid (|q| +
                     |x|)^2 */
  uint32_t capacity; /* largest number of rows for one query */
  uint32_t* rows;    /* out: [n_queries, capacity], in no order */
  uint32_t* n_rows;  /* out: [n_queries]; QV_NOT_CERTIFIED if there are more */
} qv_dense;

/* For each query, documents among which its k best are. The score of a document is the sum, over
 * the query's tokens, of the largest <q, x> of its tokens. Memory as in `qv_dense`. */
typedef struct {
  uint32_t size;
  uint32_t n_queries;
  const qv_part* part;
  const uint16_t* tokens;        /* halves, [groups * QV_TOKEN_GROUP, stride / 2] */
  const qv_token_query* queries; /* [n_queries] */
  const uint64_t* allowed;       /* a bit for each document; NULL: all are allowed */
  float rounding;      /* sums of the caller and of the device are off by at most this share of the
                          sum of |q|, times the largest |x| */
  uint32_t capacity;   /* largest number of documents for one query */
  uint32_t* documents; /* out: [n_queries, capacity], in no order */
  uint32_t* n_documents; /* out: [n_queries]; QV_NOT_CERTIFIED if there are more */
} qv_documents;

typedef struct {
  uint32_t size;
  uint32_t abi;
  const char* build;                         /* "cuda 13.0 sm_80 sm_90" */
  int32_t (*n_devices)(char* why, size_t n); /* 0, and why */
  qv_status (*open)(int32_t device, qv_device** out);
  void (*close)(qv_device* device); /* after all its parts and lanes */
  void (*facts)(qv_device* device, qv_device_facts* out);
  qv_status (*part_make)(qv_device* device, const qv_part_shape* shape, qv_part** out);
  /* Copies rows [first, first + n); returns when they are read. */
  qv_status (*part_put)(qv_part* part, uint64_t first, uint64_t n, const int8_t* codes,
                        const qv_row* rows);
  /* Copies tokens [first, first + n), and documents likewise. */
  qv_status (*part_put_tokens)(qv_part* part, uint64_t first, uint64_t n, const uint16_t* tokens);
  qv_status (*part_put_documents)(qv_part* part, uint64_t first, uint64_t n,
                                  const qv_document* documents);
  void (*part_free)(qv_part* part);
  void* (*pinned)(qv_device* device, uint64_t n_bytes); /* NULL: no memory */
  void (*unpin)(qv_device* device, void* memory);
  qv_status (*lane_make)(qv_device* device, qv_lane** out);
  void (*lane_free)(qv_lane* lane);
  /* Queues a job; a lane has one at a time. */
  qv_status (*dense)(qv_lane* lane, const qv_dense* job);
  qv_status (*documents)(qv_lane* lane, const qv_documents* job);
  /* Waits up to `us` microseconds for the job. QV_BUSY: not done yet. */
  qv_status (*wait)(qv_lane* lane, uint32_t us);
  const char* (*last_error)(void); /* of this thread, "" if there is none */
} qv_gpu_api;

typedef const qv_gpu_api* (*qv_gpu_function)(uint32_t abi);

#endif
