// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sonde/wire.h"

void programs_fini(struct programs *p)
{
	for (size_t i = 0; i < p->vec.len; i++)
		close(p->vec.items[i].fd);
	vec_fini(&p->vec);
}

static uint32_t id_of(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_prog_get_info_by_fd(prog_fd, &info, &len) < 0 ? 0 : info.id;
}

static int add(struct programs *p, int prog_fd, uint16_t instance, struct program **ret)
{
	_cleanup_close_ int fd = dup(prog_fd);

	if (fd < 0)
		return -errno;
	if (instance >= SONDE_INSTANCES || vec_grow(&p->vec) < 0)
		return -ENOMEM;
	*ret = &p->vec.items[p->vec.len++];
	**ret = (struct program){ .id = id_of(fd), .instance = instance };
	(*ret)->fd = TAKE_FD(fd);
	return 0;
}

void programs_add(struct programs *p, const struct bpf_object *obj, uint16_t instance)
{
	struct bpf_program *prog;
	struct program *ignored;

	bpf_object__for_each_program(prog, obj)
		if (bpf_program__fd(prog) >= 0)
			add(p, bpf_program__fd(prog), instance, &ignored);
}

int programs_watch(struct programs *p, int prog_fd, uint16_t instance)
{
	uint32_t id = id_of(prog_fd);
	struct program *found = NULL;
	int r = 0;

	for (size_t i = 0; id && !found && i < p->vec.len; i++)
		if (p->vec.items[i].id == id)
			found = &p->vec.items[i];
	if (!found)
		r = add(p, prog_fd, instance, &found);
	if (r >= 0)
		found->misses = true;
	return r;
}

uint64_t programs_misses(const struct programs *p, uint16_t instance)
{
	uint64_t sum = 0;

	vec_each(prog, &p->vec) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (prog->instance == instance && prog->misses && !bpf_prog_get_info_by_fd(prog->fd, &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

/* Backwards: the last item fills the gap. */
void programs_forget(struct programs *p, uint16_t instance)
{
	for (size_t i = p->vec.len; i-- > 0;) {
		if (p->vec.items[i].instance != instance)
			continue;
		close(p->vec.items[i].fd);
		p->vec.items[i] = p->vec.items[--p->vec.len];
	}
}
