import { guardedFetch } from '../../../tools/guarded-fetch.ts'
import { SlackSilence } from './slack-error.ts'
import type { SlackApiDependencies } from './web-api.ts'

/** What an upload may take. */
const UPLOAD = { bytes: 100_000, milliseconds: 30_000 } as const

export interface SlackDownloads {
  /** A file of a message; only Slack's own hosts get the token. */
  download(
    url: string,
    token: string,
    most: { readonly bytes: number; readonly milliseconds: number },
    signal: AbortSignal,
  ): Promise<Response>
}

/** Loads files from where Slack keeps them. */
export function createSlackDownloads({
  apiUrl,
  allowedHosts,
}: Pick<SlackApiDependencies, 'apiUrl' | 'allowedHosts'>): SlackDownloads {
  const base = new URL(apiUrl)
  return {
    async download(url, token, most, signal) {
      const address = new URL(url)
      if (!isSlacks(address, base)) throw new Error('its address is not one of Slack')
      const headers = new Headers({ authorization: `Bearer ${token}` })
      return guardedFetch(address, { method: 'GET', headers, signal, limits: most, allowedHosts })
    },
  }
}

/** Whether the token may go there: to Slack, and to the host that the API was said to be at. */
const isSlacks = (url: URL, base: URL): boolean =>
  (url.protocol === 'https:' && (url.hostname === 'slack.com' || url.hostname.endsWith('.slack.com'))) ||
  (url.host === base.host && url.protocol === base.protocol)

/** Sends the text of a new file to the address that Slack gave out for it. Rejects with `SlackSilence`: it may be sent again. */
export function createSlackUpload({
  allowedHosts,
}: Pick<SlackApiDependencies, 'allowedHosts'>): (url: string, text: string) => Promise<void> {
  return async (url, text) => {
    try {
      const headers = new Headers({ 'content-type': 'text/markdown; charset=utf-8' })
      const request = { method: 'POST', headers, body: text, limits: UPLOAD, allowedHosts }
      const { status } = await guardedFetch(new URL(url), request)
      if (status !== 200) throw new Error(`status ${status}`)
    } catch (error) {
      throw new SlackSilence('the upload of a file', error)
    }
  }
}
