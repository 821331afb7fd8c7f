/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of addresses, out of DNS answers: into the stream (SONDE_NAME_HOST), and out of it when they are old. A
 * bounded table; of an address the last answer counts.
 */
#ifndef NET_DNS_H
#define NET_DNS_H

#include <stdint.h>

#include "base/map.h"

struct probe_env;
struct sonde_rec;

struct net_dns {
	struct probe_env *env;
	struct map hosts;	/* event_names_host_key() -> struct net_dns_host */
	uint64_t swept_ns;	/* boot time of the last look for old ones */
	size_t hand;		/* where the search for a victim goes on */
};

void net_dns_init(struct net_dns *d, struct probe_env *env);
void net_dns_fini(struct net_dns *d);

/* Takes a NET_EV_DNS record; others are ignored. 0 or what the injection of a name returned. */
int net_dns_record(struct net_dns *d, const struct sonde_rec *rec);

/* Takes names out whose time is over. */
int net_dns_tick(struct net_dns *d, uint64_t now_ns);

#endif
