"""Certificates for runs over Spark Connect, where Java is out of reach. Java's are tested with a session."""

from __future__ import annotations

import ssl
from typing import cast

import pytest
from pyspark.sql import SparkSession

from emberlog.engines.spark import certificates
from emberlog.engines.spark.certificates import new_identity, self_signed


def test_the_package_makes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.setattr(certificates, "is_connect", lambda _: True)
    identities = [new_identity(cast(SparkSession, None)) for _ in range(2)]
    for identity in identities:
        assert identity.dialing.minimum_version is ssl.TLSVersion.TLSv1_3
        assert identity.answering.verify_mode is ssl.CERT_REQUIRED
        (trusted,) = identity.dialing.get_ca_certs()
        assert trusted["notAfter"] == "Dec 31 23:59:59 9999 GMT"
    assert identities[0].certificate != identities[1].certificate


class Nobody:
    """Keys that are none: only the form of the certificate is looked at."""

    private = b""
    public = bytes(200)

    def sign(self, data: bytes, /) -> bytes:
        return b"signed" * 20


def test_lengths_are_written_as_they_should_be() -> None:
    certificate = self_signed(Nobody())
    assert certificate[:2] == b"\x30\x82" and int.from_bytes(certificate[2:4], "big") == len(certificate) - 4
    assert b"signed" * 20 in certificate and b"Emberlog run" in certificate
