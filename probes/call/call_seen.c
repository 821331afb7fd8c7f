// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/call/call_seen.h"

#include "base/macros.h"
#include "call/call_event.h"
#include "event/decode.h"
#include "probes/call/call_body.h"
#include "probes/call/call_wire.h"

static const char *protocol_of(uint8_t guess)
{
	static const char *const names[] = {
		[CALL_GUESS_NONE] = "",
#define CALL_GUESS(protocol, name) [CALL_GUESS_##protocol] = name,
#include "probes/call/call_guess.def"
	};

	_Static_assert(ARRAY_SIZE(names) == CALL_GUESS__MAX, "a name per guess");
	return names[guess < CALL_GUESS__MAX ? guess : CALL_GUESS_NONE];
}

static const char *source_of(uint8_t source)
{
	const char *name = call_event_source_name(call_body_source(source));

	return name ? name : "";
}

/* Of plain text it does not name the library. */
static bool conn_seen(const struct sonde_rec *r, struct call_seen *ret)
{
	struct call_conn_rec rec;

	if (!decode_fixed(r, &rec, sizeof(rec)))
		return false;
	*ret = (struct call_seen){
		.cookie = rec.cookie,
		.protocol = protocol_of(rec.guess),
		.plain = rec.source != CALL_SOURCE_SOCKET,
		.source = rec.source == CALL_SOURCE_SOCKET ? source_of(rec.source) : "",
		.midstream = rec.flags & CALL_CONN_MIDSTREAM || rec.bytes[CALL_RX] || rec.bytes[CALL_TX],
	};
	return true;
}

static bool data_seen(const struct sonde_rec *r, struct call_seen *ret)
{
	struct call_data_rec rec;

	if (!decode_fixed(r, &rec, sizeof(rec)))
		return false;
	*ret = (struct call_seen){
		.cookie = rec.cookie,
		.bytes = rec.size,
		.protocol = protocol_of(rec.guess),
		.source = source_of(rec.source),
		.blind = rec.flags & CALL_F_NO_REGS,
		.plain = rec.source != CALL_SOURCE_SOCKET,
	};
	return true;
}

bool call_seen_of(const struct sonde_rec *r, struct call_seen *ret)
{
	if (r->type == CALL_REC_CONN)
		return conn_seen(r, ret);
	return r->type == CALL_REC_DATA && data_seen(r, ret);
}
