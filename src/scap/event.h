/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event types with SEC_PARAMS, for the decoder of SONDE_EV_SCAP records and for decoders of probes: fields, filter
 * fields and lines come with them.
 *
 * A probe's decoder calls event_decode_from_rec() with scap_event_desc, params_finish() and
 * event_add_section(SEC_PARAMS). The state (scap/state/state.h) adds descriptors, processes and users.
 */
#ifndef SCAP_EVENT_H
#define SCAP_EVENT_H

/* sysdig's line formats for event/format.h: with -p NAME, and the default. */
#define SCAP_FORM_SYSDIG \
	"*%evt.num %evt.outputtime %evt.cpu %proc.name (%thread.tid) %evt.dir %evt.type %evt.info"
#define SCAP_FORM_CONTAINER \
	"*%evt.num %evt.outputtime %evt.cpu %container.name (%container.id) %proc.name " \
	"(%thread.tid:%thread.vtid) %evt.dir %evt.type %evt.info"

extern const struct event_desc scap_event_desc;	/* sys.event (EVENT_DATA) */
extern const struct event_desc scap_internal_desc;	/* sys.internal (EVENT_STATE): internal to libscap */
extern const struct event_desc scap_procinfo_desc;	/* of these, shown where a filter names it */
extern const struct event_desc scap_row_desc;	/* sys.row (EVENT_STATE): a table row at the start */

/* Records of include/sonde/scap_wire.h. */
extern const struct decoder_ops scap_decoder;

#endif
