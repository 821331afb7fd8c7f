/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS libraries of this host: found among the mappings, inspected and attached once per file. A file stays attached
 * when its last process ends: short-lived programs start and end between two looks.
 */
#ifndef CALL_TLS_H
#define CALL_TLS_H

struct call_tls;
struct err;
struct sonde_rec;

struct call_tls_opts {
	/* For uprobe.multi and for single uprobes; either pair may be NULL. */
	struct bpf_program *enter_multi, *return_multi, *enter_single, *return_single;
	struct bpf_program *go_multi, *go_single;
	struct bpf_object *obj;	/* of the maps for Go programs; borrowed */
	const char *proc_path;	/* "/proc"; borrowed during call_tls_new() */
	struct coop *coop;	/* borrowed; NULL = the loop waits while a file is inspected */
};

int call_tls_new(const struct call_tls_opts *o, struct call_tls **ret, struct err *err);
/* Attaches the libraries of the host's own directories, so that the first call of a program is seen. */
void call_tls_host(struct call_tls *t);
/* Attaches a program before it runs. @name: a path, or a name in $PATH. 0 or -errno. */
int call_tls_expect(struct call_tls *t, const char *name);
/*
 * @given: "FILE:SSL_read=0x1234,SSL_write=0x5678", functions of a file without names for them; attached by
 * call_tls_host(). -EINVAL with a sentence in @err.
 */
int call_tls_give(struct call_tls *t, const char *given, struct err *err);
/* A process mapped an executable file. @r: a struct sonde_mmap_rec. 0 if a library in it is attached, or -errno. */
int call_tls_mapping(struct call_tls *t, const struct sonde_rec *r);
/* No hit after this. NULL is fine. */
void call_tls_detach(struct call_tls *t);
void call_tls_free(struct call_tls *t);	/* NULL is fine */

#endif
