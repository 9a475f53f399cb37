"""Check the packet of a decision with a public key alone: python check_packet.py packet.json KEY

KEY is the installation's public key, 64 hexadecimal digits. This uses none of Likewise's code, only
Python and the package cryptography: RFC 6962 (trees), RFC 8032 (Ed25519), and the formats
tlog-proof, tlog-checkpoint and signed-note of C2SP. The exit status is 0 if the packet holds.
"""

import base64
import hashlib
import json
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def canonical(value):  # sorted keys and no spaces, as it is hashed
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def root(entry, index, size, hashes):
    """The root of a tree in which a proof, from the leaf upwards, places an entry."""
    if size == 1:
        refuse_unless(index == 0 and not hashes, "the proof has another length")
        return sha256(b"\0", entry)
    half = 1 << (size - 1).bit_length() - 1
    if index < half:
        return sha256(b"\1", root(entry, index, half, hashes[:-1]), hashes[-1])
    return sha256(b"\1", hashes[-1], root(entry, index - half, size - half, hashes[:-1]))


def refuse_unless(fact, fault):
    if not fact:
        sys.exit(f"It does not hold: {fault}.")


with open(sys.argv[1], encoding="utf-8") as file:
    packet = json.load(file)
given, proof = packet.pop("given"), packet.pop("proof")
# The record that the packet was given names the packet's hash; the tree has the record's own hash.
named = (given["kind"], given["body"]["digest"])
refuse_unless(named == ("packet-given", sha256(canonical(packet)).hex()), "it was changed")
entry = sha256(canonical({name: part for name, part in given.items() if name != "hash"}))
if features := packet["payload"]:
    digest = sha256(bytes.fromhex(features["salt"]), canonical(features["content"])).hex()
    refuse_unless(digest == features["digest"], "other features were recorded")
head, body, signatures = proof.split("\n\n")
(version, index, *lines), (origin, size, tree) = head.split("\n"), body.split("\n")
place, hashes = int(index.removeprefix("index ")), [base64.b64decode(line) for line in lines]
refuse_unless(version == "c2sp.org/tlog-proof@v1", "the proof is of another kind")
same = root(entry, place, int(size), hashes) == base64.b64decode(tree)
same = same and origin.endswith(f"/{packet['docket']}") and place + 1 == given["seq"]
refuse_unless(same, "the record is not in the ledger's tree")
[signature] = [line for line in signatures.splitlines() if line.startswith(f"— {origin} ")]
key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(sys.argv[2]))
key.verify(base64.b64decode(signature.split(" ")[2])[4:], f"{body}\n".encode())
print(f"It holds: record {place + 1} of the {size} that {origin} had then says that it was given.")
