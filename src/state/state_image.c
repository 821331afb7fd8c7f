// SPDX-License-Identifier: GPL-2.0-or-later
#include "state/state_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static size_t bytes_of(const struct state_image *im)
{
	return sizeof(*im) + im->exe_len + im->args_len;
}

struct state_image *state_image_new(struct state_images *t, const char *exe, size_t exe_len, const char *args,
				    size_t args_len)
{
	struct state_image *im = malloc(sizeof(*im) + exe_len + args_len);

	if (!im)
		return NULL;
	*im = (struct state_image){ .refs = 1, .exe_len = (uint32_t)exe_len, .args_len = (uint32_t)args_len };
	if (exe_len)
		memcpy(im->text, exe, exe_len);
	if (args_len)
		memcpy(im->text + exe_len, args, args_len);
	t->bytes += bytes_of(im);
	return im;
}

struct state_image *state_image_get(struct state_image *im)
{
	if (im)
		im->refs++;
	return im;
}

void state_image_put(struct state_images *t, struct state_image *im)
{
	if (!im || --im->refs)
		return;
	t->bytes -= bytes_of(im);
	free(im);
}

static int compare_bytes(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int r = memcmp(a, b, MIN(a_len, b_len));

	return r ? r : (a_len > b_len) - (a_len < b_len);
}

int state_image_compare(const struct state_image *a, const struct state_image *b)
{
	int r;

	if (!a || !b)
		return (a != NULL) - (b != NULL);
	r = compare_bytes(a->text, a->exe_len, b->text, b->exe_len);
	return r ? r : compare_bytes(state_image_args(a), a->args_len, state_image_args(b), b->args_len);
}
