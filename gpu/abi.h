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

#define QV_GPU_ABI 4 /* a module with another number is refused */
#define QV_GPU_SYMBOL "qv_gpu"
#define QV_ROW_ALIGNMENT 64u /* bytes that rows and queries of 8 bits are padded to, with zeros */
#define QV_TOKEN_GROUP 8u    /* tokens of a document or query are padded to a multiple of it */
#define QV_NOT_CERTIFIED \
  0xFFFFFFFFu /* in place of a number of rows: the device cannot say which are best */
#define QV_ALL_ROWS 0xFFFFFFFFu /* in place of the number of a mask: all rows may be named */

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

/* Rows that the queries of a job may name: a bit for each row, mask after mask. */
typedef struct {
  const uint64_t* words; /* [n, (rows + 63) / 64] */
  uint32_t n;
} qv_masks;

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
  uint32_t mask;         /* number of its mask, or QV_ALL_ROWS */
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
  uint32_t mask;     /* number of its mask of documents, or QV_ALL_ROWS */
} qv_token_query;

/* What a part holds: items, and facts beside them.
 * QV_ROWS: codes of 8 bits, a `qv_row` each.
 * QV_DOCUMENTS: tokens, halves, with those that are repeated; a `qv_document` a document.
 * QV_LISTS: blocks of 16 coded rows as `CodeBlocks` of kernels/codes/codes.h, list after list; the
 *   first block of each list and, at the end, their number, as uint32_t.
 * QV_BYTES: rows of second codes, no facts. 4 bits: byte i of 16 has dimension i of 32 in its low
 *   half, 16 + i in the high half.
 * QV_RUNS: runs of postings, uint16_t, which begin at multiples of 16: the numbers of those with a
 *   level >= l for each of 16 levels l, then these, by falling level, as rows of a range of
 *   QV_RANGE_ROWS. For each term and range the place of its run in multiples of 16, as uint32_t. */
typedef enum {
  QV_ROWS = 0,
  QV_DOCUMENTS = 1,
  QV_LISTS = 2,
  QV_BYTES = 3,
  QV_RUNS = 4
} qv_part_kind;
#define QV_RANGE_ROWS 16384u

typedef struct {
  uint32_t size;
  uint32_t kind;    /* qv_part_kind */
  uint32_t stride;  /* bytes of an item: QV_RUNS 2, else a multiple of QV_ROW_ALIGNMENT */
  uint32_t n_bits;  /* QV_LISTS: 1 to 8 bits a dimension; QV_BYTES: 8 or 4; else 0 */
  uint64_t n_items; /* rows, tokens, blocks, numbers of runs */
  uint64_t n_facts; /* QV_ROWS: `n_items` */
} qv_part_shape;

/* For each query, rows among which its k best are (docs/gpu.md). Memory is pinned and stays as it
 * is until the job is done. */
typedef struct {
  uint32_t size;
  uint32_t n_queries;
  const qv_part* part;
  const int8_t* codes;     /* [n_queries, stride] */
  const qv_query* queries; /* [n_queries] */
  qv_masks masks;
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
  qv_masks masks;
  float rounding;      /* sums of the caller and of the device are off by at most this share of the
                          sum of |q|, times the largest |x| */
  uint32_t capacity;   /* largest number of documents for one query */
  uint32_t* documents; /* out: [n_queries, capacity], in no order */
  uint32_t* n_documents; /* out: [n_queries]; QV_NOT_CERTIFIED if there are more */
} qv_documents;

/* A query as the tables of `CodeTables`. */
typedef struct {
  float step;          /* value of a unit of the sum */
  float offset;        /* is added to the product */
  uint32_t k;          /* codes wanted */
  uint32_t first_slot; /* of the job: a slot for each row of a block that is visited */
  uint32_t n_slots;
} qv_list_query;

/* A list that a query scans. */
typedef struct {
  uint32_t query;
  uint32_t list;
  float base;          /* of the list, for this query */
  uint32_t first_slot; /* those of a visit are in the order of rows */
  uint32_t rank;       /* among the visits of the list, from 0 */
} qv_visit;

/* For each query the `k` best codes of the lists that it visits, and those as good as the last of
 * them. With u the code of a row, the estimate is
 *   (sum * step + offset) * scale + (add + base),
 * in floats, each operation rounded by itself; `sum`: of the entries of the query's tables. Codes
 * whose estimates are not numbers, or minus infinity, are left out. Memory as in `qv_dense`. */
