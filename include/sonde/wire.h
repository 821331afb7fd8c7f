/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The record header, and the records of the pipeline itself, in rings, files and synthetic input. Compiled for BPF
 * and for user space: fixed-size integers and arrays only, explicit padding, host byte order, variable data last.
 *
 * Type numbers are <probe id> << 8 | <number>; probe 0 is the pipeline. Numbers are never reused, and the fixed part
 * of a released record never changes: a larger record gets a new number, so old recordings stay readable. Only the
 * identity block may appear behind the header of an older type: SONDE_RF_IDENT says so.
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
	__u32 seq;		/* per CPU, instance and hook class; a gap means loss */
	__u16 instance;		/* of the probe; index into the ledger */
	__u16 flags;		/* SONDE_RF_* */
};

#define SONDE_RF_CLASS 0x0007	/* hook class, the second index of the ledger */
#define SONDE_RF_SNAPSHOT 0x0008	/* state that existed before the start, not an event */
#define SONDE_RF_CUT 0x0010	/* variable data is truncated */
#define SONDE_RF_UNDECIDED 0x0020	/* BPF cannot read the bytes that the packet filter needs */
#define SONDE_RF_SUM 0x0040	/* sum of events that the ledger counts already: not counted again */
#define SONDE_RF_KEPT 0x0080	/* from a flight recorder, on request: older than its neighbours */
#define SONDE_RF_TRIGGER 0x0100	/* from a flight recorder: the record that triggered the request */
#define SONDE_RF_HELD 0x0200	/* counted when it was created, sent late, once complete */
#define SONDE_RF_IDENT 0x0400	/* struct sonde_ident (sonde/ident_wire.h) follows the header */
#define SONDE_RF_FACT 0x0800	/* describes what events refer to: the ledger counts it only if it is lost */
#define SONDE_RF_SKIPPED 0x1000	/* of SONDE_EV_TICK: a reader left out records before it; sequences start anew */

/* Records that a ledger does not count when they arrive. */
#define SONDE_RF_UNCOUNTED (SONDE_RF_SNAPSHOT | SONDE_RF_SUM | SONDE_RF_FACT)

/* Ledger rows: one per instance and hook class; classes never interrupt themselves on one CPU. */
#define SONDE_INSTANCES 32
#define SONDE_CLASSES 8
#define SONDE_LEDGER_ROWS (SONDE_INSTANCES * SONDE_CLASSES)

/* Causes of loss. Append only; the names are in src/event/core.c. */
#define SONDE_LOST_RING_FULL 0	/* kernel: no room in the ring */
#define SONDE_LOST_RECURSION 1	/* kernel: the hook interrupted itself and did not run */
#define SONDE_LOST_MAP_FULL 2	/* kernel: a map that the record needs was full */
#define SONDE_LOST_COPY 3	/* kernel: memory could not be read */
#define SONDE_LOST_DECODE 4	/* user space: short, unknown or torn record */
#define SONDE_LOST_MEMORY 5	/* user space: no memory to carry the event */
#define SONDE_LOST_QUEUE 6	/* user space: the client's queue was full */
#define SONDE_LOST_SINK 7	/* user space: the output refused it (full disk, closed pipe) */
#define SONDE_LOST_NOT_ATTACHED 8	/* user space: a program ran before probes were attached to its file */
#define SONDE_LOST_MAPPING 9	/* kernel: no room for an executable mapping, whose stacks have no names then */
#define SONDE_LOST_NAMES 10	/* user space: a location of a recorded stack whose file could not be read */
#define SONDE_LOST_MAPPING_LIMIT 11	/* user space: executable mappings over the limit of a process */
#define SONDE_LOST_CALL_MEMORY 12	/* decoder: a call beyond the memory of the parsers */
#define SONDE_LOST_NO_REQUEST 13	/* decoder: a call whose response was seen without its request */
#define SONDE_LOST_NO_BYTES 14	/* decoder: a call, at least, whose request and response were not kept */
#define SONDE_LOST__MAX 15
#define SONDE_LOST_TAKEN 15	/* kernel, not a loss: of the recursion, what a second program took */
#define SONDE_LOST_ROOM 16	/* of a ledger: a power of two */

/* seen = delivered + filtered + sampled + sum of lost. Per CPU in the kernel. */
struct sonde_ledger {
	__u64 seen;
	__u64 delivered;
	__u64 filtered;		/* refused by the user's filter */
	__u64 sampled;		/* left out by the user's rate limit or sampling */
	__u64 lost[SONDE_LOST_ROOM];
	__u32 seq;		/* last sequence number used in this row */
	__u32 woken;		/* kernel: consumer position when this row last woke the reader; 0 = never */
};

/* ---- a record of the proc probe that live halves of other probes use ---- */

