// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/pipeline_hold.h"

#include <limits.h>
#include <string.h>

#include "base/macros.h"
#include "container/container.h"
#include "event/decode.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"
#include "state/state_socket.h"
#include "state/state_task.h"

#define HOLD_BYTES (8u << 20) /* of the queue; beyond it the first record leaves incomplete */
#define VAIN_HOLDS 64	      /* after as many in vain one of VAIN_HOLDS records is tried: the others never come */

void pipeline_hold_fini(struct pipeline_hold *h)
{
	buf_fini(&h->queue);
	h->head = 0;
}

/* A connection that waits for accept(): its user may be known soon. */
static bool lacks_owner(struct state *state, const struct sonde_rec *r, const struct sonde_ident *id)
{
	struct state_socket_owner owner;

	return id->owner_how == SONDE_HOW_LISTENER && id->sock &&
	       state_socket_find(state, id->sock, r->ts_ns, &owner) == 0 && owner.how == STATE_OWNER_LISTENER;
}

/* The process runs a program whose exec is not told yet. */
static bool lacks_image(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r,
			const struct sonde_ident *id)
{
	uint64_t *known = &h->images[id->image % HOLD_IMAGES];
	const struct state_task_at *p;

	if (!id->image || *known == id->image || !r->tgid ||
	    state_task_process(state, r->tgid, r->start_ns, r->ts_ns, &p) < 0 || !p->image_number)
		return false;
	if (!state_task_has_image(state, p, id->image))
		return true;
	*known = id->image;
	return false;
}

static uint64_t *container_slot(struct pipeline_hold *h, uint64_t cgroup_id)
{
	return &h->containers[cgroup_id % HOLD_CONTAINERS];
}

/* The names of a container follow the path of its cgroup, its own as the last one; "" if no engine has it. */
bool pipeline_hold_learn(struct pipeline_hold *h, const struct sonde_rec *r)
{
	const struct sonde_name_rec *n = (const void *)r;
	char path[PATH_MAX], id[CONTAINER_ID_MAX];

	if (r->type != SONDE_EV_NAME || r->len < sizeof(*n) || n->name_len > r->len - sizeof(*n))
		return false;
	if (n->space == SONDE_NAME_CGROUP && n->name_len < sizeof(path)) {
		*(char *)mempcpy(path, n->name, n->name_len) = '\0';
		if (container_from_cgroup(path, id))
			*container_slot(h, n->key) = n->key;
	}
	if (n->space == SONDE_NAME_CONTAINER && *container_slot(h, n->key) == n->key)
		*container_slot(h, n->key) = 0;
	return n->space >= SONDE_NAME_CONTAINER && n->space <= SONDE_NAME_POD_UID;
}

static bool lacks_names(struct pipeline_hold *h, const struct sonde_ident *id)
{
	return id->cgroup_id && *container_slot(h, id->cgroup_id) == id->cgroup_id;
}

/* The program has not read all frames with these bytes. */
static bool lacks_call(struct state *state, const struct state_range *bytes)
{
	struct state_range_answer a;

	return bytes->cookie && state_range_find(state, bytes, &a) == 0 && !a.whole;
}

/* A socket that carries frames may have frames that are still to be read. */
static void find_bytes(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r,
		       const struct sonde_ident *id, struct state_range *ret)
{
	*ret = (struct state_range){ 0 };
	if (!h->receives || !id->sock || !state_range_has(state, id->sock) || !h->receives(h->ctx, r, ret) ||
	    !lacks_call(state, ret))
		ret->cookie = 0;
}

/* Records of instance 0 (proc) complete others. */
static bool is_incomplete(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r,
			  const struct state_range *bytes)
{
	const struct sonde_ident *id = decode_ident(r);

	return id && r->instance && r->len >= sizeof(*r) + sizeof(*id) &&
	       (lacks_names(h, id) || lacks_call(state, bytes) || lacks_owner(state, r, id) ||
		lacks_image(h, state, r, id));
}

static bool begins_incomplete(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r,
			      struct state_range *ret)
{
	const struct sonde_ident *id = decode_ident(r);

	*ret = (struct state_range){ 0 };
	if (id && r->instance && r->len >= sizeof(*r) + sizeof(*id))
		find_bytes(h, state, r, id, ret);
	return is_incomplete(h, state, r, ret);
}

bool pipeline_hold_needed(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r)
{
	struct state_range bytes;

	if (!pipeline_hold_is_empty(h))
		return true;
	if (!begins_incomplete(h, state, r, &bytes))
		return false;
	if (h->vain < VAIN_HOLDS || lacks_names(h, decode_ident(r)))
		return true;
	return ++h->vain % VAIN_HOLDS == 0;
}

int pipeline_hold_add(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r, bool injected)
{
	struct held head = { .len = ROUND_UP(r->len, 8), .injected = injected };

	head.incomplete = begins_incomplete(h, state, r, &head.bytes);
	head.names = head.incomplete && lacks_names(h, decode_ident(r));
	buf_consume(&h->queue, h->head);
	h->head = 0;
	buf_add(&h->queue, &head, sizeof(head));
	buf_add(&h->queue, r, r->len);
	return buf_align(&h->queue, 8);
}

static const struct held *first(const struct pipeline_hold *h, const struct sonde_rec **ret_rec)
{
	const struct held *f = (const void *)(h->queue.data + h->head);

	*ret_rec = (const void *)(f + 1);
	return f;
}

bool pipeline_hold_is_late(const struct pipeline_hold *h, uint64_t now_ns)
{
	const struct sonde_rec *r;
	const struct held *f;

	if (pipeline_hold_is_empty(h))
		return false;
	f = first(h, &r);
	return r->ts_ns + (f->names ? HOLD_NAMES_NS : HOLD_NS) < now_ns;
}

bool pipeline_hold_next(struct pipeline_hold *h, struct state *state, uint64_t now_ns, struct held *ret)
{
	const struct sonde_rec *r;
	const struct held *f;

	if (pipeline_hold_is_empty(h))
		return false;
	f = first(h, &r);
	if (f->incomplete && is_incomplete(h, state, r, &f->bytes)) {
		if (!pipeline_hold_is_late(h, now_ns) && h->queue.len - h->head < HOLD_BYTES)
			return false;
		if (f->names) /* its next records do not wait */
			*container_slot(h, decode_ident(r)->cgroup_id) = 0;
		else
			h->vain++;
	} else if (f->incomplete) {
		h->vain = 0;
	}
	*ret = *f;
	ret->rec = r;
	h->head += sizeof(*f) + f->len;
	return true;
}
