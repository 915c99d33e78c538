import OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HANG_TIMEOUT_MS } from '../../eventually.ts'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend, Place } from '../backend/backend.ts'
import type { RunningProgram } from '../backend/program.ts'
import { startProgram } from '../backend/program.ts'

type StreamEvent = OpenAI.Responses.ResponseStreamEvent

const cut = { parts: [{ type: 'text', text: 'these words are of an attempt that is killed' }] } as const
const whole = { parts: [{ type: 'text', text: 'and these are whole' }] } as const

/** Tests that a client that resumes a Response after a kill gets the text of the stored attempt. */
export const killedResponsesOn = (backend: Backend) =>
  describe(`Responses of a killed program, on ${backend.name}`, () => {
    let model: OpenAiServer
    let place: Place
    const programs: RunningProgram[] = []
    beforeEach(async () => {
      // The model answers the first request with a few words and then stays silent.
      model = await startOpenAiServer([{ completion: cut, hangAfter: 4 }, { completion: whole }])
      place = await backend.open()
    })
    afterEach(async () => {
      await Promise.all(programs.splice(0).map((program) => program.kill()))
      await model.close()
      await place.remove()
    })
    async function start(): Promise<OpenAI> {
      const program = await startProgram({ env: { ...place.env, MODEL: 'any', MODEL_BASE_URL: model.baseUrl } })
      programs.push(program)
      return new OpenAI({ baseURL: `${program.client.url}/openai/v1`, apiKey: 'made-up', maxRetries: 0 })
    }

    test('have the text of one attempt for a client that resumes', { timeout: 2 * HANG_TIMEOUT_MS }, async () => {
      const texts = new Map<string, string>()
      const numbers: number[] = []
      let id = ''
      const add = (event: StreamEvent): void => {
        if ('sequence_number' in event) numbers.push(event.sequence_number)
        if (event.type === 'response.created') id = event.response.id
        if (event.type !== 'response.output_text.delta') return
        texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta)
      }
      const body = { model: 'default', input: 'Go', stream: true, background: true } as const
      for await (const event of await (await start()).responses.create(body)) {
        add(event)
        if (event.type === 'response.output_text.delta') break
      }
      await programs[0]?.kill()
      const resumed = await start()
      const after = numbers.at(-1) ?? 0
      const stream = await resumed.responses.retrieve(id, { stream: true, starting_after: after })
      for await (const event of stream) add(event)
      const { output } = await resumed.responses.retrieve(id)
      expect(output).toMatchObject([{ content: [{ text: whole.parts[0].text }] }])
      expect(texts.get(output[0]?.id ?? '')).toBe(whole.parts[0].text)
      expect(texts.size).toBe(2)
      expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other))
    })
  })
