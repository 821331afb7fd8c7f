/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resolves addresses of one file to functions, in a worker: the request is inherited through fork, the answer comes
 * back as untrusted bytes.
 *
 * resolve_run() is the worker's function (worker_call(.., resolve_run, &request, fd, ..)); resolve_answer_parse()
 * parses its output and checks all of it against the request.
 *
 * One call per file. If an object has a separate debug file, both are asked for the same addresses (virtual addresses
 * are equal in both) and resolve_answer_better() selects an answer for each.
 */
#ifndef ELF_RESOLVE_H
#define ELF_RESOLVE_H

#include "elf/resolve_answer.h"

/* worker_fn. @ctx: struct resolve_request. Exit status 0, or the positive errno of the failure. */
int resolve_run(void *ctx, int in_fd, int out_fd);

#endif
