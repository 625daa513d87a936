"""Encrypted objects, written as docs/encryption.md says."""

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import encryption_reader as reader


def seal(content, name, vault, id, key):
    """An object, as the page says how it is made, and its name."""
    salt = reader.salt_of(key, vault, name, content)
    start, _, ending = name.rpartition(".")
    name = f"{start[:-16]}{salt[:8].hex()}.{ending}"
    header = b"\x89HLOBJ\r\n\1" + id + salt
    object_key = reader.derive(key, salt, "heartlog object 1", vault + name.encode())
    text = len(content).to_bytes(4, "little") + content
    text += bytes(reader.padded(len(content)) - len(text))
    chunks = [text[at:at + reader.CHUNK] for at in range(0, len(text), reader.CHUNK)]
    return name, header + b"".join(
        ChaCha20Poly1305(object_key).encrypt(reader.nonce(number, number == len(chunks) - 1), chunk, header)
        for number, chunk in enumerate(chunks))
