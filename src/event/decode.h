/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes records to events. Decoding is a pure fold over record bytes: no clock, no descriptor, no kernel. The same
 * bytes give the same events on every run and every machine.
 */
#ifndef EVENT_DECODE_H
#define EVENT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "sonde/ident_wire.h"
#include "sonde/wire.h"

struct event;

/* Parts of events that are left out unless the user asks for them: they may be secrets, or wrong. Bits. */
#define DECODE_REVEAL_QUERIES 1u	/* values of query strings */
#define DECODE_REVEAL_LITERALS 2u	/* literals of statements */
#define DECODE_REVEAL_INFERRED 4u	/* parents of calls that are likely, not certain */

/* Output of a decoder, which does not see the subscribers. A negative return stops the decoder. */
struct emitter {
	int (*emit)(void *ctx, struct event *ev);
	void *ctx;
	struct arena *scratch;	/* reset by the caller after each record */
	const struct names *names;
	void *state; /* of the running decoder */
	unsigned reveal; /* DECODE_REVEAL_* */
};

/* Decodes one record type. Tables end with type 0. */
struct decode_row {
	uint16_t type;
	const struct event_desc *desc; /* event type of the record; NULL = none, or decode() chooses it */
	/*
	 * Completes and emits @ev, whose header event_decode_from_rec() has filled and whose body is NULL; @ev is
	 * NULL without desc. A NULL function uses the record after its header (and identity block) as the body, in
	 * place (desc->body_size bytes), or emits nothing without desc.
	 *
	 * @r->len bytes are readable and r->len >= sizeof(*r). Returns 0, -EBADMSG if the record is truncated or
	 * inconsistent, or emit's return value.
	 */
	int (*decode)(const struct sonde_rec *r, struct event *ev, const struct emitter *em);
	/*
	 * The record's struct has the identity block behind its header. decode() always finds it there: records of
	 * older versions get a zeroed one first.
	 */
	bool ident;
	/*
	 * Emits what the record says of others, as EVENT_STATE, from the record alone: it completes records in front
	 * of it that wait (pipeline_hold.h), before decode() has its turn. Returns as decode(). NULL = nothing.
	 */
	int (*fact)(const struct sonde_rec *r, const struct emitter *em);
};

/*
 * FIELD_ROW() and body size for a body that is the record after its header, in place; @type is the record's struct.
 */
#define FIELD_REC_ROW(type, member, name_, kind_, doc_, ...) \
	{ \
		.name = (name_), .kind = (kind_), .off = offsetof(type, member) - sizeof(struct sonde_rec), \
		.size = sizeof(((type *)0)->member), .doc = (doc_), ##__VA_ARGS__ \
	}
#define REC_BODY_SIZE(type) (sizeof(type) - sizeof(struct sonde_rec))

/* Content of a record that only its owner may see. Tables end with type 0. */
struct content_rule {
	uint16_t type;
	/*
	 * Removes the content of @r in place: r->len may shrink, the header stays. Called with the layout of this
	 * version (struct decode_row.ident) only. NULL: the record has no content.
	 * -EBADMSG if it is inconsistent, -EACCES if it consists of content only.
	 */
	int (*hide)(struct sonde_rec *r);
	/* Does the content belong to the process in the header? NULL: always. */
	bool (*sure)(const struct sonde_rec *r);
};

/* The pure half of a probe. State starts zeroed. */
struct decoder_ops {
	const char *name;
	uint16_t probe;		/* id: handles record types probe << 8 .. probe << 8 | 0xff */
	const struct event_desc *const *events;	/* NULL-terminated */
	const uint16_t *also;	/* types of another decoder that it makes, too; ends with 0. NULL: none */
	size_t state_size;
	bool alone;	/* events depend on the record and on EVENT_STATE only, not on other data events */
	const struct decode_row *rows; /* a row for SONDE_EV_TICK gets every tick */
	/* Called before a row's decode; may emit. A negative return skips the row. Optional. */
	int (*before)(const struct sonde_rec *r, const struct emitter *em);
	const struct content_rule *content; /* record types without a rule consist of content only */
	const struct redact_rule *redact; /* event/redact/redact.h: of each type whose content has a hide() */
	/* Receives every event of other decoders (process life cycle above all) before the bus. Optional. */
	void (*observe)(void *state, const struct event *ev);
	void (*fini)(void *state);	/* optional */
};

