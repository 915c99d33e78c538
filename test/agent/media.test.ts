/* Evidence, replay: Images that leave the media window change the prefix once, between two runs, by a recorded
 * decision. */
/* Evidence, access: An MCP server cannot reveal a header's value to clients or models. A result stores at most 64 media. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../functions/domain/agent.ts'
import type { ModelRequest } from '../../functions/domain/model-request.ts'
import { ModelError } from '../../functions/ports/model.ts'
import type { IncomingMedia } from '../../functions/ports/tool.ts'
import type { Ports } from '../../functions/runtime/program.ts'
import { PNG } from '../fixtures/png.ts'
import { PLAIN_TEXT, type ClosedMessage } from '../../functions/domain/messages/closed-message.ts'
import { makeTool, openHarness } from './harness.ts'
import type { Harness, Turn } from './harness.ts'

let harness: Harness
afterEach(() => harness.close())

const DOT = Buffer.from(PNG, 'base64')
const image = (filename: string, data: Uint8Array = DOT): IncomingMedia => ({
  ...{ type: 'image', mediaType: 'image/png' },
  ...{ filename, data },
})
const draw = makeTool('draw', async (input) => ({
  text: 'drawn',
  media: [image(`${(input as { readonly name: string }).name}.png`)],
}))
const drawing = (name: string): Turn => ({ calls: [{ name: 'draw', arguments: JSON.stringify({ name }) }] })
const script = (turns: number): Turn[] =>
  Array.from({ length: turns }, (_, turn) => [drawing(`picture${turn}`), { text: `answer ${turn}` }]).flat()

/** Lists the images of a request, or the notes that replace them: the name, and whether the bytes are present. */
const seen = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type === 'text') return /^\[(\S+) \(image\/png\) is no longer/.exec(part.text)?.[1] ?? []
      if (part.type !== 'image') return []
      return part.data !== undefined && Buffer.from(part.data).equals(DOT) ? `${part.filename} with bytes` : 'broken'
    }),
  )

const open = async (turns: number, images: Agent['policies']['images'] = 'note'): Promise<void> => {
  harness = await openHarness({ script: script(turns), tools: [draw], policies: { images } })
  for (let turn = 0; turn < turns; turn++) await harness.settled(await harness.submit(`draw ${turn}`))
}

/** Records for each write to a log whether it contains a decision. */
const noting = (log: Ports['log'], written: string[]): Ports['log'] => {
  const note = (what: string, context: unknown): void =>
    void written.push(context === undefined ? what : `${what} with a decision`)
  return {
    ...log,
    async appendRound(lease, round, account) {
      await log.appendRound(lease, round, account)
      note('round', undefined)
    },
    async recordDecision(lease, decision) {
      await log.recordDecision(lease, decision)
      note(decision.notices.map(({ type }) => type).join(' '), decision.context)
    },
    async endRun(lease, end, account) {
      note('end', end.context)
      return log.endRun(lease, end, account)
    },
  }
}

const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() && /^[0-7][0-9A-Z]{25}$/.test(entry.name) ? [entry.name] : [],
  )

