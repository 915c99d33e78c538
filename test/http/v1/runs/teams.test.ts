/* Evidence, durability: Members of a team work concurrently in one run. Each pauses and resumes individually, and its tokens
 * are counted. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'
import { createDemoModel } from '../../../../functions/adapters/models/demo/demo.ts'
import { currentTime } from '../../../../functions/tools/current-time.ts'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
beforeEach(async () => {
  const publish = makeTool('demo_publish', async () => ({ text: 'published' }), { needsApproval: true })
  harness = await openHttpHarness({
    tools: [currentTime, publish],
    agents: [
      { name: 'default', members: ['clock', 'lead'] },
      { name: 'clock', tools: ['current_time'] },
      { name: 'lead', members: ['hand'] },
      { name: 'hand', tools: ['demo_publish'] },
    ],
    change: (ports) => ({ ...ports, models: { open: async () => createDemoModel() } }),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
})
afterEach(() => harness.close())

interface Entry {
  readonly id: string
  readonly role: string
  readonly agent: string
  readonly tool_name?: string
  readonly tool_call_id?: string
  readonly status?: string
  readonly parent_tool_call_id?: string
  readonly parent_message_id?: string
  readonly parts: readonly { readonly text?: string }[]
}
interface Waiting {
  readonly message_id: string
  readonly tool_call_id: string
  readonly tool_name: string
  readonly agent: string
  readonly parent_tool_call_id?: string
  readonly parent_message_id?: string
}
interface RunBody {
  readonly id: string
  readonly status: string
  readonly rounds: number
  readonly waiting: readonly Waiting[]
  readonly messages?: readonly Entry[]
  readonly usage: {
    readonly by_agent: Readonly<Record<string, { readonly total_tokens: number }>>
    readonly total_tokens: number
  }
}
const say = (content: string, more: object = {}) =>
  expectJson<RunBody>(harness, 200, 'POST', '/v1/sessions/s/messages', { content, ...more })
const list = async (query = ''): Promise<readonly Entry[]> =>
  (await expectJson<{ data: readonly Entry[] }>(harness, 200, 'GET', `/v1/sessions/s/messages?${query}`)).data
const kinds = (entries: readonly Entry[]): string[] => entries.map(({ role, agent }) => `${role} of ${agent}`)

describe('a team', () => {
  test('works in one run, and its log, usage and search name the member for each message', async () => {
    const run = await say('delegate what time is it to clock')
    expect(run).toMatchObject({ status: 'completed', rounds: 2, waiting: [] })
    expect(kinds(run.messages ?? [])).toEqual([
      'user of default',
      'assistant of default',
      'tool of default',
      'user of clock',
      'assistant of clock',
      'tool of clock',
      'assistant of clock',
      'assistant of default',
    ])
    const { by_agent: agents, total_tokens: total } = run.usage
    expect(Object.keys(agents).toSorted(byText)).toEqual(['clock', 'default'])
    expect((agents['clock']?.total_tokens ?? 0) + (agents['default']?.total_tokens ?? 0)).toBe(total)
    const session = await expectJson<{ usage: object }>(harness, 200, 'GET', '/v1/sessions/s')
    expect(session.usage).toMatchObject({ rounds: 2, total_tokens: total, by_agent: agents })

    const call = run.messages?.[2]
    const members = await list('agent=clock')
    expect(members).toHaveLength(4)
    for (const one of members)
      expect(one).toMatchObject({ parent_tool_call_id: call?.tool_call_id, parent_message_id: call?.id })
    expect(await list(`parent_tool_call_id=${call?.tool_call_id}`)).toEqual(members)
    expect(await list(`parent_tool_call_id=${call?.tool_call_id}&roles=tool&limit=1`)).toEqual(members.slice(2, 3))
    expect(await list('parent_tool_call_id=other')).toEqual([])

    const chat = await list('format=openai')
    expect(chat.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant'])
    const found = await expectJson<{ data: readonly Entry[] }>(harness, 200, 'GET', '/v1/search?q=time&agent=clock')
    expect(found.data.length).toBeGreaterThan(0)
    expect(new Set(found.data.map(({ agent }) => agent))).toEqual(new Set(['clock']))
  })

  test('waits for approvals at any depth, and continues at that depth', async () => {
    const paused = await say(
      'delegate "delegate publish the plan to hand" to lead and delegate what time is it to clock at once',
    )
    expect(paused).toMatchObject({
      status: 'paused',
      waiting: [{ tool_name: 'demo_publish', agent: 'hand', needs: 'approval' }],
    })
    const [call] = paused.waiting
    const row = (await list('agent=lead&roles=tool'))[0]
    expect(call).toMatchObject({ parent_tool_call_id: row?.tool_call_id, parent_message_id: row?.id })
    expect((await list('agent=default&roles=tool')).map(({ status }) => status)).toEqual(['running', 'completed'])
    const path = `/v1/sessions/s/runs/${paused.id}`
    expect(await expectJson(harness, 200, 'GET', path)).toMatchObject({ waiting: paused.waiting })
    const context = await expectJson<{ messages: readonly object[] }>(harness, 200, 'GET', '/v1/sessions/s/context')
    expect(context.messages.at(-2)).toMatchObject({ role: 'tool', content: '[running]' })

    const results = [{ message_id: call?.message_id, tool_call_id: call?.tool_call_id, approve: true }]
    const done = await expectJson<RunBody>(harness, 200, 'POST', `${path}/tool-results`, { results })
    expect(done).toMatchObject({ status: 'completed', waiting: [] })
    expect(JSON.stringify(done.messages?.at(-1)?.parts)).toContain('demo_publish said: published')
    expect((await list('agent=hand')).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  test("emits its members' events with the member's name, in the same run", async () => {
    const response = await harness.send(
      'POST',
      '/v1/sessions/s/messages',
      { content: 'delegate what time is it to clock' },
      { accept: 'text/event-stream' },
    )
    const live = eventsOf(await response.text())
    const { id } = (await expectJson<{ data: readonly { id: string }[] }>(harness, 200, 'GET', '/v1/sessions/s/runs'))
      .data[0] ?? { id: '' }
    const replayed = eventsOf(await (await harness.send('GET', `/v1/sessions/s/runs/${id}/events`)).text())
    for (const events of [live, replayed]) {
      const members = events.filter(({ data }) => data.agent === 'clock')
      expect(members.filter(({ data }) => data.type.startsWith('run.'))).toEqual([])
      for (const { data } of members)
        expect(data).toMatchObject({ parent_tool_call_id: expect.any(String), parent_message_id: expect.any(String) })
      const types = members.flatMap(({ data }) => (data.type.endsWith('.delta') ? [] : [data.type]))
      expect(types.toSorted(byText)).toEqual([
        'message.completed',
        'message.completed',
        'round.started',
        'round.started',
        'tool_call.completed',
        'tool_call.started',
      ])
      const place = (of: (reported: Report) => boolean): number => events.findLastIndex(of)
      const result = place(({ data }) => data.type === 'tool_call.completed' && data.agent === undefined)
      expect(result).toBeGreaterThan(place(({ data }) => data.agent === 'clock'))
    }
    expect(stored(replayed).toSorted(byText)).toEqual(stored(live).toSorted(byText))
    const inside = stored(live).find((one) => one.endsWith('tool_call.completed')) ?? ''
    const rest = eventsOf(
      await (
        await harness.send('GET', `/v1/sessions/s/runs/${id}/events`, undefined, { 'last-event-id': inside })
      ).text(),
    )
    expect(stored(rest).toSorted(byText)).toEqual(stored(live).slice(1).toSorted(byText))
  })

  test.each([
    ['parent_tool_call_id=', 'query.parent_tool_call_id'],
    [`parent_tool_call_id=${'x'.repeat(1_001)}`, 'query.parent_tool_call_id'],
    ['agent=', 'query.agent'],
  ])('rejects %s', async (query, path) => {
    const problem = await expectJson(harness, 400, 'GET', `/v1/sessions/s/messages?${query}`)
    expect(problem['errors']).toMatchObject([{ path }])
  })

  test('rejects a client tool with the name of its own tool', async () => {
    const tools = [{ name: 'delegate_task_to_member', description: '', parameters: {} }]
    const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', { content: 'x', tools })
    expect(problem['errors']).toMatchObject([{ path: 'body.tools[0].name' }])
  })
})

const byText = (one: string, other: string): number => one.localeCompare(other)

interface Report {
  readonly id?: string
  readonly data: { readonly type: string; readonly agent?: string }
}
const eventsOf = (text: string): Report[] =>
  text.split('\n\n').flatMap((frame) => {
    const line = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1]
    const [id, data] = [line('id'), line('data')]
    return data === undefined ? [] : [{ ...definedFields({ id }), data: JSON.parse(data) as Report['data'] }]
  })
/** Ids of the stored events, in order. Events of members are emitted while they work. */
const stored = (events: readonly Report[]): string[] => events.flatMap(({ id }) => id ?? [])
