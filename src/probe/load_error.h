/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explains in one sentence why the kernel refused a BPF object: from libbpf's warnings, the verifier's log and the
 * error number. Each of them alone misleads: EINVAL mostly means "unsupported by this kernel".
 */
#ifndef PROBE_LOAD_ERROR_H
#define PROBE_LOAD_ERROR_H

struct err;

/*
 * Keeps libbpf's warnings instead of printing them, for the whole process: libbpf has one callback without a context.
 * load_error_begin() drops the warnings kept for the calling thread.
 */
void load_error_capture(void);
void load_error_begin(void);

/* A load failed with @code: sets @err from the warnings kept. Returns @code, as do the functions below. */
int load_error_of_load(struct err *err, int code);

/* A map could not be created; @what completes "cannot ...". */
int load_error_of_maps(struct err *err, int code, const char *what);

/* The sentence alone, for tests. @words: a warning of libbpf; @log: the verifier's reason. Either may be "". */
int load_error_explain(struct err *err, int code, const char *words, const char *log);

/* Copies the reason to @buf: the last line of a verifier log but for statistics; "" for an empty log. */
void load_error_last_line(const char *log, char *buf, unsigned cap);

/* libbpf_num_possible_cpus() failed. */
int load_error_of_cpus(struct err *err, int code);
/* The kernel's BTF could not be read: the reason, and a remedy. */
int load_error_of_btf(struct err *err);

#endif
