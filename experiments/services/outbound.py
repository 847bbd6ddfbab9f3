"""Calls to addresses that users typed: checked when connecting, so that DNS cannot lie twice."""

import asyncio
import ipaddress
import re
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import httpx2
from django.conf import settings

from experiments.errors import InvalidError

REFUSED = "this address is not allowed: it is private, and the operator has not listed it"
CALLS_IN_A_POOL = 4


class AddressRefused(httpx2.ConnectError):
    """The host resolves to an address that must not be called."""


# IPv6 that carries an IPv4 address in its last four bytes: translated (RFC 6052), and of old.
_CARRIES_IPV4 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96"))
# Not told by Python's own table: translation inside one site (RFC 8215), site-local (RFC 3879).
_INSIDE = (ipaddress.ip_network("64:ff9b:1::/48"), ipaddress.ip_network("fec0::/10"))


def is_public(address: str) -> bool:
    """Whether an IP address is one of the open internet, also when wrapped in IPv6."""
    ip: Any = ipaddress.ip_address(address.split("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or getattr(ip, "sixtofour", None) or ip
    if ip.version == 6 and any(ip in network for network in _CARRIES_IPV4):
        ip = ipaddress.ip_address(int(ip) & 0xFFFFFFFF)
    inside = ip.version == 6 and any(ip in network for network in _INSIDE)
    return bool(ip.is_global and not ip.is_multicast and not inside)


def is_listed(host: str, port: int | None) -> bool:
    """Whether the operator allows this private host, by `host` or `host:port`."""
    allowed = settings.PRIVATE_MODEL_HOSTS
    return bool({host, f"{host}:{port}"} & allowed)


def check_base_url(field: str, url: str) -> str:
    """An http(s) address without credentials, query or fragment, or an error at the field."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise InvalidError(field, "is not an address such as https://host/v1") from error
    if re.search(r"[\s()<>\"'\\]", url.strip()):
        raise InvalidError(field, "must not hold blanks, quotes or brackets")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidError(field, "must begin with https:// or http:// and name a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidError(field, "must not hold a user, a password, a query or a fragment")
    resolve_checked(field, parts.hostname, port)
    return url.strip().rstrip("/")


def resolve_checked(field: str, host: str, port: int | None) -> None:
    """Refuse early what the connection would refuse; names that do not resolve pass here."""
    if is_listed(host, port):
        return
    try:
        found = socket.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return
    if not all(is_public(str(entry[4][0])) for entry in found):
        raise InvalidError(field, REFUSED)


class Pool:
    """Some connections. A pool looks at each of its own for every call, so it is kept small."""

    def __init__(self, trust: ssl.SSLContext) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=CALLS_IN_A_POOL)
        self.transport = httpx2.AsyncHTTPTransport(verify=trust, limits=limits, retries=0)
        self.busy = 0

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        self.busy += 1
        try:
            return await self.transport.handle_async_request(request)
        finally:
            self.busy -= 1


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Connects to the very address that was checked; the name stays in Host and TLS."""

    def __init__(self) -> None:
        self.trust = httpx2.create_ssl_context()
        self.pools: list[Pool] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host, port = request.url.host, request.url.port
        if not is_listed(host, port or {"http": 80, "https": 443}[request.url.scheme]):
            address = await public_address(host, port)
            request.extensions = {**request.extensions, "sni_hostname": host}
            request.url = request.url.copy_with(host=address)
        return await self._free_pool().send(request)

    def _free_pool(self) -> Pool:
        """The first with room, so that connections are used again; a new one when all are full."""
        for pool in self.pools:
            if pool.busy < CALLS_IN_A_POOL:
                return pool
        self.pools.append(Pool(self.trust))
        return self.pools[-1]

    async def aclose(self) -> None:
        for pool in self.pools:
            await pool.transport.aclose()


async def public_address(host: str, port: int | None) -> str:
    """One address of the host; refused unless all of them are public."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError("The host name could not be resolved.") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not all(map(is_public, addresses)):
        raise AddressRefused(REFUSED)
    return addresses[0]


def guarded_client(timeout: float) -> httpx2.AsyncClient:
    """A client for model calls: no redirects, no proxies from the environment."""
    return httpx2.AsyncClient(
        transport=GuardedTransport(), timeout=timeout, follow_redirects=False, trust_env=False
    )
