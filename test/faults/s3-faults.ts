import type { Fault, ProxiedRequest } from './fault-proxy.ts'

const respondWith = (status: number, code: string): Fault['does'] => ({
  kind: 'respond',
  status,
  type: 'application/xml',
  body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>made by a test</Message></Error>`,
})

/** Known faults of S3 and of the network. */
export const S3_FAULTS: Readonly<Record<string, Fault>> = {
  'a request to slow down': { at: 'before', does: respondWith(503, 'SlowDown') },
  'an internal error before the request was done': { at: 'before', does: respondWith(500, 'InternalError') },
  'an internal error after the request was done': { at: 'after', does: respondWith(500, 'InternalError') },
  'a connection that is cut before the request was done': { at: 'before', does: { kind: 'cut' } },
  'a connection that is cut after the request was done': { at: 'after', does: { kind: 'cut' } },
  'a request that is done and gets no response': { at: 'after', does: { kind: 'silence' } },
}

/** Fails the first request of each method and path. */
export function onceEach(fault: Fault): (request: Pick<ProxiedRequest, 'method' | 'path'>) => Fault | undefined {
  const seen = new Set<string>()
  return ({ method, path }) => {
    const id = `${method} ${path}`
    if (seen.has(id)) return undefined
    seen.add(id)
    return fault
  }
}
