# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles of OpenTelemetry, read by Python's protocol buffers: Debian's generated reader is of version 1.5, and 1.8
to 1.10 changed these messages. Below: the fields of profiles.proto of opentelemetry-proto 1.11.0.
"""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2

PACKAGE = "opentelemetry.proto.profiles.v1development"
COMMON, RESOURCE = ".opentelemetry.proto.common.v1", ".opentelemetry.proto.resource.v1"
# A star: repeated. The type comes first, as in the .proto file.
MESSAGES = {
    "ProfilesDictionary": "Mapping* mapping_table=1, Location* location_table=2, Function* function_table=3, "
                          "Link* link_table=4, string* string_table=5, KeyValueAndUnit* attribute_table=6, "
                          "Stack* stack_table=7",
    "ProfilesData": "ResourceProfiles* resource_profiles=1, ProfilesDictionary dictionary=2",
    "ResourceProfiles": f"{RESOURCE}.Resource resource=1, ScopeProfiles* scope_profiles=2, string schema_url=3",
    "ScopeProfiles": f"{COMMON}.InstrumentationScope scope=1, Profile* profiles=2, string schema_url=3",
    "Profile": "ValueType sample_type=1, Sample* samples=2, fixed64 time_unix_nano=3, uint64 duration_nano=4, "
               "ValueType period_type=5, int64 period=6, bytes profile_id=7, uint32 dropped_attributes_count=8, "
               "string original_payload_format=9, bytes original_payload=10, int32* attribute_indices=11",
    "Link": "bytes trace_id=1, bytes span_id=2",
    "ValueType": "int32 type_strindex=1, int32 unit_strindex=2",
    "Sample": "int32 stack_index=1, int32* attribute_indices=2, int32 link_index=3, int64* values=4, "
              "fixed64* timestamps_unix_nano=5",
    "Mapping": "uint64 memory_start=1, uint64 memory_limit=2, uint64 file_offset=3, int32 filename_strindex=4, "
               "int32* attribute_indices=5",
    "Stack": "int32* location_indices=1",
    "Location": "int32 mapping_index=1, uint64 address=2, Line* lines=3, int32* attribute_indices=4",
    "Line": "int32 function_index=1, int64 line=2, int64 column=3",
    "Function": "int32 name_strindex=1, int32 system_name_strindex=2, int32 filename_strindex=3, int64 start_line=4",
    "KeyValueAndUnit": f"int32 key_strindex=1, {COMMON}.AnyValue value=2, int32 unit_strindex=3",
}


def _file():
    out = descriptor_pb2.FileDescriptorProto(name="profiles.proto", package=PACKAGE, syntax="proto3")
    out.dependency.extend([common_pb2.DESCRIPTOR.name, resource_pb2.DESCRIPTOR.name])
    field = descriptor_pb2.FieldDescriptorProto
    for name, rows in MESSAGES.items():
        message = out.message_type.add(name=name)
        for row in rows.split(", "):
            kind, _, rest = row.partition(" ")
            label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            one = message.field.add(name=rest.split("=")[0], number=int(rest.split("=")[1]), label=label)
            if kind[0] == "." or kind in MESSAGES:
                one.type = field.TYPE_MESSAGE
                one.type_name = kind if kind[0] == "." else f".{PACKAGE}.{kind}"
            else:
                one.type = getattr(field, f"TYPE_{kind.upper()}")
    return out


def _reader():
    pool = descriptor_pool.DescriptorPool()
    for other in (common_pb2, resource_pb2):
        pool.AddSerializedFile(other.DESCRIPTOR.serialized_pb)
    pool.Add(_file())
    found = pool.FindMessageTypeByName(f"{PACKAGE}.ProfilesData")
    return message_factory.MessageFactory(pool).GetPrototype(found)


ProfilesData = _reader()


def read(data):
    """ProfilesData of these bytes, all of whose fields are known."""
    message = ProfilesData()
    message.ParseFromString(data)
    copy = ProfilesData()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    assert copy.SerializeToString() == message.SerializeToString()
    return message
