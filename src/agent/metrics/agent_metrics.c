// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One row per metric family. Labels have few values by construction: instances, outcomes, causes, client numbers
 * (reused), never names from outside.
 *
 * Formats: prometheus.io, "Exposition formats"; OpenMetrics 1.0.
 */
#include "agent/metrics/agent_metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/agent_state.h"
#include "agent/record/agent_record.h"
#include "base/io.h"
#include "pipeline/cilium_listener.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/hold.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "event/core.h"
#include "ipc/broadcast.h"
#include "metrics/metrics_text.h"
#include "pipeline/pipeline.h"
#include "probe/probe.h"
#include "ring/ring.h"

struct page {
	struct buf *out;
	const struct family *family;
	const struct inst_cost *costs;	/* by instance */
};

enum kind { COUNTER, GAUGE, KIND__MAX };

struct family {
	const char *name;	/* a counter's without _total */
	enum kind kind;
	const char *help;
	void (*put)(const struct agent *a, struct page *p);
};

static const char *const kind_names[] = { [COUNTER] = "counter", [GAUGE] = "gauge" };
_Static_assert(ARRAY_SIZE(kind_names) == KIND__MAX, "each kind has a name");

static void put_labels(struct page *p, const char *labels)
{
	buf_printf(p->out, "%s%s", p->family->name, p->family->kind == COUNTER ? "_total" : "");
	if (*labels)
		buf_printf(p->out, "{%s}", labels);
}

/* @labels: label="value",... without characters that need escapes. */
static void put_count(struct page *p, const char *labels, uint64_t value)
{
	put_labels(p, labels);
	buf_printf(p->out, " %" PRIu64 "\n", value);
}

static void put_real(struct page *p, const char *labels, double value)
{
	put_labels(p, labels);
	buf_printf(p->out, " %.12g\n", value);
}

/* ---- instances ---- */

uint64_t agent_metrics_lost(const struct sonde_ledger *l)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < SONDE_LOST__MAX; k++)
		sum += l->lost[k];
	return sum;
}

typedef void (*instance_fn)(const struct agent *a, uint16_t i, const char *labels, struct page *p);

static void each_instance(const struct agent *a, struct page *p, instance_fn fn)
{
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		char labels[64];

		if (!agent_inst_probe(&a->insts, i))
			continue;
		snprintf(labels, sizeof(labels), "instance=\"%u\",probe=\"%s\"", i, agent_inst_probe(&a->insts, i));
		fn(a, i, labels, p);
	}
}

static void put_word(struct page *p, const char *labels, const char *key, const char *word, uint64_t value)
{
	char all[128];

	snprintf(all, sizeof(all), "%s,%s=\"%s\"", labels, key, word);
	put_count(p, all, value);
}

static void put_outcome(const struct agent *a, uint16_t i, const char *labels, struct page *p)
{
	struct sonde_ledger l;

	agent_inst_ledger(&a->insts, i, &l);
	put_word(p, labels, "outcome", "delivered", l.delivered);
	put_word(p, labels, "outcome", "filtered", l.filtered);
	put_word(p, labels, "outcome", "sampled", l.sampled);
	put_word(p, labels, "outcome", "lost", agent_metrics_lost(&l));
}

static void put_causes(const struct agent *a, uint16_t i, const char *labels, struct page *p)
{
	struct sonde_ledger l;

	agent_inst_ledger(&a->insts, i, &l);
	for (unsigned k = 0; k < SONDE_LOST__MAX; k++)
		put_word(p, labels, "cause", xlat_name(&lost_cause_xlat, k), l.lost[k]);
}

static void put_users_of(const struct agent *a, uint16_t i, const char *labels, struct page *p)
{
	put_count(p, labels, i ? a->insts.of[i]->refs : a->n_conns);
}

static void put_programs_of(_unused_ const struct agent *a, uint16_t i, const char *labels, struct page *p)
{
	put_count(p, labels, p->costs[i].programs);
}

