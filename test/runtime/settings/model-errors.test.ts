/* Evidence, access: Error texts of providers and of storage go to the log and not to callers. */
import { expect, test } from 'vitest'
import { ModelError } from '../../../functions/ports/model.ts'
import type { Model } from '../../../functions/ports/model.ts'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { showErrorsByKind } from '../../../functions/runtime/settings/model-errors.ts'

const USE = { tenant: 't', session: 's', run: 'r' }
const SECRET = 'Incorrect API key provided: sk-live-1234 at http://10.0.0.7:8080'
const request = {} as ModelRequest
const { signal } = new AbortController()

function failing(error: unknown, at: 'open' | 'stream' | 'output') {
  const logged: unknown[] = []
  const model: Model = {
    name: 'a/b',
    async *stream() {
      if (at === 'output') yield { type: 'text.delta', part: 0, text: 'Half' }
      throw error
    },
  }
  const models = showErrorsByKind(
    {
      open: async () => {
        if (at === 'open') throw error
        return model
      },
    },
    {
      info: () => undefined,
      warn: () => undefined,
      error: (_text, cause, fields) => void logged.push({ cause, ...fields }),
    },
  )
  const outcome = async (): Promise<unknown> => {
    try {
      for await (const event of (await models.open('a/b', USE)).stream(request, signal)) void event
      return undefined
    } catch (caught) {
      return caught
    }
  }
  return { outcome, logged }
}

test.each(['open', 'stream'] as const)(
  'callers see the kind of a provider’s error, operators see all details (%s)',
  async (at) => {
    const cause = Object.assign(new Error(SECRET), { statusCode: 401, responseBody: '{"error":"sk-live-1234"}' })
    const error = new ModelError('authentication', SECRET, { retryable: false, retryAfterMs: 7, cause })
    const { outcome, logged } = failing(error, at)
    const shown = (await outcome()) as ModelError
    expect(shown).toMatchObject({ code: 'authentication', retryable: false, retryAfterMs: 7 })
    expect(shown.message).toBe(
      "the model does not accept the credentials of this server (HTTP status 401): see the server's log",
    )
    expect(logged).toEqual([
      {
        cause: error,
        model: 'a/b',
        ...USE,
        code: 'authentication',
        said: { message: SECRET, status: 401, url: undefined, body: '{"error":"sk-live-1234"}' },
      },
    ])
  },
)

test.each([
  ['output', undefined, "the model's response broke off"],
  ['stream', 200, "the model's response broke off"],
  ['stream', undefined, 'the model could not be reached, or what it sent was no whole response'],
  ['stream', 502, 'the model could not be reached, or what it sent was no whole response (HTTP status 502)'],
] as const)('a broken connection (%s, status %s) is reported as: %s', async (at, statusCode, said) => {
  const cause = Object.assign(new Error('terminated'), statusCode === undefined ? {} : { statusCode })
  const { outcome } = failing(new ModelError('network', 'terminated', { retryable: true, cause }), at)
  expect(((await outcome()) as ModelError).message).toBe(`${said}: see the server's log`)
})

test.each([
  ['what we say ourselves', new ModelError('invalid_request', 'model x/y is not known', { retryable: false })],
  ['an abort', new DOMException('stopped', 'AbortError')],
])('%s is passed on unchanged', async (_name, error) => {
  const { outcome, logged } = failing(error, 'stream')
  expect(await outcome()).toBe(error)
  expect(logged).toEqual([])
})
