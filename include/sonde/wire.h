/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The record header and the records of the pipeline itself: what travels through rings, files and
 * synthetic input. Compiled by clang for BPF and by cc for user space, so: only fixed-size integers
 * and arrays, explicit padding, host byte order, variable data last.
 *
 * Type numbers are <probe id> << 8 | <number>; probe 0 is the pipeline. A number is never reused, and the fixed
 * part of a record never changes once released: what needs more gets a new number, so old recordings stay readable.
 */
#ifndef SONDE_WIRE_H
#define SONDE_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define SONDE_EV(probe, n) ((probe) << 8 | (n))

/* First member of every record. 0 = unknown in each key field. */
struct sonde_rec {
	__u64 ts_ns;		/* CLOCK_BOOTTIME */
	__u32 len;		/* whole record in bytes, header included, padding excluded */
	__u16 type;		/* SONDE_EV_* */
	__u16 cpu;
	__u32 tgid;		/* process the record belongs to, in the initial pid namespace */
	__u32 tid;
	__u64 start_ns;		/* start of that process (group leader), CLOCK_BOOTTIME */
	__u32 seq;		/* per CPU, instance and hook class; a hole means loss */
	__u16 instance;		/* which instance of the probe; indexes the ledger */
	__u16 flags;		/* SONDE_RF_* */
};

#define SONDE_RF_CLASS 0x0007	/* hook class, the second index of the ledger */
#define SONDE_RF_SNAPSHOT 0x0008	/* state that existed before the start, not something that happened */
#define SONDE_RF_CUT 0x0010	/* variable data was longer than what is here */
#define SONDE_RF_UNDECIDED 0x0020	/* the packet filter needs bytes that were out of reach: user space decides */
#define SONDE_RF_SUM 0x0040	/* about what the ledger counts one by one: it does not count this too */
#define SONDE_RF_KEPT 0x0080	/* out of a recorder's memory, on request: older than what stands around it */
#define SONDE_RF_TRIGGER 0x0100	/* likewise, and it is what set off the request */
#define SONDE_RF_HELD 0x0200	/* counted when it was made, then held back to be completed: comes late */

/* Ledger rows: one per instance and hook class; classes never interrupt themselves on one CPU. */
#define SONDE_INSTANCES 32
#define SONDE_CLASSES 8
#define SONDE_LEDGER_ROWS (SONDE_INSTANCES * SONDE_CLASSES)

/* Why a record did not arrive. Append only; the names are in src/event/core.c. */
#define SONDE_LOST_RING_FULL 0	/* kernel: no room in the ring */
#define SONDE_LOST_RECURSION 1	/* kernel: the hook interrupted itself and was not run */
#define SONDE_LOST_MAP_FULL 2	/* kernel: a map had no room for what the record needs */
#define SONDE_LOST_COPY 3	/* kernel: memory could not be read */
#define SONDE_LOST_DECODE 4	/* user space: short, unknown or torn record */
#define SONDE_LOST_MEMORY 5	/* user space: no memory to carry the event */
#define SONDE_LOST_QUEUE 6	/* user space: the client's queue was full */
#define SONDE_LOST_SINK 7	/* user space: the output refused it (full disk, closed pipe) */
#define SONDE_LOST__MAX 8

/* The sums that close: seen = delivered + filtered + sampled + all lost. Per CPU in the kernel. */
struct sonde_ledger {
	__u64 seen;
	__u64 delivered;
	__u64 filtered;		/* refused by a filter the user asked for */
	__u64 sampled;		/* left out by a rate limit or sampling the user asked for */
	__u64 lost[SONDE_LOST__MAX];
	__u32 seq;		/* last sequence number used in this row */
	__u32 woken;		/* kernel: where the reader stood when this row last woke it; 0 = never */
};

/* ---- a record of the proc probe that the live halves of others act on ---- */

#define SONDE_EV_MMAP SONDE_EV(1, 6)	/* memory that can be executed was mapped, or was there at the start */
#define SONDE_PATH_PLAIN 0	/* the path is text */

struct sonde_mmap_rec {
	struct sonde_rec hdr;
	__u64 addr, len;	/* bytes */
	__u64 file_off;		/* bytes */
	__u64 ino;		/* 0 = unknown (a build id is there instead) */
	__u32 dev;		/* major << 20 | minor */
	__u32 ino_generation;
	__u32 prot, flags;	/* PROT_*, MAP_* */
	__u8 build_id[20];
	__u8 build_id_len;	/* 0 = unknown */
	__u8 path_form;		/* SONDE_PATH_PLAIN, or what proc_wire.h has */
	__u16 path_len;		/* bytes behind the struct */
};