static void put_runs_of(_unused_ const struct agent *a, uint16_t i, const char *labels, struct page *p)
{
	put_count(p, labels, p->costs[i].runs);
}

static void put_time_of(_unused_ const struct agent *a, uint16_t i, const char *labels, struct page *p)
{
	put_real(p, labels, (double)p->costs[i].ns / 1e9);
}

struct misses_of {
	struct page *page;
	const char *labels;
};

static void put_miss(void *ctx, const char *file, unsigned line, _unused_ const char *reason, uint64_t count)
{
	const struct misses_of *m = ctx;
	char site[64];

	snprintf(site, sizeof(site), "%s:%u", file, line);
	put_word(m->page, m->labels, "site", site, count);
}

static void put_misses_of(const struct agent *a, uint16_t i, const char *labels, struct page *p)
{
	struct misses_of m = { .page = p, .labels = labels };

	pipeline_misses(a->pipeline, i, put_miss, &m);
}

static void put_misses(const struct agent *a, struct page *p) { each_instance(a, p, put_misses_of); }
static void put_events(const struct agent *a, struct page *p) { each_instance(a, p, put_outcome); }
static void put_losses(const struct agent *a, struct page *p) { each_instance(a, p, put_causes); }
static void put_users(const struct agent *a, struct page *p) { each_instance(a, p, put_users_of); }
static void put_programs(const struct agent *a, struct page *p) { each_instance(a, p, put_programs_of); }
static void put_runs(const struct agent *a, struct page *p) { each_instance(a, p, put_runs_of); }
static void put_time(const struct agent *a, struct page *p) { each_instance(a, p, put_time_of); }

/* ---- the reader ---- */

static struct ring_stats reader_stats(const struct agent *a)
{
	struct ring_stats st;

	ring_reader_stats(probe_env_reader(pipeline_env(a->pipeline)), &st);
	return st;
}

static void put_read(const struct agent *a, struct page *p) { put_count(p, "", reader_stats(a).records); }
static void put_read_bytes(const struct agent *a, struct page *p) { put_count(p, "", reader_stats(a).bytes); }
static void put_batches(const struct agent *a, struct page *p) { put_count(p, "", reader_stats(a).batches); }
static void put_hold(const struct agent *a, struct page *p)
{
	put_real(p, "", (double)loop_longest(a->loop)->wall_ns / 1e9);
}

static void put_hold_cpu(const struct agent *a, struct page *p)
{
	put_real(p, "", (double)loop_longest(a->loop)->cpu_ns / 1e9);
}
static void put_lag(const struct agent *a, struct page *p)
{
	put_real(p, "", (double)agent_measure_lag_ns(&a->lag) / 1e9);
}

static void put_fill(const struct agent *a, struct page *p)
{
	put_real(p, "", ring_reader_fill_pct(probe_env_reader(pipeline_env(a->pipeline))) / 100.0);
}

/* ---- clients ---- */

static void each_client(const struct agent *a, struct page *p, size_t off)
{
	for (const struct agent_conn *c = a->conns; c; c = c->next) {
		struct broadcast_stats st;
		uint64_t value;
		char label[32];

		broadcast_stats(c->queue, &st);
		memcpy(&value, (const char *)&st + off, sizeof(value));
		snprintf(label, sizeof(label), "client=\"%u\"", c->number);
		put_count(p, label, value);
	}
}

static void put_queue_bytes(const struct agent *a, struct page *p)
{
	each_client(a, p, offsetof(struct broadcast_stats, queued_bytes));
}

static void put_queue_records(const struct agent *a, struct page *p)
{
	each_client(a, p, offsetof(struct broadcast_stats, queued));
}

static void put_client_sent(const struct agent *a, struct page *p)
{
	each_client(a, p, offsetof(struct broadcast_stats, sent));
}

static void put_client_bytes(const struct agent *a, struct page *p)
{
	each_client(a, p, offsetof(struct broadcast_stats, sent_bytes));
}

