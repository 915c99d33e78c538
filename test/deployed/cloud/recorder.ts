import { startFaultProxy } from '../../faults/fault-proxy.ts'
import type { Fault, ProxiedRequest } from '../../faults/fault-proxy.ts'
import { SERVICES, permissionsOf } from './recorded-call.ts'
import type { RecordedCall, Service } from './recorded-call.ts'

/** Selects the fault for a function's request. Returns undefined if the request gets no fault. */
export type Trouble = (service: Service, request: ProxiedRequest) => Fault['does'] | undefined

/** The engines for one process of a function, behind proxies that record the process's requests. */
export interface RecordedEngines {
  readonly endpoints: { readonly [service in Service]: string }
  /** The permissions of the requests in flight. */
  inFlight(): readonly RecordedCall[]
  stop(): Promise<void>
}

/** Starts a proxy in front of each engine. `record` gets every permission that a request needs. */
export async function startRecording(
  engines: { readonly [service in Service]: string },
  record: (call: RecordedCall) => void,
  trouble: Trouble,
  search: string,
): Promise<RecordedEngines> {
  const proxies = await Promise.all(
    SERVICES.map(async (service) => {
      const proxy = await startFaultProxy(engines[service])
      proxy.decide((request) => {
        for (const call of callsOf(service, request, search)) record(call)
        const does = trouble(service, request)
        return does && { at: 'before', does }
      })
      return [service, proxy] as const
    }),
  )
  const endpoints = Object.fromEntries(proxies.map(([service, { endpoint }]) => [service, endpoint]))
  return {
    endpoints: endpoints as { readonly [service in Service]: string },
    inFlight: () =>
      proxies.flatMap(([service, proxy]) => proxy.inFlight().flatMap((one) => callsOf(service, one, search))),
    async stop() {
      await Promise.all(proxies.map(([, proxy]) => proxy.stop()))
    },
  }
}

function callsOf(service: Service, request: ProxiedRequest, search: string): readonly RecordedCall[] {
  try {
    return permissionsOf(service, request, search)
  } catch (error) {
    // No policy allows this permission, so the comparison with the policies reports it.
    return [{ action: `${service}: ${String(error)}`, resource: `${request.method} ${request.path}` }]
  }
}
