"""Checks that the messages and services of proto/ are those of the stock client, which brings its own descriptors.

What a client of the next version has in addition is listed below; anything else that only one side has is an error.
Wants qdrant-client and protoc.
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CLIENT_FILES = ["collections.proto", "collections_service.proto", "json_with_int.proto", "points.proto",
                "points_service.proto", "qdrant.proto", "qdrant_common.proto", "snapshots_service.proto"]
# The client has 1.18 of the API; we have 1.19, and of 1.20 when a collection was created.
NEWER = {
    "message qdrant.IdfParams", "message qdrant.KeywordPrefixParams", "message qdrant.PayloadStorageParams",
    "message qdrant.SliceCondition", "message qdrant.DisabledStemmer", "enum qdrant.Memory",
    "value qdrant.Datatype.Turbo4", "field qdrant.Match.prefix",
    "field qdrant.CollectionClusterInfoResponse.time", "field qdrant.UpdateCollectionClusterSetupResponse.time",
    "field qdrant.CreateShardKeyResponse.time", "field qdrant.DeleteShardKeyResponse.time",
    "field qdrant.CollectionInfo.created_at", "message qdrant.TextQuery", "message qdrant.Bm25Params",
    "field qdrant.Query.text", "message qdrant.TextScoringParams", "enum qdrant.TextScoringType",
    "field qdrant.TextIndexParams.scoring", "value qdrant.TokenizerType.Code",
    # Of our own.
    "field qdrant.Match.fuzzy", "field qdrant.Match.last_is_prefix",
    "field qdrant.SearchParams.device", "field qdrant.QueryPoints.explain", "field qdrant.QueryResponse.explain", "field qdrant.BatchResult.explain",
}

try:
    from google.protobuf import descriptor_pb2, descriptor_pool
    import qdrant_client.grpc  # noqa: F401  registers the descriptors
except ImportError as missing:
    print(f"skipped: {missing}", file=sys.stderr)
    sys.exit(77)


def facts_of_message(message, path, facts):
    """Adds one entry for the message and one for each of its fields, by what distinguishes them on the wire."""
    name = f"{path}.{message.name}"
    facts[f"message {name}"] = ""
    for field in message.field:
        oneof = ""
        if field.HasField("oneof_index") and not field.proto3_optional:
            oneof = message.oneof_decl[field.oneof_index].name
        facts[f"field {name}.{field.name}"] = (field.number, field.type, field.label, field.type_name, oneof,
                                               field.proto3_optional)
    for nested in message.nested_type:
        facts_of_message(nested, name, facts)
    for enum in message.enum_type:
        facts_of_enum(enum, name, facts)


def facts_of_enum(enum, path, facts):
    facts[f"enum {path}.{enum.name}"] = ""
    for value in enum.value:
        facts[f"value {path}.{enum.name}.{value.name}"] = value.number


def facts_of(files):
    facts = {}
    for file in files:
        for message in file.message_type:
            facts_of_message(message, file.package, facts)
        for enum in file.enum_type:
            facts_of_enum(enum, file.package, facts)
        for service in file.service:
            for method in service.method:
                facts[f"method {file.package}.{service.name}.{method.name}"] = (
                    method.input_type, method.output_type, method.client_streaming, method.server_streaming)
    return facts


def client_facts():
    files = []
    for name in CLIENT_FILES:
        files.append(descriptor_pb2.FileDescriptorProto())
        descriptor_pool.Default().FindFileByName(name).CopyToProto(files[-1])
    return facts_of(files)


def our_facts():
    protos = sorted(str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "proto").glob("*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", "-I", ".", f"--descriptor_set_out={out.name}", *protos], cwd=REPOSITORY, check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(Path(out.name).read_bytes())
    return facts_of(file for file in files.file if file.package == "qdrant")


class ProtoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client, cls.ours = client_facts(), our_facts()

    def test_everything_of_the_client_is_here_and_the_same(self):
        self.assertGreater(len(self.client), 1000)
        different = {fact: (wanted, self.ours.get(fact, "missing")) for fact, wanted in self.client.items()
                     if self.ours.get(fact) != wanted}
        self.assertEqual(different, {})

    def test_nothing_else_is_here_but_what_a_newer_client_has(self):
        additional = {fact for fact in self.ours if fact not in self.client}
        self.assertEqual({fact for fact in additional if not is_newer(fact, self.ours[fact])}, set())

    def test_a_changed_number_is_noticed(self):
        fact = "field qdrant.PointId.num"
        self.assertNotEqual(self.ours[fact], (7,) + self.client[fact][1:])


def is_newer(fact, value):
    """True for what NEWER names, its parts, and fields of its types."""
    kind, name = fact.split(" ", 1)
    types = [newer.split(" ", 1)[1] for newer in NEWER]
    is_part = any(name.startswith(type_name + ".") for type_name in types)
    return fact in NEWER or is_part or (kind == "field" and value[3].removeprefix(".") in types)


if __name__ == "__main__":
    unittest.main()