static void put_client_lost(const struct agent *a, struct page *p)
{
	each_client(a, p, offsetof(struct broadcast_stats, lost));
}

static void put_clients(const struct agent *a, struct page *p) { put_count(p, "", a->n_conns); }
static void put_limit(const struct agent *a, struct page *p) { put_count(p, "", a->conf.limits.max_clients); }
static void put_connections(const struct agent *a, struct page *p) { put_count(p, "", a->totals.connections); }
static void put_refused(const struct agent *a, struct page *p) { put_count(p, "", a->totals.refused); }
static void put_cut(const struct agent *a, struct page *p)
{
	put_count(p, "", a->totals.disconnected);
}

static struct cilium_listener_stats cilium_stats(const struct agent *a)
{
	struct cilium_listener_stats st = { 0 };

	if (a->cilium.listener)
		cilium_listener_stats(a->cilium.listener, &st);
	return st;
}

static void put_cilium_clients(const struct agent *a, struct page *p) { put_count(p, "", cilium_stats(a).clients); }
static void put_cilium_sent(const struct agent *a, struct page *p) { put_count(p, "", cilium_stats(a).sent); }
static void put_cilium_lost(const struct agent *a, struct page *p) { put_count(p, "", cilium_stats(a).lost); }

/* ---- the process ---- */

