// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/dns/net_dns.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "event/names.h"
#include "event/value.h"
#include "packet/dns.h"
#include "probe/env.h"
#include "probes/net/dns/net_dns_wire.h"

#define HOSTS_MAX 16384u
#define SWEEP_NS 10000000000ull
#define LINGER_S 300u /* a connection outlives the DNS answer it was made with */
#define TTL_MAX_S 86400u

struct net_dns_host {
	uint64_t until_ns;	/* boot time */
	uint64_t name_hash;	/* the same name again: no new record */
};

void net_dns_init(struct net_dns *d, struct probe_env *env)
{
	d->env = env;
	map_init(&d->hosts, sizeof(uint64_t), sizeof(struct net_dns_host));
}

void net_dns_fini(struct net_dns *d)
{
	map_fini(&d->hosts);
}

static int forget(struct net_dns *d, uint64_t key)
{
	map_remove(&d->hosts, &key);
	return probe_env_inject_name(d->env, SONDE_NAME_HOST, key, "");
}

/* Makes room for one more by removing the next entry of the table. */
static int evict(struct net_dns *d)
{
	void *key, *val;

	if (!map_next(&d->hosts, &d->hand, &key, &val)) {
		d->hand = 0;
		if (!map_next(&d->hosts, &d->hand, &key, &val))
			return 0;
	}
	return forget(d, *(uint64_t *)key);
}

static int add(struct net_dns *d, const struct dns_answer *a, const struct dns_address *addr, uint64_t now_ns)
{
	struct ipaddr ip = { .family = addr->family };
	uint64_t key, hash = map_hash(a->name, strlen(a->name));
	struct net_dns_host *h;
	bool fresh = false;
	int r = 0;

	memcpy(ip.addr, addr->addr, sizeof(ip.addr));
	key = event_names_host_key(&ip);
	if (d->hosts.len >= HOSTS_MAX && !map_find(&d->hosts, &key))
		r = evict(d);
	h = r < 0 ? NULL : map_add(&d->hosts, &key, &fresh);
	if (!h)
		return r < 0 ? r : -ENOMEM;
	h->until_ns = now_ns + (MIN(addr->ttl, TTL_MAX_S) + LINGER_S) * 1000000000ull;
	if (!fresh && h->name_hash == hash)
		return 0;
	h->name_hash = hash;
	return probe_env_inject_name(d->env, SONDE_NAME_HOST, key, a->name);
}

int net_dns_record(struct net_dns *d, const struct sonde_rec *rec)
{
	struct cursor c = cur_init(rec, rec->len);
	struct net_dns_rec head;
	struct dns_answer answer;
	const void *data;
	int r = 0;

	if (rec->type != NET_EV_DNS || !cur_copy(&c, &head, sizeof(head)))
		return 0;	/* the decoder counts it */
	data = cur_bytes(&c, head.len);
	if (!data || dns_answer_parse(data, head.len, &answer) < 0)
		return 0;
	for (unsigned i = 0; r >= 0 && i < answer.n; i++)
		r = add(d, &answer, &answer.addresses[i], rec->ts_ns);
	return r;
}

int net_dns_tick(struct net_dns *d, uint64_t now_ns)
{
	size_t pos = 0;
	void *key, *val;
	int r = 0;

	if (now_ns - d->swept_ns < SWEEP_NS)
		return 0;
	d->swept_ns = now_ns;
	while (r >= 0 && map_next(&d->hosts, &pos, &key, &val)) {
		if (((struct net_dns_host *)val)->until_ns > now_ns)
			continue;
		r = forget(d, *(uint64_t *)key);
		pos = 0;	/* the table has changed */
	}
	return r;
}
