// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Output of a compromised worker: refused, or every number in it is within bounds and every string is terminated.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "gobin/gobin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct gobin_answer *a = NULL;
	struct err err = { 0 };
	size_t sum = 0;

	if (gobin_answer_parse(data, len, &a, &err) < 0)
		return 0;
	for (int i = 0; i < GOBIN_RULE__MAX; i++) {
		const struct gobin_rule_answer *r = &a->rules[i];

		sum += strlen(gobin_str(a, r->why)) + strlen(gobin_state_name(r->state)) +
		       strlen(gobin_site_kind_name(r->site.kind)) + strlen(gobin_str(a, r->site.symbol));
		for (unsigned k = 0; k < r->site.n_args; k++)
			sum += strlen(gobin_str(a, r->site.args[k].name)) +
			       strlen(gobin_reg_name(a->machine, r->site.args[k].reg));
	}
	for (int i = 0; i < GOBIN_F__MAX; i++)
		sum += strlen(gobin_str(a, a->fields[i].name));
	if (sum == SIZE_MAX)
		abort();
	gobin_answer_free(a);
	return 0;
}
