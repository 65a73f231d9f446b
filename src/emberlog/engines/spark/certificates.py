"""Makes the certificate that encrypts the connections of one run, in the driver.

Keys are made and used for signing by those who know how: Java, where the session has its own, else the package
`cryptography`. What is written here is only the form of the certificate.
"""

from __future__ import annotations

import secrets
from typing import Any, Protocol

from pyspark.sql import SparkSession

from emberlog.engines.spark.failures import NotHere
from emberlog.engines.spark.frames.resources import is_connect
from emberlog.workers.wire.encryption import Identity


class KeyPair(Protocol):
    private: bytes
    """As PKCS #8."""
    public: bytes
    """As the certificate holds it."""

    def sign(self, data: bytes, /) -> bytes:
        """Signs by ECDSA with SHA-256."""


def new_identity(spark: SparkSession) -> Identity:
    """Returns a new key and its certificate. Raises NotHere where nobody can make them."""
    pair = _OfCryptography() if is_connect(spark) else _OfJava(spark)
    return Identity(self_signed(pair), pair.private)


class _OfJava:
    """Is a pair of keys in the Java process of the session."""

    def __init__(self, spark: Any) -> None:
        self._java = spark._jvm.java
        generator = self._java.security.KeyPairGenerator.getInstance("EC")
        generator.initialize(256)
        pair = generator.generateKeyPair()
        self._private = pair.getPrivate()
        self.private = self._encoded(self._private, "PKCS8EncodedKeySpec")
        self.public = self._encoded(pair.getPublic(), "X509EncodedKeySpec")

    def _encoded(self, key: Any, form: str) -> bytes:
        # A key of Java is of a class that Python cannot call; its form is of one that it can.
        factory = self._java.security.KeyFactory.getInstance("EC")
        form_class = self._java.lang.Class.forName(f"java.security.spec.{form}")
        return bytes(factory.getKeySpec(key, form_class).getEncoded())

    def sign(self, data: bytes, /) -> bytes:
        signature = self._java.security.Signature.getInstance("SHA256withECDSA")
        signature.initSign(self._private)
        signature.update(data)
        return bytes(signature.sign())


class _OfCryptography:
    """Is a pair of keys of the package `cryptography`: the Java process of Spark Connect is out of reach."""

    def __init__(self) -> None:
        try:
            from cryptography.hazmat.primitives import serialization as forms
            from cryptography.hazmat.primitives.asymmetric import ec
        except ImportError:
            raise NotHere(
                "the session encrypts its connections, and over Spark Connect keys for those of workers are made by a "
                "package that is missing: pip install 'emberlog[encryption]'"
            ) from None
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.private = self._key.private_bytes(forms.Encoding.DER, forms.PrivateFormat.PKCS8, forms.NoEncryption())
        public = self._key.public_key()
        self.public = public.public_bytes(forms.Encoding.DER, forms.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, data: bytes, /) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec

        return bytes(self._key.sign(data, ec.ECDSA(hashes.SHA256())))


# --- the form of a certificate (RFC 5280): version 1, which has no extensions -----------------------------------------

_INTEGER, _BITS, _OBJECT, _TEXT, _SHORT_TIME, _TIME, _SEQUENCE, _SET = 0x02, 0x03, 0x06, 0x0C, 0x17, 0x18, 0x30, 0x31
_ECDSA_WITH_SHA256 = bytes.fromhex("2a8648ce3d040302")
_COMMON_NAME = bytes.fromhex("550403")


def self_signed(pair: KeyPair) -> bytes:
    """Returns a certificate, as DER, that is good at any time: clocks differ, and the run ends before it matters."""
    algorithm = _der(_SEQUENCE, _der(_OBJECT, _ECDSA_WITH_SHA256))
    name = _der(_SEQUENCE, _der(_SET, _der(_SEQUENCE, _der(_OBJECT, _COMMON_NAME), _der(_TEXT, b"Emberlog run"))))
    validity = _der(_SEQUENCE, _der(_SHORT_TIME, b"000101000000Z"), _der(_TIME, b"99991231235959Z"))
    serial = _der(_INTEGER, b"\1" + secrets.token_bytes(15))
    content = _der(_SEQUENCE, serial, algorithm, name, validity, name, pair.public)
    return _der(_SEQUENCE, content, algorithm, _der(_BITS, b"\0" + pair.sign(content)))


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes((tag, len(content))) + content
    length = len(content).to_bytes(2, "big").lstrip(b"\0")
    return bytes((tag, 0x80 | len(length))) + length + content