/* Can events of @d come from @ops? Those of several decoders have the number of one. */
bool decode_makes(const struct decoder_ops *ops, const struct event_desc *d);

/* Records of the pipeline itself: names, clock, loss, ledger, packets of files. Its state holds struct names. */
extern const struct decoder_ops core_decoder;

/* Decoders of all probes in this build, from probes/probes.def; NULL-terminated. */
extern const struct decoder_ops *const all_decoders[];

/* All decoders of a pipeline. decode_record() sets each event's names and clock offset. */
struct decode_set;

int decode_set_new(const struct decoder_ops *const *decoders /* NULL-terminated, without core_decoder */,
		   struct decode_set **ret);
void decode_set_free(struct decode_set *d);
void decode_set_reveal(struct decode_set *d, unsigned what);	/* DECODE_REVEAL_*; before the first record */
const struct registry *decode_set_registry(const struct decode_set *d);
const struct names *decode_set_names(const struct decode_set *d);
const struct core_host *decode_set_host(const struct decode_set *d);	/* zeroed until the host record */

/*
 * Decodes one record of @len bytes (ring padding may follow rec->len) and passes its events to @emit, which must not
 * call decode_record(). Every decoder receives ticks. Returns 0, -EBADMSG as above, -ENOSYS if no decoder has a row
 * for the type, -ENOMEM, or emit's negative return. The caller counts the first two as SONDE_LOST_DECODE and
 * continues.
 */
int decode_record(struct decode_set *d, const void *rec, size_t len, int (*emit)(void *ctx, struct event *ev),
		  void *ctx);

/* Does @r, a validated record, make events of class DATA only? False if its decoder chooses the type. */
bool decode_is_data(const struct decode_set *d, const struct sonde_rec *r);

/*
 * decode_record() for a record that will be decoded again, in its turn: only if its decoder is `alone`, and no other
 * decoder observes the events. Returns 0 without a decoder, too.
 */
int decode_ahead(struct decode_set *d, const void *rec, size_t len,
		int (*emit)(void *ctx, struct event *ev), void *ctx);

/* Runs the row's fact(), if it has one, as decode_record() runs decode(). No other decoder observes the events. */
int decode_fact(struct decode_set *d, const void *rec, size_t len,
		int (*emit)(void *ctx, struct event *ev), void *ctx);

/*
 * Removes the content of @r, a validated record, by its content_rule. -EACCES also if an older version made the
 * record, without the identity block.
 */
int decode_hide_content(const struct decode_set *d, struct sonde_rec *r);
/* Does the content certainly belong to the process in the header? */
bool decode_owner_sure(const struct decode_set *d, const struct sonde_rec *r);

/* Identity block of @r, whose r->len bytes are readable. NULL if the record has none. */
static inline const struct sonde_ident *decode_ident(const struct sonde_rec *r)
{
	return r->flags & SONDE_RF_IDENT ? (const struct sonde_ident *)(r + 1) : NULL;
}

/* Copies the first @size bytes of @r. False if it is shorter: @to is zeroes then. */
static inline bool decode_fixed(const struct sonde_rec *r, void *to, size_t size)
{
	struct cursor c = cur_init(r, r->len);

	return cur_copy(&c, to, size);
}

/* Body of @r behind its header and identity block. */
static inline struct cursor decode_body(const struct sonde_rec *r)
{
	const size_t head = sizeof(*r) + (r->flags & SONDE_RF_IDENT ? sizeof(struct sonde_ident) : 0);

	return cur_init((const char *)r + head, r->len - head);
}

/* Fills @ev from the record's header and identity block. Body and sections remain for the caller. */
void event_decode_from_rec(struct event *ev, const struct event_desc *desc, const struct sonde_rec *r);

/* Sets @ev's body to uninitialised scratch memory of its type's size. NULL without memory. */
void *event_decode_new_body(struct event *ev, const struct emitter *em);

#endif
