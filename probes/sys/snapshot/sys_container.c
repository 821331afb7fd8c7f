// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/snapshot/sys_container.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "container/container_find.h"
#include "event/event.h"
#include "event/json.h"
#include "event/params.h"
#include "scap/schema.h"
#include "scap/state/state.h"

#define ID_BYTES 72		/* as in scap_state_container_id() */
#define IDS_MAX 65536u		/* containers that are looked up; further ones keep their id as name */
struct id { char text[ID_BYTES]; };

struct containers {
	int root_fd;
	VEC(struct id) ids;	/* containers seen in cgroups */
	size_t n_reported;		/* ids that were looked up */
};

struct containers *sys_container_new(const char *host_root)
{
	struct containers *c = calloc(1, sizeof(*c));

	if (c)
		c->root_fd = container_find_root(host_root);
	return c;
}

void sys_container_free(struct containers *c)
{
	if (!c)
		return;
	cleanup_close(&c->root_fd);
	vec_fini(&c->ids);
	free(c);
}

void sys_container_note(struct containers *c, const char *cgroups, size_t len)
{
	struct id id = { 0 };

	if (!scap_state_container_id(cgroups, len, id.text))
		return;
	for (size_t i = c->ids.len; i > 0; i--)
		if (!strcmp(c->ids.items[i - 1].text, id.text))
			return;
	if (c->ids.len < IDS_MAX)
		vec_push(&c->ids, id);
}

/* ---- the event ---- */

static void add_text(struct json *j, const char *key, const char *s, size_t len)
{
	json_put_str(j, key, s, len);
}

/* Splits "docker.io/library/nginx:1.25@sha256:...". */
static void add_image(struct json *j, const struct container_said *s)
{
	const char *digest = strchrnul(s->image, '@'), *slash = memrchr(s->image, '/', (size_t)(digest - s->image));
	const char *from = slash ? slash : s->image, *colon = memchr(from, ':', (size_t)(digest - from));
	const char *end = colon ? colon : digest;

	add_text(j, "image", s->image, strlen(s->image));
	add_text(j, "imageid", s->image_id, strlen(s->image_id));
	add_text(j, "imagerepo", s->image, (size_t)(end - s->image));
	add_text(j, "imagetag", colon ? colon + 1 : "", colon ? (size_t)(digest - colon - 1) : 0);
	add_text(j, "imagedigest", *digest ? digest + 1 : "", *digest ? strlen(digest + 1) : 0);
}

static void add_labels(struct json *j, const struct container_said *s)
{
	json_put_open(j, "labels", '{');
	if (*s->pod)
		add_text(j, "io.kubernetes.pod.name", s->pod, strlen(s->pod));
	if (*s->pod_namespace)
		add_text(j, "io.kubernetes.pod.namespace", s->pod_namespace, strlen(s->pod_namespace));
	json_close(j, '}');
}

static int emit(const char *id, int engine, const struct container_said *s,
		int (*fn)(void *ctx, const struct params_out *ev), void *ctx)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct json j = { .out = &b };
	struct params_out o = { 0 };
	size_t shown = strnlen(id, ID_SHORT);
	int r;

	json_open(&j, '{');
	json_put_open(&j, "container", '{');
	add_text(&j, "id", id, shown);
	add_text(&j, "name", engine < 0 ? id : s->name, engine < 0 ? shown : strlen(s->name));
	if (engine >= 0) {
		json_put_u64(&j, "type", (uint64_t)engine);
		add_image(&j, s);
		add_labels(&j, s);
	}
	json_close(&j, '}');
	json_close(&j, '}');
	params_begin(&o, SCAP_CONTAINER_JSON_E, -1);
	o.head.flags = PARAMS_HAS_WORD;
	o.head.word = SCAP_WORD_STATE_ONLY;
	params_add_str(&o, b.data, b.len);
	r = buf_error(&b);
	if (r >= 0)
		r = fn(ctx, &o);
	params_out_fini(&o);
	return r;
}

int sys_container_report(struct containers *c, int (*fn)(void *ctx, const struct params_out *ev), void *ctx)
{
	int r = 0;

	while (r >= 0 && c->n_reported < c->ids.len) {
		struct container_said said = { 0 };
		const struct id id = c->ids.items[c->n_reported++];

		r = emit(id.text, container_find(c->root_fd, id.text, &said), &said, fn, ctx);
	}
	return r < 0 ? r : 0;
}
