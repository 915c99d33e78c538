/* Evidence, replay: A session whose holder changes sends the same requests as a session with one holder. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../../functions/domain/agent.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { PNG } from '../../fixtures/png.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness, Turn } from '../harness.ts'

const open: Harness[] = []
afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close()
})

const look = makeTool('look', async (input) => {
  const { name } = input as { readonly name: string }
  const sources = ['a', 'b'].map((one) => ({ title: `${one} of ${name}`, url: `https://${one}.example/` }))
  const data = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.from(name)])
  const media = [{ type: 'image', mediaType: 'image/png', filename: `${name}.png`, data } as const]
  return {
    text: `saw ${name}`,
    ...(name.startsWith('s') ? { sources } : {}),
    ...(name.startsWith('i') ? { media } : {}),
  }
})

const call = (text: string, name: string): Turn => ({
  text,
  calls: [{ id: `call-${name}`, name: 'look', arguments: JSON.stringify({ name }) }],
})

/** Replaces ids and times, the only parts of a request that differ between two sessions. */
function comparable({ instructions, messages, tools, toolChoice }: ModelRequest): string {
  const text = JSON.stringify({ instructions, messages, tools, toolChoice })
  const names = new Map<string, string>()
  return text.replace(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, (id) => {
    const name = names.get(id) ?? `id${names.size}`
    names.set(id, name)
    return name
  })
}

interface Case {
  readonly name: string
  readonly policies: Partial<Agent['policies']>
  /** Behaviour of the model in each turn. */
  readonly turns: readonly (readonly Turn[])[]
}

const CASES: readonly Case[] = [
  {
    name: 'an agent with tools, its text between calls',
    policies: {},
    turns: [1, 2, 3, 4].map((turn) => [
      call(`first I look ${turn}`, `x${turn}`),
      call(`then again ${turn}`, `y${turn}`),
      { text: `so it is ${turn}` },
    ]),
  },
  {
    name: 'images',
    policies: { images: { reattach: 2 } },
    turns: [1, 2, 3, 4].map((turn) => [call('I draw', `i${turn}`), { text: `drawn ${turn}` }]),
  },
  {
    name: 'sources that were left out',
    policies: { sources: 'cited' },
    turns: [1, 2, 3, 4].map((turn) => [call('I look', `s${turn}`), { text: `so says [source${turn * 2 - 1}]` }]),
  },
  {
    name: 'a conversation that was consolidated',
    policies: { consolidation: { threshold: 2, keepRecentRatio: 0.5 }, sources: 'cited', images: { reattach: 1 } },
    turns: [1, 2, 3, 4].map((turn) => [
      ...(turn > 2 ? [{ text: `summary ${turn}` }] : []),
      call('I look', `${turn % 2 === 0 ? 's' : 'i'}${turn}`),
      { text: `done ${turn}` },
    ]),
  },
]

/** Returns the requests of the last turn, with one process per turn or one process for all turns. */
async function lastRequests({ policies, turns }: Case, restarts: boolean): Promise<string[]> {
  const script = restarts ? (turns[0] ?? []) : turns.flat()
  const harness = await openHarness({ script, tools: [look], policies })
  open.push(harness)
  let sent: readonly ModelRequest[] = []
  for (const [turn, completions] of turns.entries()) {
    const at = restarts && turn > 0 ? harness.another(completions) : harness
    const before = at.requests.length
    expect((await at.settled(await at.submit(`input ${turn}`))).status).toBe('completed')
    sent = at.requests.slice(before)
  }
  return sent.map(comparable)
}

describe('a session that another process continues three times', () => {
  it.each(CASES.map((one) => [one.name, one] as const))(
    'sends the same requests as without restarts: %s',
    async (_, one) => {
      const restarted = await lastRequests(one, true)
      expect(restarted.length).toBeGreaterThan(1)
      expect(restarted).toEqual(await lastRequests(one, false))
    },
  )
})
