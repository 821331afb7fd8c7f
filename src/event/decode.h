/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records to events. Decoding is a pure fold over record bytes: no clock, no descriptor, no kernel.
 * The same bytes give the same events on every run and every machine.
 */
#ifndef EVENT_DECODE_H
#define EVENT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/wire.h"

struct arena;
struct core_host;
struct event;
struct event_desc;
struct names;
struct registry;

/* Where a decoder puts its events; it cannot see who listens. A negative return stops the decoder. */
struct emitter {
	int (*emit)(void *ctx, struct event *ev);
	void *ctx;
	struct arena *scratch;	/* reset by the caller after each record */
	const struct names *names;
	void *state; /* of the decoder that runs */
};

/* How a decoder handles one type of record. Tables end with type 0. */
struct decode_row {
	uint16_t type;
	const struct event_desc *desc; /* of the event that the record becomes; NULL = none, or not known yet */
	/*
	 * @ev has the header's fields (event_decode_from_rec()) and no body yet; NULL without desc. Emits @ev.
	 * NULL: the body is the record behind its header, in place, desc->body_size bytes; without desc no event.
	 *
	 * @r->len bytes are readable and r->len >= sizeof(*r). Returns 0, -EBADMSG if the record is too short or
	 * contradicts itself, or the return value of emit.
	 */
	int (*decode)(const struct sonde_rec *r, struct event *ev, const struct emitter *em);
};

/* FIELD_ROW() for a body that is the record behind its header, and the size of such a body; @type is the record's. */
#define FIELD_REC_ROW(type, member, name_, kind_, doc_, ...) \
	{ \
		.name = (name_), .kind = (kind_), .off = offsetof(type, member) - sizeof(struct sonde_rec), \
		.size = sizeof(((type *)0)->member), .doc = (doc_), ##__VA_ARGS__ \
	}
#define REC_BODY_SIZE(type) (sizeof(type) - sizeof(struct sonde_rec))

/* Removes from a record the content that only its owner may see. Tables end with type 0. */
struct content_rule {
	uint16_t type;
	/*
	 * Takes the content out of @r, in place: r->len may shrink, the header stays. NULL: nothing in it is content.
	 * -EBADMSG when it contradicts itself, -EACCES when nothing else is in it.
	 */
	int (*hide)(struct sonde_rec *r);
	/* Is the content that of the process in the header? NULL: yes. */
	bool (*sure)(const struct sonde_rec *r);
};

/* The pure half of a probe. State starts zeroed. */
struct decoder_ops {
	const char *name;
	uint16_t probe;		/* id: handles record types probe << 8 .. probe << 8 | 0xff */
	const struct event_desc *const *events;	/* NULL-terminated */
	size_t state_size;
	bool alone; /* the events of a record depend on it and on state (class STATE) alone, not on other data */
	const struct decode_row *rows; /* a row for SONDE_EV_TICK, which is not of @probe, gets every tick */
	/* Runs ahead of each row's decode and may emit; a negative return skips the row. Optional. */
	int (*before)(const struct sonde_rec *r, const struct emitter *em);
	const struct content_rule *content; /* of every type of record: without a rule all of it is content */
	/* Sees every event of other decoders (process life-cycle above all) before the bus does. Optional. */
	void (*observe)(void *state, const struct event *ev);
	void (*fini)(void *state);	/* optional */
};

/* The pipeline's own records: names, clock, loss, ledger, packets of files. State: struct names inside. */
extern const struct decoder_ops core_decoder;

/* Those of all probes of this build, from probes/probes.def; NULL-terminated. */
extern const struct decoder_ops *const all_decoders[];

/*
 * All decoders of a pipeline. decode_record() stamps each event's names and clock offset.
 */
struct decode_set;

int decode_set_new(const struct decoder_ops *const *decoders /* NULL-terminated, core not among them */,
		   struct decode_set **ret);
void decode_set_free(struct decode_set *d);
const struct registry *decode_set_registry(const struct decode_set *d);
const struct names *decode_set_names(const struct decode_set *d);
const struct core_host *decode_set_host(const struct decode_set *d);	/* filled in by the host record */

/*
 * Decodes one record of @len bytes (which may be more than rec->len: ring padding) and hands its events to
 * @emit, which must not decode another one meanwhile. Ticks go to every decoder. Returns 0, -EBADMSG as above,
 * -ENOSYS if no decoder has a row for its type, -ENOMEM, or emit's negative return. The caller counts the first
 * two as SONDE_LOST_DECODE and continues.
 */
int decode_record(struct decode_set *d, const void *rec, size_t len, int (*emit)(void *ctx, struct event *ev),
		  void *ctx);

/* Takes the content out of @r (a checked record), by the rule of its type: see struct content_rule. */
int decode_hide_content(const struct decode_set *d, struct sonde_rec *r);
/* Is its content certainly that of the process in its header? */
bool decode_owner_sure(const struct decode_set *d, const struct sonde_rec *r);

/* Builds header fields from a record; for decoders. Body and sections are the caller's. */
void event_decode_from_rec(struct event *ev, const struct event_desc *desc, const struct sonde_rec *r);

/* Gives @ev a body of its type's size in scratch memory, not initialised. NULL if there is no memory. */
void *event_decode_new_body(struct event *ev, const struct emitter *em);

#endif
