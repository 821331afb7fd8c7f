/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that only the recorded host knows (drop reasons, kernel symbols, interfaces): they enter as
 * SONDE_EV_NAME records, so a replay on another machine prints what live printed.
 */
#ifndef EVENT_NAMES_H
#define EVENT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct ipaddr;
struct names;

struct names *event_names_new(void);
void event_names_free(struct names *n);

/*
 * Adds or replaces; an empty name takes the old one away. 0, -ENOMEM, or -ENOSPC beyond the byte budget (16 MiB):
 * then the key has no name.
 */
int event_names_set(struct names *n, uint32_t space, uint64_t key, const char *name, size_t len);

/* NUL-terminated, valid until the next set of that key; NULL = no name. @n may be NULL. */
const char *event_names_get(const struct names *n, uint32_t space, uint64_t key);

/* Every name, in no order; @n must not change meanwhile. Stops at a negative return, which it returns. */
typedef int (*names_fn)(void *ctx, uint32_t space, uint64_t key, const char *name);
int event_names_walk(const struct names *n, names_fn fn, void *ctx);

static inline uint64_t names_iface_key(uint32_t netns, uint32_t ifindex)
{
	return (uint64_t)netns << 32 | ifindex;
}

/* Of an address in SONDE_NAME_HOST: an IPv4 address as it is, of an IPv6 address a hash. */
uint64_t event_names_host_key(const struct ipaddr *ip);

#endif
