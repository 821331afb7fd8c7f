/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event types that carry SEC_PARAMS. Whoever makes such events (the decoder of SONDE_EV_SCAP records here, a
 * probe's decoder) uses these descriptions: fields, filter words and lines come with them.
 *
 * A probe's event: event_decode_from_rec() with scap_event_desc, params_finish(), event_add_section(SEC_PARAMS). What
 * the words need beyond the parameters (descriptors, processes, users) is added by the state: scap/state/state.h.
 */
#ifndef SCAP_EVENT_H
#define SCAP_EVENT_H

struct decoder_ops;
struct event_desc;

/* sysdig's lines, as forms for event/format.h: -p NAME, and its usual one. */
#define SCAP_FORM_SYSDIG \
	"*%evt.num %evt.outputtime %evt.cpu %proc.name (%thread.tid) %evt.dir %evt.type %evt.info"
#define SCAP_FORM_CONTAINER \
	"*%evt.num %evt.outputtime %evt.cpu %container.name (%container.id) %proc.name " \
	"(%thread.tid:%thread.vtid) %evt.dir %evt.type %evt.info"

extern const struct event_desc scap_event_desc;	/* sys.event (EVENT_DATA) */
extern const struct event_desc scap_internal_desc;	/* sys.internal (EVENT_STATE): of libscap for itself */
extern const struct event_desc scap_row_desc;	/* sys.row (EVENT_STATE): a row of a table at the beginning */

/* Records of include/sonde/scap_wire.h. */
extern const struct decoder_ops scap_decoder;

#endif
