"""Publish a port of a container, as a container engine does on its machine: ``publish.py HOST PORT ADDRESS PORT``."""

import asyncio
import sys
from contextlib import suppress


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def main(host: str, port: str, address: str, target: str) -> None:
    """Forward connections for ever; the container sees the address of its gateway."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, there = await asyncio.open_connection(address, int(target))
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, there), _copy(back, writer))

    server = await asyncio.start_server(forward, host, int(port))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:5]))
