/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ownership of locals by attribute.
 *
 * A local that owns a resource carries the attribute and is initialised in its declaration; TAKE_PTR() or TAKE_FD()
 * hands the resource over. So a reader can see that a function does not leak without reading its callees.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Defines the helper that _cleanup_(func) calls for a variable of type T *. */
#define DEFINE_CLEANUP(type, func) \
	static inline __attribute__((unused)) void func##p(type *p) \
	{ \
		if (*p) \
			func(*p); \
	}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

#define TAKE_PTR(p) \
	({ __typeof__(p) *_take_p = &(p); __typeof__(p) _take_v = *_take_p; *_take_p = NULL; _take_v; })
#define TAKE_FD(fd) \
	({ int *_take_fd = &(fd); int _take_v = *_take_fd; *_take_fd = -1; _take_v; })

#endif