/* ---- records of the pipeline (probe 0) ---- */

#define SONDE_EV_HOST SONDE_EV(0, 1)	/* what the records were taken on; first in every stream */
#define SONDE_EV_CLOCK SONDE_EV(0, 2)	/* wall clock against boot clock */
#define SONDE_EV_NAME SONDE_EV(0, 3)	/* a name for a number, valid from here on */
#define SONDE_EV_LEDGER SONDE_EV(0, 4)	/* totals of one instance */
#define SONDE_EV_LOST SONDE_EV(0, 5)	/* losses since the last one, where they happened */
#define SONDE_EV_TICK SONDE_EV(0, 6)	/* time passes; decoders may close what is due */
#define SONDE_EV_PACKET SONDE_EV(0, 7)	/* a packet out of a capture file */
#define SONDE_EV_COUNTED SONDE_EV(0, 8)	/* so much was added up instead of being told one by one */

struct sonde_host_rec {
	struct sonde_rec hdr;
	__u32 n_cpus;		/* possible CPUs */
	__u32 page_size;
	char release[64];	/* uname -r, NUL-terminated, likewise the next two */
	char machine[32];
	char hostname[64];
};

struct sonde_clock_rec {
	struct sonde_rec hdr;
	__s64 offset_ns;	/* CLOCK_REALTIME - CLOCK_BOOTTIME */
};

/* Name spaces of SONDE_EV_NAME. Append only. */
#define SONDE_NAME_DROP_REASON 1	/* key: enum skb_drop_reason value of the recorded kernel */
#define SONDE_NAME_KSYM 2	/* key: kernel address; name: symbol+0xoffset [module] */
#define SONDE_NAME_IFACE 3	/* key: netns inode << 32 | ifindex */
#define SONDE_NAME_INSTANCE 4	/* key: instance; name: probe or probe:label */
#define SONDE_NAME_CGROUP 5	/* key: cgroup id; name: path below the cgroup2 mount */
#define SONDE_NAME_NETNS 6	/* key: netns inode; name: as under /run/netns, or "host" */
#define SONDE_NAME_XDP_ACTION 7	/* key: enum xdp_action value */
#define SONDE_NAME_SOURCE_FILE 8	/* key: number of a source file of another datapath */
#define SONDE_NAME_HOST 9		/* key: event_names_host_key(); name: by DNS */
#define SONDE_NAME_POLICY_RULE 10	/* key: generation << 32 | line in the rule file */
#define SONDE_NAME__MAX 11

struct sonde_name_rec {
	struct sonde_rec hdr;
	__u32 space;		/* SONDE_NAME_* */
	__u32 name_len;
	__u64 key;
	char name[];		/* name_len bytes, no NUL */
};

struct sonde_ledger_rec {
	struct sonde_rec hdr;	/* hdr.instance says whose */
	__u64 seen, delivered, filtered, sampled;
	__u64 lost[SONDE_LOST__MAX];
};

struct sonde_lost_rec {
	struct sonde_rec hdr;	/* hdr.instance; hdr.cpu */
	__u32 cause;		/* SONDE_LOST_* */
	__u32 pad;
	__u64 count;
};

struct sonde_counted_rec {
	struct sonde_rec hdr;	/* hdr.instance */
	__u64 count;		/* since the last one; delivered, though no record came of each */
};

/* Link types as in pcap files (LINKTYPE_*): only these start dissection. */
#define SONDE_LINK_ETHERNET 1
#define SONDE_LINK_RAW 101
#define SONDE_LINK_SLL 113
#define SONDE_LINK_SLL2 276

struct sonde_packet_rec {
	struct sonde_rec hdr;
	__u32 link;		/* SONDE_LINK_* or any LINKTYPE_* number */
	__u32 orig_len;		/* length on the wire */
	__u32 cap_len;		/* bytes of packet in data[] */
	__u32 text_len;		/* bytes of comments behind them, lines separated by \n */
	__u32 iface;		/* number of the interface in the file; its name came as SONDE_NAME_IFACE */
	__u16 direction;	/* 0 unknown, 1 in, 2 out */
	__u16 pad;
	__u8 data[];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_rec) == 40, "sonde_rec is ABI");
_Static_assert(sizeof(struct sonde_ledger) == 32 + 8 * SONDE_LOST__MAX + 8, "sonde_ledger is ABI");
_Static_assert(sizeof(struct sonde_name_rec) == 56, "sonde_name_rec is ABI");
_Static_assert(sizeof(struct sonde_packet_rec) == 64, "sonde_packet_rec is ABI");
#endif

#endif