uint64_t agent_metrics_memory_bytes(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long all, resident;

	if (!f || fscanf(f, "%llu %llu", &all, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void put_fds(_unused_ const struct agent *a, struct page *p)
{
	_cleanup_(closedirp) DIR *d = opendir("/proc/self/fd");
	uint64_t n = 0;

	while (d && readdir(d))
		n++;
	put_count(p, "", n > 3 ? n - 3 : 0);	/* ".", ".." and this directory */
}

static void put_cpu(_unused_ const struct agent *a, struct page *p)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_SELF, &u);
	put_real(p, "", (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
}

static void put_build(_unused_ const struct agent *a, struct page *p)
{
	put_count(p, "version=\"" SONDE_VERSION "\"", 1);
}

static void put_start(const struct agent *a, struct page *p)
{
	put_real(p, "", (double)((int64_t)a->start_ns + clock_boot_offset_ns()) / 1e9);
}

static void put_memory(_unused_ const struct agent *a, struct page *p)
{
	put_count(p, "", agent_metrics_memory_bytes());
}

static void put_queues(const struct agent *a, struct page *p)
{
	put_count(p, "", broadcast_bytes(a->broadcast));
}

/* ---- recording ---- */

static void put_recording(const struct agent *a, struct page *p) { put_count(p, "", a->record.report.writing); }
static void put_resting(const struct agent *a, struct page *p) { put_count(p, "", a->record.report.resting); }
static void put_recorded(const struct agent *a, struct page *p) { put_count(p, "", a->record.report.records); }
static void put_stored(const struct agent *a, struct page *p) { put_count(p, "", a->record.report.stored_bytes); }
static void put_unrecorded(const struct agent *a, struct page *p) { put_count(p, "", agent_record_lost(a)); }

/* ---- all of them ---- */

static const struct family families[] = {
	{ "sonde_build_info", GAUGE, "The running release.", put_build },
	{ "sonde_start_time_seconds", GAUGE, "Start of the agent, Unix time in seconds.", put_start },
	{ "sonde_cpu_seconds", COUNTER, "CPU time of the agent without its workers.", put_cpu },
	{ "sonde_resident_memory_bytes", GAUGE, "Resident memory of the agent.", put_memory },
	{ "sonde_open_fds", GAUGE, "Open file descriptors.", put_fds },
	{ "sonde_events", COUNTER, "Hits of BPF programs by outcome.", put_events },
	{ "sonde_lost", COUNTER, "Events lost in the kernel, by cause.", put_losses },
	{ "sonde_misses", COUNTER, "Failed steps of BPF programs, by source line.", put_misses },
	{ "sonde_probe_users", GAUGE, "Users of an instance.", put_users },
	{ "sonde_probe_programs", GAUGE, "BPF programs of an instance.", put_programs },
	{ "sonde_probe_sampled_runs", COUNTER, "Runs of BPF programs while run-time statistics were on.", put_runs },
	{ "sonde_probe_sampled_run_seconds", COUNTER, "CPU time of those runs.", put_time },
	{ "sonde_reader_records", COUNTER, "Records read from the rings.", put_read },
	{ "sonde_reader_bytes", COUNTER, "Bytes read from the rings.", put_read_bytes },
	{ "sonde_reader_batches", COUNTER, "Batches of records read.", put_batches },
	{ "sonde_loop_hold_max_seconds", GAUGE,
	  "Longest time since the start that one request, timer or batch of "
	  "records held the agent's loop.",
	  put_hold },
	{ "sonde_loop_hold_max_cpu_seconds", GAUGE,
	  "Processor time of the agent within that time; for the rest it "
	  "slept or others had the processor.",
	  put_hold_cpu },
	{ "sonde_reader_lag_seconds", GAUGE,
	  "Age of the oldest record of a batch when it was read, the most in a "
	  "second.",
	  put_lag },
	{ "sonde_ring_fill_ratio", GAUGE, "Unread share of the fullest ring.", put_fill },
	{ "sonde_clients", GAUGE, "Current connections.", put_clients },
	{ "sonde_clients_limit", GAUGE, "Maximum number of connections.", put_limit },
	{ "sonde_connections", COUNTER, "Connections since the start.", put_connections },
	{ "sonde_connections_refused", COUNTER, "Refused connections.", put_refused },
	{ "sonde_clients_cut", COUNTER, "Clients disconnected by the agent.", put_cut },
	{ "sonde_queue_memory_bytes", GAUGE, "Memory of all queues.", put_queues },
	{ "sonde_client_queue_bytes", GAUGE, "Unread bytes of a client.", put_queue_bytes },
	{ "sonde_client_queue_records", GAUGE, "Unread records of a client.", put_queue_records },
	{ "sonde_client_sent", COUNTER, "Records sent to a client.", put_client_sent },
	{ "sonde_client_sent_bytes", COUNTER, "Bytes sent to a client.", put_client_bytes },
	{ "sonde_client_lost", COUNTER, "Records lost because a client was too slow.", put_client_lost },
	{ "sonde_cilium_clients", GAUGE, "Connections to Cilium's socket.", put_cilium_clients },
	{ "sonde_cilium_sent", COUNTER, "Payloads sent to those clients.", put_cilium_sent },
	{ "sonde_cilium_lost", COUNTER, "Payloads lost because those clients were too slow.", put_cilium_lost },
	{ "sonde_record_on", GAUGE, "The agent records.", put_recording },
	{ "sonde_record_resting", GAUGE, "Recording rests until the disk has room.", put_resting },
	{ "sonde_record_records", COUNTER, "Records written to the store since the recording began.", put_recorded },
	{ "sonde_record_stored_bytes", COUNTER, "Bytes of the store that they take.", put_stored },
	{ "sonde_record_lost", COUNTER, "Records left out of the store: full disk, slow disk.", put_unrecorded },
};

void agent_metrics_write(const struct agent *a, bool openmetrics, struct buf *out)
{
	struct inst_cost costs[SONDE_INSTANCES];

	agent_inst_refresh(&a->insts);
	agent_inst_costs(&a->insts, costs);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		const struct family *f = &families[i];
		struct page p = { .out = out, .family = f, .costs = costs };

		metrics_text_head(out, f->name, kind_names[f->kind], f->help, openmetrics);
		f->put(a, &p);
	}
	agent_measure_write(&a->measure, openmetrics, out);
	if (openmetrics)
		buf_printf(out, "# EOF\n");
}
