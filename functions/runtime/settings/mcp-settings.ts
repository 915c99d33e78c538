import { z } from 'zod'
import type { Agent, McpServer } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { refusedAddress } from '../../tools/allowed-hosts.ts'
import { SettingsError } from './settings-error.ts'
import { secretNames } from './named-secrets.ts'

/** Headers that settings must not contain, because the protocol and the connection set them. */
const OURS = /^(?:host|connection|content-.+|transfer-encoding|accept|accept-encoding|user-agent|mcp-.+)$/i
const DEFAULT_TIMEOUT_MS = 60_000

const names = z.array(z.string().min(1).max(256))

const server = z.strictObject({
  url: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }),
  headers: z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9-]+$/, 'is not the name of a header')
        .refine((name) => !OURS.test(name), 'is a header that the protocol sets'),
      z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line'),
    )
    .default({}),
  tools: names.optional(),
  needs_approval: z.union([z.literal(true), names], 'must be true or a list of tools').default([]),
  idempotent: names.default([]),
  timeout_ms: z.int().positive().max(600_000).default(DEFAULT_TIMEOUT_MS),
})

/** Schema of an agent's `mcp`: its servers by name. */
export const mcpServers = z
  .record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1–64 of A-Z a-z 0-9 _ -'), server)
  .transform((servers): McpServer[] =>
    Object.entries(servers).map(([name, { url, headers, tools, needs_approval: needsApproval, ...rest }]) => ({
      name,
      url,
      headers,
      ...definedFields({ tools }),
      needsApproval,
      idempotent: rest.idempotent,
      timeoutMs: rest.timeout_ms,
    })),
  )

/** Returns the names of all secrets in the headers of agents' servers. */
export const secretsOf = (agents: Iterable<Agent>): string[] =>
  [...agents].flatMap(({ mcp = [] }) => mcp.flatMap(({ headers }) => Object.values(headers).flatMap(secretNames)))

/**
 * Rejects servers at forbidden addresses, and headers with missing secrets. Throws `SettingsError` with the path.
 * `secret` is omitted if secrets are read later.
 */
export function checkServers(
  agents: Iterable<Agent>,
  { allowedHosts, secret }: { readonly allowedHosts: readonly string[]; secret?(name: string): string | undefined },
): void {
  for (const agent of agents)
    for (const { name, url, headers } of agent.mcp ?? []) {
      const path = `agents.${agent.name}.mcp.${name}`
      const refused = refusedAddress(new URL(url), allowedHosts)
      if (refused !== undefined) throw new SettingsError(`${path}.url: ${refused}`)
      for (const [header, value] of Object.entries(headers)) {
        const missing = secret && secretNames(value).find((one) => secret(one) === undefined)
        if (missing !== undefined) throw new SettingsError(`${path}.headers.${header}: there is no variable ${missing}`)
      }
    }
}
