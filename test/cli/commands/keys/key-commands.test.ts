/* Evidence, access: The command that creates the first key says which earlier sessions the key can see. */
import { describe, expect, test } from 'vitest'
import { isExpired } from '../../../../functions/domain/keys/api-key.ts'
import { KeyCommandError } from '../../../../functions/cli/commands/keys/key-options.ts'
import { hashKeySecret, isKeySecret } from '../../../../functions/access/key-secret.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { createMemoryKeys } from './memory-keys.ts'
import { runKeys } from './run-keys.ts'

function harness(declared?: () => ReadonlySet<string>) {
  const { stored, keys } = createMemoryKeys()
  const clock = createManualClock()
  const print = (line: string) =>
    runKeys(
      { keys, clock, ...(declared && { declared }) },
      line.split(' ').filter((word) => word !== ''),
    )
  const run = async (line: string): Promise<string> => {
    const { output, note = '' } = await print(line)
    return output + note
  }
  return { stored, clock, print, run }
}

describe('tooltrail keys', () => {
  test('"create" prints the key once and keeps only its hash', async () => {
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

  test('only results go to standard output, and explanations go to standard error', async () => {
    const { stored, print } = harness()
    expect(await print('list')).toEqual({ output: '', note: 'There are no keys.\n' })
    const created = await print('create --tenant a --scope read')
    expect(isKeySecret(created.output.trim())).toBe(true)
    expect(created.note).toMatch(/^key_\S+ {2}tenant a [^]*not shown again[^]*first key/)
    const [{ id } = { id: '' }] = stored.values()
    expect(await print(`cap ${id} --rps 2`)).toMatchObject({
      output: expect.stringMatching(/^key_[^\n]+ 2 requests\/s [^\n]+\n$/) as string,
      note: expect.stringContaining('Cancel runs in flight') as string,
    })
    expect(await print(`revoke ${id}`)).toMatchObject({
      output: `Key ${id} is revoked.\n`,
      note: expect.stringContaining('All keys are revoked') as string,
    })
  })

  test('"--agent" names the agents that a key may use, and "list" shows these agents', async () => {
    const { stored, run } = harness()
    await run('create --tenant a --scope write --agent helper --agent researcher --agent helper')
    expect([...stored.values()]).toMatchObject([{ agents: ['helper', 'researcher'] }])
    expect(await run('list')).toContain('agents helper, researcher')
    await run('create --tenant a --scope write')
    expect([...stored.values()][1]).not.toHaveProperty('agents')
    for (const wrong of ['x'.repeat(65), 'a.b'])
      await expect(run(`create --tenant a --scope write --agent ${wrong}`)).rejects.toThrow('--agent')
  })

  test('an undeclared agent is named in a warning; declarations are read only with --agent', async () => {
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

  test('creating the first key explains what happens to data created without keys; creating later keys does not', async () => {
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

  test('revoking the last key explains how to create a key', async () => {
    const { stored, run } = harness()
    await run('create --tenant a --scope read')
    await run('create --tenant a --scope read')
    const [one, two] = [...stored.values()].map(({ id }) => id)
    expect(await run(`revoke ${one}`)).not.toContain('All keys are revoked')
    expect(await run(`revoke ${two}`)).toContain('npx tooltrail keys create')
  })

  test('"create" makes a new secret each time', async () => {
    const { stored, run } = harness()
    for (let count = 0; count < 3; count++) await run('create --tenant a --scope admin')
    expect(stored.size).toBe(3)
  })

  test('"list" shows the keys of one tenant or of all tenants', async () => {
    const { run } = harness()
    expect(await run('list')).toBe('There are no keys.\n')
    await run('create --tenant a --scope read')
    await run('create --tenant b --scope read')
    expect((await run('list')).trim().split('\n')).toHaveLength(2)
    expect(await run('list --tenant b')).toMatch(/^key_\S+ {2}tenant b {2}read {2}created \S+Z\n$/)
  })

  test('"revoke" reports whether the key existed', async () => {
    const { stored, run } = harness()
    for (let count = 0; count < 2; count++) await run('create --tenant a --scope read')
    const [key] = stored.values()
    expect(await run(`revoke ${key?.id}`)).toBe(`Key ${key?.id} is revoked.\n`)
    await expect(run('revoke nothing')).rejects.toThrow(
      new KeyCommandError('there is no key nothing: list them with "keys list"'),
    )
  })

  test('"cap" changes only the caps that are named', async () => {
    const { stored, run } = harness()
    await run('create --tenant a --scope write --rps 50 --active-runs 7 --tokens-per-day 9')
    const [{ id } = { id: '' }] = stored.values()
    const printed = await run(`cap ${id} --rps 2 --tokens-per-day none --open-calls 3`)
    expect(printed).toContain('2 requests/s  7 active runs  3 open calls  created')
    expect([...stored.values()]).toMatchObject([{ id, caps: { requestsPerSecond: 2, activeRuns: 7, openCalls: 3 } }])
    expect([...stored.values()][0]?.caps).not.toHaveProperty('tokensPerDay')
  })

  test('"cap" reports a missing key and a revoked key', async () => {
    const { stored, run } = harness()
    await run('create --tenant a --scope write')
    const [{ id } = { id: '' }] = stored.values()
    await run(`revoke ${id}`)
    await expect(run(`cap ${id} --rps 1`)).rejects.toThrow(`key ${id} is revoked: no request uses it`)
    await expect(run('cap nothing --rps 1')).rejects.toThrow('there is no key nothing')
  })

  test.each([
    ['90d', '2026-04-05T09:00:00.000Z'],
    ['1d', '2026-01-06T09:00:00.000Z'],
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T12:30', '2027-01-31T12:30:00.000Z'],
    ['2027-01-31T12:30:00+02:00', '2027-01-31T10:30:00.000Z'],
  ])('a key with --expires %s expires at %s', async (text, time) => {
    const { stored, clock, run } = harness()
    expect(await run(`create --tenant a --scope read --expires ${text}`)).toContain(`expires ${time}`)
    const [key] = stored.values()
    expect(key?.expiresAt).toBe(Date.parse(time))
    clock.set(Date.parse(time) - 1)
    expect(key && isExpired(key, clock.now())).toBe(false)
    clock.advance(1)
    expect(key && isExpired(key, clock.now())).toBe(true)
    expect(await run('list')).toContain(`expired ${time}`)
  })

  test('"list --json" prints every field of each key on one line', async () => {
    const { stored, run } = harness()
    await run(
      'create --tenant a --scope read,write --name pipeline --expires 2027-01-31 --owner me --agent helper --rps 5',
    )
    await run('create --tenant a --scope admin')
    const [one, two] = (await run('list --json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    const [first, second] = [...stored.values()]
    expect(one).toEqual({
      object: 'api_key',
      id: first?.id,
      name: 'pipeline',
      tenant: 'a',
      scopes: ['read', 'write'],
      owner: 'me',
      agents: ['helper'],
      caps: { requests_per_second: 5, active_runs: null, open_calls: null, tokens_per_day: null },
      created_at: '2026-01-05T09:00:00.000Z',
      expires_at: '2027-01-31T00:00:00.000Z',
      last_used_at: null,
      revoked_at: null,
    })
    expect(two).toMatchObject({ id: second?.id, name: null, owner: null, agents: null, expires_at: null })
    expect(await harness().run('list --json')).toBe('')
  })

  test('"list" and "create" show no control characters of an owner', async () => {
    const { run } = harness()
    const owner = 'o\u001B]0;title\u0007'
    for (const printed of [await run(`create --tenant t --scope read --owner ${owner}`), await run('list')]) {
      expect(printed).toContain(']0;title')
      expect(printed).not.toContain('\u001B')
    }
    const shown = await run('list --json')
    expect(shown).not.toContain('\u001B')
    expect(JSON.parse(shown)).toMatchObject({ owner })
  })

  test.each([
    'create',
    'create --tenant Acme --scope read',
    'create --tenant acme',
    'create --tenant acme --scope all',
    'create --tenant acme --scope read --rps 0',
    'create --tenant acme --scope read --active-runs many',
    'create --tenant acme --scope read --open-calls 1001',
    'create --tenant acme --scope read --rps none',
    'create --tenant acme --scope read --expires soon',
    'create --tenant acme --scope read --expires 0d',
    'create --tenant acme --scope read --expires 2026-01-05',
    'create --tenant acme --scope read --expires 2026-02-30',
    'create --tenant acme --scope read --expires 99999d',
    'create --tenant acme --scope read --json',
    `create --tenant acme --scope read --name ${'n'.repeat(65)}`,
    'create --tenant acme --scope read --name a\u001Bb',
    'cap',
    'cap key_1',
    'cap key_1 --rps 0',
    'cap key_1 --rps 1.5',
    'cap key_1 key_2 --rps 1',
    'create extra --tenant acme --scope read',
    'revoke',
    'revoke a b',
    '',
    'destroy',
    'list --unknown',
  ])('%j is rejected', async (line) => {
    await expect(harness().run(line)).rejects.toThrow()
  })
})
