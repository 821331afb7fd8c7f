/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of numbers in Cilium's datapath (release 1.20): drop reasons, source files, observation points, identities,
 * states.
 */
#ifndef CILIUM_NAMES_H
#define CILIUM_NAMES_H

#include <stdint.h>

struct buf;
struct cilium_policy;

const char *cilium_names_drop_reason(uint8_t code);   /* NULL = unknown */
const char *cilium_names_agent_event(uint32_t type);  /* "Endpoint created"; NULL = unknown */
const char *cilium_names_policy_match(uint8_t match); /* never NULL */
const char *cilium_names_policy_action(const struct cilium_policy *p);
const char *cilium_names_sock_point(uint8_t point);   /* never NULL */
const char *cilium_names_auth(uint8_t type);	      /* never NULL */
const char *cilium_names_file(uint8_t id);	      /* NULL = unknown */
const char *cilium_names_state(uint8_t reason);	      /* of a trace; NULL = unknown */

/* Append the name, or the number in Cilium's format. */
void cilium_names_put_drop(struct buf *out, uint8_t code, int ext_error);
void cilium_names_put_file(struct buf *out, uint8_t id);
void cilium_names_put_point(struct buf *out, uint8_t point);
void cilium_names_put_state(struct buf *out, uint8_t reason); /* trace reason */
void cilium_names_put_identity(struct buf *out, uint32_t id, int numeric);
void cilium_names_put_ct_state(struct buf *out, uint32_t state);
void cilium_names_put_auth(struct buf *out, uint8_t type);

#endif
