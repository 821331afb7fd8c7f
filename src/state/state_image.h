/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images: program and arguments of an exec, shared with the processes that inherit them.
 */
#ifndef STATE_IMAGE_H
#define STATE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct state_image {
	uint32_t refs;
	uint32_t exe_len, args_len;
	char text[];		/* exe, then args */
};

struct state_images {
	size_t bytes;		/* of all images */
};

static inline const char *state_image_args(const struct state_image *im)
{
	return im->text + im->exe_len;
}

/* A new image with one reference; texts may be NULL if they are empty. NULL without memory. */
struct state_image *state_image_new(struct state_images *t, const char *exe, size_t exe_len, const char *args,
				    size_t args_len);

struct state_image *state_image_get(struct state_image *im); /* NULL is fine */
void state_image_put(struct state_images *t, struct state_image *im); /* NULL is fine */

/* Order of two images by content, for sorting: <0, 0, >0. */
int state_image_compare(const struct state_image *a, const struct state_image *b);

#endif
