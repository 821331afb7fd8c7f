// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One line per metric family. Labels have few values by construction: instances, outcomes, causes, client numbers
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
	const struct agent *a;
	struct buf *out;
	bool openmetrics;
	const struct inst_cost *costs;	/* by instance */
	const char *name;		/* of the current family; a counter's without _total */
	const char *suffix;
};

#define COUNTER "counter"
#define GAUGE "gauge"

static void begin(struct page *p, const char *name, const char *kind, const char *help)
{
	p->name = name;
	p->suffix = strcmp(kind, COUNTER) ? "" : "_total";
	metrics_text_head(p->out, name, kind, help, p->openmetrics);
}

static void put_labels(struct page *p, const char *labels)
{
	buf_printf(p->out, "%s%s", p->name, p->suffix);
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

/* Families of one series. */
static void count(struct page *p, const char *name, const char *kind, const char *help, uint64_t value)
{
	begin(p, name, kind, help);
	put_count(p, "", value);
}

static void real(struct page *p, const char *name, const char *kind, const char *help, double value)
{
	begin(p, name, kind, help);
	put_real(p, "", value);
}

/* ---- instances ---- */

uint64_t agent_metrics_lost(const struct sonde_ledger *l)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < SONDE_LOST__MAX; k++)
		sum += l->lost[k];
	return sum;
}

static void each_instance(struct page *p, const char *name, const char *kind, const char *help,
			  void (*put)(struct page *p, uint16_t i, const char *labels))
{
	begin(p, name, kind, help);
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		const char *probe = agent_inst_probe(&p->a->insts, i);
		char labels[64];

		if (!probe)
			continue;
		snprintf(labels, sizeof(labels), "instance=\"%u\",probe=\"%s\"", i, probe);
		put(p, i, labels);
	}
}

static void put_word(struct page *p, const char *labels, const char *key, const char *word, uint64_t value)
{
	char all[128];

	snprintf(all, sizeof(all), "%s,%s=\"%s\"", labels, key, word);
	put_count(p, all, value);
}

static void put_outcome(struct page *p, uint16_t i, const char *labels)
{
	struct sonde_ledger l;

	agent_inst_ledger(&p->a->insts, i, &l);
	put_word(p, labels, "outcome", "delivered", l.delivered);
	put_word(p, labels, "outcome", "filtered", l.filtered);
	put_word(p, labels, "outcome", "sampled", l.sampled);
	put_word(p, labels, "outcome", "lost", agent_metrics_lost(&l));
}

static void put_causes(struct page *p, uint16_t i, const char *labels)
{
	struct sonde_ledger l;

	agent_inst_ledger(&p->a->insts, i, &l);
	for (unsigned k = 0; k < SONDE_LOST__MAX; k++)
		put_word(p, labels, "cause", xlat_name(&lost_cause_xlat, k), l.lost[k]);
}

static void put_users(struct page *p, uint16_t i, const char *labels)
{
	put_count(p, labels, i ? p->a->insts.of[i]->refs : p->a->n_conns);
}

static void put_programs(struct page *p, uint16_t i, const char *labels)
{
	put_count(p, labels, p->costs[i].programs);
}

static void put_runs(struct page *p, uint16_t i, const char *labels)
{
	put_count(p, labels, p->costs[i].runs);
}

static void put_time(struct page *p, uint16_t i, const char *labels)
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

static void put_misses(struct page *p, uint16_t i, const char *labels)
{
	struct misses_of m = { .page = p, .labels = labels };

	pipeline_misses(p->a->pipeline, i, put_miss, &m);
}

static void write_instances(struct page *p)
{
	each_instance(p, "sonde_events", COUNTER, "Hits of BPF programs by outcome.", put_outcome);
	each_instance(p, "sonde_lost", COUNTER, "Events lost in the kernel, by cause.", put_causes);
	each_instance(p, "sonde_misses", COUNTER, "Failed steps of BPF programs, by source line.", put_misses);
	each_instance(p, "sonde_probe_users", GAUGE, "Users of an instance.", put_users);
	each_instance(p, "sonde_probe_programs", GAUGE, "BPF programs of an instance.", put_programs);
	each_instance(p, "sonde_probe_sampled_runs", COUNTER,
		      "Runs of BPF programs while run-time statistics were on.", put_runs);
	each_instance(p, "sonde_probe_sampled_run_seconds", COUNTER, "CPU time of those runs.", put_time);
}

/* ---- the reader ---- */

static void write_reader(struct page *p)
{
	const struct ring_reader *reader = probe_env_reader(pipeline_env(p->a->pipeline));
	const struct hold *longest = loop_longest(p->a->loop);
	struct ring_stats st;

	ring_reader_stats(reader, &st);
	count(p, "sonde_reader_records", COUNTER, "Records read from the rings.", st.records);
	count(p, "sonde_reader_bytes", COUNTER, "Bytes read from the rings.", st.bytes);
	count(p, "sonde_reader_batches", COUNTER, "Batches of records read.", st.batches);
	real(p, "sonde_loop_hold_max_seconds", GAUGE,
	     "Longest time since the start that one request, timer or batch of records held the agent's loop.",
	     (double)longest->wall_ns / 1e9);
	real(p, "sonde_loop_hold_max_cpu_seconds", GAUGE,
	     "Processor time of the agent within that time; for the rest it slept or others had the processor.",
	     (double)longest->cpu_ns / 1e9);
	real(p, "sonde_reader_lag_seconds", GAUGE,
	     "Age of the oldest record of a batch when it was read, the most in a second.",
	     (double)agent_measure_lag_ns(&p->a->lag) / 1e9);
	real(p, "sonde_ring_fill_ratio", GAUGE, "Unread share of the fullest ring.",
	     ring_reader_fill_pct(reader) / 100.0);
}

