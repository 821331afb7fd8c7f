// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf_event_open(2) per CPU, a BPF program at each. The attachment is a link where the kernel has links for perf
 * events (5.15) and an ioctl before; libbpf knows.
 */
#include "probes/cpu/cpu_perf.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/rights.h"
#include "base/str.h"
#include "base/vec.h"
#include "probes/cpu/cpu_conf.h"
#include "ring/cpulist.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define POSSIBLE "/sys/devices/system/cpu/possible"
#define MAX_RATE "/proc/sys/kernel/perf_event_max_sample_rate"
#define CLOCK_LEAST_NS 10000	/* the kernel's cpu-clock does not tick faster (perf_swevent_hrtimer) */

struct cpu_event_link {
	uint32_t cpu;
	int fd;			/* of link */
	uint64_t enabled_ns;	/* the last value read from fd */
	struct bpf_link *link;
};
struct cpu_event_fd { uint32_t cpu; int fd; };

struct cpu_perf {
	struct perf_event_attr attr;
	uint64_t period;		/* as asked for; 0 = by frequency */
	uint32_t frequency;
	const uint32_t *selected;		/* CPUs, borrowed */
	size_t n_selected;		/* 0 = all */
	VEC(struct cpu_event_link) links;
	VEC(struct cpu_event_fd) ahead;	/* run already, of no use to anybody yet; owned */
	const struct bpf_program *prog;	/* borrowed */
	cpu_perf_start_fn start;
	void *ctx;
};

DEFINE_CLEANUP(struct cpu_perf *, cpu_perf_free)

