import type { Socket } from 'node:net'

/** While connections are crowded, a connection without a complete request is closed after this time. */
const CROWDED_HEADERS_MS = 5_000

interface Limits {
  readonly maxConnections: number
  /** Maximum connections per address. An address may belong to one client machine, or to a proxy for all clients. */
  readonly maxOfAddress: number
}

/** The open connections of a server. */
export interface Connections {
  /**
   * Adds a connection. At a limit, an idle connection is closed to admit the new connection. If no connection is idle,
   * the new connection is closed.
   */
  add(socket: Socket): void
  /** Marks the start of a request. Call the returned function when the response has ended. */
  begin(socket: Socket): () => void
  /** If connections are crowded, closes each connection that has waited too long without sending a request. */
  cutSilent(now: number): void
}

interface Connection {
  readonly socket: Socket
  readonly address: string
  readonly since: number
  requests: number
}

/**
 * Limits a server's connections so that idle connections cannot block new clients. At a limit, the oldest connection
 * that never had a request is closed first, then the connection that has been idle longest.
 */
export function createConnections({ maxConnections, maxOfAddress }: Limits): Connections {
  const open = new Map<Socket, Connection>()
  const ofAddress = new Map<string, number>()
  /** Idle connections, oldest first: `silent` never had a request, `resting` had at least one. */
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

  /** Closes an idle connection if a limit is reached. Returns whether a new connection may be added. */
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
