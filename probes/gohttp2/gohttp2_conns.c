// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See gohttp2_conns.h.
 */
#include "probes/gohttp2/gohttp2_conns.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>

#include "gobin/gobin.h"
#include "probes/gohttp2/gohttp2_layout.h"
#include "probes/gohttp2/gohttp2_wire.h"

struct row {
	uint64_t type;
	struct gohttp2_conn_type val;
	char name[128];
};

struct gohttp2_conns {
	size_t n;
	struct row rows[GOBIN_CONNS_MAX];
};

struct gohttp2_conns *gohttp2_conns_new(const struct gobin_answer *a)
{
	struct gohttp2_conns *c = calloc(1, sizeof(*c));

	for (uint32_t i = 0; c && i < a->n_conns; i++) {
		struct row *row = &c->rows[c->n++];

		row->type = a->conns[i].type;
		gohttp2_layout_conn(&a->conns[i], &row->val);
		snprintf(row->name, sizeof(row->name), "%s", gobin_str(a, a->conns[i].name));
	}
	return c;
}

void gohttp2_conns_free(struct gohttp2_conns *c)
{
	free(c);
}

void gohttp2_conns_publish(const struct gohttp2_conns *c, int fd, uint32_t module)
{
	for (size_t i = 0; c && i < c->n; i++) {
		const struct gohttp2_type_key key = { .type = c->rows[i].type, .module = module };

		bpf_map_update_elem(fd, &key, &c->rows[i].val, BPF_ANY);
	}
}

void gohttp2_conns_withdraw(const struct gohttp2_conns *c, int fd, uint32_t module)
{
	for (size_t i = 0; c && i < c->n; i++) {
		const struct gohttp2_type_key key = { .type = c->rows[i].type, .module = module };

		bpf_map_delete_elem(fd, &key);
	}
}

const char *gohttp2_conns_name(const struct gohttp2_conns *c, uint64_t type)
{
	for (size_t i = 0; c && i < c->n; i++)
		if (c->rows[i].type == type)
			return c->rows[i].name;
	return NULL;
}
