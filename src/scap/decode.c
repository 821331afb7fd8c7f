// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of include/sonde/scap_wire.h to events. Stateless: scap/state/state.h relates events to each other.
 */
#include <errno.h>

#include "base/cursor.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/params.h"
#include "scap/event.h"
#include "scap/schema.h"
#include "scap/state/state.h"
#include "sonde/scap_wire.h"

/* Internal events of libscap are not output. */
static const struct event_desc *desc_for(const struct sonde_rec *r, const struct sec_params *p)
{
	bool internal = r->flags & SONDE_RF_SNAPSHOT ||
			(p->flags & PARAMS_HAS_WORD && p->word & SCAP_WORD_STATE_ONLY) ||
			scap_schema_event_info(p->type)->category == SCAP_CAT_INTERNAL;

	if (p->type == SCAP_PROCINFO_E)
		return &scap_procinfo_desc;
	return internal ? &scap_internal_desc : &scap_event_desc;
}

static int scap_decode(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	bool row = r->type == SONDE_EV_SCAP_ROW;
	struct cursor c = cur_init(r, r->len);
	struct params p;
	const void *data;
	size_t len;

	cur_skip(&c, sizeof(*r));
	len = cur_left(&c);
	data = cur_bytes(&c, len);
	if (!data || params_read(data, len, &p) < 0 || scap_is_row(p.head->type) != row ||
	    !scap_schema_event_info(p.head->type))
		return -EBADMSG;
	if (!row)
		ev->desc = desc_for(r, p.head);
	event_add_section(ev, SEC_PARAMS, data, (uint32_t)len);
	return em->emit(em->ctx, ev);
}

static const struct decode_row rows[] = {
	{ SONDE_EV_SCAP, &scap_event_desc, scap_decode },
	{ SONDE_EV_SCAP_ROW, &scap_row_desc, scap_decode },
	{ 0 },
};

static const struct event_desc *const scap_descs[] = {
	&scap_event_desc, &scap_internal_desc, &scap_procinfo_desc, &scap_row_desc, NULL,
};

/* Hides rows of users, groups and interfaces: they describe the host. Data of thread rows is in other records too. */
static int hide_row(struct sonde_rec *r)
{
	const struct sec_params *p = (const void *)(r + 1);

	if (r->len < sizeof(*r) + sizeof(*p))
		return -EBADMSG;
	return p->type == SCAP_ROW_THREAD || p->type == SCAP_ROW_FD || !scap_is_row(p->type) ? -EACCES : 0;
}

static const struct content_rule content[] = {
	{ SONDE_EV_SCAP, hide_row }, { SONDE_EV_SCAP_ROW, hide_row }, { 0 },
};

const struct decoder_ops scap_decoder = {
	.name = "scap",
	.probe = SONDE_SCAP_ID,
	.events = scap_descs,
	.rows = rows,
	.content = content,
};
