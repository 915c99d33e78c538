import { afterEach, describe, expect, test } from 'vitest'
import { readOutput } from '../../functions/tools/read-output.ts'
import { completionOf, makeTool, openHarness } from '../agent/harness.ts'
import type { Harness } from '../agent/harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))

describe('large outputs', () => {
  test('leave a preview and a pointer in the log and in the request', async () => {
    const large = 'line of text\n'.repeat(5_000)
    const big = makeTool('big', async () => ({ text: large }))
    const { submit, settled, log, requests, ports, key } = await set({
      script: [{ calls: [{ name: 'big' }] }, { text: 'ok' }],
      tools: [big],
    })
    await settled(await submit('go'))
    const row = (await log()).find((message) => message.role === 'tool')
    const preview = `${large.slice(0, 500)}\n\n[Full output: output:${row?.id}, 65.0 KB, 5,000 lines]`
    expect(row).toMatchObject({ parts: [{ text: preview }], output: { bytes: large.length, lines: 5_000 } })
    expect(requests[1]?.messages.at(-1)).toMatchObject({ parts: [{ text: preview }] })
    const object = row?.role === 'tool' ? (row.output?.object ?? '') : ''
    expect(Buffer.from(await ports.outputs.read(key, object)).toString()).toBe(large)
  })

  test('are read unchanged, including split surrogate pairs', async () => {
    const large = 'x\ud83dy\ude00z\n'.repeat(10_000)
    const read: (string | undefined)[] = []
    const big = makeTool('big', async () => ({ text: large }))
    const reader = makeTool('reader', async (_input, context) => {
      const row = (await harness?.log())?.find((message) => message.role === 'tool')
      const output = await context.readOutput(`output:${row?.id}`)
      read.push((await Array.fromAsync(output?.pieces ?? [])).join(''))
      return { text: '' }
    })
    const { submit, settled } = await set({
      script: [{ calls: [{ name: 'big' }] }, { calls: [{ name: 'reader' }] }, { text: 'ok' }],
      tools: [big, reader],
    })
    await settled(await submit('go'))
    expect(read).toEqual([large])
  })

  test('are readable in chunks, even if the agent stores little text in its log', async () => {
    const line = 'a line of some length\n'
    const pointer = async (): Promise<string> =>
      `output:${(await harness?.log())?.find(({ role }) => role === 'tool')?.id}`
    const big = makeTool('big', async () => ({ text: line.repeat(200) }))
    const { submit, settled, requests } = await set({
      script: [
        { calls: [{ name: 'big' }] },
        async function* () {
          const call = { name: 'read_output', arguments: JSON.stringify({ pointer: await pointer() }) }
          yield { type: 'completion', completion: completionOf({ calls: [call] }) }
        },
        { text: 'ok' },
      ],
      tools: [big, readOutput],
      policies: { offloadBytes: 1_000 },
    })
    await settled(await submit('go'))
    const read = requests[2]?.messages.at(-1)?.parts[0]
    expect(read).toMatchObject({ type: 'text', text: expect.stringMatching(/200: a line of some length$/) })
  })

  /** A store that fails three times, like a full disk until space is freed. */
  const failingFirst = (ports: Parameters<NonNullable<Parameters<typeof openHarness>[0]['change']>>[0]) => {
    let left = 3
    const put: typeof ports.outputs.put = (...object) =>
      left-- > 0 ? Promise.reject(new Error('the disk is full')) : ports.outputs.put(...object)
    return { ...ports, outputs: { ...ports.outputs, put } }
  }

  test('are stored by a retry if earlier attempts fail, and their call is not repeated', async () => {
    let executed = 0
    const big = makeTool('big', async () => {
      executed++
      return { text: 'x'.repeat(60_000) }
    })
    const { submit, settled, log } = await set({
      script: [{ calls: [{ name: 'big' }] }, { text: 'done' }],
      tools: [big],
      change: failingFirst,
    })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
    expect((await log()).map((message) => ('status' in message ? message.status : message.role))).toEqual([
      'user',
      'assistant',
      'completed',
      'assistant',
    ])
    expect(executed).toBe(1)
  })

  test('prevent the run from pausing until they are stored', async () => {
    const big = makeTool('big', async () => ({ text: 'x'.repeat(60_000) }))
    const { submit, settled, log } = await set({
      script: [
        {
          calls: [
            { id: 'a', name: 'ask' },
            { id: 'b', name: 'big' },
          ],
        },
      ],
      tools: [big],
      change: failingFirst,
    })
    const clientTools = [{ name: 'ask', description: '', parameters: {} }]
    expect(await settled(await submit('go', { clientTools }))).toMatchObject({ status: 'paused' })
    expect((await log()).map((message) => ('status' in message ? message.status : message.role))).toEqual([
      'user',
      'assistant',
      'waiting',
      'completed',
    ])
  })
})
