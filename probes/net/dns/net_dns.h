/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of addresses from DNS answers: adds them to the stream (SONDE_NAME_HOST) and removes expired ones. A bounded
 * table; the last answer for an address applies.
 */
#ifndef NET_DNS_H
#define NET_DNS_H

#include <stdint.h>

#include "base/map.h"

struct sonde_rec;

struct net_dns {
	struct probe_env *env;
	struct map hosts;	/* event_names_host_key() -> struct net_dns_host */
	uint64_t swept_ns;	/* boot time of the last scan for expired names */
	size_t hand;		/* position of the scan for a victim */
};

void net_dns_init(struct net_dns *d, struct probe_env *env);
void net_dns_fini(struct net_dns *d);

/* Takes a NET_EV_DNS record; ignores others. Returns 0 or the error of the injection. */
int net_dns_record(struct net_dns *d, const struct sonde_rec *rec);

/* Removes expired names. */
int net_dns_tick(struct net_dns *d, uint64_t now_ns);

#endif
