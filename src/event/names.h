/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that only the recorded host knows (drop reasons, kernel symbols, interfaces). SONDE_EV_NAME records carry
 * them, so a replay on another machine prints the same names.
 */
#ifndef EVENT_NAMES_H
#define EVENT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct ipaddr;

/* The host itself: sonde.host (EVENT_STATE). */
struct core_host {
	uint32_t n_cpus, page_size;
	char release[64], machine[32], hostname[64];
};

struct names *event_names_new(void);
void event_names_free(struct names *n);

/*
 * Adds or replaces a name; an empty one removes the entry. 0, -ENOMEM, or -ENOSPC beyond the budget of 16 MiB: the
 * key then has no name.
 */
int event_names_set(struct names *n, uint32_t space, uint64_t key, const char *name, size_t len);

/* NUL-terminated, valid until the key is set again; NULL = no name. @n may be NULL. */
const char *event_names_get(const struct names *n, uint32_t space, uint64_t key);

/*
 * Lays @n over @below, which is borrowed: names that were not set here are those of @below, and an empty name hides
 * one of them.
 */
void event_names_put_over(struct names *n, const struct names *below);

/* Name of the recorded host; "" = unknown. @n may be NULL. Later calls of the first one may change the text. */
void event_names_set_host(struct names *n, const char *host);
const char *event_names_host(const struct names *n);

/* Changes with each call of event_names_set(): while it stays, all names do. */
uint64_t event_names_generation(const struct names *n);

/* Calls @fn for every name, unordered; @n must not change meanwhile. Stops at a negative return and returns it. */
typedef int (*names_fn)(void *ctx, uint32_t space, uint64_t key, const char *name);
int event_names_walk(const struct names *n, names_fn fn, void *ctx);

static inline uint64_t names_iface_key(uint32_t netns, uint32_t ifindex)
{
	return (uint64_t)netns << 32 | ifindex;
}

/* Key of an address in SONDE_NAME_HOST: the IPv4 address itself, a hash of an IPv6 address. */
uint64_t event_names_host_key(const struct ipaddr *ip);

#endif
