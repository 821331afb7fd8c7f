/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One file, looked at by a worker without rights.
 */
#ifndef GOHTTP2_INSPECT_H
#define GOHTTP2_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct gobin_answer;

/*
 * @ret: release with gobin_answer_free(). *ret_code: address of the first executable segment. @exclude is told of the
 * worker's process and of its end. -ENOEXEC with a sentence for what is no Go program, -errno with one else.
 */
int gohttp2_inspect(int fd, void (*exclude)(void *ctx, uint32_t tgid, bool on), void *ctx, struct gobin_answer **ret,
		    uint64_t *ret_code, struct err *err);

#endif
