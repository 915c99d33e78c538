import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser } from 'playwright-core'

/** Time limit for pages that hang. */
export const BROWSER_TIMEOUT_MS = 60_000

/** Disables the browser's own network requests, and its sandbox, which does not work under root. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Returns the path of an installed Chromium; undefined if there is none. */
export function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find((path) => existsSync(path))
}

/** Starts the installed Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  const executablePath = findChromium() ?? 'chromium'
  return chromium.launch({ executablePath, args: FLAGS, timeout: BROWSER_TIMEOUT_MS })
}
