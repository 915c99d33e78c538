/**
 * A program that deploys this tree with its own commands to an emulator of AWS with enforced IAM. It needs Python and Java,
 * connects only to loopback addresses, and takes about ten minutes. Exit code 0: every check holds.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEngine } from '../../engines/engines.ts'
import { openAccount } from './account.ts'
import { createCheckout } from './checkout.ts'
import { checksOf } from './checks.ts'
import { installEmulator, startEmulator, Unavailable } from './emulator.ts'

const folder = mkdtempSync(join(tmpdir(), 'deploy-emulated-'))
let keepsLogs = false
const stops: (() => Promise<void>)[] = []
try {
  const python = installEmulator()
  const engine = await startEngine('opensearch').catch((error: unknown) => {
    throw new Unavailable(`OpenSearch does not start (${error instanceof Error ? error.message : String(error)})`)
  })
  stops.push(() => engine.stop())
  const emulator = await startEmulator(python, { folder, searchEndpoint: engine.endpoint })
  stops.push(() => emulator.stop())
  await runChecks(emulator.port)
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  process.stdout.write(`deploy:emulated was left out: ${error.message}\n`)
  if (process.env['CI'] !== undefined) process.exitCode = 1
} finally {
  for (const stop of stops.toReversed()) await stop()
  if (!keepsLogs) rmSync(folder, { recursive: true, force: true })
}

async function runChecks(port: number): Promise<void> {
  const logs = join(folder, 'logs')
  mkdirSync(logs)
  let log = ''
  const checkout = createCheckout(join(folder, 'checkout'), port, () => log)
  const checks = checksOf({ account: openAccount(port), checkout })
  const failed: string[] = []
  for (const [name, work] of checks) {
    log = join(logs, `${name}.log`)
    const started = performance.now()
    const fault = await work().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    if (fault !== undefined) failed.push(name)
    const seconds = Math.round((performance.now() - started) / 1_000)
    process.stdout.write(
      `${fault === undefined ? 'held  ' : 'FAILED'}  ${name} (${seconds} s)${fault === undefined ? '' : `: ${fault}`}\n`,
    )
  }
  const total = checks.length
  const named = failed.length === 0 ? '' : ` (failed: ${failed.join(' ')})`
  if (failed.length > 0) {
    process.exitCode = 1
    keepsLogs = true
    process.stdout.write(`The logs are in ${logs}\n`)
  }
  process.stdout.write(`deploy-emulated: ${total - failed.length} of ${total} held${named}\n`)
}
