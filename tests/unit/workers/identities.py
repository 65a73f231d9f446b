"""Certificates with their keys, as the driver makes them for a run: made once, so that tests need neither Java nor a
package. They guard nothing."""

from __future__ import annotations

from emberlog.workers.wire.encryption import Identity

OURS = Identity.from_text(
    "MIIBJjCBzQIQAYwkGuJrIFL5QB0RtMR2zTAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxFbWJlcmxvZyBydW4wIBcNMDAwMTAxMDAw"
    "MDAwWhgPOTk5OTEyMzEyMzU5NTlaMBcxFTATBgNVBAMMDEVtYmVybG9nIHJ1bjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABN8D"
    "yAth+hm2G1WwNgnJTO2ezlGyNEa1SvupYQ7/kiw9pJzYODfBjMkRjHw9aGlXP/COPsZXvaLA6yr4JQryanMwCgYIKoZIzj0EAwID"
    "SAAwRQIgMGM9EDPf/Kx/oSnzSb2+Wbzy5v2Y1m7BCzSjecYkpDUCIQCqy9Gw9NV1BGupXLUkeEavm0fveOVL3lPSJCV1VlAknA=="
    " MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgclgqWsX9blKbri0NMHjmNbxcJXK22GEVveB/3bryCFyhRANCAAT"
    "fA8gLYfoZthtVsDYJyUztns5RsjRGtUr7qWEO/5IsPaSc2Dg3wYzJEYx8PWhpVz/wjj7GV72iwOsq+CUK8mpz"
)
THEIRS = Identity.from_text(
    "MIIBJTCBzQIQAaagOb5rsKhhEbUlxw3lpjAKBggqhkjOPQQDAjAXMRUwEwYDVQQDDAxFbWJlcmxvZyBydW4wIBcNMDAwMTAxMDAw"
    "MDAwWhgPOTk5OTEyMzEyMzU5NTlaMBcxFTATBgNVBAMMDEVtYmVybG9nIHJ1bjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDk9"
    "tYAaJJEh0szRWz8NRI1GWL6Yn3VK14smPVXCyMTX9iwjqeHXR/v5PpfoMKLYuWKspoVDcQgNraPvXh/YCYQwCgYIKoZIzj0EAwID"
    "RwAwRAIgdHw364mAkUf5k2/u/3+PCpfGrrT04ZEuE2c9yX0ZPvICIGFYOmh8dz/2V7lIaVn8cc0V+sfoMQZytVKUBDP8juOc MIG"
    "HAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnsAMOsskYCm64Rjf/gc1rpb1PouzFD7E5FIS4PVVPBGhRANCAAQ5PbW"
    "AGiSRIdLM0Vs/DUSNRli+mJ91SteLJj1VwsjE1/YsI6nh10f7+T6X6DCi2LlirKaFQ3EIDa2j714f2AmE"
)