static int open_event(const struct cpu_perf *p, uint32_t cpu)
{
	/* Debian's kernel.perf_event_paranoid = 3 does not know CAP_PERFMON. */
	uint64_t _cleanup_rights_ was = rights_raise(RIGHT(CAP_SYS_ADMIN));
	long fd = syscall(SYS_perf_event_open, &p->attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* ---- which CPUs ---- */

static int add_list(const char *text, uint32_t **all, size_t *len, size_t *cap, struct err *err)
{
	_cleanup_free_ uint32_t *cpus = NULL, *possible = NULL;
	int n_possible = cpulist_read(POSSIBLE, &possible);
	int n = cpulist_parse(text, strlen(text), &cpus);

	if (n <= 0)
		return err_set(err, -EINVAL, "--cpu %s: expected a list of CPU numbers such as 0-3,8", text);
	if (vec_grow_raw((void **)all, cap, *len + (size_t)n, sizeof(**all)) < 0)
		return err_errno(err, -ENOMEM, "cannot list the CPUs");
	for (int i = 0; i < n; i++) {
		if (n_possible > 0 && !cpulist_has(possible, (size_t)n_possible, cpus[i]))
			return err_set(err, -EINVAL, "--cpu %s: this machine has no CPU %u", text, cpus[i]);
		if (!cpulist_has(*all, *len, cpus[i]))
			(*all)[(*len)++] = cpus[i];
	}
	return 0;
}

int cpu_perf_list(const struct opt_strv *lists, uint32_t **ret, struct err *err)
{
	_cleanup_free_ uint32_t *all = NULL;
	size_t len = 0, cap = 0;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < lists->len; i++)
		r = add_list(lists->items[i], &all, &len, &cap, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(all);
	return (int)len;
}

static bool is_selected(const struct cpu_perf *p, uint32_t cpu)
{
	return !p->n_selected || cpulist_has(p->selected, p->n_selected, cpu);
}

/* ---- which event ---- */

static void set_attr(struct cpu_perf *p, bool cycles)
{
	p->attr = (struct perf_event_attr){
		.size = sizeof(p->attr),
		.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = cycles ? (uint64_t)PERF_COUNT_HW_CPU_CYCLES : (uint64_t)PERF_COUNT_SW_CPU_CLOCK,
		.freq = !p->period,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
		.disabled = 1,
	};
	if (p->period)
		p->attr.sample_period = p->period;
	else
		p->attr.sample_freq = p->frequency;
}

/* Opens and closes the event on the first CPU that lets it. */
static int try_event(struct cpu_perf *p, bool cycles)
{
	_cleanup_free_ uint32_t *online = NULL;
	int n = cpulist_read(ONLINE, &online), fd = n < 0 ? n : -ENODEV;

	set_attr(p, cycles);
	for (int i = 0; i < n && fd < 0; i++)
		if (is_selected(p, online[i]))
			fd = open_event(p, online[i]);
	cleanup_close(&fd);
	return fd < 0 ? fd : 0;
}

static int read_number(const char *path, uint64_t *ret)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[32];

	if (!f || !fgets(line, sizeof(line), f))
		return -ENOENT;
	line[strcspn(line, "\n")] = '\0';
	return str_to_u64(line, 10, ret);
}

static int explain(const struct cpu_perf *p, int code, struct err *err)
{
	uint64_t most = 0;

	if ((code == -EACCES || code == -EPERM) && geteuid() == 0)
		return err_set(err, code, "not permitted to open perf events: this root lacks CAP_PERFMON; give the "
			       "container or service this capability");
	if (code == -EACCES || code == -EPERM)
		return err_set(err, code, "not permitted to open perf events: run as root or with CAP_PERFMON "
			       "(kernel.perf_event_paranoid allows less to others)");
	if (code == -EINVAL && !p->period && read_number(MAX_RATE, &most) == 0 && p->frequency > most)
		return err_set(err, code, "--frequency %u is more than this kernel allows, which is %llu a second "
			       "(kernel.perf_event_max_sample_rate)", p->frequency, (unsigned long long)most);
	if (code == -ENODEV)
		return err_set(err, code, "none of the CPUs asked for is online");
	if (code == -ENOENT || code == -EOPNOTSUPP)
		return err_set(err, code, "this machine has no counter of CPU cycles (often so in virtual machines); "
			       "--event clock works everywhere");
	return err_errno(err, code, "cannot open a perf event");
}

/* A cycle counter that exists on paper only is refused in many ways; then it is the clock. */
static int choose_event(struct cpu_perf *p, unsigned event, struct err *err)
{
	int r = -ENOENT;

	if (event != CPU_EVENT_CLOCK)
		r = try_event(p, true);
	if (r < 0 && event != CPU_EVENT_CYCLES)
		r = try_event(p, false);
	return r < 0 ? explain(p, r, err) : 0;
}

static int check(const struct cpu_perf_opts *o, struct err *err)
{
	if (!o->period && !o->frequency)
		return err_set(err, -EINVAL, "--frequency 0: expected at least 1");
	if (o->frequency > 1000000000 / CLOCK_LEAST_NS && o->event != CPU_EVENT_CYCLES && !o->period)
		return err_set(err, -EINVAL, "--frequency %u: the clock ticks %u times a second at most",
			       o->frequency, 1000000000 / CLOCK_LEAST_NS);
	return 0;
}

int cpu_perf_new(const struct cpu_perf_opts *o, struct cpu_perf **ret, struct err *err)
{
	_cleanup_(cpu_perf_freep) struct cpu_perf *p = calloc(1, sizeof(*p));
	int r = check(o, err);

	if (!p)
		return err_errno(err, -ENOMEM, "cannot set up the samples");
	p->period = o->period;
	p->frequency = o->frequency;
	p->selected = o->cpus;
	p->n_selected = o->n_cpus;
	if (r >= 0)
		r = choose_event(p, o->event, err);
	if (r >= 0 && cpu_perf_clock_ns(p) && cpu_perf_clock_ns(p) < CLOCK_LEAST_NS)
		r = err_set(err, -EINVAL, "--period %llu: the clock ticks every %u ns at most",
			    (unsigned long long)p->period, CLOCK_LEAST_NS);
	if (r >= 0)
		*ret = TAKE_PTR(p);
	return r;
}

uint64_t cpu_perf_clock_ns(const struct cpu_perf *p)
{
	if (p->attr.type != PERF_TYPE_SOFTWARE)
		return 0;
	return p->period ? p->period : 1000000000 / p->frequency; /* as the kernel rounds it */
}

uint64_t cpu_perf_value(const struct cpu_perf *p)
{
	return p->period ? cpu_perf_clock_ns(p) : 1000000000 / p->frequency;
}

/* ---- attaching ---- */

void cpu_perf_run_ahead(struct cpu_perf *p)
{
	_cleanup_free_ uint32_t *online = NULL;
	int n = cpulist_read(ONLINE, &online);

	for (int i = 0; i < n; i++) {
		int fd = is_selected(p, online[i]) && vec_grow(&p->ahead) >= 0 ? open_event(p, online[i]) : -1;

		if (fd < 0)
			continue;
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		p->ahead.items[p->ahead.len++] = (struct cpu_event_fd){ .cpu = online[i], .fd = fd };
	}
}

static void drop_ahead(struct cpu_perf *p)
{
	for (size_t i = 0; i < p->ahead.len; i++)
		cleanup_close(&p->ahead.items[i].fd);
	p->ahead.len = 0;
}

static bool has_link(const struct cpu_perf *p, uint32_t cpu)
{
	return vec_find(it, &p->links, it->cpu == cpu);
}

/* The event of @cpu that runs ahead, or a new one. */
static int take_event(struct cpu_perf *p, uint32_t cpu)
{
	for (size_t i = 0; i < p->ahead.len; i++)
		if (p->ahead.items[i].cpu == cpu)
			return TAKE_FD(p->ahead.items[i].fd);
	return open_event(p, cpu);
}

static int attach_cpu(struct cpu_perf *p, uint32_t cpu)
{
	_cleanup_close_ int fd = take_event(p, cpu);
	struct cpu_event_link l = { .cpu = cpu, .fd = fd };

	if (fd < 0)
		return fd;
	if (vec_grow(&p->links) < 0)
		return -ENOMEM;
	p->start(p->ctx, cpu);
	l.link = bpf_program__attach_perf_event(p->prog, fd);
	if (!l.link)
		return -errno;
	TAKE_FD(fd); /* the link's now */
	p->links.items[p->links.len++] = l;
	return 0;
}

/*
 * Whether its CPU went away since this was asked last: the event stays dead when it comes back, as after a suspend,
 * where all but the first do. The time of an event that is alive goes on.
 */
static bool has_stopped(struct cpu_event_link *l)
{
	struct { uint64_t value, enabled_ns; } now;
	const uint64_t before_ns = l->enabled_ns;
	ssize_t n = read(l->fd, &now, sizeof(now));

	if (n != sizeof(now))
		return n == 0;
	l->enabled_ns = now.enabled_ns;
	return now.enabled_ns == before_ns;
}

static void drop_stopped(struct cpu_perf *p, const uint32_t *online, size_t n)
{
	for (size_t i = 0; i < p->links.len;) {
		if (cpulist_has(online, n, p->links.items[i].cpu) && !has_stopped(&p->links.items[i])) {
			i++;
			continue;
		}
		bpf_link__destroy(p->links.items[i].link);
		p->links.items[i] = p->links.items[--p->links.len];
	}
}

int cpu_perf_follow(struct cpu_perf *p)
{
	_cleanup_free_ uint32_t *online = NULL;
	int n = cpulist_read(ONLINE, &online), ret = 0, r;

	if (n < 0)
		return n;
	drop_stopped(p, online, (size_t)n);
	for (int i = 0; i < n; i++) {
		if (!is_selected(p, online[i]) || has_link(p, online[i]))
			continue;
		r = attach_cpu(p, online[i]);
		if (r < 0 && r != -ENODEV) /* went away this moment */
			ret = r;
	}
	return ret;
}

int cpu_perf_attach(struct cpu_perf *p, const struct bpf_program *prog, cpu_perf_start_fn start, void *ctx,
		    struct err *err)
{
	int r;

	p->prog = prog;
	p->start = start;
	p->ctx = ctx;
	r = cpu_perf_follow(p);
	drop_ahead(p);
	if (!p->links.len)
		return r < 0 ? explain(p, r, err) : explain(p, -ENODEV, err);
	return 0;
}

void cpu_perf_detach(struct cpu_perf *p)
{
	for (size_t i = 0; p && i < p->links.len; i++)
		bpf_link__destroy(p->links.items[i].link);
	if (p)
		p->links.len = 0;
}

void cpu_perf_free(struct cpu_perf *p)
{
	if (!p)
		return;
	cpu_perf_detach(p);
	drop_ahead(p);
	vec_fini(&p->ahead);
	vec_fini(&p->links);
	free(p);
}
