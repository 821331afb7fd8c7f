// SPDX-License-Identifier: GPL-2.0-or-later
/* Any target of a request, and any headers: lines of the input. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "ui/ui_query.h"
#include "ui/ui_walls.h"

static void check(char *text)
{
	struct ui_walls walls = { .token = { "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }, .host = "a.example" };
	struct ui_request r = { .method = "GET" };
	const char **to[] = { &r.path, &r.host, &r.origin, &r.fetch_site, &r.authorization };
	const char *why;
	char *rest = text;

	for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
		char *line = strsep(&rest, "\n");

		*to[i] = line ? line : i ? NULL : "";
	}
	if (ui_walls_check(&walls, &r, &why) == 0 && ui_walls_is_api(r.path) &&
	    (!r.authorization || strcmp(r.authorization, "Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct err err = { 0 };
	struct ui_query q;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	ui_query_parse(text, &q, &err);
	for (size_t i = 0; i < q.n_subs; i++) {
		struct ui_query sub;

		ui_query_parse(q.subs[i], &sub, &err);
		ui_query_fini(&sub);
	}
	ui_query_fini(&q);
	check(text);
	free(text);
	return 0;
}
