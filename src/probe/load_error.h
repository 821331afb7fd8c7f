/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why the kernel refused a BPF object, in one sentence: from what libbpf said, what the verifier said, and the
 * error number. Each of them alone misleads: EINVAL mostly means "this kernel does not have it".
 */
#ifndef PROBE_LOAD_ERROR_H
#define PROBE_LOAD_ERROR_H

#include <stddef.h>

struct err;

/*
 * From here on libbpf prints nothing; what it warns of is kept. For the whole process: libbpf has one callback
 * without a context. load_error_begin() forgets what was kept; loads of several threads would mix their words.
 */
void load_error_capture(void);
void load_error_begin(void);

/* A load failed with @code: sets @err from what was kept. Returns @code. */
int load_error_of_load(struct err *err, int code);

/* Making maps failed with @code, while @what. */
int load_error_of_maps(struct err *err, int code, const char *what);

/* The sentence alone, for tests: @words is one warning of libbpf, @log the verifier's, either may be "". */
int load_error_explain(struct err *err, int code, const char *words, const char *log);

/* The line of a verifier log that says what is wrong, copied to @buf ("" if there is none). */
void load_error_last_line(const char *log, char *buf, unsigned cap);

/* libbpf could not tell how many CPUs there are. */
int load_error_of_cpus(struct err *err, int code);
/* The kernel's types could not be read: why, and what to do. */
int load_error_of_btf(struct err *err);

#endif
