// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles for OpenTelemetry. A file is one ProfilesData message at the end; a server gets one every ten seconds of
 * the stream (ExportProfilesServiceRequest has the same fields).
 */
#include <errno.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"
#include "sinks/otlp/otlp_calls.h"
#include "sinks/otlp/otlp_profile.h"
#include "sinks/otlp/otlp_resource.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sinks/stack/profile.h"

#define EVERY_NS (10 * NS_PER_S)

struct process_key { uint64_t start_ns; uint32_t tgid, pad; };

struct otlp_profiles {
	struct profile profile;
	struct otlp_calls calls;
	struct otlp_kv kv;
	/* lint-ok(tables): encoded resources of the message at hand */
	struct map by_key;		/* struct process_key -> u32 index + 1 */
	VEC(struct buf) resources;
	uint64_t since_ns;		/* arrival of the first sample of the message; 0 = none yet */
	const struct event_desc *desc;	/* type that is_sample belongs to */
	bool is_sample;
	struct buf message;
};

static int otlp_profiles_open(struct sink *s, struct err *err)
{
	struct otlp_profiles *o = s->state;

	(void)err;
	o->profile.apart = true;
	otlp_calls_init(&o->calls);
	map_init(&o->by_key, sizeof(struct process_key), sizeof(uint32_t));
	return sinks_profile_open(&o->profile, s->opts);
}

/* ---- resources ---- */

static const struct buf *resource_of(void *ctx, const struct stack_key *key)
{
	const struct otlp_profiles *o = ctx;
	const struct process_key k = { .start_ns = key->start_ns, .tgid = key->tgid };
	const uint32_t *index = map_find(&o->by_key, &k);

	return index ? &o->resources.items[*index - 1] : NULL;
}

/* Encodes the resource of a process with its first sample. */
static int add_resource(struct sink *s, const struct event *ev)
{
	struct otlp_profiles *o = s->state;
	const struct process_key k = { .start_ns = ev->start_ns, .tgid = ev->tgid };
	const struct otlp_host host = { .host = s->opts->host, .names = ev->names };
	uint32_t *index = map_add(&o->by_key, &k, NULL);
	struct buf *resource;

	if (!index || (!*index && vec_grow(&o->resources) < 0))
		return -ENOMEM;
	if (*index)
		return 0;
	resource = &o->resources.items[o->resources.len++];
	*resource = (struct buf){ 0 };
	*index = (uint32_t)o->resources.len;
	if (otlp_resource_has_process(ev))
		otlp_resource_process(&o->kv, &host, ev, resource);
	else
		otlp_resource_host(&o->kv, &host, resource);
	return buf_error(resource);
}

static void forget_resources(struct otlp_profiles *o)
{
	for (size_t i = 0; i < o->resources.len; i++)
		buf_fini(&o->resources.items[i]);
	o->resources.len = 0;
	map_clear(&o->by_key);
}

/* ---- messages ---- */

static int put_message(struct sink *s)
{
	struct otlp_profiles *o = s->state;
	size_t n;
	int r = otlp_profile(&o->profile, &o->calls, resource_of, o, &o->message, &n);

	if (r >= 0 && (n || !outfile_is_remote(s->out)))	/* a file is one message, also without samples */
		r = outfile_batch(s->out, o->message.data, o->message.len, n);
	if (o->profile.left_out)
		*o->profile.left_out = MAX(*o->profile.left_out, stack_set_dropped(o->profile.set));
	stack_set_clear(o->profile.set);
	forget_resources(o);
	o->profile.first_ns = o->profile.last_ns = o->since_ns = 0;
	return r;
}

/* Drops have stacks as well, but only samples have a value. */
static bool is_sample(struct otlp_profiles *o, const struct event_desc *d)
{
	if (o->desc != d) {
		o->desc = d;
		o->is_sample = event_field_named(d->fields, d->n_fields, "stack.value");
	}
	return o->is_sample;
}

static int otlp_profiles_event(struct sink *s, const struct event *ev)
{
	struct otlp_profiles *o = s->state;
	size_t i;
	int r = 0;

	otlp_calls_learn(&o->calls, ev, NULL);
	if (!is_sample(o, ev->desc))
		return 0;
	if (o->since_ns && outfile_is_remote(s->out) && ev->ts_ns >= o->profile.first_ns + EVERY_NS)
		r = put_message(s);
	if (r < 0 || sinks_profile_take(&o->profile, ev, &i) < 0)
		return r;
	o->since_ns = o->since_ns ? o->since_ns : clock_boot_ns();
	return add_resource(s, ev);
}

/* A server should not have to wait for the next sample. */
static int otlp_profiles_flush(struct sink *s)
{
	struct otlp_profiles *o = s->state;

	if (!o->since_ns || s->opts->wait || !outfile_is_remote(s->out) || clock_boot_ns() < o->since_ns + EVERY_NS)
		return 0;
	return put_message(s);
}

static int otlp_profiles_close(struct sink *s)
{
	struct otlp_profiles *o = s->state;
	int r = o->since_ns || !outfile_is_remote(s->out) ? put_message(s) : 0;

	forget_resources(o);
	vec_fini(&o->resources);
	map_fini(&o->by_key);
	otlp_calls_fini(&o->calls);
	otlp_kv_fini(&o->kv);
	buf_fini(&o->message);
	sinks_profile_fini(&o->profile);
	return r;
}

const struct sink_ops otlp_profiles_sink = {
	.name = "otlp-profiles",
	.summary = "profile for OpenTelemetry: to a file or a server",
	.suffix = ".profiles.otlp",
	.flags = SINK_BINARY | SINK_AT_CLOSE,
	.http_client_path = "/v1development/profiles",
	.http_client_type = "application/x-protobuf",
	.post_things = "samples",
	.shows = SINK_SHOWS_STACKS,
	.state_size = sizeof(struct otlp_profiles),
	.open = otlp_profiles_open,
	.event = otlp_profiles_event,
	.flush = otlp_profiles_flush,
	.close = otlp_profiles_close,
};
