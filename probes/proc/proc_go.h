/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go programs among the running ones: each file is analysed once, and the BPF programs get the layout of its
 * goroutines, per process and, for later processes, per file (bpf/ident_go.bpf.h).
 */
#ifndef PROC_GO_H
#define PROC_GO_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct err;
struct probe_env;
struct proc_go;

/* @obj: the loaded programs of the proc probe; borrowed, like @env. */
int proc_go_new(struct bpf_object *obj, struct probe_env *env, struct proc_go **ret, struct err *err);
void proc_go_free(struct proc_go *g);	/* NULL is fine; no job of it may be running */

/* A process runs a new program. It is analysed beside the loop if it may be Go's. */
void proc_go_process(struct proc_go *g, uint32_t tgid);
/* All processes of the selection @pids, which are analysed before this returns; none: all of the host, beside it. */
void proc_go_scan(struct proc_go *g, const uint32_t *pids, size_t n_pids);
/* Withdraws the job. */
void proc_go_stop(struct proc_go *g);

#endif
