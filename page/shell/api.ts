import { createClient } from '../../functions/client/client.ts'
import { problemOf } from '../../functions/client/problem.ts'
import { createStore } from './store.ts'

const KEY = 'tooltrail-key'

/** Whether the API has rejected a request because its key is missing or invalid. */
export const keyNeeded = createStore(false)

export const readKey = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined

/** Stores a key for this tab only, or removes it. */
export function keepKey(key: string | undefined): void {
  if (key === undefined) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, key)
  keyNeeded.set(key === undefined)
}

async function noticingRefusals(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request)
  if (response.status === 401) keyNeeded.set(true)
  return response
}

const url = new URL('.', document.baseURI).href

/** Client of the API that served this page. */
export const client = createClient({
  url,
  key: readKey,
  fetch: noticingRefusals,
})

/** Returns the names of the agents that the key may use. The OpenAI endpoint lists them as models. */
export async function listAgents(signal: AbortSignal): Promise<readonly string[]> {
  const key = readKey()
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const response = await noticingRefusals(`${url}openai/v1/models`, { headers, signal })
  if (!response.ok) throw await problemOf(response)
  const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] }
  return data.map(({ id }) => id)
}
