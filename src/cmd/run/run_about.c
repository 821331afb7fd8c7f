// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/run/run_about.h"

#include <string.h>

#include "base/log.h"
#include "base/macros.h"
#include "cmd/run/run_conf.h"
#include "event/event.h"

/* The commands that read the events of probes; the first row that fits a type. */
static const struct {
	const char *type, *command, *things;
} readers[] = {
	{ "net.flow", "flows", "flows" },	{ "net.dns", "flows", "answers of name servers" },
	{ "net.count", "counters", "counters" }, { "net", "monitor", "packets" },
	{ "cpu", "profile", "samples and waits" }, { "sys", "syscalls", "system calls" },
	{ "rpc", "rpc", "calls" },
};

static bool is_within(const char *name, const char *type)
{
	const size_t len = strlen(type);

	return !strncmp(name, type, len) && (!name[len] || name[len] == '.');
}

static size_t reader_of(const struct event_desc *d)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(readers) && !is_within(d->name, readers[i].type))
		i++;
	return i;
}

static bool look_up(const char *const *types, const struct event_desc *d)
{
	const size_t row = reader_of(d);

	for (size_t i = 0; row < ARRAY_SIZE(readers) && types[i]; i++)
		if (!strcmp(d->name, types[i]) || !strcmp(readers[row].type, types[i]))
			return true;
	return row == ARRAY_SIZE(readers);
}

bool run_about_shows(struct run_about *a, const char *const *types, const struct event_desc *d)
{
	struct run_about_type *t = &a->types[(d->type >> 4 & 0xf0) | (d->type & 0xf)];

	if (!types)
		return true;
	if (t->desc == d)
		return t->shown;
	*t = (struct run_about_type){ .desc = d, .shown = look_up(types, d) };
	if (d->class == EVENT_DATA && reader_of(d) < ARRAY_SIZE(readers)) {
		a->any |= t->shown;
		a->other = t->shown ? a->other : d;
	}
	return t->shown;
}

void run_about_say(const struct run_about *a, const struct run_conf *c, const char *unit)
{
	const size_t i = a->other && !a->any ? reader_of(a->other) : ARRAY_SIZE(readers);

	if (i < ARRAY_SIZE(readers))
		log_info("sonde: nothing shown: %s has no %ss; sonde %s -r %s shows its %s", c->read, unit,
			 readers[i].command, c->read, readers[i].things);
}
