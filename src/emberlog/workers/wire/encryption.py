"""Encrypts the connections of a run: TLS 1.3, with one certificate that the driver made for this run alone.

Whoever has its key belongs to the run, and nobody else is trusted, so both ends show the same certificate and no name
is looked at. Who is who is proved by the handshake inside.
"""

from __future__ import annotations

import base64
import os
import ssl
from functools import cached_property


class Identity:
    """Holds the certificate of a run and its private key, as DER."""

    def __init__(self, certificate: bytes, key: bytes) -> None:
        self.certificate = certificate
        self.key = key

    def to_text(self) -> str:
        return f"{base64.b64encode(self.certificate).decode()} {base64.b64encode(self.key).decode()}"

    @staticmethod
    def from_text(text: str) -> Identity:
        certificate, key = text.split()
        return Identity(base64.b64decode(certificate), base64.b64decode(key))

    @cached_property
    def dialing(self) -> ssl.SSLContext:
        return self._context(ssl.PROTOCOL_TLS_CLIENT)

    @cached_property
    def answering(self) -> ssl.SSLContext:
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        # Nobody comes twice; and a worker takes whatever the driver says after the meeting for its hanging up.
        context.num_tickets = 0
        return context

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=self.certificate)
        certificate = ssl.DER_cert_to_PEM_cert(self.certificate)
        key = f"-----BEGIN PRIVATE KEY-----\n{base64.encodebytes(self.key).decode()}-----END PRIVATE KEY-----\n"
        # The library wants files. These are pipes: the key is never on a disk.
        ends = [_pipe(certificate.encode()), _pipe(key.encode())]
        try:
            context.load_cert_chain(*(f"/dev/fd/{end}" for end in ends))
        finally:
            for end in ends:
                os.close(end)
        return context


def _pipe(data: bytes) -> int:
    """Returns the end to read from. So few bytes always fit."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as out:
        out.write(data)
    return reader