/* ---- clients ---- */

/* @off: of a uint64_t in struct broadcast_stats. */
static void each_client(struct page *p, const char *name, const char *kind, const char *help, size_t off)
{
	begin(p, name, kind, help);
	for (const struct agent_conn *c = p->a->conns; c; c = c->next) {
		struct broadcast_stats st;
		uint64_t value;
		char label[32];

		broadcast_stats(c->queue, &st);
		memcpy(&value, (const char *)&st + off, sizeof(value));
		snprintf(label, sizeof(label), "client=\"%u\"", c->number);
		put_count(p, label, value);
	}
}

static void write_clients(struct page *p)
{
	const struct agent *a = p->a;

	count(p, "sonde_clients", GAUGE, "Current connections.", a->n_conns);
	count(p, "sonde_clients_limit", GAUGE, "Maximum number of connections.", a->conf.limits.max_clients);
	count(p, "sonde_connections", COUNTER, "Connections since the start.", a->totals.connections);
	count(p, "sonde_connections_refused", COUNTER, "Refused connections.", a->totals.refused);
	count(p, "sonde_clients_cut", COUNTER, "Clients disconnected by the agent.", a->totals.disconnected);
	count(p, "sonde_queue_memory_bytes", GAUGE, "Memory of all queues.", broadcast_bytes(a->broadcast));
	each_client(p, "sonde_client_queue_bytes", GAUGE, "Unread bytes of a client.",
		    offsetof(struct broadcast_stats, queued_bytes));
	each_client(p, "sonde_client_queue_records", GAUGE, "Unread records of a client.",
		    offsetof(struct broadcast_stats, queued));
	each_client(p, "sonde_client_sent", COUNTER, "Records sent to a client.",
		    offsetof(struct broadcast_stats, sent));
	each_client(p, "sonde_client_sent_bytes", COUNTER, "Bytes sent to a client.",
		    offsetof(struct broadcast_stats, sent_bytes));
	each_client(p, "sonde_client_lost", COUNTER, "Records lost because a client was too slow.",
		    offsetof(struct broadcast_stats, lost));
}

static void write_cilium(struct page *p)
{
	struct cilium_listener_stats st = { 0 };

	if (p->a->cilium.listener)
		cilium_listener_stats(p->a->cilium.listener, &st);
	count(p, "sonde_cilium_clients", GAUGE, "Connections to Cilium's socket.", st.clients);
	count(p, "sonde_cilium_sent", COUNTER, "Payloads sent to those clients.", st.sent);
	count(p, "sonde_cilium_lost", COUNTER, "Payloads lost because those clients were too slow.", st.lost);
}

/* ---- the process ---- */

uint64_t agent_metrics_memory_bytes(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long all, resident;

	if (!f || fscanf(f, "%llu %llu", &all, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t open_fds(void)
{
	_cleanup_(closedirp) DIR *d = opendir("/proc/self/fd");
	uint64_t n = 0;

	while (d && readdir(d))
		n++;
	return n > 3 ? n - 3 : 0;	/* ".", ".." and this directory */
}

static void write_process(struct page *p)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_SELF, &u);
	begin(p, "sonde_build_info", GAUGE, "The running release.");
	put_count(p, "version=\"" SONDE_VERSION "\"", 1);
	real(p, "sonde_start_time_seconds", GAUGE, "Start of the agent, Unix time in seconds.",
	     (double)((int64_t)p->a->start_ns + clock_boot_offset_ns()) / 1e9);
	real(p, "sonde_cpu_seconds", COUNTER, "CPU time of the agent without its workers.",
	     (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		     (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	count(p, "sonde_resident_memory_bytes", GAUGE, "Resident memory of the agent.", agent_metrics_memory_bytes());
	count(p, "sonde_open_fds", GAUGE, "Open file descriptors.", open_fds());
}

/* ---- recording ---- */

static void write_record(struct page *p)
{
	const struct agent *a = p->a;

	count(p, "sonde_record_on", GAUGE, "The agent records.", a->record.report.writing);
	count(p, "sonde_record_resting", GAUGE, "Recording rests until the disk has room.", a->record.report.resting);
	count(p, "sonde_record_records", COUNTER, "Records written to the store since the recording began.",
	      a->record.report.records);
	count(p, "sonde_record_stored_bytes", COUNTER, "Bytes of the store that they take.",
	      a->record.report.stored_bytes);
	count(p, "sonde_record_lost", COUNTER, "Records left out of the store: full disk, slow disk.",
	      agent_record_lost(a));
}

/* ---- all of them ---- */

void agent_metrics_write(const struct agent *a, bool openmetrics, struct buf *out)
{
	struct inst_cost costs[SONDE_INSTANCES];
	struct page p = { .a = a, .out = out, .openmetrics = openmetrics, .costs = costs };

	agent_inst_refresh(&a->insts);
	agent_inst_costs(&a->insts, costs);
	write_process(&p);
	write_instances(&p);
	write_reader(&p);
	write_clients(&p);
	write_cilium(&p);
	write_record(&p);
	agent_measure_write(&a->measure, openmetrics, out);
	if (openmetrics)
		buf_printf(out, "# EOF\n");
}
