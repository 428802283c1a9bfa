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

#define QV_GPU_ABI 1 /* a module with another number is refused */
#define QV_GPU_SYMBOL "qv_gpu"
#define QV_ROW_ALIGNMENT 64u /* bytes that rows and queries of 8 bits are padded to, with zeros */
#define QV_NOT_CERTIFIED \
  0xFFFFFFFFu /* in `qv_dense.n_rows`: the device cannot say which rows are best */

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

typedef struct {
  uint32_t size;
  uint32_t stride; /* bytes of a row of codes: a multiple of QV_ROW_ALIGNMENT */
  uint64_t n_rows;
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
  void (*part_free)(qv_part* part);
  void* (*pinned)(qv_device* device, uint64_t n_bytes); /* NULL: no memory */
  void (*unpin)(qv_device* device, void* memory);
  qv_status (*lane_make)(qv_device* device, qv_lane** out);
  void (*lane_free)(qv_lane* lane);
  /* Queues a job; a lane has one at a time. */
  qv_status (*dense)(qv_lane* lane, const qv_dense* job);
  /* Waits up to `us` microseconds for the job. QV_BUSY: not done yet. */
  qv_status (*wait)(qv_lane* lane, uint32_t us);
  const char* (*last_error)(void); /* of this thread, "" if there is none */
} qv_gpu_api;

typedef const qv_gpu_api* (*qv_gpu_function)(uint32_t abi);

#endif
