import type { Socket } from 'node:net'

/** Milliseconds that a connection may send no whole request, while connections are crowded. */
const CROWDED_HEADERS_MS = 5_000

interface Limits {
  readonly maxConnections: number
  /** Connections of one address: what a single client machine, or a proxy in front of all clients, may have. */
  readonly maxOfAddress: number
}

/** The open connections of a server. */
export interface Connections {
  /** Adds a connection. Where a limit is reached, one without a request gives way; if there is none, the new one is closed. */
  add(socket: Socket): void
  /** A request of the connection begins; call the result when its response has ended. */
  begin(socket: Socket): () => void
  /** Closes those that have sent nothing for too long, if connections are crowded. */
  cutSilent(now: number): void
}

interface Connection {
  readonly socket: Socket
  readonly address: string
  readonly since: number
  requests: number
}

/**
 * Bounds the connections of a server so that silent ones keep nobody out: the oldest connection without any request yet gives way
 * first, then the one that waits longest for another request.
 */
export function createConnections({ maxConnections, maxOfAddress }: Limits): Connections {
  const open = new Map<Socket, Connection>()
  const ofAddress = new Map<string, number>()
  /** Connections without a request, the oldest first: those that never had one, and those that have had one. */
  const silent = new Set<Connection>()
  const resting = new Set<Connection>()

  function remove(connection: Connection): void {
    if (!open.delete(connection.socket)) return
    silent.delete(connection)
    resting.delete(connection)
    const left = (ofAddress.get(connection.address) ?? 1) - 1
    if (left === 0) ofAddress.delete(connection.address)
    else ofAddress.set(connection.address, left)
  }

  function cut(connection: Connection): void {
    remove(connection)
    connection.socket.destroy()
  }

  /** Makes room for one more; returns whether there is room. */
  function makeWay(address: string): boolean {
    const isFull = open.size >= maxConnections
    const isOver = (ofAddress.get(address) ?? 0) >= maxOfAddress
    if (!isFull && !isOver) return true
    const oldest = [...silent, ...resting].find((connection) => !isOver || connection.address === address)
    if (oldest !== undefined) cut(oldest)
    return oldest !== undefined
  }

  return {
    add(socket) {
      const address = socket.remoteAddress ?? ''
      if (!makeWay(address)) return void socket.destroy()
      const connection: Connection = { socket, address, since: Date.now(), requests: 0 }
      open.set(socket, connection)
      ofAddress.set(address, (ofAddress.get(address) ?? 0) + 1)
      silent.add(connection)
      socket.once('close', () => remove(connection))
    },
    begin(socket) {
      const connection = open.get(socket)
      if (connection === undefined) return () => undefined
      silent.delete(connection)
      resting.delete(connection)
      connection.requests++
      return () => {
        if (--connection.requests === 0 && open.has(socket)) resting.add(connection)
      }
    },
    cutSilent(now) {
      if (open.size <= maxConnections / 2) return
      for (const connection of silent) if (now - connection.since >= CROWDED_HEADERS_MS) cut(connection)
    },
  }
}
