import { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import type { LookupFunction } from 'node:net'

/** Internal addresses that are in a public range. */
const internal = new BlockList()
/** The address of Azure's own services inside a virtual machine. */
internal.addAddress('168.63.129.16', 'ipv4')
/** IPv4 addresses in the deprecated IPv6 form (RFC 4291, 2.5.5.1). Some systems connect to the IPv4 address. */
internal.addSubnet('::', 96, 'ipv6')

const isInternal = (address: string): boolean => {
  const family = isIP(address)
  return family !== 0 && internal.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

const refusal = (): Error => new Error('the address is not allowed')

/** Rejects a URL whose host is one of these internal addresses. */
export function requireNotInternal(url: URL, allowed: readonly string[]): void {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isInternal(host) && !allowed.includes(host)) throw refusal()
}

/** Wraps `lookup` so that it rejects a name with one of these internal addresses, unless the address is allowed. */
export const withoutInternal =
  (allowed: readonly string[], lookup: LookupFunction = systemLookup as LookupFunction): LookupFunction =>
  (hostname, options, done) =>
    lookup(hostname, options, (error, found, family) => {
      const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address)
      const isRefused = addresses.some((address) => isInternal(address) && !allowed.includes(address))
      if (isRefused) done(refusal(), '', 4)
      else done(error, found, family)
    })
