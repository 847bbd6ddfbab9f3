"""Which addresses are of the open internet, in every way of writing them."""

from __future__ import annotations

import pytest

from experiments.services.outbound import is_public


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "::1", "::", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1",
        "::ffff:169.254.169.254", "::127.0.0.1", "2002:7f00:1::", "64:ff9b::a9fe:a9fe",
        "64:ff9b::7f00:1", "64:ff9b:1::a9fe:a9fe",
    ],
)  # fmt: skip
def test_inner_addresses_are_never_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_outer_addresses_are_public(address: str) -> None:
    assert is_public(address)
