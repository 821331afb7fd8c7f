// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A host maps hundreds of libraries, and parsing each in a worker process would cost seconds at every start. A file
 * that may be Go's by the names of its sections (gobin_may_be_go()) is then inspected like a program.
 */
#include "probes/gohttp2/gohttp2_mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "elf/mapped_file.h"
#include "gobin/gobin.h"
#include "sonde/wire.h"

#define FILES_MAX 65536		/* beyond it the table is cleared */

/* The kernel reports a build id in place of the inode if the file has one. */
struct mapped_key {
	uint64_t ino;
	uint32_t dev, generation;
	uint8_t build_id[20];
	uint32_t build_id_len;
};

struct gohttp2_mapped {
	struct map none;	/* set of struct mapped_key: files that are no Go libraries */
};

struct gohttp2_mapped *gohttp2_mapped_new(void)
{
	struct gohttp2_mapped *m = calloc(1, sizeof(*m));

	if (m)
		map_init(&m->none, sizeof(struct mapped_key), 1);
	return m;
}

void gohttp2_mapped_free(struct gohttp2_mapped *m)
{
	if (!m)
		return;
	map_fini(&m->none);
	free(m);
}

/* False if the record does not identify the file. */
static bool key_of(const struct sonde_mmap_rec *r, struct mapped_key *ret)
{
	*ret = (struct mapped_key){ .ino = r->ino, .dev = r->dev, .generation = r->ino_generation };
	ret->build_id_len = MIN(r->build_id_len, (uint8_t)sizeof(ret->build_id));
	memcpy(ret->build_id, r->build_id, ret->build_id_len);
	return ret->ino || ret->build_id_len;
}

void gohttp2_mapped_refuse(struct gohttp2_mapped *m, const struct sonde_mmap_rec *r)
{
	struct mapped_key key;

	if (m->none.len >= FILES_MAX)
		map_clear(&m->none);
	if (key_of(r, &key))
		map_add(&m->none, &key, NULL);
}

int gohttp2_mapped_open(struct gohttp2_mapped *m, int proc_fd, const struct sonde_mmap_rec *r)
{
	const struct mapped_file where = { .start = r->addr, .end = r->addr + r->len, .ino = r->ino };
	_cleanup_close_ int fd = -1;
	struct mapped_key key;

	if (!key_of(r, &key) || map_find(&m->none, &key))
		return -ENOEXEC;
	fd = mapped_file_open(proc_fd, r->hdr.tgid, &where);
	if (fd < 0)
		return fd;
	if (gobin_may_be_go(fd))
		return TAKE_FD(fd);
	gohttp2_mapped_refuse(m, r);
	return -ENOEXEC;
}
