# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of Hubble's API (flow.proto, observer.proto, peer.proto) that `-o hubble` writes and that the Observer of the
agent serves, for protobuf's own readers: names, numbers and types of members. Unknown names and wrong types are errors
of its JSON reader."""
import functools

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf import field_mask_pb2, timestamp_pb2, wrappers_pb2  # noqa: F401  they register themselves

MESSAGES = {
    "Ethernet": "source:1:string destination:2:string",
    "IP": "source:1:string destination:2:string ipVersion:3:IPVersion encrypted:4:bool source_xlated:5:string",
    "TCPFlags": " ".join(f"{name}:{i + 1}:bool" for i, name in enumerate("FIN SYN RST PSH ACK URG ECE CWR NS".split())),
    "TCP": "source_port:1:uint32 destination_port:2:uint32 flags:3:TCPFlags",
    "UDP": "source_port:1:uint32 destination_port:2:uint32",
    "SCTP": "source_port:1:uint32 destination_port:2:uint32",
    "ICMPv4": "type:1:uint32 code:2:uint32",
    "ICMPv6": "type:1:uint32 code:2:uint32",
    "Layer4": "TCP:1:TCP UDP:2:UDP ICMPv4:3:ICMPv4 ICMPv6:4:ICMPv6 SCTP:5:SCTP",
    "Workload": "name:1:string kind:2:string",
    "Endpoint": "ID:1:uint32 identity:2:uint32 namespace:3:string labels:4:string* pod_name:5:string "
                "workloads:6:Workload*",
    "CiliumEventType": "type:1:int32 sub_type:2:int32",
    "NetworkInterface": "index:1:uint32 name:2:string",
    "Flow": "time:1:.google.protobuf.Timestamp verdict:2:Verdict drop_reason:3:uint32 ethernet:4:Ethernet IP:5:IP "
            "l4:6:Layer4 source:8:Endpoint destination:9:Endpoint Type:10:FlowType node_name:11:string "
            "source_names:13:string* destination_names:14:string* event_type:19:CiliumEventType "
            "traffic_direction:22:TrafficDirection policy_match_type:23:uint32 "
            "trace_observation_point:24:TraceObservationPoint drop_reason_desc:25:DropReason "
            "is_reply:26:.google.protobuf.BoolValue debug_capture_point:27:DebugCapturePoint "
            "interface:28:NetworkInterface proxy_port:29:uint32 sock_xlate_point:31:SocketTranslationPoint "
            "socket_cookie:32:uint64 cgroup_id:33:uint64 trace_reason:36:TraceReason Summary:100000:string",
    "LostEvent": "source:1:LostEventSource num_events_lost:2:uint64 cpu:3:.google.protobuf.Int32Value",
    "GetFlowsResponse": "flow:1:Flow lost_events:3:LostEvent node_name:1000:string "
                        "time:1001:.google.protobuf.Timestamp",
    "EventTypeFilter": "type:1:int32 match_sub_type:2:bool sub_type:3:int32",
    "FlowFilter": "source_ip:1:string* source_pod:2:string* destination_ip:3:string* destination_pod:4:string* "
                  "verdict:5:Verdict* event_type:6:EventTypeFilter* source_fqdn:7:string* destination_fqdn:8:string* "
                  "http_status_code:9:string* source_label:10:string* destination_label:11:string* "
                  "protocol:12:string* source_port:13:string* destination_port:14:string* reply:15:bool* "
                  "source_service:16:string* destination_service:17:string* dns_query:18:string* "
                  "source_identity:19:uint32* destination_identity:20:uint32* http_method:21:string* "
                  "http_path:22:string* tcp_flags:23:TCPFlags* node_name:24:string* ip_version:25:IPVersion* "
                  "source_workload:26:Workload* destination_workload:27:Workload* trace_id:28:string* uuid:29:string* "
                  "traffic_direction:30:TrafficDirection* http_url:31:string* drop_reason_desc:33:DropReason* "
                  "source_ip_xlated:34:string* interface:35:NetworkInterface* node_labels:36:string* "
                  "source_cluster_name:37:string* destination_cluster_name:38:string* ip_trace_id:39:uint64* "
                  "encrypted:40:bool* unknown:77:string*",
    "GetFlowsRequest": "number:1:uint64 follow:3:bool blacklist:5:FlowFilter* whitelist:6:FlowFilter* "
                       "since:7:.google.protobuf.Timestamp until:8:.google.protobuf.Timestamp first:9:bool "
                       "field_mask:10:.google.protobuf.FieldMask",
    "GetEventsRequest": "number:1:uint64 follow:2:bool",
    "ServerStatusResponse": "num_flows:1:uint64 max_flows:2:uint64 seen_flows:3:uint64 uptime_ns:4:uint64 "
                            "num_connected_nodes:5:.google.protobuf.UInt32Value "
                            "num_unavailable_nodes:6:.google.protobuf.UInt32Value version:8:string flows_rate:9:double",
    "TLS": "enabled:1:bool",
    "Node": "name:1:string version:2:string address:3:string state:4:uint32 tls:5:TLS uptime_ns:6:uint64 "
            "num_flows:7:uint64 max_flows:8:uint64 seen_flows:9:uint64",
    "GetNodesResponse": "nodes:1:Node*",
    "Namespace": "cluster:1:string namespace:2:string",
    "GetNamespacesResponse": "namespaces:1:Namespace*",
    "ChangeNotification": "name:1:string address:2:string type:3:uint32",
    "Health": "status:1:uint32",
    "Empty": "",
}
ENUMS = {
    "IPVersion": "IP_NOT_USED IPv4 IPv6",
    "FlowType": "UNKNOWN_TYPE L3_L4 L7 SOCK",
    "Verdict": "VERDICT_UNKNOWN FORWARDED DROPPED ERROR AUDIT REDIRECTED TRACED TRANSLATED",
    "TrafficDirection": "TRAFFIC_DIRECTION_UNKNOWN INGRESS EGRESS",
    "TraceObservationPoint": "UNKNOWN_POINT TO_PROXY TO_HOST TO_STACK TO_OVERLAY FROM_ENDPOINT FROM_PROXY FROM_HOST "
                             "FROM_STACK FROM_OVERLAY FROM_NETWORK TO_NETWORK TO_ENDPOINT=101",
    "TraceReason": "TRACE_REASON_UNKNOWN NEW ESTABLISHED REPLY RELATED REOPENED SRV6_ENCAP SRV6_DECAP "
                   "ENCRYPT_OVERLAY",
    "DropReason": "DROP_REASON_UNKNOWN INVALID_SOURCE_IP=132 POLICY_DENIED INVALID_PACKET_DROPPED "
                  "UNKNOWN_L3_TARGET_ADDRESS=150 STALE_OR_UNROUTABLE_IP "
                  "FIB_LOOKUP_FAILED=169 SOCKET_LOOKUP_FAILED=178 TTL_EXCEEDED=196",
    "DebugCapturePoint": "DBG_CAPTURE_POINT_UNKNOWN DBG_CAPTURE_DELIVERY=4 DBG_CAPTURE_FROM_LB "
                         "DBG_CAPTURE_AFTER_V46 DBG_CAPTURE_AFTER_V64 DBG_CAPTURE_PROXY_PRE DBG_CAPTURE_PROXY_POST "
                         "DBG_CAPTURE_SNAT_PRE DBG_CAPTURE_SNAT_POST",
    "SocketTranslationPoint": "SOCK_XLATE_POINT_UNKNOWN SOCK_XLATE_POINT_PRE_DIRECTION_FWD "
                              "SOCK_XLATE_POINT_POST_DIRECTION_FWD SOCK_XLATE_POINT_PRE_DIRECTION_REV "
                              "SOCK_XLATE_POINT_POST_DIRECTION_REV",
    "LostEventSource": "UNKNOWN_LOST_EVENT_SOURCE PERF_EVENT_RING_BUFFER OBSERVER_EVENTS_QUEUE HUBBLE_RING_BUFFER",
}


def add_enum(file, name, words):
    enum, number = file.enum_type.add(name=name), 0
    for word in words.split():
        word, _, given = word.partition("=")
        number = int(given) if given else number
        enum.value.add(name=word, number=number)
        number += 1


def add_message(file, name, members):
    message = file.message_type.add(name=name)
    for member in members.split():
        word, number, kind = member.split(":")
        field = message.field.add(name=word, number=int(number), json_name=word)
        field.label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
        kind = kind.rstrip("*")
        if kind in ENUMS:
            field.type, field.type_name = field.TYPE_ENUM, f".flow.{kind}"
        elif kind in MESSAGES or kind.startswith("."):
            field.type, field.type_name = field.TYPE_MESSAGE, kind if kind.startswith(".") else f".flow.{kind}"
        else:
            field.type = getattr(field, f"TYPE_{kind.upper()}")


@functools.cache
def classes():
    """Each message of MESSAGES by its name; google.protobuf.json_format can parse them."""
    file = descriptor_pb2.FileDescriptorProto(name="sonde/flow.proto", package="flow", syntax="proto3")
    file.dependency.extend(["google/protobuf/field_mask.proto", "google/protobuf/timestamp.proto",
                            "google/protobuf/wrappers.proto"])
    for name, words in ENUMS.items():
        # values of all enums of a package share one space of names: each gets one of its own
        scope = descriptor_pb2.FileDescriptorProto(name=f"sonde/{name}.proto", package=f"flow.{name.lower()}",
                                                   syntax="proto3")
        add_enum(scope, name, words)
        descriptor_pool.Default().Add(scope)
        file.dependency.append(scope.name)
    for name, members in MESSAGES.items():
        add_message(file, name, members)
    for message in file.message_type:
        for field in message.field:
            if field.type == field.TYPE_ENUM:
                name = field.type_name.rsplit(".", 1)[1]
                field.type_name = f".flow.{name.lower()}.{name}"
    pool = descriptor_pool.Default()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"flow.{name}")) for name in MESSAGES}


def response_class():
    return classes()["GetFlowsResponse"]
