import { setTimeout as sleep } from 'node:timers/promises'
import { whileUnavailable } from '../../backend/unavailable.ts'
import type { DurableClient } from './durable-client.ts'
import { inputText, marksOf } from './scripted-model.ts'

interface Item {
  readonly type: string
  readonly name?: string
  readonly call_id: string
  readonly arguments: string
}
interface Reply {
  readonly id: string
  readonly status: string
  readonly output: readonly Item[]
}
const BASE = '/openai/v1/responses'
const TOOL = { type: 'function', name: 'client', parameters: { type: 'object' }, strict: false }

/** Answers the calls of a Response and sends a new input in the same request. Repeats this request under its idempotency key. */
export async function answerResponse({ client, knows, finish }: DurableClient): Promise<void> {
  const say = (key: string, word: string): string => {
    const unique = `${knows.session}.${key}`
    for (const mark of marksOf(word, unique)) knows.marks.add(mark)
    knows.inputs.set(key, inputText(word, unique))
    return inputText(word, unique)
  }
  const create = async (body: object, headers: Record<string, string>): Promise<Reply> => {
    const whole = { model: 'default', background: true, ...body }
    const { status, text, body: reply } = await whileUnavailable(() => client.send<Reply>('POST', BASE, whole, headers))
    if (status !== 200) throw new Error(`POST ${BASE}: ${status} ${text}`)
    return reply
  }

  const first = { conversation: knows.session, input: say('first', 'ask'), tools: [TOOL] }
  const asked = await create(first, { 'idempotency-key': `${knows.session}-first` })
  let { status, output } = asked
  while (status !== 'completed' && status !== 'failed') {
    await sleep(20)
    ;({ status, output } = await client.get<Reply>(`${BASE}/${asked.id}`))
  }
  if (status === 'failed') {
    // The run was given up after three takeovers without a new message: no call waits for an answer.
    const runs = await client.all<{ readonly id: string }>(`/v1/sessions/${knows.session}/runs?limit=100`)
    for (const { id } of runs) await finish(id)
    return
  }
  const calls = output.filter(({ type, name }) => type === 'function_call' && name === 'client')
  const outputs = calls.map(({ call_id: call, arguments: text }) => {
    const result = `result of ${(JSON.parse(text) as { mark: string }).mark}`
    knows.resolutions.set(call, result)
    return { type: 'function_call_output', call_id: call, output: result }
  })
  const said = { role: 'user', content: say('second', 'say') }
  const body = { previous_response_id: asked.id, input: [...outputs, said] }
  const answered = await create(body, { 'idempotency-key': `${knows.session}-second` })
  const again = await create(body, { 'idempotency-key': `${knows.session}-second` })
  if (again.id !== answered.id) throw new Error(`${again.id} is not ${answered.id}`)
  for (const { id } of [asked, answered]) await finish(id.slice('resp_'.length))
}
