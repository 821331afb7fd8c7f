// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rule files: mistakes have a place, what was read can be read again from its own words, and the tables decide as the
 * rules do. The packet is made of the text's last bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "policy/policy.h"
#include "tests/unit/policy/policy_table.h"

#define PACKET_BYTES ((size_t)44)

static void make_packet(const uint8_t *data, struct policy_packet *p)
{
	bool v6 = data[0] & 1;

	*p = (struct policy_packet){
		.dir = data[0] >> 1 & 1, .state = data[0] >> 2 & 3, .has_ip = true, .family = v6 ? 6 : 4,
		.proto = data[1], .saddr.family = v6 ? 6 : 4, .daddr.family = v6 ? 6 : 4,
		.sport = (uint16_t)(data[2] << 8 | data[3]), .dport = (uint16_t)(data[4] << 8 | data[5]),
		.pid = data[6],
	};
	memcpy(p->saddr.addr, data + 8, v6 ? 16 : 4);
	memcpy(p->daddr.addr, data + 24, v6 ? 16 : 4);
	memcpy(p->comm.name, data + 40, 3);
}

static void check_again(const struct policy *p)
{
	struct buf text = { 0 };
	struct policy *again = NULL;

	for (size_t i = 0; i < p->rules.len; i++)
		buf_printf(&text, "%s\n", p->rules.items[i].text);
	if (policy_parse(text.data, text.len, &again, NULL) < 0 || again->rules.len != p->rules.len)
		abort();
	policy_free(again);
	buf_fini(&text);
}

static int any_cgroup(void *ctx, const char *path, uint64_t *ret_id, uint32_t *ret_level)
{
	(void)ctx;
	*ret_id = strlen(path);
	*ret_level = (uint32_t)strlen(path) % 20;
	return 0;
}

static void check_tables(const struct policy *p, const struct policy_packet *pkt)
{
	struct policy_table *t = NULL;
	struct policy_verdict v;

	policy_decide(p, pkt, &v);
	if (policy_table_compile(p, any_cgroup, NULL, &t, NULL) < 0)
		return;
	if (!(t->head.asks & 1u << SONDE_POLICY_CGROUP) && policy_table_number(t, pkt) != v.number)
		abort();
	policy_table_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[PACKET_BYTES] = { 0 };
	struct policy_packet pkt;
	struct policy *p = NULL;
	struct err err = { 0 };
	int r = policy_parse((const char *)data, size, &p, &err);

	if (r < 0) {
		if (r != -EINVAL || err.msg[0] < '1' || err.msg[0] > '9' || strchr(err.msg, '\n'))
			abort();
		return 0;
	}
	if (size)
		memcpy(bytes, data + size - MIN(size, PACKET_BYTES), MIN(size, PACKET_BYTES));
	make_packet(bytes, &pkt);
	if (p->rules.len && size < 4096) {
		check_again(p);
		check_tables(p, &pkt);
	}
	policy_free(p);
	return 0;
}
