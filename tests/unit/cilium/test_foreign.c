// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events from another agent pass through all stages (stream, record, event) and come out unchanged; the vectors are
 * those of test_cilium.c.
 */
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "cilium/gob.h"
#include "cilium/print.h"
#include "event/decode.h"
#include "event/event.h"
#include "sinks/cilium/cilium_map.h"
#include "source/source.h"

#define VECTORS TEST_DATA "/cilium/vectors.jsonl"

extern const struct source_ops cilium_source;

struct vector {
	char name[64];
	uint8_t *data;
	struct cilium_payload p;
};

static struct vector vectors[400];
static size_t n_vectors;

static int64_t number_of(struct json_object *v, const char *key)
{
	struct json_object *member;

	return json_object_object_get_ex(v, key, &member) ? json_object_get_int64(member) : 0;
}

static void read_vector(const char *line)
{
	struct json_object *v = json_tokener_parse(line), *hex;
	struct vector *at = &vectors[n_vectors];
	const char *text;

	assert_non_null(v);
	if (json_object_object_get_ex(v, "hex", &hex)) {
		text = json_object_get_string(hex);
		snprintf(at->name, sizeof(at->name), "%s",
			 json_object_get_string(json_object_object_get(v, "name")));
		at->p = (struct cilium_payload){
			.len = strlen(text) / 2, .cpu = number_of(v, "cpu"), .lost = (uint64_t)number_of(v, "lost"),
			.type = number_of(v, "type"),
		};
		at->data = calloc(1, at->p.len + 1);
		assert_non_null(at->data);
		at->p.data = at->data;
		for (size_t i = 0; i < at->p.len; i++)
			sscanf(text + 2 * i, "%2hhx", &at->data[i]);
		assert_true(++n_vectors < ARRAY_SIZE(vectors));
	}
	json_object_put(v);
}

static int read_vectors(void **state)
{
	FILE *f = fopen(VECTORS, "r");
	char *line = NULL;
	size_t cap = 0;

	(void)state;
	assert_non_null(f);
	while (getline(&line, &cap, f) > 0)
		read_vector(line);
	free(line);
	fclose(f);
	assert_true(n_vectors > 200);
	return 0;
}

static int free_vectors(void **state)
{
	(void)state;
	while (n_vectors)
		free(vectors[--n_vectors].data);
	return 0;
}

static void put_stream(struct buf *out)
{
	gob_put_payload_type(out);
	for (size_t i = 0; i < n_vectors; i++)
		gob_put_payload(out, &vectors[i].p, i % 2);
	assert_int_equal(buf_error(out), 0);
}

/* ---- through the pipeline's parts ---- */

struct path {
	struct decode_set *decode;
	struct cilium_map map;
	size_t next;		/* vector */
	unsigned with_text;
};

static void same_payload(const struct vector *v, const struct cilium_payload *p)
{
	if (p->cpu != v->p.cpu || p->type != v->p.type || p->lost != v->p.lost || p->len != v->p.len ||
	    (p->len && memcmp(p->data, v->p.data, p->len)))
		fail_msg("%s: comes out otherwise than it went in", v->name);
}

/* Every field can be read, as text and as JSON, and the line ends. */
static void show(struct path *path, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	const struct line_opts o = { .verbose = 2 };

	for (uint16_t i = 0; i < ev->desc->n_fields; i++) {
		struct value v;

		if (event_get(ev, &ev->desc->fields[i], &v) < 0)
			continue;
		assert_int_equal(value_text(&v, &out), 0);
		assert_int_equal(value_json(&v, &out), 0);
	}
	buf_reset(&out);
	assert_int_equal(event_line(ev, &o, &out), 0);
	assert_true(out.len > 1 && out.data[out.len - 1] == '\n');
	path->with_text++;
}

static int take_event(void *ctx, struct event *ev)
{
	struct path *path = ctx;
	const struct vector *v = &vectors[path->next];
	struct cilium_payload p;

	if (!event_section(ev, SEC_NOTIFY))
		return 0;	/* names */
	assert_true(path->next < n_vectors);
	assert_int_equal(cilium_map_event(&path->map, ev, &p), 1);
	same_payload(v, &p);
	show(path, ev);
	path->next++;
	return 0;
}

static int take_record(void *ctx, const struct sonde_rec *r)
{
	struct path *path = ctx;

	assert_int_equal(decode_record(path->decode, r, r->len, take_event, path), 0);
	return 0;
}

static void goes_through_the_pipeline_unchanged(void **state)
{
	_cleanup_(buf_fini) struct buf stream = { 0 };
	void *st = calloc(1, cilium_source.state_size);
	struct path path = { 0 };
	struct err err = { 0 };

	(void)state;
	put_stream(&stream);
	assert_true(cilium_source.match(stream.data, stream.len));
	assert_int_equal(decode_set_new(all_decoders, &path.decode), 0);
	assert_int_equal(cilium_source.parse(st, stream.data, stream.len, true, take_record, &path, &err),
			 (int64_t)stream.len);
	assert_int_equal(path.next, n_vectors);
	assert_int_equal(path.with_text, n_vectors);
	cilium_source.fini(st);
	free(st);
	cilium_map_fini(&path.map);
	decode_set_free(path.decode);
}

/* ---- the stream, split anywhere ---- */

static int add_record(void *ctx, const struct sonde_rec *r)
{
	return buf_add(ctx, r, r->len);
}

/* In two windows: the first @split bytes, then all that is left. */
static void parse_split(const struct buf *stream, size_t split, struct buf *out)
{
	void *st = calloc(1, cilium_source.state_size);
	struct err err = { 0 };
	int64_t n, m;

	n = cilium_source.parse(st, stream->data, split, false, add_record, out, &err);
	assert_true(n >= 0 && n <= (int64_t)split);
	m = cilium_source.parse(st, stream->data + n, stream->len - (size_t)n, true, add_record, out, &err);
	assert_int_equal(n + m, (int64_t)stream->len);
	cilium_source.fini(st);
	free(st);
}

static void may_be_cut_anywhere(void **state)
{
	_cleanup_(buf_fini) struct buf stream = { 0 }, whole = { 0 };

	(void)state;
	n_vectors = MIN(n_vectors, (size_t)40);	/* the rest behaves the same, and the time is quadratic */
	put_stream(&stream);
	parse_split(&stream, 0, &whole);
	assert_true(whole.len > 4000);
	for (size_t split = 1; split < stream.len; split++) {
		_cleanup_(buf_fini) struct buf out = { 0 };

		parse_split(&stream, split, &out);
		if (out.len != whole.len || memcmp(out.data, whole.data, out.len))
			fail_msg("cut at byte %zu it is another stream", split);
	}
}

static void what_is_no_stream_is_refused(void **state)
{
	static const char *const no[] = {
		"", "\x37", "Payload Payload ", "\x03\x01\x01\x07Payload", "\n\r\r\n1234567812345",
	};
	_cleanup_(buf_fini) struct buf names = { 0 };
	void *st = calloc(1, cilium_source.state_size);
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(cilium_source.match(no[i], strlen(no[i])));
	assert_true(cilium_source.parse(st, "\x02\xff\x7f", 3, true, add_record, &names, &err) < 0);
	assert_non_null(strstr(err.msg, "gob"));
	cilium_source.fini(st);
	free(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goes_through_the_pipeline_unchanged),
		cmocka_unit_test(may_be_cut_anywhere),
		cmocka_unit_test(what_is_no_stream_is_refused),
	};

	return cmocka_run_group_tests(tests, read_vectors, free_vectors);
}
