import { expect, test } from 'vitest'
import { parseAgents } from '../../../functions/runtime/settings/agents-file.ts'
import { readSettings } from '../../../functions/runtime/settings/config.ts'
import { checkServers, secretsOf } from '../../../functions/runtime/settings/mcp-settings.ts'
import { withSecrets } from '../../../functions/runtime/settings/named-secrets.ts'

const agents = (server: object) => {
  const file = { agents: { default: { mcp: { github: { url: 'https://example.com/mcp', ...server } } } } }
  return [...parseAgents(file, { model: 'demo/demo', tools: new Map(), defaultTools: [] }).values()]
}

test('a server has defaults for everything except its address', () => {
  expect(agents({})[0]?.mcp).toEqual([
    {
      name: 'github',
      url: 'https://example.com/mcp',
      headers: {},
      needsApproval: [],
      idempotent: [],
      timeoutMs: 60_000,
    },
  ])
})

test('a header with a missing secret stops the start, and the message names both', () => {
  const some = agents({ headers: { authorization: 'Bearer ${secret:GITHUB_TOKEN}' } })
  const settings = (variables: object) => readSettings({ ...variables })
  expect(() => checkServers(some, settings({}))).toThrow(
    'agents.default.mcp.github.headers.authorization: there is no variable GITHUB_TOKEN',
  )
  expect(() => checkServers(some, settings({ GITHUB_TOKEN: '' }))).toThrow('GITHUB_TOKEN')
  expect(() => checkServers(some, settings({ GITHUB_TOKEN: 'x' }))).not.toThrow()
  expect(secretsOf(some)).toEqual(['GITHUB_TOKEN'])
})

test('plain HTTP requires an allowed host', () => {
  const local = agents({ url: 'http://localhost:8080/mcp' })
  expect(() => checkServers(local, readSettings({}))).toThrow('agents.default.mcp.github.url: must be https')
  for (const hosts of ['localhost', 'localhost:8080', 'other, LOCALHOST:8080'])
    expect(() => checkServers(local, readSettings({ TOOLTRAIL_ALLOWED_HOSTS: hosts }))).not.toThrow()
  expect(() => checkServers(local, readSettings({ TOOLTRAIL_ALLOWED_HOSTS: 'localhost:80' }))).toThrow('localhost:8080')
  for (const hosts of ['http://localhost', 'a b', 'x:y', ','])
    expect(() => readSettings({ TOOLTRAIL_ALLOWED_HOSTS: hosts }), hosts).toThrow('TOOLTRAIL_ALLOWED_HOSTS')
})

test('secrets are inserted where they are named, and a missing or empty one is refused', () => {
  const secret = (name: string): string | undefined => ({ A: 'one', B: '$&', EMPTY: '' })[name]
  expect(withSecrets('Bearer ${secret:A}-${secret:B}', secret)).toBe('Bearer one-$&')
  expect(withSecrets('${A} $secret:A', secret)).toBe('${A} $secret:A')
  expect(() => withSecrets('${secret:C}', secret)).toThrow('there is no secret C')
  expect(() => withSecrets('${secret:EMPTY}', secret)).toThrow('there is no secret EMPTY')
})
