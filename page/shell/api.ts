import { createClient } from '../../functions/client/client.ts'
import { createStore } from './store.ts'

const KEY = 'tooltrail-key'

/** Whether the API has refused a request for its key, or for the lack of one. */
export const keyNeeded = createStore(false)

export const readKey = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined

/** Keeps a key for this tab only, or forgets it. */
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

/** The API that served this page. */
export const client = createClient({
  url: new URL('.', document.baseURI).href,
  key: readKey,
  fetch: noticingRefusals,
})
