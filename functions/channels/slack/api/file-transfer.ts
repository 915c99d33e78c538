import { guardedFetch } from '../../../tools/guarded-fetch.ts'
import { SlackSilence } from './slack-error.ts'
import type { SlackApiDependencies } from './web-api.ts'

/** Limits of an upload's response and duration. */
const UPLOAD = { bytes: 100_000, milliseconds: 30_000 } as const

export interface SlackDownloads {
  /** Downloads a file of a message. Only Slack's own hosts receive the token. */
  download(
    url: string,
    token: string,
    most: { readonly bytes: number; readonly milliseconds: number },
    signal: AbortSignal,
  ): Promise<Response>
}

/** Creates the downloader for Slack's files. */
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

/**
 * Whether a request to this address may contain the token: the address is Slack's, or has the configured host of the
 * API.
 */
const isSlacks = (url: URL, base: URL): boolean =>
  (url.protocol === 'https:' && (url.hostname === 'slack.com' || url.hostname.endsWith('.slack.com'))) ||
  (url.host === base.host && url.protocol === base.protocol)

/**
 * Creates the uploader, which sends the text of a new file to the address from Slack. If Slack does not respond,
 * rejects with `SlackSilence`; the text may then be sent again.
 */
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
