// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_resource.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "event/core.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/otlp/otlp_kv.h"
#include "base/protobuf/protobuf.h"

enum { ATTRIBUTES = 1 };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
#define ENV "OTEL_RESOURCE_ATTRIBUTES"
#define INSTANCE_SALT 7u

/* State while a resource is encoded. */
struct resource {
	struct otlp_kv *kv;
	const struct otlp_host *host;
	struct buf *out;
};

static void add(const struct resource *r, const char *key, const char *text, size_t len)
{
	if (len)
		otlp_kv_text(r->kv, r->out, ATTRIBUTES, key, text, len);
}

static void add_str(const struct resource *r, const char *key, const char *text)
{
	if (text)
		add(r, key, text, strlen(text));
}

/* ---- the host ---- */

static const char *host_id(const struct otlp_host *h)
{
	return event_names_get(h->names, SONDE_NAME_HOST_ID, 0);
}

/* A UUID (RFC 9562, version 8) that is the same in all signals and each replay. */
static void add_instance(const struct resource *r, uint64_t start_ns, uint32_t tgid)
{
	const char *id = host_id(r->host), *name = r->host->host ? r->host->host->hostname : "";
	uint64_t key[4] = { INSTANCE_SALT, start_ns, tgid, 0 }, high, low;
	char text[40];

	key[3] = id ? map_hash(id, strlen(id)) : map_hash(name, strlen(name));
	high = map_hash(key, sizeof(key));
	key[0]++;
	low = map_hash(key, sizeof(key));
	snprintf(text, sizeof(text), "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
		 high >> 32, high >> 16 & 0xffff, high & 0xfff, (low >> 48 & 0x3fff) | 0x8000,
		 low & 0xffffffffffff);
	add_str(r, "service.instance.id", text);
}

/* Keys that an event may set: those of the environment are about all of them. */
static bool is_own(const char *key, size_t len)
{
	static const char *const prefixes[] = { "service.name", "service.instance.", "process.", "container.",
						"k8s.pod.", "k8s.container.", "k8s.namespace.", "host.name",
						"host.id", "os.type" };

	return ARRAY_FIND(it, prefixes, len >= strlen(*it) && !memcmp(key, *it, strlen(*it)));
}

/* Values are percent-encoded, as in W3C Baggage. */
static void add_decoded(const struct resource *r, const char *key, size_t key_len, const char *text, size_t len)
{
	_cleanup_(buf_fini) struct buf value = { 0 };
	char name[128];

	if (key_len >= sizeof(name))
		return;
	memcpy(name, key, key_len);
	name[key_len] = '\0';
	if (str_percent_decode(&value, text, len) < 0)
		r->out->error = buf_error(&value);
	add(r, name, value.data, value.len);
}

/* "deployment.environment.name=prod,team=a" */
static void add_environment(const struct resource *r)
{
	const char *at = getenv(ENV);

	while (at && *at) {
		size_t len = strcspn(at, ","), skip = strspn(at, " \t");
		const char *equals = memchr(at, '=', len);

		if (equals && equals > at + skip && !is_own(at + skip, (size_t)(equals - at) - skip))
			add_decoded(r, at + skip, (size_t)(equals - at) - skip, equals + 1,
				    len - (size_t)(equals + 1 - at));
		at += len + (at[len] == ',');
	}
}

static void add_host(const struct resource *r)
{
	const struct core_host *h = r->host->host;

	if (h)
		add(r, "host.name", h->hostname, strnlen(h->hostname, sizeof(h->hostname)));
	add_str(r, "host.id", host_id(r->host));
	add_str(r, "os.type", "linux");
	add_environment(r);
}

/* ---- the process ---- */

static void add_proc_text(const struct resource *r, const char *key, const struct event *ev, struct sec_str str)
{
	size_t len = 0;
	const char *text = event_sec_proc_str(event_proc(ev), event_section(ev, SEC_PROC), str, &len);

	add(r, key, text, len);
}

static const char *name_of(const struct event *ev, uint32_t space)
{
	return ev->keys.cgroup_id ? event_names_get(ev->names, space, ev->keys.cgroup_id) : NULL;
}

