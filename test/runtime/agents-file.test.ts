import { describe, expect, test } from 'vitest'
import { DEFAULT_POLICIES } from '../../functions/domain/agent.ts'
import { parseAgents, readAgents } from '../../functions/runtime/agents-file.ts'
import { builtInTools } from '../../functions/runtime/built-in-tools.ts'

const tools = builtInTools()
const defaults = { model: 'demo/demo', tools, defaultTools: [...tools.keys()] }
const parse = (value: unknown) => parseAgents(value, defaults)

describe('agents', () => {
  test('left out entirely are the default agent with every built-in tool', () => {
    const agent = parse({ agents: {} }).get('default')
    expect(agent).toMatchObject({ model: 'demo/demo', policies: DEFAULT_POLICIES })
    expect(agent?.tools).toEqual([...defaults.tools.keys()])
    expect(agent?.instructions).toContain('search_history')
  })

  test('take every policy from the file', () => {
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
      },
    })
  })

  test.each([
    [{ agents: { default: { modle: 'x' } } }, 'agents.default'],
    [{ agents: { default: { model: 'no-provider' } } }, 'agents.default.model'],
    [{ agents: { default: { policies: { max_rounds: 0 } } } }, 'agents.default.policies.max_rounds'],
    [{ agents: { default: { policies: { typo: 1 } } } }, 'agents.default.policies'],
    [{ agents: { default: { tools: ['nope'] } } }, 'agents.default.tools.0'],
    [{ agents: { default: { members: ['other'] } } }, 'agents.default.members.0: is not part of this version'],
    [{ agents: { default: { mcp: { a: { url: 'https://x' } } } } }, 'agents.default.mcp: is not part of this version'],
    [{ agents: { default: { policies: { consolidation: {} } } } }, 'consolidation: is not part of this version'],
    [{ agents: { 'bad name': {} } }, 'agents.bad name'],
    [[], 'expected object'],
  ])('%j are refused with the path', (value, message) => expect(() => parse(value)).toThrow(message))

  test('of a file that was named must be there', () => {
    expect(() => readAgents({ path: './does-not-exist.json', named: true }, defaults)).toThrow('does-not-exist.json')
    expect(readAgents({ path: './does-not-exist.json', named: false }, defaults).has('default')).toBe(true)
  })
})
