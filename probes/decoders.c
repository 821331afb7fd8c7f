// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The decoders of this build, without the live halves: what tests, fuzzers and replay need. A probe NAME in
 * probes.def exports struct decoder_ops NAME_decoder.
 */
#include "event/decode.h"
#include "scap/event.h"

#define PROBE(name, id) extern const struct decoder_ops name##_decoder;
#include "probes.def"
#undef PROBE

extern const struct decoder_ops net_datapath_event_decoder;

const struct decoder_ops *const all_decoders[] = {
#define PROBE(name, id) &name##_decoder,
#include "probes.def"
#undef PROBE
	/* No probe makes these: events of other datapaths, of capture files. */
	&net_datapath_event_decoder,
	&scap_decoder,
	NULL,
};
