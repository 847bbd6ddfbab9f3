"""Records as Parquet: a column of texts each, written a group of rows at a time. Needs pyarrow."""

from __future__ import annotations

import io
from collections.abc import Iterator

from experiments.errors import InvalidError
from experiments.exports.records import Export, batches
from experiments.formats.parquet import is_available
from experiments.rawjson import loads, storable

GROUP_ROWS = 5_000


def parquet_blocks(export: Export) -> Iterator[bytes]:
    """The file in pieces. Texts are plain, all else is JSON as it was sent; null is not there."""
    if not is_available():
        raise InvalidError(
            "format", "parquet needs pyarrow on the server: pip install 'tiebreak[parquet]'"
        )
    return _blocks(export)


def _blocks(export: Export) -> Iterator[bytes]:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    schema = pyarrow.schema([(name, pyarrow.string()) for name in export.columns])
    sink = _Sink()
    records = export.read()
    with ParquetWriter(sink, schema, compression="zstd") as writer:
        for group in batches(records, GROUP_ROWS):
            columns = {
                name: [_text(record.get(name)) for record in group] for name in export.columns
            }
            writer.write_table(pyarrow.table(columns, schema=schema))
            yield sink.take()
    yield sink.take()


def _text(cell: str | None) -> str | None:
    if cell is None or cell == "null":
        return None
    return storable(str(loads(cell))) if cell.startswith('"') else cell


class _Sink(io.RawIOBase):
    """Gathers what a writer writes until it is taken."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.place = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.place

    def write(self, data: object) -> int:
        part = bytes(data)  # type: ignore[call-overload]
        self.parts.append(part)
        self.place += len(part)
        return len(part)

    def take(self) -> bytes:
        found, self.parts = b"".join(self.parts), []
        return found
