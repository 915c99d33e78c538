import { describe, expect, test } from 'vitest'
import type { ApiKey } from '../../../functions/domain/keys/api-key.ts'
import { KeyCommandError, runKeyCommand } from '../../../functions/cli/commands/key-command.ts'
import { hashKeySecret, isKeySecret } from '../../../functions/access/key-secret.ts'
import type { KeyStore } from '../../../functions/ports/key-store.ts'
import { createManualClock } from '../../contracts/stores.ts'

function harness(declared?: () => ReadonlySet<string>) {
  const stored = new Map<string, ApiKey>()
  const keys: KeyStore = {
    create: async (hash, key) => void stored.set(hash, key),
    find: async (hash) => stored.get(hash),
    list: async (tenant) => [...stored.values()].filter((key) => tenant === undefined || key.tenant === tenant),
    revoke: async (id, now) => {
      const found = [...stored].find(([, key]) => key.id === id)
      if (found !== undefined) stored.set(found[0], { ...found[1], revokedAt: now })
      return found !== undefined
    },
    any: async () => stored.size > 0,
    take: async () => 0,
    enter: async () => true,
    leave: async () => undefined,
  }
  const run = (line: string): Promise<string> =>
    runKeyCommand(
      { keys, clock: createManualClock(), ...(declared && { declared }) },
      line.split(' ').filter((word) => word !== ''),
    )
  return { stored, run }
}

describe('tooltrail keys', () => {
  test('create prints the key once and keeps only its hash', async () => {
    const { stored, run } = harness()
    const printed = await run(
      'create --tenant acme --scope read,write --owner me --rps 5 --active-runs 2 --open-calls 3',
    )
    const [secret = ''] = printed.split('\n')
    expect(isKeySecret(secret)).toBe(true)
    expect(stored.get(hashKeySecret(secret))).toMatchObject({
      tenant: 'acme',
      scopes: ['read', 'write'],
      owner: 'me',
      caps: { requestsPerSecond: 5, activeRuns: 2, openCalls: 3 },
    })
    expect(JSON.stringify([...stored])).not.toContain(secret)
    expect(await run('list')).not.toContain(secret)
  })

  test('--agent names the agents that a key may use, and list shows them', async () => {
    const { stored, run } = harness()
    await run('create --tenant a --scope write --agent helper --agent researcher --agent helper')
    expect([...stored.values()]).toMatchObject([{ agents: ['helper', 'researcher'] }])
    expect(await run('list')).toContain('agents helper, researcher')
    await run('create --tenant a --scope write')
    expect([...stored.values()][1]).not.toHaveProperty('agents')
    for (const wrong of ['x'.repeat(65), 'a.b'])
      await expect(run(`create --tenant a --scope write --agent ${wrong}`)).rejects.toThrow('--agent')
  })

  test('an agent that is not declared is named, and nothing reads the declarations without --agent', async () => {
    const { run } = harness(() => new Set(['default', 'helper']))
    const printed = await run('create --tenant a --scope write --agent helper --agent nope')
    expect(printed).toContain('No such agent yet: nope.')
    expect(printed).toContain('there are now: default, helper.')
    expect(await run('create --tenant a --scope write --agent helper')).not.toContain('No such agent')
    const broken = harness(() => {
      throw new Error('agents.json is no JSON')
    })
    await broken.run('create --tenant a --scope write')
    await expect(broken.run('create --tenant a --scope write --agent helper')).rejects.toThrow('no JSON')
    expect(broken.stored.size).toBe(1)
  })

  test('the first key says what becomes of what was made without keys, and the others nothing', async () => {
    const offered = 'npx tooltrail keys create --tenant default --scope admin'
    const [other, mine] = [harness(), harness()]
    expect(await other.run('create --tenant acme --scope read')).toContain(offered)
    expect(await other.run('create --tenant acme --scope read')).not.toContain('first key')
    const printed = await mine.run('create --tenant default --scope admin')
    expect(printed).toContain('belong to the tenant default, as this key does')
    expect(printed).not.toContain(offered)
    const bound = await harness().run('create --tenant default --scope admin --owner bob')
    expect(bound).toContain(`This key sees those of bob alone. To make one that sees all: ${offered}`)
    await expect(harness().run('create --scope read')).rejects.toThrow('--tenant default')
  })

  test('revoking the last key says what to do', async () => {
    const { stored, run } = harness()
    await run('create --tenant a --scope read')
    await run('create --tenant a --scope read')
    const [one, two] = [...stored.values()].map(({ id }) => id)
    expect(await run(`revoke ${one}`)).not.toContain('All keys are revoked')
    expect(await run(`revoke ${two}`)).toContain('npx tooltrail keys create')
  })

  test('create makes another secret each time', async () => {
    const { stored, run } = harness()
    for (let count = 0; count < 3; count++) await run('create --tenant a --scope admin')
    expect(stored.size).toBe(3)
  })

  test('list shows the keys of one tenant or all', async () => {
    const { run } = harness()
    expect(await run('list')).toBe('There are no keys.\n')
    await run('create --tenant a --scope read')
    await run('create --tenant b --scope read')
    expect((await run('list')).trim().split('\n')).toHaveLength(2)
    expect(await run('list --tenant b')).toMatch(/^key_\S+ {2}tenant b {2}read {2}created \S+Z\n$/)
  })

  test('revoke tells whether there was such a key', async () => {
    const { stored, run } = harness()
    for (let count = 0; count < 2; count++) await run('create --tenant a --scope read')
    const [key] = stored.values()
    expect(await run(`revoke ${key?.id}`)).toBe(`Key ${key?.id} is revoked.\n`)
    await expect(run('revoke nothing')).rejects.toThrow(
      new KeyCommandError('there is no key nothing: list them with "keys list"'),
    )
  })

  test.each(['--help', 'create --help', '-h'])('%j explains how it is used', async (line) => {
    expect(await harness().run(line)).toContain('npx tooltrail keys create')
  })

  test('without a command says what there is to do', async () => {
    await expect(harness().run('')).rejects.toThrow(new KeyCommandError('name what to do: create, list or revoke'))
  })

  test.each([
    'create',
    'create --tenant Acme --scope read',
    'create --tenant acme',
    'create --tenant acme --scope all',
    'create --tenant acme --scope read --rps 0',
    'create --tenant acme --scope read --active-runs many',
    'create --tenant acme --scope read --open-calls 1001',
    'create extra --tenant acme --scope read',
    'revoke',
    'revoke a b',
    'destroy',
    'list --unknown',
  ])('%j is refused', async (line) => {
    await expect(harness().run(line)).rejects.toBeInstanceOf(KeyCommandError)
  })
})
