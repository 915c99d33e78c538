/** Whether the operator explicitly allows this address. An allowed address may be internal. */
export function isAllowedHost({ protocol, hostname, port }: URL, allowedHosts: readonly string[]): boolean {
  const withPort = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
  return allowedHosts.includes(hostname) || allowedHosts.includes(withPort)
}

/**
 * Returns the reason why no request may go to this address; undefined if requests are allowed. The addresses behind a
 * host name are checked later, when the connection is made.
 */
export function refusedAddress(url: URL, allowedHosts: readonly string[]): string | undefined {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'is not an http(s) address'
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password'
  if (url.protocol === 'http:' && !isAllowedHost(url, allowedHosts))
    return `must be https: plain http is for the hosts in TOOLTRAIL_ALLOWED_HOSTS, and ${url.host} is not among them`
  return undefined
}
