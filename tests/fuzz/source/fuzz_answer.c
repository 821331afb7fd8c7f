// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output of a parsing worker: arbitrary bytes instead of answers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/str.h"
#include "sonde/wire.h"
#include "source/worker_reply.h"
#include "source/source.h"

static void check(const struct answer *a)
{
	volatile uint8_t sum = 0;

	if (a->kind == ANSWER_END && (a->code > 0 || memchr(a->text, '\0', sizeof(a->text)) == NULL))
		abort();
	if (a->kind == ANSWER_END && strpbrk(a->text, "\n\r\t\033"))
		abort();
	if (a->kind != ANSWER_RECORD)
		return;
	if (a->rec->len < sizeof(*a->rec) || a->rec->len > SOURCE_RECORD_MAX_BYTES)
		abort();
	for (uint32_t i = 0; i < a->rec->len; i++)
		sum ^= ((const uint8_t *)a->rec)[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = malloc(size ? size : 1);	/* aligned, and its end is watched */
	struct cursor c = cur_init(copy, size);
	struct answer a;
	size_t left;

	if (size)
		memcpy(copy, data, size);
	do {
		left = cur_left(&c);
		if (worker_reply_next(&c, &a) <= 0)
			break;
		check(&a);
	} while (cur_left(&c) < left);
	free(copy);
	return 0;
}
