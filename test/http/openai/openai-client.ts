import OpenAI from 'openai'
import { expect } from 'vitest'
import { deviations } from '../conformance.ts'
import { expectJson } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

/** Request options that show calls of our own tools in Responses. */
export const SHOW_CALLS = { headers: { 'x-tooltrail-tools': 'calls' } } as const

/** Creates a client of the real package for this program. Each response is checked against the description. */
export function openAiClient(harness: HttpHarness, options: { readonly apiKey?: string } = {}): OpenAI {
  return new OpenAI({
    baseURL: 'http://localhost:3000/openai/v1',
    apiKey: options.apiKey ?? 'made-up',
    fetch: async (input, init) => {
      const request = new Request(input as Request, init as RequestInit)
      const response = await harness.program.app.fetch(request)
      expect(await deviations(harness.document, request, response), request.url).toEqual([])
      return response
    },
  })
}

/** The error with which a request is refused. */
export async function refusal(request: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await request
  } catch (error) {
    if (error instanceof OpenAI.APIError) return error
    throw error
  }
  throw new Error('it was not refused')
}

type List = { data: Record<string, unknown>[] }

/** A session's log as our own API returns it. */
export const logOf = async (harness: HttpHarness, session: string): Promise<List['data']> =>
  (await expectJson<List>(harness, 200, 'GET', `/v1/sessions/${session}/messages?limit=100`)).data

/** All sessions. */
export const sessionsOf = async (harness: HttpHarness): Promise<List['data']> =>
  (await expectJson<List>(harness, 200, 'GET', '/v1/sessions')).data
