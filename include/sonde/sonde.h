/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * libsonde: system calls of this host or of a capture file as a library. The interface resembles libscap's, so that
 * programs can be ported by renaming.
 *
 *	sonde_t *h = sonde_open_live(error, &rc);
 *	while ((rc = sonde_next(h, &evt, &cpu)) == SONDE_SUCCESS || rc == SONDE_TIMEOUT)
 *		...
 *	sonde_close(h);
 *
 * A handle belongs to one thread. The stream excludes the calling process. Live capture needs the rights that `sonde
 * doctor` names. The library neither writes to standard output or error nor installs signal handlers.
 */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_API __attribute__((visibility("default")))

/* Return values, with libscap's numbers. */
#define SONDE_SUCCESS 0
#define SONDE_FAILURE 1		/* reason: sonde_getlasterr() */
#define SONDE_TIMEOUT (-1)	/* no event in time: call again */
#define SONDE_ILLEGAL_INPUT 3	/* not a capture, or corrupt */
#define SONDE_NOTFOUND 4
#define SONDE_EOF 6		/* end of the file */

#define SONDE_LASTERR_SIZE 512

typedef struct sonde sonde_t;

/* An event in libscap's layout: this header, nparams lengths, the bytes of all parameters. Unaligned. */
typedef struct sonde_evt {
	uint64_t ts;		/* ns since 1970 */
	uint64_t tid;		/* all ones: none */
	uint32_t len;		/* header, lengths and parameters */
	uint16_t type;		/* libscap's number: even for an entry, odd for an exit */
	uint32_t nparams;
} __attribute__((packed)) sonde_evt;

/* The eight counters of libscap. */
typedef struct sonde_stats {
	uint64_t n_evts;		/* seen by BPF programs, dropped events included */
	uint64_t n_drops;		/* all lost events */
	uint64_t n_drops_buffer;	/* ring full */
	uint64_t n_drops_pf;		/* memory could not be read */
	uint64_t n_drops_bug;		/* other causes: map full, undecodable record, no memory */
	uint64_t n_preemptions;		/* a hook interrupted itself and did not run */
	uint64_t n_suppressed;		/* of suppressed threads */
	uint64_t n_tids_suppressed;	/* threads suppressed at present */
} sonde_stats;

/* A thread that existed at the start. Strings are valid during the call; "" = unknown. */
typedef struct sonde_threadinfo {
	int64_t tid, pid, ptid;
	uint32_t uid, gid;
	const char *comm, *exe, *exepath, *cwd;
} sonde_threadinfo;

typedef void (*sonde_proc_callback)(void *context, sonde_t *h, const sonde_threadinfo *t);

#define SONDE_MAX_SUPPRESSED_COMMS 32

/* Zero it, then set `size`. 0 and NULL select defaults. */
typedef struct sonde_open_args {
	size_t size;			/* sizeof(struct sonde_open_args) */
	const char *path;		/* a capture or recording; NULL = live */
	sonde_proc_callback proc_callback;	/* called while opening, or with the first event of a file */
	void *proc_callback_context;
	bool import_users;		/* names of users and groups, for sonde_user_name() */
	const char *const *suppressed_comms;	/* up to 32, then NULL; with their children */
	uint32_t snaplen;		/* bytes of data per system call; 0 = 80 */
	uint64_t ring_bytes;		/* per CPU, a power of two; 0 = 4 MiB */
	uint32_t timeout_ms;		/* longest wait of sonde_next(); 0 = 30 */
} sonde_open_args;

/* NULL on failure, with the kind in *@rc and the reason in @error (SONDE_LASTERR_SIZE bytes). Both may be NULL. */
SONDE_API sonde_t *sonde_open(const sonde_open_args *args, char *error, int32_t *rc);
SONDE_API sonde_t *sonde_open_live(char *error, int32_t *rc);
SONDE_API sonde_t *sonde_open_file(const char *path, char *error, int32_t *rc);
SONDE_API void sonde_close(sonde_t *h);		/* NULL is fine */

/*
 * The next event, valid until the next call, and its CPU. SONDE_SUCCESS, SONDE_TIMEOUT, SONDE_EOF,
 * SONDE_ILLEGAL_INPUT or SONDE_FAILURE.
 */
SONDE_API int32_t sonde_next(sonde_t *h, sonde_evt **ret_evt, uint16_t *ret_cpuid);

/* Name of an event's type ("openat"); NULL for an unknown type. */
SONDE_API const char *sonde_evt_name(const sonde_evt *evt);
/* Parameter @i of an event of sonde_next(): its bytes and length; NULL if it has fewer. */
SONDE_API const void *sonde_evt_param(const sonde_evt *evt, uint32_t i, uint32_t *ret_len);
SONDE_API const char *sonde_evt_param_name(const sonde_evt *evt, uint32_t i);

SONDE_API int32_t sonde_get_stats(sonde_t *h, sonde_stats *ret);
SONDE_API const char *sonde_getlasterr(sonde_t *h);

/* Events between the two calls are left out; programs stay attached. A new handle captures. */
SONDE_API int32_t sonde_stop_capture(sonde_t *h);
SONDE_API int32_t sonde_start_capture(sonde_t *h);

/* NULL if unknown or without import_users. Valid until the next sonde_next(). */
SONDE_API const char *sonde_user_name(sonde_t *h, uint32_t uid);
SONDE_API const char *sonde_group_name(sonde_t *h, uint32_t gid);

/* "0.1.0" */
SONDE_API const char *sonde_version(void);

#ifdef __cplusplus
}
#endif

#endif
