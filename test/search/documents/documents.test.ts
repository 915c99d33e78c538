import { fc } from '../../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { historyDocuments, mostDocuments, projectMessage } from '../../../functions/search/documents/documents.ts'
import { callTo, writeLog } from '../../generators/messages.ts'

const session = { key: { tenant: 'acme', session: 's-1' }, owner: 'ada' }
const SECRET = `ghp_${'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d'}`
const nothing = (): AsyncGenerator<string> => {
  throw new Error('nothing is offloaded')
}
const documentsOf = async (log: readonly Message[], readOutput = nothing): Promise<HistoryDocument[]> =>
  (await Promise.all(log.map((message) => Array.fromAsync(projectMessage(message, session, readOutput))))).flat()
const shown = (documents: readonly HistoryDocument[]): string[] => documents.map(({ part, text }) => `${part} ${text}`)

describe('history documents', () => {
  it('a text is one document; a tool message has one for its call and one for its result', async () => {
    const { log } = writeLog().user('status?').assistant('I look.', callTo('shell', '{}')).result(0, 'On branch main')
    const documents = await documentsOf(log)
    expect(shown(documents)).toEqual(['u status?', 'a I look.', 'c shell()', 'r0 On branch main'])
    expect(documents.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool_call', 'tool_result'])
    expect(documents.every(({ tenant, owner }) => tenant === 'acme' && owner === 'ada')).toBe(true)
    expect(documents[3]).toMatchObject({
      toolName: 'shell',
      toolCallId: 'call_shell',
      status: 'completed',
      call: 'shell()',
    })
  })

  it('the time of a result is its completion time', async () => {
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'ok', { completedAt: 1_800_000_000_000 })
    const [call, result] = await documentsOf(log)
    expect(result?.time).toBe(1_800_000_000_000)
    expect(call?.time).toBe(log[1]?.createdAt)
  })

  it('notes, reasoning, model errors and empty contents have no documents', async () => {
    const { log } = writeLog()
      .user({ type: 'note', text: 'an image was here' })
      .assistant({ type: 'reasoning', text: 'hm' }, { type: 'error', code: 'timeout', text: 'too slow' })
      .assistant(' \n')
    expect(await documentsOf(log)).toEqual([])
  })

  it.each(['search_history', 'read_output'])('calls and results of %s have no documents', async (tool) => {
    const { log } = writeLog().assistant(callTo(tool, '{}')).result(0, 'found it')
    expect(await documentsOf(log)).toEqual([])
  })

  it('an offloaded result is indexed completely, not only its preview', async () => {
    const output = { bytes: 9, lines: 1, sha256: '', mediaType: 'text/plain', object: 'x' }
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'preview', { output })
    const documents = await documentsOf(log, async function* () {
      yield 'the whole'
      yield ' output'
    })
    expect(shown(documents)).toEqual(['c shell()', 'r0 the whole output'])
  })

  it('secrets are redacted before a text is split, in calls and results', async () => {
    const { log } = writeLog()
      .assistant(callTo('shell', '{}'))
      .result(0, `key ${SECRET}`, { call: `shell(k="${SECRET}")` })
    expect(shown(await documentsOf(log))).toEqual(['c shell(k="[redacted]")', 'r0 key [redacted]'])
  })

  it('long contents are split at line ends into overlapping chunks, each with its call', () => {
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, '')
    const [, message] = log
    if (message === undefined) throw new RangeError('no message')
    const text = Array.from({ length: 400 }, (_, line) => `line ${line} of the output`).join('\n')
    const chunks = historyDocuments(message, session, { text, call: 'shell()' }).slice(1)
    expect(chunks.map(({ part }) => part)).toEqual(chunks.map((_, index) => `r${index}`))
    expect(chunks.length).toBeGreaterThan(1)
    expect(chunks.slice(0, -1).every((chunk) => chunk.text.endsWith('\n') && chunk.text.length <= 4_000)).toBe(true)
    expect(chunks.every(({ call }) => call === 'shell()')).toBe(true)
  })

  it('chunks cover any text completely, and contain only whole characters', () => {
    const { log } = writeLog().user('')
    const [message] = log
    if (message === undefined) throw new RangeError('no message')
    // Numbers make each chunk unique in the text.
    const numbered = (count: number, mark: string): string =>
      Array.from({ length: count }, (_, index) => `${mark}${index}`).join('')
    const piece = fc
      .tuple(fc.nat(900), fc.constantFrom('🎉', '\n', ' ', '中', '👩‍👩‍👧'))
      .map(([count, mark]) => numbered(count, mark))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.map((one, index) => `<${index}>${one}`).join('')
        const chunks = historyDocuments(message, session, { text, call: '' }).map((document) => document.text)
        let place = 0
        for (const chunk of chunks) {
          const start = text.indexOf(chunk, Math.max(0, place - 152))
          expect(start).toBeGreaterThanOrEqual(0)
          expect(start).toBeLessThanOrEqual(place)
          expect(chunk.isWellFormed()).toBe(true)
          place = Math.max(place, start + chunk.length)
        }
        if (text.trim() !== '') expect(place).toBe(text.length)
      }),
    )
  })

  it('documents of a chunked output equal those of its complete text, and any secrets are redacted', async () => {
    const output = { bytes: 9, lines: 1, sha256: '', mediaType: 'text/plain', object: 'x' }
    const { log } = writeLog().assistant(callTo('shell', '{}')).result(0, 'preview', { output, call: '' })
    const [, message] = log
    if (message === undefined) throw new RangeError('no message')
    const part = fc.oneof(
      fc.constant(`token=${SECRET}\n`),
      fc.constant('\n \n'.repeat(3_000)),
      fc.nat(20_000).map((count) => 'word 🎉 '.repeat(count / 8)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 8 }), fc.integer({ min: 1, max: 50_000 }), async (parts, size) => {
        const text = parts.join('')
        const streamed = await Array.fromAsync(
          projectMessage(message, session, async function* () {
            for (let place = 0; place < text.length; place += size) yield text.slice(place, place + size)
          }),
        )
        const whole = historyDocuments(message, session, { text: text.replaceAll(SECRET, '[redacted]'), call: '' })
        expect(streamed).toEqual(whole)
        expect(whole.length).toBeLessThanOrEqual(
          mostDocuments({ ...message, output: { ...output, bytes: text.length } } as Message),
        )
      }),
      { numRuns: 40 },
    )
  })
})
