/* Evidence, limits: Import lines that wait on disk are limited to 2 GB per tenant and 4 GB per process. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { spoolLines } from '../../../../functions/http/v1/transfer/import-lines.ts'
import { createSpoolBudget } from '../../../../functions/http/v1/transfer/spool-budget.ts'

const MB = 1024 * 1024
const LINE = Buffer.from(`${JSON.stringify({ text: 'x'.repeat(MB) })}\n`)
const body = (lines: number): ReadableStream<Uint8Array> =>
  ReadableStream.from(Array.from({ length: lines }, () => Uint8Array.from(LINE)))
const busy = { status: 503, code: 'busy' }
const room = () => createSpoolBudget({ most: 10 * MB, mostOfTenant: 5 * MB })

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-spool-'))
vi.stubEnv('TMPDIR', folder)
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

describe('the spool files of imports', () => {
  test('are limited for a tenant, and imports of other tenants continue', async () => {
    const { enter } = room()
    const first = await spoolLines(body(4), enter('acme'))
    await expect(spoolLines(body(4), enter('acme'))).rejects.toMatchObject(busy)
    const other = await spoolLines(body(4), enter('other'))
    await Promise.all([first.remove(), other.remove()])
  })

  test('are limited over all tenants', async () => {
    const { enter } = room()
    const first = await spoolLines(body(4), enter('a'))
    const second = await spoolLines(body(4), enter('b'))
    await expect(spoolLines(body(4), enter('c'))).rejects.toMatchObject(busy)
    await Promise.all([first.remove(), second.remove()])
  })

  test('are deleted, and their budget is released, after a refusal and after the import', async () => {
    const { enter } = room()
    await expect(spoolLines(body(8), enter('acme'))).rejects.toMatchObject(busy)
    expect(readdirSync(folder)).toEqual([])
    for (let time = 0; time < 3; time++) {
      const spooled = await spoolLines(body(4), enter('acme'))
      expect((await Array.fromAsync(spooled.values())).length).toBe(4)
      await spooled.remove()
    }
    expect(readdirSync(folder)).toEqual([])
  })

  test('have no name once they contain data, so no file remains when the process is killed', async () => {
    const seen: string[][] = []
    const watched = async function* lines(): AsyncGenerator<Uint8Array> {
      for (let line = 0; line < 4; line++) {
        yield Uint8Array.from(LINE)
        seen.push(readdirSync(folder))
      }
    }
    const spooled = await spoolLines(ReadableStream.from(watched()), room().enter('acme'))
    expect(seen).toEqual([[], [], [], []])
    const twice = [await Array.fromAsync(spooled.values()), await Array.fromAsync(spooled.values())]
    expect(readdirSync(folder)).toEqual([])
    const four = Array.from({ length: 4 }, () => ({ text: 'x'.repeat(MB) }))
    expect(twice).toEqual([four, four])
    await spooled.remove()
  })

  test('need no budget if they are small', async () => {
    const { enter } = createSpoolBudget({ most: 0, mostOfTenant: 0 })
    const text = Buffer.from('{"role":"user"}\n')
    const spooled = await spoolLines(ReadableStream.from([Uint8Array.from(text)]), enter('acme'))
    expect(await Array.fromAsync(spooled.values())).toEqual([{ role: 'user' }])
  })
})
