import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns all findings of axe, of any severity. */
export async function faults(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
  )
}

/** Expects no findings of axe, also at the width of a phone. There, nothing may overflow on the right. */
export async function expectNoFaults(page: Page): Promise<void> {
  expect(await faults(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await faults(page)).toEqual([])
  const overflow = 'document.documentElement.scrollWidth > document.documentElement.clientWidth'
  expect(await page.evaluate(overflow)).toBe(false)
}
