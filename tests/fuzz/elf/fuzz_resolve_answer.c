// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers of a worker: an accepted answer is complete, and its strings end inside it. */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "elf/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0x1005, 0x3000 };
	struct resolve_request q = { .kind = RESOLVE_ELF, .addrs = addrs, .n = ARRAY_SIZE(addrs) };
	struct resolve_answer *a;
	size_t len = 0;

	if (resolve_answer_parse(&q, data, size, &a) < 0)
		return 0;
	for (uint32_t i = 0; i < a->n; i++) {
		if ((a->addrs[i].quality == RESOLVE_UNKNOWN) != !a->addrs[i].n)
			abort();
		for (uint32_t j = 0; j < a->addrs[i].n; j++) {
			const struct resolve_func *f = &a->addrs[i].funcs[j];

			len += strlen(f->name) + strlen(f->raw) + strlen(f->file);
			if (f->start > addrs[i])
				abort();
		}
	}
	(void)len;
	resolve_answer_free(a);
	return 0;
}
