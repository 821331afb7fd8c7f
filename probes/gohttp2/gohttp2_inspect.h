/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inspection of one file by an unprivileged worker.
 */
#ifndef GOHTTP2_INSPECT_H
#define GOHTTP2_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct gobin_answer;

/*
 * @ret: release with gobin_answer_free(). *ret_code: address of the first executable segment. @exclude is called when
 * the worker starts and when it ends. -ENOEXEC for other than Go programs, -errno; @err has the message.
 */
int gohttp2_inspect(int fd, void (*exclude)(void *ctx, uint32_t tgid, bool on), void *ctx, struct gobin_answer **ret,
		    uint64_t *ret_code, struct err *err);

#endif
