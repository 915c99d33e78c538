/* Evidence, house: A wrong variable or field of `agents.json` is named in one line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Validator } from '@cfworker/json-schema'
import type { Schema } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import { agentsSchema } from '../../../build/agents-schema.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import { requestTokensOf } from '../../../functions/log/request/context-sizes.ts'
import { parseAgents, readAgents, readAliases } from '../../../functions/runtime/settings/agents-file.ts'
import { builtInTools } from '../../../functions/runtime/built-in-tools.ts'
import { SettingsError } from '../../../functions/runtime/settings/settings-error.ts'

const tools = builtInTools()
const defaults = { model: 'demo/demo', tools, defaultTools: [...tools.keys()] }
const parse = (value: unknown) => parseAgents(value, defaults)

const team = (members: { readonly [name: string]: readonly string[] }): object => ({
  agents: Object.fromEntries(Object.entries(members).map(([name, names]) => [name, { members: names }])),
})

describe('agents in the settings', () => {
  test('default to one agent with every built-in tool', () => {
    const agent = parse({ agents: {} }).get('default')
    expect(agent).toMatchObject({ model: 'demo/demo', policies: DEFAULT_POLICIES })
    expect(agent?.tools).toEqual([...defaults.tools.keys()])
    expect(agent?.instructions).toContain('search_history')
  })

  test('use the output limits of their models, and each request reserves these tokens', () => {
    const models = [
      'anthropic/x',
      'bedrock/eu.anthropic.x',
      'openai-compatible/x',
      'qwen/x',
      'openai/x',
      'bedrock/nova',
      'demo/demo',
    ]
    const asked = (options: object) =>
      models.map((model) => {
        const [agent] = parse({ agents: { default: { model, model_options: options } } }).values()
        return agent?.modelOptions.maxOutputTokens
      })
    expect(asked({})).toEqual([32_000, 8_192, 8_192, 8_192, undefined, undefined, undefined])
    expect(asked({ max_output_tokens: 100 })).toEqual(models.map(() => 100))
    const [agent] = parse({ agents: { default: { model: 'anthropic/claude-haiku-4-5' } } }).values()
    expect(agent && requestTokensOf(agent)).toBe(168_000)
  })

  test('read every policy from the file', () => {
    const policies = {
      max_rounds: 3,
      max_run_tokens: 1000,
      require_tool: 'current_time',
      replay: 'conversation',
      on_busy: 'reject',
      offload_bytes: 1000,
      preview_chars: 10,
      search_scope: 'tenant',
      ttl_days: 7,
      titles: { model: 'openai/small' },
    }
    expect(parse({ agents: { other: { model: 'openai/x', tools: [], policies } } }).get('other')).toMatchObject({
      model: 'openai/x',
      tools: [],
      policies: {
        maxRounds: 3,
        maxRunTokens: 1000,
        requireTool: { name: 'current_time' },
        replay: 'conversation',
        onBusy: 'reject',
        offloadBytes: 1000,
        previewChars: 10,
        searchScope: 'tenant',
        ttlDays: 7,
        titles: { model: 'openai/small' },
      },
    })
  })

  test('may form teams of four levels, in which one agent works for several', () => {
    const agents = parse(team({ d: [], c: ['d'], b: ['c', 'd'], a: ['b', 'c', 'b', 'default'] }))
    expect(agents.get('a')?.members).toEqual(['b', 'c', 'default'])
    expect(agents.get('default')?.members).toEqual([])
  })

  test.each([
    [{ agents: { default: { modle: 'x' } } }, 'agents.default'],
    [{ agents: { default: { model: 'no-provider' } } }, 'agents.default.model'],
    [{ agents: { default: { policies: { max_rounds: 0 } } } }, 'agents.default.policies.max_rounds'],
    [{ agents: { default: { policies: { typo: 1 } } } }, 'agents.default.policies'],
    [{ agents: { default: { tools: ['nope'] } } }, 'agents.default.tools.0'],
    [{ agents: { default: { members: ['other'] } } }, 'agents.default.members.0: there is no agent "other"'],
    [{ agents: { a: { members: ['default', 'a'] } } }, 'agents.a.members.1: a → a: an agent cannot work for itself'],
    [team({ a: ['b'], b: ['c'], c: ['b'] }), 'agents.a.members.0: a → b → c → b: an agent cannot work for itself'],
    [
      team({ a: ['default', 'b'], b: ['c'], c: ['d'], d: ['e'], e: [] }),
      'agents.a.members.1: a → b → c → d → e: more than 3 delegations',
    ],
    [
      { agents: { default: { tools: ['delegate_task_to_member'] } } },
      'agents.default.tools.0: an agent gets delegate_task_to_member by having members',
    ],
    [{ agents: { default: { mcp: { a: { url: 'ftp://x' } } } } }, 'agents.default.mcp.a.url: must be an http(s) URL'],
    [{ agents: { default: { mcp: { 'a b': { url: 'https://x' } } } } }, 'agents.default.mcp.a b: '],
    [
      { agents: { default: { mcp: { a: { url: 'https://x', headers: { Host: 'y' } } } } } },
      'agents.default.mcp.a.headers.Host: ',
    ],
    [
      { agents: { default: { mcp: { a: { url: 'https://x', needs_approval: 1 } } } } },
      'agents.default.mcp.a.needs_approval: must be true or a list of tools',
    ],
    [{ agents: { default: { mcp: { a: { url: 'https://x', timeout: 1 } } } } }, 'agents.default.mcp.a: '],
    [{ agents: { default: { policies: { consolidation: true } } } }, 'policies.consolidation: is neither false nor'],
    [
      { agents: { default: { policies: { consolidation: { threshold: 0 } } } } },
      'consolidation.threshold: must be above 0',
    ],
    [
      { agents: { default: { policies: { consolidation: { keep_recent_ratio: 2 } } } } },
      'consolidation.keep_recent_ratio: must be at most 1',
    ],
    [
      { agents: { default: { policies: { consolidation: { limit: 1 } } } } },
      'policies.consolidation: there is no field "limit"',
    ],
    [
      { agents: { default: { policies: { context_tokens: 5 } } } },
      'policies.context_tokens: is less than any request needs',
    ],
    [
      { agents: { default: { model_options: { timeout_ms: 2 ** 31 } } } },
      'agents.default.model_options.timeout_ms: must be at most 2147483647',
    ],
    [
      { agents: { default: { mcp: { a: { url: 'https://x', timeout_ms: 600_001 } } } } },
      'agents.default.mcp.a.timeout_ms: must be at most 600000',
    ],
    [{ agents: { 'bad name': {} } }, 'agents.bad name: the name must be 1–64 of A-Z a-z 0-9 _ -'],
    [{ agents: { default: { policies: { replay: 'none' } } } }, 'policies.replay: must be "full" or "conversation"'],
    [{ agents: { default: { policies: { max_rounds: 'ten' } } } }, 'policies.max_rounds: must be a number'],
    [{ agents: { default: { policies: { max_rounds: 1.5 } } } }, 'policies.max_rounds: must be a whole number'],
    [{ agents: { default: { tools: [1] } } }, 'agents.default.tools.0: must be a string'],
    [{ agents: { default: { model_options: { provider: { x: 1 } } } } }, 'provider.x: must be an object'],
    [{ agents: {}, webhooks: { a: { verify: { preset: 'none', secrets: [] } } } }, 'secrets: must not be empty'],
    [{ agents: {}, webhooks: { a: { verify: {}, text: '' } } }, 'webhooks.a.text: must not be empty'],
    [{}, /^agents: is missing: it must be an object$/],
    [{ agents: {}, foo: 1, bar: 2 }, /^there is no field "foo", "bar"$/],
    [[], /^must be an object$/],
    [null, /^must be an object$/],
  ])('%j are refused with the path and an explanation in plain words', (value, message) => {
    expect(() => parse(value)).toThrow(message)
    expect(() => parse(value)).not.toThrow(/Invalid|expected|Unrecognized|Too /)
  })

  test('with invalid fields cause an error in which each line begins with the path of the file', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'tooltrail-agents-')), 'agents.json')
    writeFileSync(path, '{"agents": {"a": {"model": 1, "tools": 1}}}')
    expect(() => readAgents({ path, named: true }, defaults)).toThrow(
      new SettingsError(
        `${path}: agents.a.model: must be a string\n${path}: agents.a.tools: must be "all" or a list of names`,
      ),
    )
    rmSync(dirname(path), { recursive: true })
  })

  test('may have aliases, which must name an agent and differ from all agent names', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'tooltrail-agents-')), 'agents.json')
    const read = (aliases: object) => {
      writeFileSync(path, JSON.stringify({ agents: { a: {} }, aliases }))
      return readAliases({ path, named: true })
    }
    expect(read({ 'openai/gpt-4o': 'a', b: 'default' })).toEqual(
      new Map([
        ['openai/gpt-4o', 'a'],
        ['b', 'default'],
      ]),
    )
    expect(() => read({ b: 'c' })).toThrow(`${path}: aliases.b: there is no agent "c"`)
    expect(() => read({ a: 'default' })).toThrow(`${path}: aliases.a: is the name of an agent`)
    expect(() => read({ 'a b': 'a' })).toThrow('1–128 visible ASCII characters')
    rmSync(dirname(path), { recursive: true })
  })

  test('require that a named file exists', () => {
    expect(() => readAgents({ path: './does-not-exist.json', named: true }, defaults)).toThrow('does-not-exist.json')
    expect(readAgents({ path: './does-not-exist.json', named: false }, defaults).has('default')).toBe(true)
  })
})

describe('the JSON Schema of agents.json', () => {
  const validator = new Validator(JSON.parse(agentsSchema()) as Schema, '2020-12')

  test.each([
    {},
    { model: 'openai/gpt-5.6', members: ['b'], policies: { consolidation: false, images: { reattach: 2 } } },
    {
      mcp: { docs: { url: 'https://x/mcp', headers: { authorization: 'Bearer ${secret:KEY}' }, needs_approval: true } },
    },
  ])('accepts what the program accepts: %j', (agent) => {
    const value = { $schema: './built/agents.schema.json', agents: { a: agent, b: {} } }
    expect(parse(value).has('a')).toBe(true)
    expect(validator.validate(value)).toMatchObject({ valid: true })
  })

  test.each([
    { modle: 'x/y' },
    { model: 'gpt' },
    { policies: { max_rounds: 0 } },
    { members: 'b' },
    { model_options: { timeout_ms: 2 ** 31 } },
    { mcp: { a: { url: 'https://x', timeout_ms: 600_001 } } },
  ])('refuses what the program refuses: %j', (agent) => {
    const value = { agents: { a: agent } }
    expect(() => parse(value)).toThrow('agents.a')
    expect(validator.validate(value).valid).toBe(false)
  })
})
