// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A whole Go program: build information, function table, module data, types, DWARF, rules. The output is an answer
 * that its own parser accepts, or a sentence.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "gobin/gobin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct gobin_request q = { .budget_bytes = 16u << 20 };
	struct gobin_answer *a = NULL;
	struct err err = { 0 };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	int r;

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	r = gobin_analyse(fd, &q, &a, &err);
	close(fd);
	if (r < 0 ? !*err.msg || strchr(err.msg, '\n') : !a)
		abort();
	for (int i = 0; r == 0 && i < GOBIN_RULE__MAX; i++)
		if (a->rules[i].state != GOBIN_READY && !*gobin_str(a, a->rules[i].why))
			abort();
	gobin_answer_free(a);
	return 0;
}