describe('media of a tool result', () => {
  it('are stored once per session if their content is equal, and are sent only in their own turn', async () => {
    await open(2)
    expect(seen(harness.requests[1])).toEqual(['picture0.png with bytes'])
    expect(seen(harness.requests[3])).toEqual(['picture0.png', 'picture1.png with bytes'])
    expect(files(join(harness.folder, 'outputs'))).toHaveLength(1)
  })

  it('that are too large, or are no image, are never sent to a model as an image', async () => {
    const large = makeTool('draw', async () => ({
      text: 'drawn',
      media: [image('large.png', new Uint8Array(20_000_001)), image('false.png', Buffer.from('no image'))],
    }))
    harness = await openHarness({ script: script(1), tools: [large] })
    await harness.settled(await harness.submit('draw'))
    const result = harness.requests[1]?.messages.find(({ role }) => role === 'tool')
    expect(result?.parts).toMatchObject([
      { type: 'text', text: 'drawn\n[large.png was left out: it has more than 20 MB]' },
      { type: 'file', mediaType: 'application/octet-stream', filename: 'false.png' },
    ])
  })

  it('beyond the 64th are omitted and listed by name', async () => {
    const many = makeTool('draw', async () => ({
      text: 'drawn',
      media: Array.from({ length: 200 }, (_, place) => image(`${place + 1}.txt`, Buffer.from(`file ${place}`))),
    }))
    harness = await openHarness({ script: script(1), tools: [many] })
    await harness.settled(await harness.submit('draw'))
    const result = harness.requests[1]?.messages.find(({ role }) => role === 'tool')
    const [text, ...media] = result?.parts ?? []
    expect(media).toHaveLength(64)
    const named = Array.from({ length: 64 }, (_, place) => `${place + 65}.txt`).join(', ')
    const omitted = `[${named} and 72 more left out: a message has at most 64 images and files]`
    expect(text).toEqual({ type: 'text', text: `drawn\n${omitted}` })
    expect(files(join(harness.folder, 'outputs'))).toHaveLength(64)
  })

  it('beyond the 64th of an imported message are omitted and listed by name', async () => {
    harness = await openHarness({ script: script(1) })
    const media = Array.from({ length: 70 }, (_, place) => {
      const data = Buffer.from(`file ${place}`)
      return { type: 'file', mediaType: 'text/plain', data, filename: `${place + 1}.txt` } as const
    })
    const parts = [{ type: 'text', text: 'all of them' } as const, ...media]
    const toolCalls = [{ id: 'c', name: 'draw', arguments: '{}' }]
    const of: ClosedMessage = { role: 'assistant', parts: [{ type: 'tool_call', id: 'c' }], toolCalls }
    const result: ClosedMessage = { role: 'tool', of, sequence: 0, status: 'completed', mediaType: PLAIN_TEXT, parts }
    await harness.service.importMessages(harness.session, [{ role: 'user', parts }, of, result], {})
    const named = Array.from({ length: 6 }, (_, place) => `${place + 65}.txt`).join(', ')
    const omitted = `[${named} left out: a message has at most 64 images and files]`
    for (const message of (await harness.log()).filter(({ role }) => role !== 'assistant')) {
      expect(message.parts.filter(({ type }) => type === 'file')).toHaveLength(64)
      const texts = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
      expect(texts.join('\n')).toBe(`all of them\n${omitted}`)
    }
    // Each of the two messages has 64 files.
    expect(files(join(harness.folder, 'outputs'))).toHaveLength(2 * 64)
  })

  it('without a stored object cause a note and one warning each, and the turn continues', async () => {
    harness = await openHarness({
      script: [drawing('a'), drawing('b'), { text: 'done' }],
      tools: [draw],
      change: (ports) => ({
        ...ports,
        outputs: { ...ports.outputs, read: async (key) => ports.outputs.read(key, '0'.repeat(26)) },
      }),
    })
    expect((await harness.settled(await harness.submit('draw'))).status).toBe('completed')
    expect(seen(harness.requests[1])).toEqual(['a.png'])
    const warnings = harness.events.filter(({ type }) => type === 'warning')
    expect(warnings.map((event) => 'code' in event && event.code)).toEqual(['media_unavailable', 'media_unavailable'])
  })
})