typedef struct {
  uint32_t size;
  uint32_t n_queries;
  const qv_part* part;
  const uint8_t* tables;        /* [n_queries, 128 * lines] */
  const qv_list_query* queries; /* [n_queries] */
  const qv_visit* visits;       /* [n_visits], by list */
  uint32_t n_visits;
  uint32_t n_slots;
  uint32_t most_blocks;  /* of a list that is visited */
  uint32_t capacity;     /* largest number of codes for one query */
  float* scores;         /* out: [n_queries, capacity], in no order */
  uint32_t* positions;   /* out: [n_queries, capacity]: 16 * block + row of it */
  uint32_t* n_positions; /* out: [n_queries]; QV_NOT_CERTIFIED if there are more */
} qv_lists;

/* Products of queries of signed bytes and rows of second codes, in integers. Memory as in
 * `qv_dense`. */
typedef struct {
  uint32_t size;
  uint32_t n_queries;
  const qv_part* part;
  const int8_t* queries;    /* [n_queries, dim]; dim: the bytes of a row, times two at 4 bits */
  const uint32_t* rows;     /* [n_pairs] */
  const uint32_t* query_of; /* [n_pairs] */
  uint32_t n_pairs;
  int32_t* products; /* out: [n_pairs] */
} qv_products;

/* A term of a query, and what each level of its runs adds to a row's sum. Levels below the first
 * one are not read. */
typedef struct {
  uint32_t term;
  uint32_t first_level;
  uint16_t adds[16];
} qv_sum_term;

typedef struct {
  uint32_t first_term;
  uint32_t n_terms;
  uint32_t k;    /* rows wanted */
  uint32_t mask; /* number of its mask, or QV_ALL_ROWS */
} qv_sum_query;

/* For each query the `k` rows with the largest sums, and those with the sum of the last of them.
 * Rows without a sum are left out. No sum is above 65,535. Memory as in `qv_dense`. */
typedef struct {
  uint32_t size;
  uint32_t n_queries;
  const qv_part* part;
  const qv_sum_term* terms;    /* [n_terms] */
  const qv_sum_query* queries; /* [n_queries] */
  qv_masks masks;
  uint32_t n_terms;
  uint32_t n_rows;
  uint32_t capacity; /* largest number of rows for one query */
  uint32_t* rows;    /* out: [n_queries, capacity], in no order */
  uint32_t* sums;    /* out: [n_queries, capacity] */
  uint32_t* n_found; /* out: [n_queries]; QV_NOT_CERTIFIED if there are more */
} qv_sums;

typedef struct {
  uint32_t size;
  uint32_t abi;
  const char* build;                         /* "cuda 13.0 sm_80 sm_90" */
  int32_t (*n_devices)(char* why, size_t n); /* 0, and why */
  qv_status (*open)(int32_t device, qv_device** out);
  void (*close)(qv_device* device); /* after all its parts and lanes */
  void (*facts)(qv_device* device, qv_device_facts* out);
  qv_status (*part_make)(qv_device* device, const qv_part_shape* shape, qv_part** out);
  /* Copies items [first, first + n), and facts likewise; returns when they are read. */
  qv_status (*part_put)(qv_part* part, uint64_t first, uint64_t n, const void* items);
  qv_status (*part_put_facts)(qv_part* part, uint64_t first, uint64_t n, const void* facts);
  void (*part_free)(qv_part* part);
  void* (*pinned)(qv_device* device, uint64_t n_bytes); /* NULL: no memory */
  void (*unpin)(qv_device* device, void* memory);
  qv_status (*lane_make)(qv_device* device, qv_lane** out);
  void (*lane_free)(qv_lane* lane);
  /* Queues a job; a lane has one at a time. */
  qv_status (*dense)(qv_lane* lane, const qv_dense* job);
  qv_status (*documents)(qv_lane* lane, const qv_documents* job);
  qv_status (*lists)(qv_lane* lane, const qv_lists* job);
  qv_status (*products)(qv_lane* lane, const qv_products* job);
  qv_status (*sums)(qv_lane* lane, const qv_sums* job);
  /* Waits up to `us` microseconds for the job. QV_BUSY: not done yet. */
  qv_status (*wait)(qv_lane* lane, uint32_t us);
  const char* (*last_error)(void); /* of this thread, "" if there is none */
} qv_gpu_api;

typedef const qv_gpu_api* (*qv_gpu_function)(uint32_t abi);

#endif