#define SONDE_EV_MMAP SONDE_EV(1, 6)	/* an executable mapping was created, or existed at the start */
#define SONDE_PATH_PLAIN 0	/* the path is text */

struct sonde_mmap_rec {
	struct sonde_rec hdr;
	__u64 addr, len;	/* bytes */
	__u64 file_off;		/* bytes */
	__u64 ino;		/* 0 = unknown; then there is a build id */
	__u32 dev;		/* major << 20 | minor */
	__u32 ino_generation;
	__u32 prot, flags;	/* PROT_*, MAP_* */
	__u8 build_id[20];
	__u8 build_id_len;	/* 0 = unknown */
	__u8 path_form;		/* SONDE_PATH_PLAIN, or a value of proc_wire.h */
	__u16 path_len;		/* bytes after the struct */
};

/* ---- records of the pipeline (probe 0) ---- */

#define SONDE_EV_HOST SONDE_EV(0, 1)	/* the recorded host; first in every stream */
#define SONDE_EV_CLOCK SONDE_EV(0, 2)	/* offset of the wall clock from the boot clock */
#define SONDE_EV_NAME SONDE_EV(0, 3)	/* a name for a number, valid from here on */
#define SONDE_EV_LEDGER SONDE_EV(0, 4)	/* totals of one instance */
#define SONDE_EV_LOST SONDE_EV(0, 5)	/* loss since the previous one, in stream order */
#define SONDE_EV_TICK SONDE_EV(0, 6)	/* passage of time, for expiry in decoders */
#define SONDE_EV_PACKET SONDE_EV(0, 7)	/* a packet of a capture file */
#define SONDE_EV_COUNTED SONDE_EV(0, 8)	/* number of events that were summed up instead of sent */

struct sonde_host_rec {
	struct sonde_rec hdr;
	__u32 n_cpus;		/* possible CPUs */
	__u32 page_size;
	char release[64];	/* uname -r; NUL-terminated, like the next two */
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
#define SONDE_NAME_CONTAINER 11	/* key: cgroup id; name of the container, as its engine has it */
#define SONDE_NAME_CONTAINER_IMAGE 12	/* key: cgroup id */
#define SONDE_NAME_POD 13	/* key: cgroup id; name of the Kubernetes pod */
#define SONDE_NAME_POD_NAMESPACE 14	/* key: cgroup id; namespace of that pod */
#define SONDE_NAME_POD_UID 15	/* key: cgroup id; uid of that pod, from the path of the cgroup */
#define SONDE_NAME_HOST_ID 16	/* key: 0; name: the machine id of the recorded host */
#define SONDE_NAME_CPU_CGROUP 17	/* key: id of a cgroup v1 of controller cpu; name: path below its mount */
#define SONDE_NAME__MAX 18

struct sonde_name_rec {
	struct sonde_rec hdr;
	__u32 space;		/* SONDE_NAME_* */
	__u32 name_len;
	__u64 key;
	char name[];		/* name_len bytes, no NUL */
};

struct sonde_ledger_rec {
	struct sonde_rec hdr;	/* of hdr.instance */
	__u64 seen, delivered, filtered, sampled;
	__u64 lost[SONDE_LOST__MAX];	/* as many as fit hdr.len: 8 in recordings of 0.1 */
};

struct sonde_lost_rec {
	struct sonde_rec hdr;	/* hdr.instance; hdr.cpu */
	__u32 cause;		/* SONDE_LOST_* */
	__u32 pad;
	__u64 count;
};

struct sonde_counted_rec {
	struct sonde_rec hdr;	/* hdr.instance */
	__u64 count;		/* since the previous one; counts as delivered */
};

/* Link types of pcap files (LINKTYPE_*) that are dissected. */
#define SONDE_LINK_ETHERNET 1
#define SONDE_LINK_RAW 101
#define SONDE_LINK_SLL 113
#define SONDE_LINK_SLL2 276

struct sonde_packet_rec {
	struct sonde_rec hdr;
	__u32 link;		/* SONDE_LINK_* or any LINKTYPE_* number */
	__u32 orig_len;		/* length on the wire */
	__u32 cap_len;		/* bytes of packet in data[] */
	__u32 text_len;		/* bytes of comments after them, lines separated by \n */
	__u32 iface;		/* index of the interface in the file; its name is a SONDE_NAME_IFACE */
	__u16 direction;	/* 0 unknown, 1 in, 2 out */
	__u16 pad;
	__u8 data[];
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_rec) == 40, "sonde_rec is ABI");
_Static_assert(sizeof(struct sonde_ledger) == 32 + 8 * SONDE_LOST_ROOM + 8, "sonde_ledger is ABI");
_Static_assert(sizeof(struct sonde_name_rec) == 56, "sonde_name_rec is ABI");
_Static_assert(sizeof(struct sonde_packet_rec) == 64, "sonde_packet_rec is ABI");
#endif

#endif