static void add_container(const struct resource *r, const struct event *ev)
{
	static const struct { const char *key; uint32_t space; bool in_pod; } of[] = {
		{ "container.name", SONDE_NAME_CONTAINER, false },
		{ "container.image.name", SONDE_NAME_CONTAINER_IMAGE, false },
		{ "k8s.pod.name", SONDE_NAME_POD, true }, { "k8s.namespace.name", SONDE_NAME_POD_NAMESPACE, true },
		{ "k8s.pod.uid", SONDE_NAME_POD_UID, false }, { "k8s.container.name", SONDE_NAME_CONTAINER, true },
	};
	const bool in_pod = name_of(ev, SONDE_NAME_POD);

	for (size_t i = 0; i < ARRAY_SIZE(of); i++)
		if (in_pod || !of[i].in_pod)
			add_str(r, of[i].key, name_of(ev, of[i].space));
}

/* The container in its pod, else the program: a service's own name for itself is not observable. */
static void add_service(const struct resource *r, const struct event *ev, const char *program, size_t len)
{
	const char *container = name_of(ev, SONDE_NAME_POD) ? name_of(ev, SONDE_NAME_CONTAINER) : NULL;

	if (container)
		add_str(r, "service.name", container);
	else if (len)
		add(r, "service.name", program, len);
	else
		add_str(r, "service.name", "unknown_service");
	add_instance(r, ev->start_ns, ev->tgid);
}

static void add_process(const struct resource *r, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	const struct section *s = event_section(ev, SEC_PROC);
	const char *exe = NULL, *slash;
	size_t len = 0;

	otlp_kv_number(r->kv, r->out, ATTRIBUTES, "process.pid", ev->tgid);
	if (p) {
		exe = event_sec_proc_str(p, s, p->exe, &len);
		add(r, "process.executable.path", exe, len);
	}
	slash = exe ? memrchr(exe, '/', len) : NULL;
	if (slash) {
		len -= (size_t)(slash + 1 - exe);
		exe = slash + 1;
	}
	if (p && !len)
		exe = event_sec_proc_str(p, s, p->comm, &len);
	add(r, "process.executable.name", exe, len);
	add_service(r, ev, exe, len);
	if (!p)
		return;
	otlp_kv_number(r->kv, r->out, ATTRIBUTES, "process.parent_pid", p->ppid);
	add_proc_text(r, "container.id", ev, p->container);
	add_container(r, ev);
}

bool otlp_resource_has_process(const struct event *ev)
{
	return ev->tgid;
}

void otlp_resource_process(struct otlp_kv *kv, const struct otlp_host *h, const struct event *ev, struct buf *out)
{
	const struct resource r = { .kv = kv, .host = h, .out = out };

	add_process(&r, ev);
	add_host(&r);
}

void otlp_resource_host(struct otlp_kv *kv, const struct otlp_host *h, struct buf *out)
{
	const struct resource r = { .kv = kv, .host = h, .out = out };

	add_str(&r, "service.name", "sonde");
	add_str(&r, "service.version", SONDE_VERSION);
	add_instance(&r, 0, 0);
	add_host(&r);
}

void otlp_resource_service(struct otlp_kv *kv, const struct otlp_host *h, const char *service, struct buf *out)
{
	const struct resource r = { .kv = kv, .host = h, .out = out };

	add_str(&r, "service.name", service);
	add_host(&r);
}

/* ---- the message around it ---- */

static void put_scope(struct buf *out)
{
	struct buf scope = { 0 };

	protobuf_text(&scope, SCOPE_NAME, "sonde", 5);
	protobuf_text(&scope, SCOPE_VERSION, SONDE_VERSION, strlen(SONDE_VERSION));
	protobuf_bytes(out, OTLP_FIELD_SCOPE, scope.data, scope.len);
	if (buf_error(&scope))
		out->error = buf_error(&scope);
	buf_fini(&scope);
}

void otlp_resource_put(struct buf *out, const struct buf *resource, const struct buf *items)
{
	static const char schema[] = OTLP_RESOURCE_SCHEMA;
	struct buf scope = { 0 };

	put_scope(&scope);
	buf_add(&scope, items->data, items->len);
	protobuf_text(&scope, OTLP_FIELD_SCHEMA, schema, sizeof(schema) - 1);
	protobuf_bytes(out, OTLP_FIELD_RESOURCE, resource->data, resource->len);
	protobuf_bytes(out, OTLP_FIELD_SCOPES, scope.data, scope.len);
	protobuf_text(out, OTLP_FIELD_SCHEMA, schema, sizeof(schema) - 1);
	if (buf_error(&scope) || buf_error(resource) || buf_error(items))
		out->error = -ENOMEM;
	buf_fini(&scope);
}
