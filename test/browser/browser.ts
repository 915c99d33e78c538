import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import { createClient } from '../../functions/client/client.ts'
import type { Client } from '../../functions/client/client.ts'
import { startProgram } from '../e2e/backend/program.ts'
import type { RunningProgram } from '../e2e/backend/program.ts'
import { BROWSER_TIMEOUT_MS, launchChromium } from './chromium.ts'

/** The running program and a browser that shows its page. */
export interface Opened {
  readonly url: string
  readonly client: Client
  readonly browser: Browser
  /** The program's data folder. */
  readonly folder: string
  /** Opens a separate window, as for another person. Closing the window fails the test if the page had an error. */
  show(path: string, options?: BrowserContextOptions): Promise<Page>
  /** Kills the program, and restarts it with the same address and data. */
  restart(meanwhile?: () => Promise<void>): Promise<void>
  /** Errors of the pages, and their requests to other hosts. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

export async function openBrowser(env: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-browser-'))
  const port = await freePort()
  const start = (): Promise<RunningProgram> =>
    startProgram({ env: { PORT: String(port), TOOLTRAIL_DATA: folder, ...env } })
  let program = await start()
  const browser = await launchChromium()
  const url = `http://127.0.0.1:${port}`
  const complaints: string[] = []
  return {
    url,
    client: createClient({ url }),
    browser,
    folder,
    complaints,
    async show(path, options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
      context.setDefaultTimeout(BROWSER_TIMEOUT_MS)
      const page = await context.newPage()
      page.on('pageerror', (error) => complaints.push(`${path}: ${error.message}`))
      page.on('console', (message) => {
        // The browser itself logs each response with an error status. The page shows these errors, so the log lines are
        // no fault.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
          complaints.push(`${path}: ${message.text()}`)
      })
      page.on('request', (request) => {
        if (!request.url().startsWith(`${url}/`) && !request.url().startsWith('blob:')) complaints.push(request.url())
      })
      await page.goto(`${url}${path}`)
      return page
    },
    async restart(meanwhile) {
      await program.kill()
      try {
        await meanwhile?.()
      } finally {
        program = await start()
      }
    },
    async close() {
      // A handler that is still answering a request fails if its page closes, so handlers are removed first.
      const pages = browser.contexts().flatMap((context) => context.pages())
      await Promise.all(pages.map((page) => page.unrouteAll({ behavior: 'ignoreErrors' })))
      await browser.close()
      await program.kill()
      rmSync(folder, { recursive: true, force: true })
      expect(complaints).toEqual([])
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
