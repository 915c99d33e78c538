import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createConnections } from '../../../functions/runtime/local/connections.ts'

/** A socket with only the fields that the limits need: its address, and whether it was closed. */
function socketFrom(remoteAddress: string): Socket & { readonly isCut: boolean } {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    isCut: false,
    destroy() {
      socket.isCut = true
      socket.emit('close')
    },
  })
  return socket as unknown as Socket & { readonly isCut: boolean }
}

function open(count: number, address: string, connections = createConnections({ maxConnections: 8, maxOfAddress: 4 })) {
  const sockets = Array.from({ length: count }, () => socketFrom(address))
  for (const socket of sockets) connections.add(socket)
  return { connections, sockets, cut: () => sockets.map(({ isCut }) => isCut) }
}

test('new connections of an address close its oldest silent connections', () => {
  const { cut } = open(6, 'a')
  expect(cut()).toEqual([true, true, false, false, false, false])
})

test('connections of a new address close the oldest connections of a crowded address', () => {
  const { connections, sockets } = open(4, 'a')
  const more = open(4, 'b', connections)
  const { cut } = open(2, 'c', connections)
  expect(cut()).toEqual([false, false])
  expect(sockets.map(({ isCut }) => isCut)).toEqual([true, true, false, false])
  expect(more.cut()).toEqual([false, false, false, false])
})

test('silent connections are closed before idle ones, and a connection with a request remains open', () => {
  const { connections, sockets, cut } = open(4, 'a')
  const [busy, resting] = sockets
  if (busy === undefined || resting === undefined) throw new Error('no sockets')
  connections.begin(busy)
  connections.begin(resting)()
  const next = open(2, 'a', connections)
  expect(cut()).toEqual([false, false, true, true])
  for (const socket of next.sockets) connections.begin(socket)
  expect(open(1, 'a', connections).cut()).toEqual([false])
  expect(cut()).toEqual([false, true, true, true])
})

test('a new connection is closed if all others have requests', () => {
  const { connections, sockets } = open(4, 'a')
  const ends = sockets.map((socket) => connections.begin(socket))
  expect(open(1, 'a', connections).cut()).toEqual([true])
  expect(open(1, 'b', connections).cut()).toEqual([false])
  ends[0]?.()
  expect(open(1, 'a', connections).cut()).toEqual([false])
})

test('silent connections are closed after 5 s while more than half of the slots are in use', () => {
  const { connections, cut } = open(4, 'a')
  connections.cutSilent(Date.now() + 10_000)
  expect(cut()).toEqual([false, false, false, false])
  open(1, 'b', connections)
  connections.cutSilent(Date.now() + 4_000)
  expect(cut()).toEqual([false, false, false, false])
  connections.cutSilent(Date.now() + 10_000)
  expect(cut()).toEqual([true, true, true, true])
})

test('closed connections release their slots', () => {
  const { connections, sockets } = open(4, 'a')
  for (const socket of sockets) socket.emit('close')
  expect(open(4, 'a', connections).cut()).toEqual([false, false, false, false])
})