describe('under `images: {reattach}`', () => {
  it('the newest messages keep their bytes in later runs; the prefix changes only when a message drops out', async () => {
    await open(4, { reattach: 2 })
    expect(seen(harness.requests[3])).toEqual(['picture0.png with bytes', 'picture1.png with bytes'])
    expect(seen(harness.requests[4])).toEqual(['picture0.png with bytes', 'picture1.png with bytes'])
    expect(seen(harness.requests[5])).toEqual([
      ...['picture0.png with bytes', 'picture1.png with bytes', 'picture2.png with bytes'],
    ])
    expect(seen(harness.requests[6])).toEqual(['picture0.png', 'picture1.png with bytes', 'picture2.png with bytes'])
    expect(seen(harness.requests[7])).toEqual([
      ...['picture0.png', 'picture1.png with bytes'],
      ...['picture2.png with bytes', 'picture3.png with bytes'],
    ])
    const log = await harness.log()
    const { media } = await harness.ports.reader.context(harness.key)
    expect(media).toEqual({ from: log.filter(({ role }) => role === 'tool')[2]?.id })
    const bodies = harness.requests.map(({ messages }) => JSON.stringify(messages).slice(1, -1))
    for (const place of [1, 2, 3, 4, 5, 7])
      expect(bodies[place]?.startsWith(bodies[place - 1] ?? '?'), `${place}`).toBe(true)
  })

  it('a tool’s media are omitted after their run, and an input’s media before the next run’s first request', async () => {
    const written: string[] = []
    const turns = Array.from({ length: 4 }, (_, place) => drawing(`one${place}`))
    harness = await openHarness({
      script: [...turns, { text: 'done' }, drawing('two'), { text: 'more' }, { text: 'last' }, { text: 'seen' }],
      tools: [draw],
      policies: { images: { reattach: 1 }, consolidation: { threshold: 6, keepRecentRatio: 0.4 } },
      change: (ports) => ({ ...ports, log: noting(ports.log, written) }),
    })
    for (const text of ['draw much', 'and now?', 'again']) await harness.settled(await harness.submit(text))
    expect(seen(harness.requests[4])).toHaveLength(4)
    expect(seen(harness.requests[5])).toEqual(['one0.png', 'one1.png', 'one2.png', 'one3.png with bytes'])
    expect(seen(harness.requests[7]).filter((one) => one.endsWith('bytes'))).toEqual(['two.png with bytes'])
    expect(written).toEqual([
      ...[...turns.map(() => 'round'), 'end with a decision'],
      ...['round', 'end with a decision'],
      ...['context.nearly_full', 'end'],
    ])
    const last = harness.events.findLastIndex(({ type }) => type === 'run.started')
    expect(harness.events.slice(last, last + 3).map(({ type }) => type)).toEqual([
      ...['run.started', 'context.nearly_full', 'round.started'],
    ])
    await harness.settled(await harness.submit([image('mine.png')]))
    expect(written.slice(-2)).toEqual(['context.nearly_full with a decision', 'end'])
    expect(seen(harness.requests[8]).filter((one) => one.endsWith('bytes'))).toEqual(['mine.png with bytes'])
  })

  it('the write that records the citations also records that media are omitted', async () => {
    const sourced = makeTool('draw', async () => ({
      text: 'drawn',
      media: [image('a.png')],
      sources: [{ title: 'A' }],
    }))
    harness = await openHarness({
      script: [0, 1].flatMap((): Turn[] => [drawing(''), { text: 'As [source1] says.' }]),
      tools: [sourced],
      policies: { images: { reattach: 1 }, sources: 'cited' },
    })
    for (const text of ['draw', 'draw']) await harness.settled(await harness.submit(text))
    const last = (await harness.log()).findLast(({ role }) => role === 'tool')
    expect(await harness.ports.reader.context(harness.key)).toMatchObject({
      media: { from: last?.id },
      citations: { cited: [[1, 1]] },
    })
  })

  it('a failed run leaves the decision about media to the next run', async () => {
    const refused: Turn = async function* () {
      yield* []
      throw new ModelError('invalid_request', 'no', { retryable: false })
    }
    harness = await openHarness({
      script: [...script(1), drawing('two'), refused, { text: 'on' }, { text: 'on' }],
      tools: [draw],
      policies: { images: { reattach: 1 } },
    })
    for (const text of ['draw', 'fail']) await harness.settled(await harness.submit(text))
    expect((await harness.ports.reader.context(harness.key)).media).toBeUndefined()
    for (const text of ['on', 'on']) await harness.settled(await harness.submit(text))
    expect(seen(harness.requests[4])).toEqual(['picture0.png', 'two.png with bytes'])
    expect(seen(harness.requests[5])).toEqual(['picture0.png', 'two.png with bytes'])
  })

  it('another process applies the recorded decision', async () => {
    await open(3, { reattach: 2 })
    const next = harness.another([{ text: 'on' }])
    await next.settled(await next.submit('more'))
    expect(seen(next.requests[0])).toEqual(['picture0.png', 'picture1.png with bytes', 'picture2.png with bytes'])
  })
})
